//! What a person watching is told of a pair.

use crate::run::Progress;
use dyno_archive::Versus;
use std::time::Duration;

/// Tells of a pair as one of several. A pair has no runs of its own to begin with and end.
pub(in crate::run) struct OfPair<'a> {
    /// Who is told.
    pub to: &'a mut dyn Progress,
    /// Which pair it is, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl Progress for OfPair<'_> {
    fn step(&mut self, text: &str) {
        self.to.step(text);
    }

    fn asks(&mut self, text: &str) {
        self.to.asks(text);
    }

    fn waits(&mut self) {
        self.to.waits();
    }

    fn amount(&mut self, done: u64, total: u64, unit: &str) {
        self.to.amount(done, total, unit);
    }

    fn done(&mut self, result: &str) {
        self.to.done(result);
    }

    fn note(&mut self, text: &str) {
        self.to.note(text);
    }

    fn versus(&mut self, _known: &Versus, measured: Duration, at_most: Duration) {
        // What two say about each other that differ in every factor says nothing of any.
        let left = at_most.saturating_sub(measured);
        self.to.pair(self.number, self.of, left, at_most);
    }
}
