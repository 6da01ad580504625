//! Counters and sizes of the busiest tables over time: `tables.csv`.
//!
//! With thousands of tables a full reading would be felt, so it is done in two steps: one number for each table,
//! and then all numbers of those in which most has happened since the last time.

use super::link::Link;
use crate::postgres::address::ConnectionInfo;
use crate::postgres::scope::Scope;
use crate::postgres::server_message;
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Series, Value};
use postgres::{Row, Statement};
use std::collections::HashMap;
use std::time::Duration;

/// How many tables are named in each sample.
const BUSIEST: usize = 50;

/// Functions of `pg_stat_all_tables`, each with the column it is the source of. They are the same in all versions;
/// the view would add joins.
const COUNTERS: [(&str, &str); 15] = [
    ("seq_scan", "pg_stat_get_numscans"),
    ("seq_tup_read", "pg_stat_get_tuples_returned"),
    ("n_tup_ins", "pg_stat_get_tuples_inserted"),
    ("n_tup_upd", "pg_stat_get_tuples_updated"),
    ("n_tup_hot_upd", "pg_stat_get_tuples_hot_updated"),
    ("n_tup_del", "pg_stat_get_tuples_deleted"),
    ("n_live_tup", "pg_stat_get_live_tuples"),
    ("n_dead_tup", "pg_stat_get_dead_tuples"),
    ("vacuum_count", "pg_stat_get_vacuum_count"),
    ("autovacuum_count", "pg_stat_get_autovacuum_count"),
    ("analyze_count", "pg_stat_get_analyze_count"),
    ("autoanalyze_count", "pg_stat_get_autoanalyze_count"),
    ("blks_fetched", "pg_stat_get_blocks_fetched"),
    ("blks_hit", "pg_stat_get_blocks_hit"),
    ("idx_scan", ""),
];

const SIZES: [&str; 2] = ["table_bytes", "index_bytes"];

/// Samples tables.
pub(super) struct TablesSampler {
    link: Link<(Statement, Statement)>,
    series: Series,
    /// How much had happened in each table when it was read last.
    activity: HashMap<u32, f64>,
}

impl TablesSampler {
    pub(super) fn new(info: &ConnectionInfo, scope: &Scope) -> Self {
        let activity = activity(scope);
        let columns = std::iter::once("table")
            .chain(COUNTERS.iter().map(|(column, _)| *column))
            .chain(SIZES);
        Self {
            link: Link::new(info, move |client, _| {
                Ok((client.prepare(&activity)?, client.prepare(&details())?))
            }),
            series: Series::new("tables.csv", columns),
            activity: HashMap::new(),
        }
    }

    /// The tables in which most has happened since the last time; the first time, ever.
    fn busiest(&mut self, all: &[(u32, f64)]) -> Vec<u32> {
        let mut since: Vec<(u32, f64)> = all
            .iter()
            .map(|(table, now)| (*table, now - self.activity.get(table).copied().unwrap_or(0.0)))
            .filter(|(_, since)| *since > 0.0)
            .collect();
        self.activity = all.iter().copied().collect();
        since.sort_by(|a, b| b.1.total_cmp(&a.1));
        since.into_iter().take(BUSIEST).map(|(table, _)| table).collect()
    }
}

impl Sampler for TablesSampler {
    fn subject(&self) -> &'static str {
        "the tables' counters"
    }

    fn period(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn asks_server(&self) -> bool {
        true
    }

    fn sample(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let read = |error: postgres::Error| SampleError(server_message(&error));
        let rows = self.link.with(|client, (activity, _)| client.query(&*activity, &[]))?;
        let all: Result<Vec<(u32, f64)>, _> = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect();
        let busiest = self.busiest(&all.map_err(read)?);
        let rows = self
            .link
            .with(|client, (_, details)| client.query(&*details, &[&busiest]))?;
        for row in rows {
            sink.row(moment, &self.series, &values(&row).map_err(read)?);
        }
        Ok(())
    }
}

fn values(row: &Row) -> Result<Vec<Value>, postgres::Error> {
    let mut values = vec![Value::Text(row.try_get(0)?)];
    for index in 1..row.len() {
        values.push(Value::from(row.try_get::<_, Option<f64>>(index)?));
    }
    Ok(values)
}

/// One number for each table that grows with whatever is done to it, index scans included.
fn activity(scope: &Scope) -> String {
    format!(
        "with own as (select c.oid, c.reltoastrelid {})
         select t.oid, (pg_stat_get_blocks_fetched(t.oid) + pg_stat_get_tuples_inserted(t.oid) +
           pg_stat_get_tuples_updated(t.oid)
                    + pg_stat_get_tuples_deleted(t.oid) + pg_stat_get_tuples_returned(t.oid) +
                      pg_stat_get_tuples_fetched(t.oid))::float8
           from (select oid from own union all select reltoastrelid from own where reltoastrelid <> 0) t",
        scope.tables()
    )
}

/// All numbers of the tables in `$1`. A table that somebody has locked for himself has no sizes: reading them would
/// wait.
fn details() -> String {
    let counters = COUNTERS.iter().map(|(column, function)| match *function {
        "" => format!(
            "(select sum(pg_stat_get_numscans(i.indexrelid)) from pg_index i where i.indrelid = c.oid)::float8 as \
             {column}"
        ),
        function => format!("{function}(c.oid)::float8"),
    });
    let counters: Vec<String> = counters.collect();
    let size = |function: &str| format!("case when l.relation is null then {function}(c.oid)::float8 end");
    format!(
        "select n.nspname || '.' || c.relname, {}, {}, {}
           from pg_class c join pg_namespace n on n.oid = c.relnamespace
           left join (select distinct relation from pg_locks
                       where mode = 'AccessExclusiveLock' and locktype = 'relation'
                         and database = (select oid from pg_database where datname = current_database())) l
             on l.relation in (select c.oid union all select indexrelid from pg_index where indrelid = c.oid)
          where c.oid = any($1)",
        counters.join(", "),
        size("pg_table_size"),
        size("pg_indexes_size")
    )
}
