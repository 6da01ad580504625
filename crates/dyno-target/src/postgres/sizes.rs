//! How large the data is and what the server counted about each table. Works on servers from 9.3 on.

use crate::postgres::Client;
use crate::postgres::scope::Scope;
use crate::target::{DatabaseSizes, TableSizes};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Sizes could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the sizes of the tables cannot be read: {message}")]
pub struct SizesError {
    message: String,
}

impl SizesError {
    fn new(client: &Client, error: &postgres::Error) -> Self {
        Self {
            message: client.explain(error),
        }
    }
}

/// A table's size is read under a lock, for which somebody else's schema change is not waited for long. The server
/// gives up before we do.
const BEGIN: &str = "begin; set local lock_timeout = '3s'; set local statement_timeout = '50s'";

/// How long sessions may take to end.
const ENDING: Duration = Duration::from_secs(1);

/// Waits until the sessions of this role and application in this database have ended, but not long: a pool keeps
/// its own. What a session did is counted when it ends at the latest, which the server does by itself some time
/// after the connection was closed.
///
/// # Errors
/// The connection is broken.
pub fn await_sessions_end(client: &mut Client) -> Result<(), SizesError> {
    let query =
        "select exists (select 1 from pg_stat_activity a join pg_stat_activity own on own.pid = pg_backend_pid()
                                 where a.pid <> own.pid and a.datname = own.datname and a.usename = own.usename
                                   and a.application_name = own.application_name)";
    let until = Instant::now() + ENDING;
    loop {
        let row = client.query_one(query, &[]);
        let row = row.map_err(|error| SizesError::new(client, &error))?;
        if !row.get::<_, bool>(0) || Instant::now() >= until {
            return Ok(());
        }
        sleep(Duration::from_millis(10));
    }
}

/// Reads the sizes of the experiment's tables in the connected database. A table that is dropped meanwhile is left out.
///
/// # Errors
/// The connection is broken, or a table is locked by somebody else's schema change.
pub fn database_sizes(client: &mut Client, scope: &Scope) -> Result<DatabaseSizes, SizesError> {
    let begun = client.batch_execute(BEGIN);
    begun.map_err(|error| SizesError::new(client, &error))?;
    let sizes = read(client, scope);
    // Also after an error, so that nothing is held while the load runs.
    let ended = client.batch_execute("rollback");
    ended.and(sizes).map_err(|error| SizesError::new(client, &error))
}

fn read(client: &mut Client, scope: &Scope) -> Result<DatabaseSizes, postgres::Error> {
    let query = format!(
        "select n.nspname::text, c.relname::text, pg_table_size(c.oid), pg_indexes_size(c.oid), c.reltuples::float8,
                (select row_to_json(s)::text from pg_stat_all_tables s where s.relid = c.oid),
                (select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)
                         + n_tup_ins + n_tup_upd + n_tup_del)::float8
                   from pg_stat_all_tables s where s.relid = c.oid),
                (select (n_tup_upd + n_tup_del)::float8 from pg_stat_all_tables s where s.relid = c.oid)
           {} order by 1, 2",
        scope.tables()
    );
    let rows = client.query(&query, &[])?;
    let tables: Vec<TableSizes> = rows
        .iter()
        .filter_map(|row| {
            // Those of what is gone are null.
            let (table_bytes, index_bytes) = row.get::<_, Option<i64>>(2).zip(row.get(3))?;
            let tuples: f64 = row.get(4);
            // "Not known" is -1 from version 14 on and 0 before, where only an empty table really has none.
            let known = tuples > 0.0 || (tuples == 0.0 && table_bytes == 0);
            Some(TableSizes {
                schema: row.get(0),
                name: row.get(1),
                table_bytes,
                index_bytes,
                rows_estimate: known.then_some(tuples),
                rows_touched: row.get(6),
                rows_changed: row.get(7),
                statistics: row
                    .get::<_, Option<String>>(5)
                    .and_then(|text| serde_json::from_str(&text).ok())
                    .unwrap_or_default(),
            })
        })
        .collect();
    let database_bytes = if scope.is_database() {
        let row = client.query_one("select pg_database_size(current_database())", &[]);
        row?.get(0)
    } else {
        tables.iter().map(|table| table.table_bytes + table.index_bytes).sum()
    };
    Ok(DatabaseSizes { database_bytes, tables })
}
