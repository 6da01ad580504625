//! What archives say: summaries, steady state, dips and their causes, comparisons. Files go in, findings come out;
//! no database, no network.
//!
//! [`summary`] reduces intervals to the figures people read; [`analyse`] says what a run's recording shows, and
//! [`comparison`] what two campaigns say about each other.
//!
//! A figure such as the mean TPS hides what a person would ask next. The analysis answers from the run's folder
//! alone, so that it can be made of any archived run, also of one whose dyno was killed. Causes are only named
//! where a counter or an event deviates from its own level in the rest of the run; where none does, "unknown" is
//! the answer.

mod campaign;
mod causes;
mod checkpoints;
pub mod comparison;
mod crowd;
mod descheduled;
mod gave_way;
mod lag;
mod limits;
pub mod plans;
pub mod progress;
pub mod published;
mod recording;
pub mod room;
mod series;
mod sides;
mod steady;
pub mod summary;
mod throughput;
mod warnings;
mod workloads;

#[cfg(test)]
mod cases;

pub use campaign::campaign_warnings;
pub(crate) use campaign::settings;
pub use crowd::name_others;
pub use gave_way::{GaveWay, gave_way};
pub use lag::lag;
pub use limits::is_near_ceiling;

use dyno_archive::Run;
use dyno_archive::analysis::{Analysis, Dip, Steady};
use series::Window;
use sides::Sides;
use throughput::Throughput;

/// Analyses what was recorded of `run`. Files that are missing, as in archives of earlier dynos, cost only what
/// they would have told.
#[must_use]
pub fn analyse(run: &Run) -> Analysis {
    if run.record.as_ref().is_ok_and(|record| record.in_turns) {
        // What happens over time is told of time that goes on.
        let why = "it was measured in turn with another variant".to_owned();
        return Analysis {
            steady: Steady {
                reason: why.clone(),
                ..Steady::default()
            },
            no_dips_because: why,
            ..Analysis::default()
        };
    }
    let (throughput, each) = Throughput::read(run);
    let facts = run.record.as_ref().map_or(&[][..], |record| &record.workloads);
    let found = throughput.dips();
    let own = workloads::dips(&each, facts, &found);
    let windows = found.iter().map(|(window, _)| *window);
    let windows = windows.chain(own.iter().map(|dip| dip.time));
    let windows: Vec<Window> = windows.collect();
    let sides = Sides::read(run, &throughput, &windows);
    let mut dips: Vec<Dip> = found
        .into_iter()
        .map(|(window, depth)| sides.dip(window, depth))
        .collect();
    let starts: Vec<f64> = dips.iter().map(|dip| dip.start_s).collect();
    for of_one in own.chunk_by(|one, other| one.workload == other.workload) {
        let Some(first) = of_one.first() else { continue };
        let each_dip = of_one.iter().map(|own| (own.time, own.depth));
        dips.extend(sides.dips_of(&first.workload, each_dip, facts, &each));
    }
    dips.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    let mut findings = sides.findings();
    findings.extend(workloads::standstills(&each, facts));
    findings.extend(plans::findings(run));
    let mut analysis = Analysis {
        steady: steady::steady(&throughput),
        dip_period_s: dyno_stats::period(&starts),
        no_dips_because: match dips.as_slice() {
            [] => throughput.no_dips_because().unwrap_or_default(),
            _ => String::new(),
        },
        dips,
        findings,
        warnings: Vec::new(),
    };
    analysis.warnings = warnings::warnings(run, sides.main(), &analysis, throughput.may_be_steady());
    analysis
}
