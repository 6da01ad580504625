//! What a person watching is told while a campaign goes on; how it is shown is the command line's business.

use crate::archive::PlannedRun;
use crate::figures::figure;
use std::time::Duration;

/// Is told what happens, on the thread that runs the campaign. What it has no interest in it need not take note of.
pub trait Progress {
    /// A run of the campaign begins to be prepared.
    fn begins(&mut self, _run: &Upcoming) {}

    /// A step begins, such as "Starting PostgreSQL 18.6.0".
    fn step(&mut self, _text: &str) {}

    /// How far the current step has come.
    fn amount(&mut self, _done: u64, _total: u64, _unit: &str) {}

    /// The current step is done; `result` says in a few words what came of it.
    fn done(&mut self, _result: &str) {}

    /// Something to know that ends nothing.
    fn note(&mut self, text: &str);

    /// An interval of the load is over.
    fn live(&mut self, _live: &Live) {}

    /// A run has ended and what is known of it is written.
    fn finished(&mut self, _run: &super::FinishedRun) {}
}

/// A run about to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Upcoming {
    /// Which one.
    pub planned: PlannedRun,
    /// How many runs the campaign has, those made before included.
    pub of: usize,
    /// How long this run takes with its preparation, as the runs so far took; `None` if that is for the transactions to say.
    pub lasts: Option<Duration>,
    /// How long the runs after it take likewise.
    pub afterwards: Option<Duration>,
}

/// The latency of a workload in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveLatency {
    /// The workload's name.
    pub workload: String,
    /// Median, 95th and 99th percentile in microseconds; absent without transactions.
    pub percentiles_us: Option<[f64; 3]>,
}

/// The state of a running load after an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// The phase the interval belongs to.
    pub phase: String,
    /// Since the first phase began.
    pub elapsed: Duration,
    /// Until the last phase ends; `None` if that is for the transactions to say.
    pub left: Option<Duration>,
    /// Transactions per second in this interval, of all workloads together.
    pub tps: f64,
    /// The latency of each workload in this interval, in the experiment's order.
    pub latencies: Vec<LiveLatency>,
    /// Transactions that failed so far: of the time measured, or of the warm-up while it lasts.
    pub errors: u64,
}

/// Tells a person what a target tells.
pub(super) struct Told<'a>(pub &'a mut dyn Progress);

impl dyno_target::target::Progress for Told<'_> {
    fn step(&mut self, text: &str) {
        self.0.step(text);
    }

    fn amount(&mut self, done: u64, total: u64, unit: &str) {
        self.0.amount(done, total, unit);
    }

    fn filled(&mut self, elapsed_s: f64, rows_per_s: f64) {
        self.0.done(&format!("{elapsed_s:.1} s, {} rows/s", figure(rows_per_s)));
    }

    fn note(&mut self, text: &str) {
        self.0.note(text);
    }
}
