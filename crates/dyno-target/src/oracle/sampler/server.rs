//! The server's counters: `server.csv`.
//!
//! The columns of `v$sysstat` have the names of the statistics ("Statistics Descriptions" in the Reference), those of
//! `v$system_event` have `event.` before the event's name and behind it `.waits` or `.us`, those of `v$sysmetric`,
//! which are means of the last 15 seconds, `metric.`, and those of `v$osstat` `os.`. The server's CPU time is that of
//! `v$sys_time_model`: what `v$sysstat` calls `CPU used by this session` leaves the server's own processes out, and
//! grows at the end of a call only. None of these views needs the Diagnostics Pack, and 12.1 has all columns that are
//! read of them. Each view is asked for one wide row, so that a sample takes one question and one answer a view. Which
//! statistics there are differs between versions, so that is asked first.

use super::activity::measured;
use super::events::Switches;
use super::link::Link;
use crate::oracle::address::ConnectionInfo;
use crate::oracle::{Client, ClientError};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Meaning, Series, Value};
use std::time::{Duration, Instant};

/// What is sampled of `v$sysstat`, with what it means as far as that is asked for.
const STATISTICS: [(&str, Option<Meaning>); 44] = [
    ("user commits", None),
    ("user rollbacks", None),
    ("user calls", None),
    ("execute count", None),
    ("parse count (total)", None),
    ("parse count (hard)", None),
    ("session cursor cache hits", None),
    ("opened cursors cumulative", None),
    ("logons current", None),
    // Hundredths of a second.
    ("CPU used by this session", None),
    ("DB time", None),
    // The log.
    ("redo size", Some(Meaning::LogBytes)),
    ("redo entries", None),
    ("redo writes", None),
    ("redo write time", None),
    ("redo synch writes", None),
    ("redo synch time (usec)", None),
    ("redo log space requests", None),
    ("redo log space wait time", None),
    ("redo buffer allocation retries", None),
    // Blocks: asked for, read because they were not in the cache, changed, written.
    ("session logical reads", None),
    ("consistent gets", None),
    ("db block gets", None),
    ("db block changes", None),
    ("physical reads cache", Some(Meaning::PagesRead)),
    ("physical reads", Some(Meaning::PagesRead)),
    ("physical read total bytes", None),
    ("physical writes", Some(Meaning::PagesWritten)),
    ("physical writes from cache", None),
    ("physical write total bytes", None),
    ("free buffer requested", None),
    ("free buffer inspected", None),
    ("dirty buffers inspected", None),
    ("DBWR checkpoint buffers written", None),
    (STARTED, None),
    (COMPLETED, None),
    ("undo change vector size", None),
    ("transaction rollbacks", None),
    ("enqueue waits", None),
    ("enqueue deadlocks", None),
    ("enqueue timeouts", None),
    ("bytes received via SQL*Net from client", None),
    ("bytes sent via SQL*Net to client", None),
    ("SQL*Net roundtrips to/from client", None),
];

/// Checkpoints that the server has begun and come to an end with.
const STARTED: &str = "background checkpoints started";
const COMPLETED: &str = "background checkpoints completed";

/// What is sampled of `v$system_event`: what commits, full logs and storage make wait.
const EVENTS: [&str; 12] = [
    "log file sync",
    "log file parallel write",
    "log file switch (checkpoint incomplete)",
    "log file switch (archiving needed)",
    "log file switch completion",
    "log buffer space",
    "free buffer waits",
    "buffer busy waits",
    "db file sequential read",
    "db file parallel write",
    "enq: TX - row lock contention",
    "enq: TM - contention",
];

/// What is sampled of `v$sysmetric`, of the group of 15 seconds.
const METRICS: [&str; 4] = [
    "Host CPU Utilization (%)",
    "Average Active Sessions",
    "Database Wait Time Ratio",
    "Average Synchronous Single-Block Read Latency",
];

/// The log since the last checkpoint, in blocks of the log, and how much there may be before a switch has to wait for
/// one; with the size of such a block.
const RECOVERY: &str = "select r.actual_redo_blks * l.blocksize, r.log_file_size_redo_blks * l.blocksize, \
                        r.estimated_mttr from v$instance_recovery r cross join (select max(blocksize) blocksize from \
                        v$log) l";

/// Its columns.
const RECOVERY_COLUMNS: [(&str, Option<Meaning>); 3] = [
    ("log.since_checkpoint_bytes", Some(Meaning::LogSinceCheckpointBytes)),
    (
        "log.since_checkpoint_limit_bytes",
        Some(Meaning::LogSinceCheckpointLimitBytes),
    ),
    ("log.estimated_recovery_s", None),
];

/// The CPU time that the server took by its own account, of sessions and of its own processes. It is published at least
/// every five seconds of an operation that takes long.
const CPU: &str = "select sum(value) / 1000000 from v$sys_time_model where stat_name in ('DB CPU', 'background cpu \
                   time')";

/// Its column.
const CPU_COLUMNS: [(&str, Option<Meaning>); 1] = [("time.cpu_s", Some(Meaning::ServerCpuS))];

/// What is sampled of `v$osstat`, of the server's machine: hundredths of a second of all its CPUs, and their number.
const MACHINE: [&str; 7] = [
    "NUM_CPUS",
    "LOAD",
    "BUSY_TIME",
    "IDLE_TIME",
    "USER_TIME",
    "SYS_TIME",
    "IOWAIT_TIME",
];

/// The group of the log that is written, how many of all groups hold what is not yet in the data files, and all.
const LOGS: &str = "select max(case when status = 'CURRENT' then sequence# end), sum(case when status = 'ACTIVE' then \
                    1 else 0 end), count(*), max(bytes) from v$log";

/// Its columns.
const LOG_COLUMNS: [(&str, Option<Meaning>); 4] = [
    (SEQUENCE, None),
    ("log.active_groups", None),
    ("log.groups", None),
    ("log.group_bytes", None),
];

/// The number of the log's group that is written.
const SEQUENCE: &str = "log.sequence";

/// What sessions do.
const SESSION_COLUMNS: [(&str, Option<Meaning>); 4] = [
    ("sessions.all", None),
    ("sessions.active", Some(Meaning::SessionsActive)),
    ("sessions.idle_in_transaction", Some(Meaning::SessionsIdleInTransaction)),
    ("sessions.waiting_for_locks", Some(Meaning::SessionsWaitingForLocks)),
];

/// Samples the server's counters.
pub(super) struct ServerSampler {
    link: Link,
    user: String,
    /// Found out with the first sample, and the same from then on.
    source: Option<Source>,
    switches: Switches,
}

/// What a server counts and this user may read.
struct Source {
    series: Series,
    /// Each gives one row, whose values are those of some columns.
    queries: Vec<(String, usize)>,
}

impl ServerSampler {
    pub(super) fn new(info: &ConnectionInfo) -> Self {
        let (mut link, user) = (Link::new(info), info.schema());
        let source = link.with(|client| Source::of(client, &user)).ok();
        Self {
            link,
            user,
            source,
            switches: Switches::default(),
        }
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
                let user = &self.user;
                self.source.insert(self.link.with(|client| Source::of(client, user))?)
            }
        };
        let numbers = self.link.with(|client| source.read(client))?;
        let number = |name: &str| {
            let index = source.series.columns.iter().position(|column| column == name)?;
            numbers.get(index).copied().flatten()
        };
        self.switches
            .seen(moment, [SEQUENCE, STARTED, COMPLETED].map(number), sink);
        let own = [begin.elapsed().as_secs_f64() * 1e3, moment.late.as_secs_f64()];
        let values: Vec<Value> = numbers.iter().copied().chain(own.map(Some)).map(Value::from).collect();
        sink.row(moment, &source.series, &values);
        Ok(())
    }

    fn finish(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let result = self.sample(moment, sink);
        self.switches.finish(sink);
        result
    }
}

impl Source {
    /// Finds out what this server counts and this user may read.
    fn of(client: &mut Client, user: &str) -> Result<Self, ClientError> {
        let mut columns = Vec::new();
        let mut meanings = Vec::new();
        let mut queries = Vec::new();
        let mut add = |query: String, named: Vec<(String, Option<Meaning>)>| {
            if named.is_empty() {
                return;
            }
            queries.push((query, named.len()));
            for (name, meaning) in named {
                meanings.extend(meaning.map(|meaning| (name.clone(), meaning)));
                columns.push(name);
            }
        };
        let owned = |named: &[(&str, Option<Meaning>)]| {
            let named = named.iter().map(|(name, meaning)| ((*name).to_owned(), *meaning));
            named.collect::<Vec<_>>()
        };
        let there = known(client, "v$sysstat", "name", STATISTICS.iter().map(|(name, _)| *name))?;
        let statistics: Vec<_> = STATISTICS
            .into_iter()
            .filter(|(name, _)| there.iter().any(|one| one == name))
            .collect();
        let names = statistics.iter().map(|(name, _)| *name);
        add(wide("v$sysstat", "name", "value", names, ""), owned(&statistics));
        if allowed(client, RECOVERY)? {
            add(RECOVERY.to_owned(), owned(&RECOVERY_COLUMNS));
        }
        if allowed(client, LOGS)? {
            add(LOGS.to_owned(), owned(&LOG_COLUMNS));
        }
        if allowed(client, CPU)? {
            add(CPU.to_owned(), owned(&CPU_COLUMNS));
        }
        let machine = known(client, "v$osstat", "stat_name", MACHINE.into_iter())?;
        let names = machine.iter().map(String::as_str);
        add(
            wide("v$osstat", "stat_name", "value", names.clone(), ""),
            names.map(|name| (format!("os.{name}"), None)).collect(),
        );
        let sessions = sessions(user);
        if allowed(client, &sessions)? {
            add(sessions, owned(&SESSION_COLUMNS));
        }
        // An event that has not happened yet is in no row of the view.
        if !known(client, "v$system_event", "event", EVENTS.into_iter())?.is_empty() {
            for (value, unit) in [("total_waits", "waits"), ("time_waited_micro", "us")] {
                let named = EVENTS.iter().map(|name| (format!("event.{name}.{unit}"), None));
                add(
                    wide("v$system_event", "event", value, EVENTS.into_iter(), ""),
                    named.collect(),
                );
            }
        }
        let metrics = known(client, "v$sysmetric", "metric_name", METRICS.into_iter())?;
        let names: Vec<&str> = metrics.iter().map(String::as_str).collect();
        let named = names.iter().map(|name| (format!("metric.{name}"), None));
        add(
            wide(
                "v$sysmetric",
                "metric_name",
                "value",
                names.iter().copied(),
                " and group_id = 3",
            ),
            named.collect(),
        );
        let all = columns
            .iter()
            .cloned()
            .chain(["sample_ms", "late_s"].map(str::to_owned));
        let meanings = meanings.iter().map(|(name, meaning)| (name.as_str(), *meaning));
        Ok(Self {
            series: Series::new("server.csv", all).meaning(meanings),
            queries,
        })
    }

    /// What it counts now: a number for each column.
    fn read(&self, client: &mut Client) -> Result<Vec<Option<f64>>, ClientError> {
        let mut numbers = Vec::new();
        for (query, width) in &self.queries {
            let row = client.first_row(query)?.unwrap_or_default();
            let each = (0..*width).map(|index| row.get(index)?.as_deref()?.parse().ok());
            numbers.extend(each);
        }
        Ok(numbers)
    }
}

/// Those of these names that a view has rows of; none if this user may not read it.
fn known<'a>(
    client: &mut Client,
    view: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<Vec<String>, ClientError> {
    let query = format!("select distinct {name} from {view} where {name} in ({})", listed(names));
    match client.query(&query) {
        Err(ClientError::Server(_)) => Ok(Vec::new()),
        found => found,
    }
}

/// Whether this user may ask so.
fn allowed(client: &mut Client, query: &str) -> Result<bool, ClientError> {
    match client.first_row(query) {
        Ok(row) => Ok(row.is_some()),
        Err(ClientError::Server(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The values of these names as one row, in this order.
fn wide<'a>(view: &str, name: &str, value: &str, names: impl Iterator<Item = &'a str> + Clone, more: &str) -> String {
    let each = names
        .clone()
        .map(|one| format!("max(case when {name} = {} then {value} end)", literal(one)));
    format!(
        "select {} from {view} where {name} in ({}){more}",
        each.collect::<Vec<_>>().join(", "),
        listed(names)
    )
}

/// What sessions do: how many there are, are at work, hold a transaction and do nothing, and wait for locks.
fn sessions(user: &str) -> String {
    let measured = measured("s", user);
    format!(
        "select count(*), sum(case when s.status = 'ACTIVE' and s.wait_class <> 'Idle' then 1 else 0 end), sum(case \
         when s.status = 'INACTIVE' and s.taddr is not null then 1 else 0 end), sum(case when {measured} and s.status \
         = 'ACTIVE' and s.state = 'WAITING' and s.event like 'enq:%' then 1 else 0 end) from v$session s where s.type \
         = 'USER'"
    )
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(literal).collect::<Vec<_>>().join(", ")
}

fn literal(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_asked_for_one_row() {
        assert_eq!(
            wide("v", "n", "x", ["a", "b's"].into_iter(), ""),
            "select max(case when n = 'a' then x end), max(case when n = 'b''s' then x end) from v where n in ('a', \
             'b''s')"
        );
    }
}
