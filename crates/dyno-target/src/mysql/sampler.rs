//! The server's counters: `server.csv`, from `SHOW GLOBAL STATUS`.
//!
//! The names of the columns are the server's own, under which its manual documents them (MariaDB's "Server Status
//! Variables", MySQL's of the same name). Counters count since the server's start; the others are as they are now. The
//! sampler's own session runs whenever it looks, and is left out of those that run.

use super::address::ConnectionInfo;
use super::{Client, ClientError};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Meaning, Series, Value};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The sessions that execute something.
const RUNNING: &str = "Threads_running";

/// What is sampled, with what it means as far as that is asked for. A server that has not one of these, such as MySQL
/// the age of the checkpoint, leaves its column empty.
const STATUS: [(&str, Option<Meaning>); 36] = [
    // Statements. A statement outside a transaction commits without a `Com_commit`.
    ("Com_commit", None),
    ("Com_rollback", None),
    ("Com_select", None),
    ("Com_insert", None),
    ("Com_update", None),
    ("Com_delete", None),
    ("Questions", None),
    ("Handler_commit", None),
    ("Handler_rollback", None),
    ("Handler_delete", None),
    // Bytes over connections, as the server sees them, and the connections.
    ("Bytes_received", None),
    ("Bytes_sent", None),
    ("Threads_connected", None),
    (RUNNING, Some(Meaning::SessionsActive)),
    // The log: bytes, writes, and how often a session had to wait for room in its buffer.
    ("Innodb_os_log_written", Some(Meaning::LogBytes)),
    ("Innodb_log_writes", None),
    ("Innodb_log_waits", None),
    // Bytes of log since the last checkpoint, and how many there may be before all writing waits for one.
    ("Innodb_checkpoint_age", Some(Meaning::LogSinceCheckpointBytes)),
    ("Innodb_checkpoint_max_age", Some(Meaning::LogSinceCheckpointLimitBytes)),
    // Pages in the buffer pool: asked for, read from disk because they were not there, dirty now, written.
    ("Innodb_buffer_pool_read_requests", None),
    ("Innodb_buffer_pool_reads", Some(Meaning::PagesRead)),
    ("Innodb_buffer_pool_pages_dirty", Some(Meaning::PagesDirty)),
    ("Innodb_buffer_pool_pages_flushed", Some(Meaning::PagesWritten)),
    ("Innodb_buffer_pool_pages_data", None),
    ("Innodb_buffer_pool_pages_free", None),
    ("Innodb_buffer_pool_wait_free", None),
    // What the data files were asked for.
    ("Innodb_data_reads", None),
    ("Innodb_data_writes", None),
    ("Innodb_data_fsyncs", None),
    ("Innodb_data_read", None),
    ("Innodb_data_written", None),
    // Sessions that wait for a row, how long they waited in all (milliseconds), and deadlocks.
    ("Innodb_row_lock_waits", None),
    ("Innodb_row_lock_time", None),
    ("Innodb_row_lock_current_waits", Some(Meaning::SessionsWaitingForLocks)),
    ("Innodb_deadlocks", None),
    // Old versions of rows that nobody has purged yet, in transactions.
    ("Innodb_history_list_length", Some(Meaning::TransactionsToPurge)),
];

/// Samples the server's counters.
pub struct ServerSampler {
    info: ConnectionInfo,
    client: Option<Client>,
    series: Series,
    query: String,
}

impl ServerSampler {
    /// Tries to connect at once, so that this is done when the load begins; if it fails, the first sample will say so.
    #[must_use]
    pub fn new(info: &ConnectionInfo) -> Self {
        let own = ["sample_ms", "late_s"];
        let names = STATUS.map(|(name, _)| name);
        let meanings = STATUS.iter().filter_map(|(name, meaning)| Some((*name, (*meaning)?)));
        Self {
            client: info.connect_to_sample().ok(),
            info: info.clone(),
            series: Series::new("server.csv", names.into_iter().chain(own)).meaning(meanings),
            query: format!("show global status where variable_name in ('{}')", names.join("','")),
        }
    }

    fn read(&mut self) -> Result<HashMap<String, String>, ClientError> {
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(self.info.connect_to_sample()?),
        };
        let rows = client.query::<(String, String)>(&self.query);
        if matches!(rows, Err(ClientError::Lost(_))) {
            self.client = None;
        }
        Ok(rows?.into_iter().collect())
    }
}

impl Sampler for ServerSampler {
    fn subject(&self) -> &'static str {
        "the server's counters"
    }

    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn asks_server(&self) -> bool {
        true
    }

    fn sample(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let begin = Instant::now();
        let status = self.read().map_err(|error| SampleError(error.to_string()))?;
        let sample_ms = begin.elapsed().as_secs_f64() * 1e3;
        let number = |(name, _): &(&str, _)| {
            let number = status.get(*name)?.parse::<f64>().ok()?;
            let own = if *name == RUNNING { 1.0 } else { 0.0 };
            Some((number - own).max(0.0))
        };
        let own = [Some(sample_ms), Some(moment.late.as_secs_f64())];
        let values: Vec<Value> = STATUS.iter().map(number).chain(own).map(Value::from).collect();
        sink.row(moment, &self.series, &values);
        Ok(())
    }
}
