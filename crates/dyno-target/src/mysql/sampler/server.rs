//! The server's counters: `server.csv`.
//!
//! The names of the columns are the server's own, under which its manual documents them: those of `SHOW GLOBAL STATUS`
//! ("Server Status Variables"), and with `innodb_metrics.` before them those of `INFORMATION_SCHEMA.INNODB_METRICS`.
//! Which of them there are differs from server to server, so that is asked first. Counters count since the server's
//! start; the others are as they are now. The sampler's own session runs whenever it looks, and is left out of those
//! that run.

use super::link::{Link, OwnSessions};
use super::replication::{self, EXECUTED_POSITION, LAG, LAG_BYTES, POSITION, RECEIVED_POSITION, SNAPSHOT};
use super::survey::Survey;
use crate::mysql::address::ConnectionInfo;
use crate::mysql::{Client, ClientError};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Meaning, Series, Value};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The sessions that execute something.
const RUNNING: &str = "Threads_running";

/// What is sampled of `SHOW GLOBAL STATUS`, where it is there, with what it means as far as that is asked for.
const STATUS: [(&str, Option<Meaning>); 52] = [
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
    ("Aborted_clients", None),
    // Temporary tables, and those of them that went to disk.
    ("Created_tmp_tables", None),
    ("Created_tmp_disk_tables", None),
    // The log: bytes, writes, and how often a session had to wait for room in its buffer.
    ("Innodb_os_log_written", Some(Meaning::LogBytes)),
    ("Innodb_log_writes", None),
    ("Innodb_log_waits", None),
    // Bytes of log since the last checkpoint, and how many there may be before all writing waits for one: MariaDB says
    // it so, MySQL as positions and a size (see `derived`).
    ("Innodb_checkpoint_age", Some(Meaning::LogSinceCheckpointBytes)),
    ("Innodb_checkpoint_max_age", Some(Meaning::LogSinceCheckpointLimitBytes)),
    (LOG_NOW, None),
    (LOG_CHECKPOINT, None),
    (LOG_CAPACITY, None),
    // Pages in the buffer pool: asked for, read from disk because they were not there, dirty now, written.
    ("Innodb_buffer_pool_read_requests", None),
    ("Innodb_buffer_pool_reads", Some(Meaning::PagesRead)),
    ("Innodb_buffer_pool_read_ahead", None),
    ("Innodb_buffer_pool_pages_dirty", Some(Meaning::PagesDirty)),
    ("Innodb_buffer_pool_pages_flushed", Some(Meaning::PagesWritten)),
    ("Innodb_buffer_pool_pages_data", None),
    ("Innodb_buffer_pool_pages_free", None),
    ("Innodb_buffer_pool_wait_free", None),
    // What the data files were asked for, and what of it is under way.
    ("Innodb_data_reads", None),
    ("Innodb_data_writes", None),
    ("Innodb_data_fsyncs", None),
    ("Innodb_data_read", None),
    ("Innodb_data_written", None),
    ("Innodb_data_pending_reads", None),
    ("Innodb_data_pending_writes", None),
    ("Innodb_data_pending_fsyncs", None),
    ("Innodb_os_log_fsyncs", None),
    // Sessions that wait for a row, how long they waited in all (milliseconds), and deadlocks.
    ("Innodb_row_lock_waits", None),
    ("Innodb_row_lock_time", None),
    ("Innodb_row_lock_current_waits", Some(Meaning::SessionsWaitingForLocks)),
    ("Innodb_deadlocks", None),
    // Old versions of rows that nobody has purged yet, in transactions.
    ("Innodb_history_list_length", Some(Meaning::TransactionsToPurge)),
    // The log that standbys follow.
    ("Binlog_bytes_written", Some(Meaning::FollowedBytes)),
    // Commits that wait for a standby.
    ("Rpl_semi_sync_master_clients", None),
    ("Rpl_semi_sync_master_wait_sessions", None),
    ("Rpl_semi_sync_source_clients", None),
    ("Rpl_semi_sync_source_wait_sessions", None),
];

/// Positions in MySQL's log, and how much it may hold (from 8.0.30 on).
const LOG_NOW: &str = "Innodb_redo_log_current_lsn";
const LOG_CHECKPOINT: &str = "Innodb_redo_log_checkpoint_lsn";
const LOG_CAPACITY: &str = "Innodb_redo_log_capacity_resized";

/// How much of the capacity is used before every change waits: the server keeps two of 32 parts for itself, and a
/// twentieth of the rest for those who have begun (MySQL 8.0.30, `log0files_capacity.cc`,
/// `innodb_log_extra_writer_margin`).
const USABLE_SHARE: f64 = 30.0 / 32.0 * 0.95;

/// What follows from these positions.
const LOG_AGE: &str = "redo_log.checkpoint_age";
const LOG_LIMIT: &str = "redo_log.capacity";

/// What is sampled of `INNODB_METRICS`, as far as the server counts it. Which of them are counted from the start is the
/// server's choice; others can be with `innodb_monitor_enable`.
const METRICS: [(&str, Option<Meaning>); 14] = [
    // MySQL has no status for it.
    ("trx_rseg_history_len", Some(Meaning::TransactionsToPurge)),
    ("purge_del_mark_records", None),
    ("purge_upd_exist_or_extern_records", None),
    ("purge_dml_delay_usec", None),
    // Pages written because the log fills up: so many that writing waits, steadily, or because there is time.
    ("buffer_flush_sync_waits", None),
    ("buffer_flush_sync_total_pages", None),
    ("buffer_flush_adaptive_total_pages", None),
    ("buffer_flush_background_total_pages", None),
    ("buffer_LRU_batch_flush_total_pages", None),
    ("buffer_LRU_batch_evict_total_pages", None),
    ("log_checkpoints", None),
    ("log_lsn_checkpoint_age", None),
    ("log_max_modified_age_sync", None),
    ("lock_timeouts", None),
];

/// The metrics that are counted, as each of the servers tells it.
const ENABLED: [&str; 2] = ["enabled = 1", "status = 'enabled'"];

/// The sessions that have a transaction open and do nothing.
const IDLE: &str = "sessions.idle_in_transaction";

/// How many they are: a transaction that is at work has a statement.
const COUNT_IDLE: &str = "select count(*) from information_schema.innodb_trx where trx_state = 'RUNNING' and trx_query \
                          is null and trx_mysql_thread_id <> 0";

/// Samples the server's counters.
pub(super) struct ServerSampler {
    link: Link,
    survey: Survey,
    /// Found out with the first sample, and the same from then on.
    source: Option<Source>,
}

/// What a server counts.
struct Source {
    series: Series,
    /// Without the sampler's own.
    columns: Vec<String>,
    status: String,
    metrics: Option<String>,
    /// Whether it follows another server.
    lag: Option<&'static str>,
    idle: bool,
}

/// Numbers by the columns that they belong to.
type Numbers = HashMap<String, f64>;

impl ServerSampler {
    pub(super) fn new(info: &ConnectionInfo, own: &OwnSessions, survey: Survey) -> Self {
        let mut link = Link::new(info, own);
        let source = link.with(|client| Source::of(client, survey)).ok();
        Self { link, survey, source }
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
        let source = match &self.source {
            Some(source) => source,
            None => {
                let survey = self.survey;
                self.source.insert(self.link.with(|client| Source::of(client, survey))?)
            }
        };
        let numbers = self.link.with(|client| source.read(client))?;
        let own = [begin.elapsed().as_secs_f64() * 1e3, moment.late.as_secs_f64()];
        let known = source.columns.iter().map(|column| numbers.get(column).copied());
        let values: Vec<Value> = known.chain(own.map(Some)).map(Value::from).collect();
        sink.row(moment, &source.series, &values);
        Ok(())
    }
}

impl Source {
    /// Finds out what this server counts and this role may read.
    fn of(client: &mut Client, survey: Survey) -> Result<Self, ClientError> {
        let counted = client.query::<(String, String)>("show global status")?;
        let counted: HashMap<String, String> = counted.into_iter().collect();
        let mut meanings = Vec::new();
        let mut columns = Vec::new();
        let mut add = |name: String, meaning: Option<Meaning>| {
            meanings.extend(meaning.map(|meaning| (name.clone(), meaning)));
            columns.push(name);
        };
        let status: Vec<_> = STATUS.iter().filter(|(name, _)| counted.contains_key(*name)).collect();
        for (name, meaning) in &status {
            add((*name).to_owned(), *meaning);
        }
        if [LOG_NOW, LOG_CHECKPOINT, LOG_CAPACITY]
            .iter()
            .all(|name| counted.contains_key(*name))
        {
            add(LOG_AGE.to_owned(), Some(Meaning::LogSinceCheckpointBytes));
            add(LOG_LIMIT.to_owned(), Some(Meaning::LogSinceCheckpointLimitBytes));
        }
        let metrics = if survey.sees_all { metrics(client)? } else { Vec::new() };
        for (name, meaning) in METRICS
            .iter()
            .filter(|(name, _)| metrics.iter().any(|metric| metric == name))
        {
            add(metric(name), *meaning);
        }
        // Without a log of changes there is nothing to follow, but the counters are there.
        let is_followed = log_position(&counted).is_some();
        if is_followed {
            add(POSITION.to_owned(), Some(Meaning::FollowedPosition));
        }
        let lag = replication::source(client)?;
        if lag.is_some() {
            add(LAG.to_owned(), Some(Meaning::StandbyLagS));
            add(LAG_BYTES.to_owned(), Some(Meaning::OwnLagBytes));
            add(RECEIVED_POSITION.to_owned(), None);
            add(EXECUTED_POSITION.to_owned(), Some(Meaning::ExecutedPosition));
        }
        if survey.sees_all {
            add(IDLE.to_owned(), Some(Meaning::SessionsIdleInTransaction));
        }
        let all = columns
            .iter()
            .cloned()
            .chain(["sample_ms", "late_s"].map(str::to_owned));
        let meanings = meanings.iter().map(|(name, meaning)| (name.as_str(), *meaning));
        let meanings = meanings.chain([("sample_ms", Meaning::SampleMs)]);
        let places = SNAPSHOT.iter().filter(|_| is_followed).copied();
        Ok(Self {
            series: Series::new("server.csv", all).meaning(meanings),
            status: format!(
                "show global status where variable_name in ({})",
                listed(status.iter().map(|(name, _)| *name).chain(places))
            ),
            metrics: (!metrics.is_empty()).then(|| {
                format!(
                    "select name, count from information_schema.innodb_metrics where name in ({})",
                    listed(metrics.iter().map(String::as_str))
                )
            }),
            columns,
            lag,
            idle: survey.sees_all,
        })
    }

    /// What it counts now.
    fn read(&self, client: &mut Client) -> Result<Numbers, ClientError> {
        let status: HashMap<String, String> = client.query(&self.status)?.into_iter().collect();
        let position = log_position(&status);
        let parsed = status
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)));
        let mut numbers: Numbers = parsed.collect();
        numbers.extend(position.map(|position| (POSITION.to_owned(), position)));
        if let Some(running) = numbers.get_mut(RUNNING) {
            *running = (*running - 1.0).max(0.0);
        }
        derive(&mut numbers);
        if let Some(query) = &self.metrics {
            let read = client.query::<(String, Option<f64>)>(query)?.into_iter();
            numbers.extend(read.filter_map(|(name, count)| Some((metric(&name), count?))));
        }
        if let Some(query) = self.lag {
            let lag = replication::lag(client, query)?;
            let columns = [LAG, LAG_BYTES, RECEIVED_POSITION, EXECUTED_POSITION];
            let values = [lag.seconds, lag.bytes, lag.received, lag.executed];
            let known = columns.into_iter().zip(values);
            numbers.extend(known.filter_map(|(column, value)| Some((column.to_owned(), value?))));
        }
        if self.idle
            && let Some(idle) = client.query_first(COUNT_IDLE)?
        {
            numbers.insert(IDLE.to_owned(), idle);
        }
        Ok(numbers)
    }
}

/// The column of a metric.
fn metric(name: &str) -> String {
    format!("innodb_metrics.{name}")
}

/// Adds what follows from positions in the log.
fn derive(numbers: &mut Numbers) {
    let of = |name: &str| numbers.get(name).copied();
    let (now, checkpoint, capacity) = (of(LOG_NOW), of(LOG_CHECKPOINT), of(LOG_CAPACITY));
    if let (Some(now), Some(checkpoint)) = (now, checkpoint) {
        numbers.insert(LOG_AGE.to_owned(), (now - checkpoint).max(0.0));
    }
    if let Some(capacity) = capacity {
        numbers.insert(LOG_LIMIT.to_owned(), (capacity * USABLE_SHARE).floor());
    }
}

/// The metrics of [`METRICS`] that this server counts.
fn metrics(client: &mut Client) -> Result<Vec<String>, ClientError> {
    let names = listed(METRICS.iter().map(|(name, _)| *name));
    for enabled in ENABLED {
        let query = format!("select name from information_schema.innodb_metrics where name in ({names}) and {enabled}");
        match client.query(&query) {
            Ok(found) => return Ok(found),
            // It has no such column, or this role may not read it.
            Err(ClientError::Server(_)) => {}
            Err(lost) => return Err(lost),
        }
    }
    Ok(Vec::new())
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}

/// Where the log of changes ends that replicas follow; `None` if there is none.
fn log_position(status: &HashMap<String, String>) -> Option<f64> {
    let [file, at] = SNAPSHOT.map(|name| status.get(name));
    replication::position(file?, at?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_checkpoint_follows_from_positions() {
        let mut numbers = Numbers::from([
            (LOG_NOW.to_owned(), 1_500.0),
            (LOG_CHECKPOINT.to_owned(), 1_000.0),
            (LOG_CAPACITY.to_owned(), 4_096.0),
        ]);
        derive(&mut numbers);
        assert_eq!((numbers[LOG_AGE], numbers[LOG_LIMIT]), (500.0, 3_648.0));
        let mut none = Numbers::new();
        derive(&mut none);
        assert!(none.is_empty());
    }

    #[test]
    fn names_are_listed_as_sql_takes_them() {
        assert_eq!(listed(["a", "b"].into_iter()), "'a', 'b'");
    }
}
