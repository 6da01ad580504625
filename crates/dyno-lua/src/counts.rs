//! What sysbench counts of events beside their number and latency.
//!
//! Each client counts for itself, in numbers that nobody else writes, so counting costs no more than a store. Whoever
//! reports adds them up.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

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

/// What a client has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Events that are complete.
    pub events: u64,
    /// The time that they took, restarts included, in nanoseconds.
    pub busy_ns: u64,
    /// The shortest of all its events, in nanoseconds; 0: there were none.
    pub least_ns: u64,
    /// The longest of all its events, in nanoseconds.
    pub most_ns: u64,
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
    /// Events that are complete, and the time that they took.
    events: AtomicU64,
    busy_ns: AtomicU64,
    /// Of these the shortest and the longest.
    least_ns: AtomicU64,
    most_ns: AtomicU64,
    /// Whether it has begun and not ended yet.
    runs: AtomicBool,
    /// Whether it has asked for a connection.
    connects: AtomicBool,
    /// Whether its script was ended.
    given_up: AtomicBool,
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

    /// An event is complete, and took so long.
    pub fn event(&self, busy: Duration) {
        let event_ns = u64::try_from(busy.as_nanos()).unwrap_or(u64::MAX);
        let least_ns = self.least_ns.load(Ordering::Relaxed);
        if event_ns < least_ns || self.events.load(Ordering::Relaxed) == 0 {
            self.least_ns.store(event_ns, Ordering::Relaxed);
        }
        if event_ns > self.most_ns.load(Ordering::Relaxed) {
            self.most_ns.store(event_ns, Ordering::Relaxed);
        }
        count(&self.events);
        let busy_ns = self.busy_ns.load(Ordering::Relaxed).saturating_add(event_ns);
        self.busy_ns.store(busy_ns, Ordering::Relaxed);
    }

    /// The client has begun, or has ended.
    pub fn set_running(&self, runs: bool) {
        self.runs.store(runs, Ordering::Relaxed);
    }

    /// The client's script was ended.
    pub fn set_given_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Whether it was.
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// The client has asked for a connection.
    pub fn connect(&self) {
        self.connects.store(true, Ordering::Relaxed);
    }

    /// Whether it has begun and not ended yet.
    pub fn runs(&self) -> bool {
        self.runs.load(Ordering::Relaxed)
    }

    /// Whether it has asked for a connection.
    pub fn connects(&self) -> bool {
        self.connects.load(Ordering::Relaxed)
    }

    /// Its events.
    pub fn work(&self) -> Work {
        Work {
            events: self.events.load(Ordering::Relaxed),
            busy_ns: self.busy_ns.load(Ordering::Relaxed),
            least_ns: self.least_ns.load(Ordering::Relaxed),
            most_ns: self.most_ns.load(Ordering::Relaxed),
        }
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
