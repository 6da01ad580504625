//! Charts made of characters, for people without a browser at hand.
//!
//! They need no colour, fit a terminal, and stay readable when they are piped into a file. Axes of rates begin at
//! zero, and every interval is drawn, so that a dip of one second in eight hours is a mark of its own.

mod axis;
mod chart;
mod sweep;
#[cfg(test)]
mod tests;
mod timeline;

use dyno_archive::{Campaign, Run};

/// What charts are drawn on.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Its columns.
    pub width: usize,
    /// Whether it shows more than ASCII.
    pub unicode: bool,
}

/// The throughput of a run over time, or why there is none to be drawn.
///
/// # Errors
///
/// If no interval of the run can be read.
pub fn run(run: &Run, screen: Screen) -> Result<String, String> {
    timeline::run(run, screen)
}

/// The throughput and the latency of a campaign over a factor whose levels are numbers; of a campaign of one run its
/// throughput over time.
///
/// # Errors
///
/// If there is nothing of that kind.
pub fn campaign(campaign: &Campaign, screen: Screen) -> Result<String, String> {
    match campaign.runs.as_slice() {
        [only] => run(only, screen),
        _ => sweep::campaign(campaign, screen),
    }
}
