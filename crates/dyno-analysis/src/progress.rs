//! What is to be said of a campaign while it goes on, as plain data: who shows it need not know how runs are made.

use dyno_archive::RunState;
use dyno_archive::analysis::Analysis;
use dyno_archive::plan::PlannedRun;
use dyno_archive::summary::{Summary, Warning};
use std::path::PathBuf;
use std::time::Duration;

/// A run about to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Upcoming {
    /// Which one.
    pub planned: PlannedRun,
    /// How many runs the campaign has, those made before included.
    pub of: usize,
    /// How long this run takes with its preparation, as the runs so far took; `None` if that is for the
    /// transactions to say.
    pub lasts: Option<Duration>,
    /// How long the runs after it take likewise.
    pub afterwards: Option<Duration>,
}

/// The latency of a workload, of late.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveLatency {
    /// The workload's name.
    pub workload: String,
    /// Median, 95th and 99th percentile in microseconds; absent without transactions.
    pub percentiles_us: Option<[f64; 3]>,
}

/// What a running load did since that was last told: about a second, or an interval if those are longer.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// The phase it belongs to.
    pub phase: String,
    /// From the begin of the first phase to the end of this time.
    pub elapsed: Duration,
    /// Until the last phase ends; `None` if that is for the transactions to say.
    pub left: Option<Duration>,
    /// Transactions per second in this time, of all workloads together.
    pub tps: f64,
    /// The latency of each workload in this time, in the experiment's order.
    pub latencies: Vec<LiveLatency>,
    /// Transactions that failed in this time.
    pub errors: u64,
}

/// A run that has ended and is archived.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun {
    /// Its folder.
    pub folder: PathBuf,
    /// Which run of the plan it is.
    pub planned: PlannedRun,
    /// Complete, faulty, incomplete or failed.
    pub state: RunState,
    /// The figures; `None` if it could not begin.
    pub summary: Option<Summary>,
    /// What its recording shows; `None` if it could not begin, or could not be archived.
    pub analysis: Option<Analysis>,
    /// What ended it before its time, in full; `None` if nothing did, or if that was asked for.
    pub failure: Option<String>,
}

impl FinishedRun {
    /// Why the archive lacks a part of it; none if it has all. A run that does not count may well be archived whole.
    #[must_use]
    pub fn archive_error(&self) -> Option<&str> {
        let mut warnings = self.summary.iter().flat_map(|summary| &summary.warnings);
        warnings.find_map(|warning| match warning {
            Warning::ArchiveStopped { error } => Some(error.as_str()),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_too_many_errors_may_be_archived_whole() {
        let mut run = FinishedRun {
            folder: PathBuf::new(),
            planned: PlannedRun::repetition(1),
            state: RunState::Faulty,
            summary: Some(Summary::default()),
            analysis: None,
            failure: Some("6 % of the transactions failed".to_owned()),
        };
        assert_eq!(run.archive_error(), None);
        let error = "no space left".to_owned();
        let warning = Warning::ArchiveStopped { error };
        run.summary.get_or_insert_default().warnings.push(warning);
        assert_eq!(run.archive_error(), Some("no space left"));
    }
}
