//! A log of single transactions: what a workload's threads tell it as they go.
//!
//! The log is written by the threads themselves, each to one of its own, so that none waits for another. A workload
//! without a log pays nothing for it.

use std::time::SystemTime;

/// Makes the log of one thread.
pub type NewLog = Box<dyn Fn(LogContext) -> Box<dyn TransactionLog> + Send + Sync>;

/// Whose log is to be made.
#[derive(Clone, Copy, Debug)]
pub struct LogContext {
    /// The thread's number within its workload, from 0.
    pub thread: usize,
    /// The wall-clock time at which the load's clock was at 0: [`LogEntry::at_ns`] counts from it.
    pub epoch: SystemTime,
    /// When the thread's clients begin, by the load's clock, in nanoseconds.
    pub start_ns: u64,
}

/// Is told of every transaction of one thread, on that thread: what takes long here delays the load.
pub trait TransactionLog: Send {
    /// A transaction is over.
    fn transaction(&mut self, entry: &LogEntry);

    /// There will be no more: the thread ends, whatever the reason.
    fn finish(&mut self) {}
}

/// One transaction, by the load's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The client's number within the workload, from 0.
    pub client: usize,
    /// Which of its client's transactions this is, from 1, skipped and failed ones included.
    pub number: u64,
    /// The script's number within the workload, from 0.
    pub script: usize,
    /// How it ended.
    pub outcome: LoggedOutcome,
    /// When it was over, in nanoseconds of the load's clock.
    pub at_ns: u64,
    /// Open loop: how long after its scheduled instant it began, in nanoseconds; 0 if it failed or was skipped.
    pub lag_ns: u64,
    /// How often it was begun again.
    pub retries: u32,
    /// The phase in which it was over, as index into [`crate::Load::phases`].
    pub phase: usize,
}

/// How a logged transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedOutcome {
    /// Without error.
    Done {
        /// Its duration in nanoseconds; in an open loop from the scheduled instant, and from the first try if there
        /// were several.
        latency_ns: u64,
    },
    /// Its instant was further back than the latency limit: it was not begun.
    Skipped,
    /// With a serialization failure.
    Serialization,
    /// With a deadlock.
    Deadlock,
    /// With another error.
    Other,
}
