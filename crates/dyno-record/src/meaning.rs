//! What sampled values mean, whatever a database calls them.
//!
//! Each sampler declares the meanings of its columns, and the archive keeps them beside the columns' names. Whoever
//! reads an archive asks for a meaning, so that it need not know the counters of any database. There is a meaning for
//! what is read, not for all that is sampled.

use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};

/// What the values of a column mean. Unless it is said that they grow, they are as of the time of the sample; those
/// that grow count since some point before the run, so their differences are what matters. Shares are between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Share of the time of all cores spent in user space, since the last sample.
    CpuUserShare,
    /// The same in the kernel.
    CpuSystemShare,
    /// The same waiting for storage with nothing else to do.
    CpuIowaitShare,
    /// The same taken by other guests of a virtual machine's host.
    CpuStealShare,
    /// The same with nothing to do.
    CpuIdleShare,
    /// CPU seconds of dyno; grows.
    DynoCpuS,
    /// CPU seconds of the server's processes, if they are on this machine; where a server counts them itself, as it
    /// does; grows.
    ServerCpuS,
    /// CPU seconds of all other processes; grows.
    OtherCpuS,
    /// Microseconds in which some tasks waited for a CPU; grows.
    CpuPressureUs,
    /// Microseconds in which some tasks waited for storage; grows.
    IoPressureUs,
    /// Microseconds in which some tasks waited for memory; grows.
    MemoryPressureUs,
    /// Bytes read from disks; grows.
    DiskReadBytes,
    /// Bytes written to disks; grows.
    DiskWrittenBytes,
    /// Share of the time in which the busiest disk was busy, since the last sample.
    DiskBusyShare,
    /// Bytes received over networks; grows.
    NetReceivedBytes,
    /// Bytes sent over networks; grows.
    NetSentBytes,
    /// Bytes of memory that programs could still get.
    MemoryAvailableBytes,
    /// Bytes of the page cache that are yet to be written.
    MemoryDirtyBytes,
    /// Bytes of memory swapped out; grows.
    SwapOutBytes,
    /// Seconds that dyno's threads waited for a core; grows.
    RunQueueS,
    /// How often a thread of dyno was preempted; grows.
    InvoluntarySwitches,
    /// Seconds for which dyno's CPU limits held it back; grows.
    ThrottledS,
    /// Number of the server's processes that were stopped.
    ServerStopped,

    /// Bytes written to the server's log of changes; grows.
    LogBytes,
    /// Whole pages written to that log; grows.
    LogPageImages,
    /// Bytes of that log since the last checkpoint: what a recovery would read.
    LogSinceCheckpointBytes,
    /// How many these may be before every change waits for a checkpoint.
    LogSinceCheckpointLimitBytes,
    /// Changed pages that checkpoints wrote to the data files; grows.
    PagesWrittenByCheckpoints,
    /// Those that the server wrote ahead of need; grows.
    PagesWrittenByBackground,
    /// Those that sessions had to write themselves; grows.
    PagesWrittenBySessions,
    /// Those that were written by anybody, where the server counts them together; grows.
    PagesWritten,
    /// Changed pages in the server's cache that are yet to be written.
    PagesDirty,
    /// Pages asked for that were not in the server's cache; grows.
    PagesRead,
    /// Old versions of rows that are yet to be removed, in transactions.
    TransactionsToPurge,
    /// Sessions at work on a statement.
    SessionsActive,
    /// Sessions in a transaction but at work on nothing.
    SessionsIdleInTransaction,
    /// Sessions that wait for a lock.
    SessionsWaitingForLocks,
    /// How far the slowest standby is behind in the log, in bytes.
    StandbyLagBytes,
    /// How far this server, a standby, is behind the one it follows, in seconds.
    StandbyLagS,
    /// How much of the log of the one it follows this server, a standby, has not executed as far as it knows of it, in
    /// bytes.
    OwnLagBytes,
    /// Where the log ends that other servers follow, as a number that means the same place on this server and on those
    /// that follow it; grows, by at least as much as bytes are written.
    FollowedPosition,
    /// Bytes written to the log that other servers follow; grows.
    FollowedBytes,
    /// Up to where this server, a standby, has executed the log of the one that it follows, as a position there; grows.
    ExecutedPosition,
    /// How long the server took to answer for the sample, in milliseconds.
    SampleMs,

    /// How often a statement was executed; of the whole run, like all that follow.
    Calls,
    /// Milliseconds that the server spent on executing it.
    ExecutionMs,
    /// Milliseconds of CPU time that it took.
    StatementCpuMs,
    /// Rows that it returned or changed.
    Rows,
    /// Pages it found in the server's cache.
    StatementPagesHit,
    /// Pages it did not find there.
    StatementPagesRead,
    /// Pages it was the first to change since they were last written.
    StatementPagesDirtied,
    /// Records it wrote to the log.
    StatementLogRecords,
    /// Whole pages it wrote to the log.
    StatementLogPageImages,
    /// Bytes it wrote to the log.
    StatementLogBytes,
}

impl Meaning {
    /// The meaning that archives call so; `None` for one of a later version.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        named(name)
    }
}

/// What is serialised under the name `name`.
fn named<'a, T: Deserialize<'a>>(name: &'a str) -> Option<T> {
    let name: StrDeserializer<'a, Error> = name.into_deserializer();
    T::deserialize(name).ok()
}

/// What a session waits for, as far as it matters why a load is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// For nothing: it runs, or is ready to.
    None,
    /// For a row that another transaction has changed.
    Row,
    /// For any other lock of a transaction.
    Lock,
    /// For the log of changes.
    Log,
    /// For room in the log of changes, which a checkpoint or whoever copies the log has yet to make.
    LogRoom,
    /// For something in the server's memory that other sessions use: a page, a latch.
    Memory,
    /// For data files.
    Data,
    /// For a standby.
    Standby,
    /// For another server, which has a part of the data.
    Remote,
    /// For something else.
    Other,
}

impl WaitKind {
    /// The kind that archives call so; `None` for one of a later version.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        named(name)
    }

    /// How archives call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Row => "row",
            Self::Lock => "lock",
            Self::Log => "log",
            Self::LogRoom => "log_room",
            Self::Memory => "memory",
            Self::Data => "data",
            Self::Standby => "standby",
            Self::Remote => "remote",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_are_known_by_their_names() {
        assert_eq!(Meaning::named("log_bytes"), Some(Meaning::LogBytes));
        assert_eq!(Meaning::named("dyno_cpu_s"), Some(Meaning::DynoCpuS));
        assert_eq!(Meaning::named("tea_leaves"), None);
    }

    #[test]
    fn kinds_of_waits_are_written_as_they_are_read() {
        let kinds = [
            WaitKind::None,
            WaitKind::Row,
            WaitKind::Lock,
            WaitKind::Log,
            WaitKind::Data,
            WaitKind::Standby,
            WaitKind::Remote,
            WaitKind::Other,
        ];
        for kind in kinds {
            assert_eq!(WaitKind::named(kind.name()), Some(kind));
        }
    }
}
