//! How large the experiment's data is.

use super::{Client, ClientError, Scope};
use crate::target::{DatabaseSizes, TableSizes};
use serde_json::Map;

/// InnoDB's sizes and its estimate of rows, as its statistics have them: they are renewed when a tenth of a table
/// has changed, or by `analyze table`. In InnoDB a table is its primary key, so that key counts as the table, not
/// as an index.
const QUERY: &str = "select table_schema, table_name, cast(data_length as signed), cast(index_length as signed), \
     cast(table_rows as double) from information_schema.tables \
     where table_schema = database() and table_type = 'BASE TABLE' order by table_name";

/// Schema, name, bytes of the table, bytes of its indexes, rows.
type Row = (String, String, Option<i64>, Option<i64>, Option<f64>);

/// Has MySQL look again instead of telling what it found up to a day ago; MariaDB, which has no such variable, always
/// does (MySQL Reference Manual, `information_schema_stats_expiry`).
const LOOK_AGAIN: &str = "set session information_schema_stats_expiry = 0";

/// Reads the sizes of the experiment's tables in the connected database.
///
/// # Errors
/// The connection is broken.
pub fn database_sizes(client: &mut Client, scope: Scope) -> Result<DatabaseSizes, ClientError> {
    if scope == Scope::Nothing {
        return Ok(DatabaseSizes {
            database_bytes: 0,
            tables: Vec::new(),
        });
    }
    match client.execute(LOOK_AGAIN) {
        Ok(()) | Err(ClientError::Server(_)) => {}
        Err(error) => return Err(error),
    }
    let tables: Vec<TableSizes> = client
        .query::<Row>(QUERY)?
        .into_iter()
        .map(|(schema, name, table_bytes, index_bytes, rows_estimate)| TableSizes {
            schema,
            name,
            table_bytes: table_bytes.unwrap_or(0),
            index_bytes: index_bytes.unwrap_or(0),
            rows_estimate,
            rows_touched: None,
            rows_changed: None,
            statistics: Map::new(),
        })
        .collect();
    Ok(DatabaseSizes {
        database_bytes: tables.iter().map(|table| table.table_bytes + table.index_bytes).sum(),
        tables,
    })
}
