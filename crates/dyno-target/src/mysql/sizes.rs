//! How large the experiment's data is.

use super::{Client, ClientError, Scope};
use crate::target::{DatabaseSizes, TableSizes};
use serde_json::Map;
use std::collections::HashMap;

/// InnoDB's sizes and its estimate of rows, as its statistics have them: they are renewed when a tenth of a table
/// has changed, or by `analyze table`. In InnoDB a table is its primary key, so that key counts as the table, not
/// as an index. The last column is how InnoDB names the table's file.
const QUERY: &str = "select table_schema, table_name, cast(data_length as signed), cast(index_length as signed), \
     cast(table_rows as double), concat(convert(convert(table_schema using filename) using binary), '/', \
     convert(convert(table_name using filename) using binary)) from information_schema.tables \
     where table_schema = database() and table_type = 'BASE TABLE' order by table_name";

/// The same for MySQL, which does not tell in what characters names of files are: most names are the same there.
const PLAIN_QUERY: &str = "select table_schema, table_name, cast(data_length as signed), cast(index_length as signed), \
     cast(table_rows as double), concat(table_schema, '/', table_name) from information_schema.tables \
     where table_schema = database() and table_type = 'BASE TABLE' order by table_name";

/// What a server says of characters that it does not know (ER_UNKNOWN_CHARACTER_SET).
const NO_CHARACTERS: u16 = 1115;

/// Schema, name, bytes of the table, bytes of its indexes, rows, file.
type Row = (String, String, Option<i64>, Option<i64>, Option<f64>, String);

/// Where InnoDB lists its files with their sizes as they are now: MariaDB from 10.2 on, and MySQL from 8.0 on. Reading
/// it takes the right PROCESS.
const FILES: [&str; 2] = ["innodb_sys_tablespaces", "innodb_tablespaces"];

/// What a server says of a table that it does not know (MariaDB, "MariaDB Error Codes").
const NO_TABLE: u16 = 1109;

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
    // This opens the tables: InnoDB knows the files only of those that were opened since it started.
    let rows = match client.query::<Row>(QUERY) {
        Err(ClientError::Server(error)) if error.code == NO_CHARACTERS => client.query(PLAIN_QUERY)?,
        rows => rows?,
    };
    let files = match files(client) {
        Err(ClientError::Server(_)) => HashMap::new(),
        files => files?,
    };
    let tables: Vec<TableSizes> = rows
        .into_iter()
        .map(|(schema, name, data, index, rows_estimate, file)| {
            let estimated = (data.unwrap_or(0), index.unwrap_or(0));
            let (table_bytes, index_bytes) = match files.get(&file) {
                Some(bytes) => shared_out(*bytes, estimated),
                // It has no file of its own, or this role may not know its size.
                None => estimated,
            };
            TableSizes {
                schema,
                name,
                table_bytes,
                index_bytes,
                rows_estimate,
                rows_touched: None,
                rows_changed: None,
                statistics: Map::new(),
            }
        })
        .collect();
    Ok(DatabaseSizes {
        database_bytes: tables.iter().fold(0, |sum: i64, table| {
            sum.saturating_add(table.table_bytes).saturating_add(table.index_bytes)
        }),
        tables,
    })
}

/// The bytes in the files of each table of the connected database, by what the files are named after.
///
/// # Errors
/// This role may not know them, the server does not tell, or the connection is broken.
pub(super) fn files(client: &mut Client) -> Result<HashMap<String, i64>, ClientError> {
    files_below(client, "database()")
}

/// The same of another database.
///
/// # Errors
/// As for [`files`].
pub(super) fn files_of(client: &mut Client, database: &str) -> Result<HashMap<String, i64>, ClientError> {
    files_below(client, &format!("'{}'", database.replace('\'', "''")))
}

/// The same of the database that an expression names. The parts of a table that is divided have a file each.
fn files_below(client: &mut Client, database: &str) -> Result<HashMap<String, i64>, ClientError> {
    let query = |list: &str, name: &str| {
        format!(
            "select name, cast(file_size as signed) from information_schema.{list} where name like concat({name}, '/%')"
        )
    };
    let [mariadb, mysql] = FILES;
    let encoded = format!("convert(convert({database} using filename) using binary)");
    let rows = match client.query::<(String, i64)>(&query(mariadb, &encoded)) {
        // As for `PLAIN_QUERY`.
        Err(ClientError::Server(error)) if [NO_TABLE, NO_CHARACTERS].contains(&error.code) => {
            client.query(&query(mysql, database))?
        }
        rows => rows?,
    };
    let mut files = HashMap::new();
    for (name, bytes) in rows {
        // In a name, this sign is written otherwise.
        let table = name.split_once('#').map_or(name.as_str(), |(table, _)| table);
        let sum: &mut i64 = files.entry(table.to_owned()).or_insert(0);
        *sum = sum.saturating_add(bytes);
    }
    Ok(files)
}

/// The bytes of a table and of its indexes in a file that holds both, in the proportion that the statistics say.
fn shared_out(bytes: i64, (data, index): (i64, i64)) -> (i64, i64) {
    let all = i128::from(data) + i128::from(index);
    let share = (i128::from(bytes) * i128::from(index)).checked_div(all);
    let index = share.and_then(|share| i64::try_from(share).ok()).unwrap_or(0);
    (bytes.saturating_sub(index), index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shared_out_as_the_statistics_say() {
        assert_eq!(shared_out(1000, (60, 20)), (750, 250));
        assert_eq!(shared_out(1000, (16384, 0)), (1000, 0));
        assert_eq!(shared_out(1000, (0, 0)), (1000, 0));
        assert_eq!(shared_out(i64::MAX, (1, 1)), (i64::MAX / 2 + 1, i64::MAX / 2));
    }
}
