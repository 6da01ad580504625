//! What sysbench counts of events beside their number and latency.
//!
//! Each client counts for itself, in numbers that nobody else writes, so counting costs no more than a store. Whoever
//! reports adds them up.

use std::sync::atomic::{AtomicU64, Ordering};

/// Statements and what became of them: all that clients have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Statements that brought a result set.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// Other statements.
    pub others: u64,
    /// Errors that were ignored: each restarts an event.
    pub errors: u64,
    /// Connections that replaced a lost one.
    pub reconnects: u64,
}

impl Counts {
    /// All statements.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            others: self.others - earlier.others,
            errors: self.errors - earlier.errors,
            reconnects: self.reconnects - earlier.reconnects,
        }
    }
}

/// What a statement brought, for counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Brought {
    /// Whether there was a result set, even an empty one.
    pub result_set: bool,
    /// Rows of it.
    pub rows: u64,
    /// Rows that were changed.
    pub affected: u64,
}

/// One client's counts. Only the client writes.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Counters {
    reads: AtomicU64,
    writes: AtomicU64,
    others: AtomicU64,
    errors: AtomicU64,
    reconnects: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl Counters {
    /// A statement is done.
    pub fn statement(&self, brought: Brought) {
        count(match brought {
            Brought { result_set: true, .. } => &self.reads,
            Brought { affected: 1.., .. } => &self.writes,
            _ => &self.others,
        });
    }

    /// An error is ignored.
    pub fn error(&self) {
        count(&self.errors);
    }

    /// A connection has replaced a lost one.
    pub fn reconnect(&self) {
        count(&self.reconnects);
    }

    /// Adds these to a sum.
    pub fn add_to(&self, sum: &mut Counts) {
        sum.reads += self.reads.load(Ordering::Relaxed);
        sum.writes += self.writes.load(Ordering::Relaxed);
        sum.others += self.others.load(Ordering::Relaxed);
        sum.errors += self.errors.load(Ordering::Relaxed);
        sum.reconnects += self.reconnects.load(Ordering::Relaxed);
    }
}
