//! The server's cumulative statistics: `server.csv`.
//!
//! Their columns differ from version to version, so they are taken from the server's catalogue: every number in
//! these views is sampled under the name `view.column`, which is where its meaning is documented.

use super::checkpoints::CheckpointCounters;
use super::link::{APPLICATION_NAME, Link};
use crate::postgres::Client;
use crate::postgres::address::ConnectionInfo;
use crate::postgres::server_message;
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Meaning, Series, Value};
use postgres::Statement;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Views with one row, the first version that has them, and the condition that leaves one row.
const VIEWS: [(&str, u32, &str); 4] = [
    ("pg_stat_database", 90_300, "where datname = current_database()"),
    ("pg_stat_bgwriter", 90_300, ""),
    ("pg_stat_wal", 140_000, ""),
    ("pg_stat_checkpointer", 170_000, ""),
];

/// What columns mean. Version 17 moved what checkpoints write from `pg_stat_bgwriter` to `pg_stat_checkpointer`, and
/// what sessions write to `pg_stat_io`, which 16 has beside the old column.
const MEANINGS: [(&str, Meaning); 18] = [
    ("wal_position_bytes", Meaning::LogBytes),
    ("pg_stat_wal.wal_fpi", Meaning::LogPageImages),
    (
        "pg_stat_checkpointer.buffers_written",
        Meaning::PagesWrittenByCheckpoints,
    ),
    (
        "pg_stat_bgwriter.buffers_checkpoint",
        Meaning::PagesWrittenByCheckpoints,
    ),
    ("pg_stat_bgwriter.buffers_clean", Meaning::PagesWrittenByBackground),
    ("pg_stat_bgwriter.buffers_backend", Meaning::PagesWrittenBySessions),
    ("pg_stat_io.client_backend.writes", Meaning::PagesWrittenBySessions),
    ("pg_stat_database.blks_read", Meaning::PagesRead),
    ("sessions.active", Meaning::SessionsActive),
    ("sessions.idle_in_transaction", Meaning::SessionsIdleInTransaction),
    ("locks.waiting", Meaning::SessionsWaitingForLocks),
    ("replication.lag_bytes", Meaning::StandbyLagBytes),
    ("standby.behind_bytes", Meaning::OwnLagBytes),
    ("standby.behind_s", Meaning::StandbyLagS),
    ("wal_position_bytes", Meaning::FollowedPosition),
    ("wal_position_bytes", Meaning::FollowedBytes),
    ("standby.executed_position_bytes", Meaning::ExecutedPosition),
    ("sample_ms", Meaning::SampleMs),
];

/// The kinds of processes that `pg_stat_io` is summed for: those whose input and output a load brings about.
const IO_BACKENDS: [&str; 6] = [
    "client backend",
    "checkpointer",
    "background writer",
    "autovacuum worker",
    "background worker",
    "walwriter",
];

/// Samples `pg_stat_database` (of the connected database), `pg_stat_bgwriter`, `pg_stat_wal`,
/// `pg_stat_checkpointer`, `pg_stat_io`, the position in the write-ahead log, sessions by state, and how far
/// standbys are behind.
pub(super) struct ServerSampler {
    link: Link<Statement>,
    /// Found out on the first connection, and the same from then on.
    query: Arc<Mutex<Option<Query>>>,
    series: Option<Series>,
    /// Without the server's log, checkpoints are seen in counters.
    checkpoints: Option<CheckpointCounters>,
}

/// One row with everything that this server counts.
#[derive(Clone, Debug)]
struct Query {
    sql: String,
    columns: Vec<String>,
    warnings: Vec<String>,
}

impl ServerSampler {
    pub(super) fn new(info: &ConnectionInfo, checkpoints: bool) -> Self {
        let query = Arc::new(Mutex::new(None::<Query>));
        let known = Arc::clone(&query);
        let link = Link::new(info, move |client, version| {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let query = match &mut *known {
                Some(query) => query,
                none => none.insert(Query::compose(client, version)?),
            };
            client.prepare(&query.sql)
        });
        Self {
            link,
            query,
            series: None,
            checkpoints: checkpoints.then(CheckpointCounters::default),
        }
    }

    /// The columns, once they are known; what could not be included is said then.
    fn series(&mut self, sink: &mut dyn Sink) -> Option<&Series> {
        if self.series.is_none() {
            let query = self.query.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
            query.warnings.into_iter().for_each(|warning| sink.warn(warning));
            let columns = query
                .columns
                .into_iter()
                .chain(["sample_ms", "late_s"].map(str::to_owned));
            self.series = Some(Series::new("server.csv", columns).meaning(MEANINGS));
        }
        self.series.as_ref()
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
        let row = self.link.with(|client, statement| client.query_one(&*statement, &[]))?;
        let sample_ms = begin.elapsed().as_secs_f64() * 1e3;
        let numbers: Result<Vec<Option<f64>>, _> = (0..row.len()).map(|index| row.try_get(index)).collect();
        let numbers = numbers.map_err(|error| SampleError(server_message(&error)))?;
        let mut checkpoints = self.checkpoints.take();
        if let Some(series) = self.series(sink) {
            let own = [Some(sample_ms), Some(moment.late.as_secs_f64())];
            let values: Vec<Value> = numbers.iter().copied().chain(own).map(Value::from).collect();
            sink.row(moment, series, &values);
            if let Some(checkpoints) = &mut checkpoints {
                checkpoints.advance(moment, &series.columns, &numbers, sink);
            }
        }
        self.checkpoints = checkpoints;
        Ok(())
    }

    fn finish(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let result = self.sample(moment, sink);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.finish(sink);
        }
        result
    }
}

impl Query {
    /// Finds out what this server counts and this role may read. What may not be read is left out with a warning.
    fn compose(client: &mut Client, version: u32) -> Result<Self, postgres::Error> {
        let mut query = Self {
            sql: String::new(),
            columns: Vec::new(),
            warnings: Vec::new(),
        };
        let mut selected = Vec::new();
        let mut sources = Vec::new();
        let mut parts = vec![(
            "wal".to_owned(),
            format!("select {} as wal_position_bytes", wal_position(version)),
            vec![("wal_position_bytes".to_owned(), "wal_position_bytes".to_owned())],
        )];
        for (view, since, condition) in VIEWS {
            if version >= since {
                let columns = number_columns(client, view)?.into_iter();
                let columns = columns.map(|name| (format!("{view}.{name}"), name)).collect();
                parts.push((view.to_owned(), format!("select * from {view} {condition}"), columns));
            }
        }
        parts.push(sessions(version));
        if version >= 160_000 {
            parts.push(input_output(client)?);
        }
        parts.push((
            "replication".to_owned(),
            replication(version),
            vec![("replication.lag_bytes".to_owned(), "lag_bytes".to_owned())],
        ));
        let standby = client.query_one("select pg_is_in_recovery()", &[])?;
        if standby.get(0) && version >= 100_000 {
            parts.push(behind());
        }
        for (name, source, columns) in parts {
            if let Err(error) = client.query(&format!("{source} limit 1"), &[]) {
                if error.as_db_error().is_none() {
                    return Err(error);
                }
                query.warnings.push(format!(
                    "{name} is not sampled, because the server refuses it: {}. Use a role that may read it.",
                    server_message(&error)
                ));
                continue;
            }
            for (column, inner) in columns {
                selected.push(format!("{name}.\"{inner}\"::float8"));
                query.columns.push(column);
            }
            sources.push(format!("({source}) as {name}"));
        }
        query.sql = format!("select {} from {}", selected.join(", "), sources.join(", "));
        Ok(query)
    }
}

/// A part of the query: its name, its SQL for one row, and its columns by the name they are sampled under.
type Part = (String, String, Vec<(String, String)>);

/// The end of the write-ahead log in bytes since its beginning; on a standby, what has been replayed. Functions
/// were renamed in version 10.
fn wal_position(version: u32) -> String {
    let end = wal_end(version);
    if version >= 100_000 {
        format!("pg_wal_lsn_diff({end}, '0/0')")
    } else {
        format!("pg_xlog_location_diff({end}, '0/0')")
    }
}

fn wal_end(version: u32) -> &'static str {
    if version >= 100_000 {
        "case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end"
    } else {
        "case when pg_is_in_recovery() then pg_last_xlog_replay_location() else pg_current_xlog_location() end"
    }
}

/// How far the slowest standby is behind in replaying; null without standbys, and for roles that may not see it.
fn replication(version: u32) -> String {
    let end = wal_end(version);
    if version >= 100_000 {
        format!("select max(pg_wal_lsn_diff({end}, replay_lsn)) as lag_bytes from pg_stat_replication")
    } else {
        format!("select max(pg_xlog_location_diff({end}, replay_location)) as lag_bytes from pg_stat_replication")
    }
}

/// How far this server, a standby, is behind: in the log that its primary has told it of, and in time. One that has
/// executed all of it is not, however long nothing has happened. That its primary tells it nothing, it does not know;
/// so there are the positions, too, which can be held against the primary's.
fn behind() -> Part {
    let known = "greatest(pg_last_wal_receive_lsn(), (select latest_end_lsn from pg_stat_wal_receiver))";
    let source = format!(
        "select greatest(pg_wal_lsn_diff({known}, pg_last_wal_replay_lsn()), 0) as bytes, case when {known} <= \
         pg_last_wal_replay_lsn() then 0 else extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) \
         end as seconds, pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0') as received, \
         pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') as executed"
    );
    let columns = [
        ("standby.behind_bytes", "bytes"),
        ("standby.behind_s", "seconds"),
        ("standby.received_position_bytes", "received"),
        ("standby.executed_position_bytes", "executed"),
    ];
    let columns = columns.map(|(name, inner)| (name.to_owned(), inner.to_owned()));
    ("standby".to_owned(), source, columns.to_vec())
}

/// How many sessions are in which state, and wait for a lock. The function under `pg_stat_activity` saves the
/// view's joins; the view `pg_locks` would stop the lock manager for a moment.
fn sessions(version: u32) -> Part {
    let waiting = if version >= 90_600 {
        "wait_event_type = 'Lock'"
    } else {
        "waiting"
    };
    let count = |condition: &str, name: &str| format!("count(case when {condition} then 1 end) as {name}");
    let counts = [
        count(waiting, "locks_waiting"),
        count("state in ('active', 'fastpath function call')", "active"),
        count("state = 'idle'", "idle"),
        count("state like 'idle in transaction%'", "idle_in_transaction"),
    ];
    let source = format!(
        "select {} from pg_stat_get_activity(null) where application_name is distinct from '{APPLICATION_NAME}'",
        counts.join(", ")
    );
    let columns = [
        ("locks.waiting", "locks_waiting"),
        ("sessions.active", "active"),
        ("sessions.idle", "idle"),
        ("sessions.idle_in_transaction", "idle_in_transaction"),
    ];
    let columns = columns.map(|(name, inner)| (name.to_owned(), inner.to_owned()));
    ("sessions".to_owned(), source, columns.to_vec())
}

/// `pg_stat_io` summed by kind of process. Which combinations exist never changes, so those that do not are left out.
fn input_output(client: &mut Client) -> Result<Part, postgres::Error> {
    let names = number_columns(client, "pg_stat_io")?;
    // A constant of early versions.
    let names: Vec<String> = names.into_iter().filter(|name| name != "op_bytes").collect();
    let counts: Vec<String> = names.iter().map(|name| format!("count(\"{name}\")")).collect();
    let known = client.query(
        &format!("select backend_type, {} from pg_stat_io group by 1", counts.join(", ")),
        &[],
    )?;
    let mut sums = Vec::new();
    let mut columns = Vec::new();
    for backend in IO_BACKENDS {
        let Some(row) = known.iter().find(|row| row.get::<_, String>(0) == backend) else {
            continue;
        };
        for (index, name) in names.iter().enumerate() {
            if row.get::<_, i64>(index + 1) > 0 {
                let inner = format!("c{}", sums.len());
                sums.push(format!(
                    "sum(\"{name}\") filter (where backend_type = '{backend}') as {inner}"
                ));
                columns.push((format!("pg_stat_io.{}.{name}", backend.replace(' ', "_")), inner));
            }
        }
    }
    let source = format!("select {} from pg_stat_io", sums.join(", "));
    Ok(("pg_stat_io".to_owned(), source, columns))
}

/// The columns of a view that hold numbers.
pub(super) fn number_columns(client: &mut Client, view: &str) -> Result<Vec<String>, postgres::Error> {
    let rows = client.query(
        "select a.attname::text
           from pg_attribute a
          where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped
            and a.atttypid in ('int4'::regtype, 'int8'::regtype, 'float8'::regtype, 'numeric'::regtype)
          order by a.attnum",
        &[&view],
    )?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
