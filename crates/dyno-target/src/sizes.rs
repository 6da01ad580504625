//! How large the data is and what the server counted about each table. Works on servers from 9.3 on.

use crate::Client;
use crate::server_message;
use serde::Serialize;
use serde_json::{Map, Value};

/// The sizes of a database.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatabaseSizes {
    /// The database on disk.
    pub database_bytes: i64,
    /// The user's tables, by schema and name.
    pub tables: Vec<TableSizes>,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableSizes {
    /// Schema.
    pub schema: String,
    /// Table.
    pub name: String,
    /// The table with its free space map, visibility map and TOAST.
    pub table_bytes: i64,
    /// All its indexes.
    pub index_bytes: i64,
    /// The planner's estimate of rows; none before the first vacuum or analyze.
    pub rows_estimate: Option<f64>,
    /// Its row of `pg_stat_all_tables`, in the order of the view's columns; empty where it may not be read.
    pub statistics: Map<String, Value>,
}

/// Sizes could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the sizes of the tables cannot be read: {message}")]
pub struct SizesError {
    message: String,
}

/// Reads the sizes of the connected database.
///
/// # Errors
/// The connection is broken, or a table was dropped or is locked by somebody else's schema change meanwhile.
pub fn database_sizes(client: &mut Client) -> Result<DatabaseSizes, SizesError> {
    let failed = |error: postgres::Error| SizesError {
        message: server_message(&error),
    };
    let database_bytes = client
        .query_one("select pg_database_size(current_database())", &[])
        .map_err(failed)?
        .get(0);
    let rows = client
        .query(
            "select n.nspname::text, c.relname::text, pg_table_size(c.oid), pg_indexes_size(c.oid), c.reltuples::float8,
                    row_to_json(s)::text
               from pg_class c
               join pg_namespace n on n.oid = c.relnamespace
               left join pg_stat_all_tables s on s.relid = c.oid
              where c.relkind in ('r', 'm') and c.relpersistence <> 't'
                and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
              order by 1, 2",
            &[],
        )
        .map_err(failed)?;
    let tables = rows
        .iter()
        .map(|row| {
            let table_bytes: i64 = row.get(2);
            let tuples: f64 = row.get(4);
            // "Not known" is -1 from version 14 on and 0 before, where only an empty table really has none.
            let known = tuples > 0.0 || (tuples == 0.0 && table_bytes == 0);
            TableSizes {
                schema: row.get(0),
                name: row.get(1),
                table_bytes,
                index_bytes: row.get(3),
                rows_estimate: known.then_some(tuples),
                statistics: row
                    .get::<_, Option<String>>(5)
                    .and_then(|text| serde_json::from_str(&text).ok())
                    .unwrap_or_default(),
            }
        })
        .collect();
    Ok(DatabaseSizes { database_bytes, tables })
}
