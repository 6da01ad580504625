//! What is done to a run so that its throughput dips, and when.

use super::database::Database;
use dyno_archive::analysis::{Cause, Dip};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Seconds between the end of one provocation and the begin of the next.
const PAUSE_S: std::ops::Range<f64> = 12.0..20.0;

/// A way to disturb a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Another session locks the table.
    Lock,
    /// All processes of the server are stopped.
    Server,
    /// Busy processes that have nothing to do with the run.
    Cpu,
    /// A checkpoint on storage that takes little more than the load itself writes.
    Checkpoint,
    /// A vacuum of a large table, as fast as it can.
    Vacuum,
    /// dyno is stopped.
    Dyno,
    /// A change of the table waits for a transaction that has read it, and everybody behind it.
    Metadata,
    /// Another session has changed all rows.
    Row,
    /// A backup's lock.
    Backup,
    /// Another session changes so much that the log is full.
    Log,
    /// Storage takes a fraction of what the load writes.
    Storage,
    /// The cache is made small, and large again.
    Cache,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Lock,
        Self::Server,
        Self::Cpu,
        Self::Checkpoint,
        Self::Vacuum,
        Self::Dyno,
        Self::Metadata,
        Self::Row,
        Self::Backup,
        Self::Log,
        Self::Storage,
        Self::Cache,
    ];

    /// Those that there are with a database.
    #[must_use]
    pub fn of(database: Database) -> Vec<Self> {
        let of_it = |kind: &Self| match kind {
            Self::Lock | Self::Server | Self::Cpu | Self::Dyno => true,
            Self::Checkpoint | Self::Vacuum => database == Database::Postgres,
            _ => database == Database::Mariadb,
        };
        Self::ALL.into_iter().filter(of_it).collect()
    }

    /// Whether storage has to be made slow for it.
    #[must_use]
    pub fn needs_slow_path(self) -> bool {
        matches!(self, Self::Checkpoint | Self::Storage)
    }

    /// How many seconds it lasts, where that can be chosen.
    fn lasts_s(self) -> Option<std::ops::Range<f64>> {
        match self {
            Self::Lock | Self::Server | Self::Dyno | Self::Metadata | Self::Row | Self::Backup => Some(2.0..4.0),
            Self::Cpu | Self::Storage | Self::Log | Self::Cache => Some(3.0..5.0),
            Self::Checkpoint | Self::Vacuum => None,
        }
    }

    /// Whether this answer is the right one. Of locks, it has to be said which.
    #[must_use]
    pub fn is_caused_by(self, dip: &Dip) -> bool {
        let says = |words: &str| dip.evidence.first().is_some_and(|evidence| evidence.contains(words));
        match self {
            Self::Lock => dip.cause == Cause::Lock,
            Self::Metadata => dip.cause == Cause::Lock && says("metadata lock"),
            Self::Row => dip.cause == Cause::Lock && says("row lock"),
            Self::Backup => dip.cause == Cause::Lock && says("backup lock"),
            Self::Server => dip.cause == Cause::ServerStopped,
            Self::Cpu => dip.cause == Cause::OtherProcesses,
            // What a checkpoint costs is its own writing, and the page images after it.
            Self::Checkpoint => matches!(dip.cause, Cause::Checkpoint | Cause::FullPageImages),
            Self::Vacuum => dip.cause == Cause::Vacuum,
            Self::Dyno => dip.cause == Cause::DynoStopped,
            Self::Log => dip.cause == Cause::FullLog,
            Self::Storage => dip.cause == Cause::SlowStorage,
            Self::Cache => dip.cause == Cause::ColdCache,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lock => "table lock of another session",
            Self::Server => "server's processes stopped",
            Self::Cpu => "CPU taken by other processes",
            Self::Checkpoint => "checkpoint on slow storage",
            Self::Vacuum => "vacuum of a large table",
            Self::Dyno => "dyno stopped",
            Self::Metadata => "table change behind a long transaction",
            Self::Row => "rows locked by another session",
            Self::Backup => "backup lock",
            Self::Log => "log filled by another session",
            Self::Storage => "slow storage",
            Self::Cache => "cache made small",
        })
    }
}

/// One disturbance to come.
#[derive(Clone, Copy, Debug)]
pub struct Provocation {
    /// Which.
    pub kind: Kind,
    /// How long to wait first, in seconds.
    pub pause_s: f64,
    /// How long it is to last; for what takes the time it takes, none.
    pub lasts_s: Option<f64>,
}

impl Provocation {
    /// One of this kind with random times.
    pub fn draw(kind: Kind, random: &mut fastrand::Rng) -> Self {
        let mut within = |range: std::ops::Range<f64>| range.start + random.f64() * (range.end - range.start);
        Self {
            kind,
            pause_s: within(PAUSE_S),
            lasts_s: kind.lasts_s().map(within),
        }
    }

    /// The longest it may take with what comes before and after it. A vacuum or a checkpoint that takes longer is
    /// waited for all the same.
    pub const LONGEST_S: f64 = 40.0;
}

/// `each` disturbances of every kind in random order.
pub fn draw(kinds: &[Kind], each: usize, random: &mut fastrand::Rng) -> Vec<Provocation> {
    let mut kinds: Vec<Kind> = kinds.iter().flat_map(|kind| vec![*kind; each]).collect();
    random.shuffle(&mut kinds);
    kinds.into_iter().map(|kind| Provocation::draw(kind, random)).collect()
}

/// One disturbance that was. Times are seconds since the run's first phase began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Provoked {
    /// Which.
    pub kind: Kind,
    /// When it began.
    pub start_s: f64,
    /// When it was over.
    pub end_s: f64,
}
