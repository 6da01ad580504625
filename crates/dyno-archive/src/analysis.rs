//! What was found in a run's recording, as `run.json` keeps it.

use crate::summary::Warning;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the recording of one run says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// Whether the throughput settled.
    pub steady: Steady,
    /// Stretches with a TPS well below its running median, of all workloads together or of one, in order of time.
    #[serde(default)]
    pub dips: Vec<Dip>,
    /// Why no dips could be found, in words; empty if they were looked for. Absent in archives of earlier dynos.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub no_dips_because: String,
    /// The time from one dip to the next in seconds, if they come at regular times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dip_period_s: Option<f64>,
    /// What holds for the run as a whole, as sentences.
    #[serde(default)]
    pub findings: Vec<String>,
    /// What to keep in mind, beside the warnings of the summary.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

impl Analysis {
    /// How many dips there were; `None` if they could not be looked for.
    #[must_use]
    pub fn dips_found(&self) -> Option<usize> {
        let number = self.dips.len();
        (number > 0 || self.no_dips_because.is_empty()).then_some(number)
    }
}

/// Whether the throughput settled within the time measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// Whether there is a steady state.
    pub found: bool,
    /// From when on, in seconds since the first phase began; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_s: Option<f64>,
    /// Why it is so, in words.
    pub reason: String,
}

/// A stretch of time with a throughput well below what is usual around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dip {
    /// The workload whose throughput it is, if the throughput of all together does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// When its first interval began, in seconds since the first phase began.
    pub start_s: f64,
    /// When its last interval ended.
    pub end_s: f64,
    /// How far the slowest interval lies below the running median, in percent of it.
    pub depth_percent: f64,
    /// What most likely caused it.
    pub cause: Cause,
    /// What was seen at the time, the evidence for the cause first.
    pub evidence: Vec<String>,
}

/// What made the throughput dip. Who and what exactly stands in the evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Another session held a lock that the clients waited for.
    Lock,
    /// The server's processes were stopped, or did not answer anybody.
    ServerStopped,
    /// dyno's own processes were stopped, or had no CPU for a while.
    DynoStopped,
    /// Other processes of the machine took its CPU.
    OtherProcesses,
    /// Something outside of what can be seen took CPU time: other guests of the virtual machine's host, or its
    /// scheduler.
    HostNoise,
    /// A checkpoint kept the storage busy.
    Checkpoint,
    /// A vacuum or autovacuum was under way.
    Vacuum,
    /// After a checkpoint, full page images filled the write-ahead log.
    FullPageImages,
    /// The log of changes was nearly full, so that changed pages had to be written before there could be more of it.
    FullLog,
    /// Old versions of rows had piled up, or were removed.
    Purge,
    /// Pages had to be read that were in the server's cache before.
    ColdCache,
    /// Sessions waited for what other sessions used in the server's memory.
    Contention,
    /// Commits waited for storage longer than usual.
    SlowStorage,
    /// Commits waited for a standby.
    Replication,
    /// The server, a proxy, waited for the remote server of its foreign tables.
    Remote,
    /// Transactions failed, or connections were lost.
    Errors,
    /// The load generator was behind its own schedule.
    LoadGenerator,
    /// Nothing that was recorded explains it.
    #[default]
    #[serde(other)]
    Unknown,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lock => "a lock held by another session",
            Self::ServerStopped => "the server stalled",
            Self::DynoStopped => "dyno itself stalled",
            Self::OtherProcesses => "CPU taken by other processes",
            Self::HostNoise => "host noise",
            Self::Checkpoint => "checkpoint",
            Self::Vacuum => "vacuum",
            Self::FullPageImages => "full page images after a checkpoint",
            Self::FullLog => "flushing forced by a full log",
            Self::Purge => "old versions of rows",
            Self::ColdCache => "pages missing from the cache",
            Self::Contention => "contention in the server's memory",
            Self::SlowStorage => "slow storage",
            Self::Replication => "waits for a standby",
            Self::Remote => "the proxy waited for its remote",
            Self::Errors => "errors or lost connections",
            Self::LoadGenerator => "the load generator",
            Self::Unknown => "unknown",
        })
    }
}
