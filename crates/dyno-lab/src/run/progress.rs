//! What a person watching is told while a campaign goes on; how it is shown is the command line's business.

use dyno_analysis::progress::{FinishedRun, Live, Upcoming};
use dyno_archive::figures::figure;
use dyno_archive::{Capacity, Versus};
use std::time::Duration;

/// Is told what happens, on the thread that runs the campaign. What it has no interest in it need not take note of.
pub trait Progress {
    /// A run of the campaign begins to be prepared.
    fn begins(&mut self, _run: &Upcoming) {}

    /// A step begins, such as "Starting PostgreSQL 18.6.0".
    fn step(&mut self, _text: &str) {}

    /// A step begins that is over when a server has answered, such as "Connecting to postgres://db".
    fn asks(&mut self, text: &str) {
        self.step(text);
    }

    /// The server that was [asked](Self::asks) last has not answered for a while.
    fn waits(&mut self) {}

    /// How far the current step has come.
    fn amount(&mut self, _done: u64, _total: u64, _unit: &str) {}

    /// The current step is done; `result` says in a few words what came of it.
    fn done(&mut self, _result: &str) {}

    /// Something to know that ends nothing.
    fn note(&mut self, text: &str);

    /// What the load did since this was last told: about once a second, or after every interval if those are longer.
    fn live(&mut self, _live: &Live) {}

    /// What is known, after a block, of two variants that are measured in turn: this long, of at most so long.
    fn versus(&mut self, _known: &Versus, _measured: Duration, _at_most: Duration) {}

    /// How long pair `number` of so many, a variant beside its mirror image, is measured from now on, and how long each
    /// of those that follow.
    fn pair(&mut self, _number: usize, _of: usize, _left: Duration, _each: Duration) {}

    /// What is known of the highest load that holds limits, and how long it is sought at most from now on.
    fn capacity(&mut self, _known: &Capacity, _left: Duration) {}

    /// A run has ended and what is known of it is written.
    fn finished(&mut self, _run: &FinishedRun) {}
}

/// Tells a person what a target tells.
pub(super) struct Told<'a>(pub &'a mut dyn Progress);

impl dyno_target::target::Progress for Told<'_> {
    fn step(&mut self, text: &str) {
        self.0.step(text);
    }

    fn asks(&mut self, text: &str) {
        self.0.asks(text);
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
