//! What a run's recording says about itself: whether it was steady, when it dipped, and why.
//!
//! A figure such as the mean TPS hides what a person would ask next. The analysis answers from the run's folder alone, so that it can be made of any
//! archived run, also of one whose dyno was killed. Causes are only named where a counter or an event deviates from its own level in the rest of the
//! run; where none does, "unknown" is the answer.

mod campaign;
mod cause;
mod causes;
mod checkpoints;
mod descheduled;
mod limits;
mod recording;
mod series;
mod steady;
mod throughput;
mod warnings;

#[cfg(test)]
mod cases;

pub use campaign::campaign_warnings;
pub(crate) use campaign::{IRRELEVANT, settings};
pub use cause::Cause;

use crate::archive::Run;
use crate::summary::Warning;
use recording::Recording;
use serde::{Deserialize, Serialize};
use throughput::Throughput;

/// What the recording of one run says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// Whether the throughput settled.
    pub steady: Steady,
    /// Stretches with a TPS well below its running median, in order of time.
    #[serde(default)]
    pub dips: Vec<Dip>,
    /// The time from one dip to the next in seconds, if they come at regular times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dip_period_s: Option<f64>,
    /// What holds for the run as a whole, as sentences.
    #[serde(default)]
    pub findings: Vec<String>,
    /// What to keep in mind, beside the warnings of the summary.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// Whether the throughput settled within the time measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// Whether there is a steady state.
    pub found: bool,
    /// From when on, in seconds since the first phase began; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_s: Option<f64>,
    /// Why it is so, in words.
    pub reason: String,
}

/// A stretch of time with a throughput well below what is usual around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dip {
    /// When its first interval began, in seconds since the first phase began.
    pub start_s: f64,
    /// When its last interval ended.
    pub end_s: f64,
    /// How far the slowest interval lies below the running median, in percent of it.
    pub depth_percent: f64,
    /// What most likely caused it.
    pub cause: Cause,
    /// What was seen at the time, the evidence for the cause first.
    pub evidence: Vec<String>,
}

/// Analyses what was recorded of `run`. Files that are missing, as in archives of earlier dynos, cost only what they would have told.
#[must_use]
pub fn analyse(run: &Run) -> Analysis {
    let throughput = Throughput::read(run);
    let found = throughput.dips();
    let windows = found.iter().map(|(window, _)| *window).collect();
    let recording = Recording::read(run, &throughput, windows);
    let dips = found.into_iter().map(|(window, depth)| {
        let (cause, evidence) = causes::cause_of(&recording, window);
        Dip {
            start_s: window.start_s,
            end_s: window.end_s,
            depth_percent: depth * 100.0,
            cause,
            evidence,
        }
    });
    let dips: Vec<Dip> = dips.collect();
    let starts: Vec<f64> = dips.iter().map(|dip| dip.start_s).collect();
    let mut analysis = Analysis {
        steady: steady::steady(&throughput),
        dip_period_s: dyno_stats::period(&starts),
        dips,
        findings: checkpoints::findings(&recording),
        warnings: Vec::new(),
    };
    analysis.warnings = warnings::warnings(run, &recording, &analysis, throughput.may_be_steady());
    analysis
}
