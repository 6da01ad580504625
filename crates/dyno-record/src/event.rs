//! What the samplers notice beside numbers: things that begin, last, and end. All times are seconds since the first
//! phase began; what began before that has a negative start.

use serde::{Deserialize, Serialize};

/// Something that has ended, or that was still going on when sampling ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A checkpoint.
    Checkpoint(Checkpoint),
    /// Work of the autovacuum on one table.
    Autovacuum(Autovacuum),
    /// A vacuum that somebody asked for.
    Vacuum(Vacuum),
    /// Sessions that waited for a lock.
    Blocked(Blocked),
    /// Somebody who did not run.
    Stalled(Stalled),
    /// Something that the server said.
    Said(Said),
}

/// A checkpoint. What is not known is none; from counters, without the server's log, that is much.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Why: `time`, `wal` (as much was written as `max_wal_size` allows), `requested` (by a command), `shutdown`,
    /// `end-of-recovery`.
    pub reason: String,
    /// When it began.
    pub start_s: f64,
    /// When it was complete; none if it was still going on.
    pub end_s: Option<f64>,
    /// Seconds spent on writing, sleeps between writes included.
    pub write_s: Option<f64>,
    /// Seconds spent on syncing files.
    pub sync_s: Option<f64>,
    /// Buffers written.
    pub buffers: Option<u64>,
    /// Segments of the write-ahead log added, removed, and recycled.
    pub wal_files: Option<u64>,
}

/// Work of an autovacuum worker on one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Autovacuum {
    /// The table, as `schema.table`.
    pub table: String,
    /// When it began; the same as the end where that is not known.
    pub start_s: f64,
    /// When it ended, or sampling did.
    pub end_s: f64,
    /// Whether it only collected statistics for the planner.
    pub analyze: bool,
}

/// A vacuum of one table that somebody asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vacuum {
    /// The table as the server or the command names it.
    pub table: String,
    /// When it began.
    pub start_s: f64,
    /// When it ended, or sampling did.
    pub end_s: f64,
}

/// Measured sessions that waited for a lock of somebody else, or for more than a second for each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blocked {
    /// When the first of them began to wait.
    pub start_s: f64,
    /// When none waited any more, or sampling ended.
    pub end_s: f64,
    /// How many waited at most at the same time.
    pub waiting: u64,
    /// Who held the lock: process id, program, state and the begin of its statement; none if it was one of the
    /// measured sessions.
    pub holder: Option<String>,
    /// Which kind of lock it was, in the server's words, such as `metadata lock`; none if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// The table or index that the lock belongs to, if it belongs to one.
    pub relation: Option<String>,
}

/// A time in which somebody did not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stalled {
    /// Who.
    pub who: Who,
    /// Since when.
    pub start_s: f64,
    /// Until when.
    pub end_s: f64,
    /// Whether it would have run, had others not had all CPUs; only known of dyno.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starved: bool,
    /// What was seen, as a sentence.
    pub detail: String,
}

/// Something that the server said in its log.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// When it was read.
    pub at_s: f64,
    /// What it said, in a line.
    pub text: String,
}

/// One of the two sides of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// This process.
    Dyno,
    /// The database server.
    Server,
}

impl Event {
    /// When it ended. A checkpoint still going on has only begun.
    #[must_use]
    pub fn end_s(&self) -> f64 {
        match self {
            Self::Checkpoint(checkpoint) => checkpoint.end_s.unwrap_or(checkpoint.start_s),
            Self::Autovacuum(autovacuum) => autovacuum.end_s,
            Self::Vacuum(vacuum) => vacuum.end_s,
            Self::Blocked(blocked) => blocked.end_s,
            Self::Stalled(stalled) => stalled.end_s,
            Self::Said(said) => said.at_s,
        }
    }
}
