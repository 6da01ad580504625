//! What is done to a run so that its throughput dips, and when.

use dyno_archive::analysis::Cause;
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
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Lock,
        Self::Server,
        Self::Cpu,
        Self::Checkpoint,
        Self::Vacuum,
        Self::Dyno,
    ];

    /// How many seconds it lasts, where that can be chosen.
    fn lasts_s(self) -> Option<std::ops::Range<f64>> {
        match self {
            Self::Lock | Self::Server | Self::Dyno => Some(2.0..4.0),
            Self::Cpu => Some(3.0..5.0),
            Self::Checkpoint | Self::Vacuum => None,
        }
    }

    /// Whether this answer is the right one.
    #[must_use]
    pub fn is_caused_by(self, cause: Cause) -> bool {
        match self {
            Self::Lock => cause == Cause::Lock,
            Self::Server => cause == Cause::ServerStopped,
            Self::Cpu => cause == Cause::OtherProcesses,
            // What a checkpoint costs is its own writing, and the page images after it.
            Self::Checkpoint => matches!(cause, Cause::Checkpoint | Cause::FullPageImages),
            Self::Vacuum => cause == Cause::Vacuum,
            Self::Dyno => cause == Cause::DynoStopped,
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
