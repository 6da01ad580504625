//! What is reported at the end: as text in the layout of any version of pgbench, and as JSON.

mod json;
mod number;
mod text;

pub(crate) use number::fixed;

use dyno_record::{CommandRecording, Recording, ScriptRecording, Sums};
use dyno_wire::Protocol;
use std::time::Duration;

/// Everything a report says.
#[derive(Clone, Debug)]
pub struct Report {
    /// The server's version as it names it.
    pub server_version: String,
    /// What was asked for.
    pub conditions: Conditions,
    /// All scripts together.
    pub total: ScriptRecording,
    /// Completed transactions above the latency limit.
    pub late: u64,
    /// How late transactions began, with a rate.
    pub lag: Sums,
    /// Each script.
    pub scripts: Vec<ScriptReport>,
    /// From when the clients began to when the last was done.
    pub measured: Duration,
    /// From the first connection attempt to the last client being ready.
    pub connecting: Duration,
    /// Time spent on making and closing connections, with `-C`: all clients together.
    pub reconnecting: Duration,
    /// Connections made.
    pub connections: u64,
    /// The percentiles asked for, with the latency in microseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Errors that ended transactions: SQLSTATE, how often, an example.
    pub errors: Vec<(String, u64, String)>,
    /// Whether the run ended before its time.
    pub incomplete: bool,
}

/// What was asked for, as far as reports say it.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The scale: of the tables for built-in scripts, else as given.
    pub scale: i64,
    /// Method and number of partitions of accounts, if they are partitioned.
    pub partitions: Option<(&'static str, i64)>,
    /// How statements are sent.
    pub protocol: Protocol,
    /// Clients.
    pub clients: usize,
    /// Threads.
    pub threads: usize,
    /// Tries per transaction; 0: no limit.
    pub max_tries: u32,
    /// Transactions per client.
    pub transactions: Option<i32>,
    /// Duration in seconds.
    pub duration_s: Option<i32>,
    /// Failures are to be told by kind.
    pub failures_detailed: bool,
    /// Transactions per second.
    pub rate_per_s: Option<f64>,
    /// Latency limit in microseconds.
    pub latency_limit_us: Option<u64>,
    /// Progress was shown, so that latencies count as measured.
    pub progress: bool,
    /// A connection per transaction.
    pub connect_each: bool,
    /// Commands are to be reported.
    pub per_command: bool,
    /// The seed.
    pub seed: u64,
}

/// One script's part.
#[derive(Clone, Debug)]
pub struct ScriptReport {
    /// Its name.
    pub description: String,
    /// Its weight.
    pub weight: u32,
    /// What it did.
    pub counts: ScriptRecording,
    /// Its commands: first line and what they did.
    pub commands: Vec<(String, CommandRecording)>,
}

/// All scripts of a recording together.
pub fn total(recording: &Recording) -> ScriptRecording {
    ScriptRecording {
        transactions: recording.transactions,
        latency_sums: recording.latency_sums,
        skipped: recording.skipped,
        retried: recording.retried,
        retries: recording.retries,
        failures: recording.failures,
        ..ScriptRecording::default()
    }
}

/// All transactions, whatever became of them.
fn attempted(counts: &ScriptRecording) -> u64 {
    counts.transactions + counts.skipped + counts.failures.total()
}

/// How pgbench calls a protocol.
pub fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Simple => "simple",
        Protocol::Extended => "extended",
        Protocol::Prepared => "prepared",
    }
}

#[cfg(test)]
mod tests;
