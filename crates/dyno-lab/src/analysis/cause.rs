//! The causes a dip can have.

use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// Something outside of what can be seen took CPU time: other guests of the virtual machine's host, or its scheduler.
    HostNoise,
    /// A checkpoint kept the storage busy.
    Checkpoint,
    /// A vacuum or autovacuum was under way.
    Vacuum,
    /// After a checkpoint, full page images filled the write-ahead log.
    FullPageImages,
    /// Commits waited for a standby.
    Replication,
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
            Self::Replication => "waits for a standby",
            Self::Errors => "errors or lost connections",
            Self::LoadGenerator => "the load generator",
            Self::Unknown => "unknown",
        })
    }
}
