//! How much room the data will take, told before it is loaded.
//!
//! Widths are not guessed: the server evaluates the columns' expressions for some rows, or is given the values of some,
//! and says how large they are.
//! What a page holds is in PostgreSQL's documentation, chapter "Database Physical Storage", section "Database Page
//! Layout".

use crate::postgres::Client;
use crate::postgres::load::{Fill, LoadError};
use crate::postgres::server_message;
use dyno_script::RowFormat;

/// Rows whose sizes are asked for, spread over all.
const SAMPLE: u64 = 200;

/// A page, its header, a line pointer, and to what tuples are aligned.
const PAGE: f64 = 8192.0;
const PAGE_HEADER: f64 = 24.0;
const LINE_POINTER: f64 = 4.0;
const ALIGNMENT: f64 = 8.0;

/// What a tuple of a table and one of an index begin with.
const TUPLE_HEADER: f64 = 24.0;
const INDEX_TUPLE_HEADER: f64 = 8.0;

/// How full the leaf pages of a b-tree are made.
const INDEX_FILL: f64 = 0.9;

/// A value that may have any length and of which nothing is known.
const USUAL_VALUE: f64 = 16.0;

/// Larger tuples have values elsewhere, in pieces of this size.
const TOAST_THRESHOLD: f64 = 2_032.0;

/// Overhead of values that are kept elsewhere, and of the index that finds them.
const TOAST_OVERHEAD: f64 = 1.05;

/// The write-ahead log's size where it cannot be asked for (before 9.6): the default of `max_wal_size`.
const USUAL_WAL_BYTES: i64 = 1 << 30;

/// How much room a table needs is not known.
#[derive(Debug, thiserror::Error)]
#[error("how much room {table} needs cannot be estimated: {message}")]
pub struct EstimateError {
    /// The table's name.
    pub table: String,
    /// What the server said.
    pub message: String,
}

/// Estimates the bytes that these fills will take in the connected database: tables and indexes times `copies` (2
/// on the embedded server: what is kept, and a run's copy), and the write-ahead log. The tables are there already,
/// empty. A table without any index is thought to get one on a number once it is filled. Changes nothing, except
/// that expressions with side effects have them.
///
/// # Errors
/// A table is missing, a column's expression fails on the server or takes long, or the connection is broken.
pub fn needed_bytes(client: &mut Client, fills: &[Fill], copies: u32) -> Result<u64, EstimateError> {
    let mut data = 0.0;
    for fill in fills.iter().filter(|fill| fill.rows > 0) {
        let failed = |message| EstimateError {
            table: fill.table.clone(),
            message,
        };
        let sample = sample(fill).map_err(|error| failed(error.to_string()))?;
        data += table_bytes(client, fill, sample.as_deref()).map_err(|error| failed(server_message(&error)))?;
    }
    let wal = "select pg_size_bytes(current_setting('max_wal_size'))";
    let wal_bytes = client.query_one(wal, &[]).map_or(USUAL_WAL_BYTES, |row| row.get(0));
    let log = (wal_bytes as f64).min(data);
    // Estimates are far below 2^53, where f64 is exact to one.
    Ok((data * f64::from(copies) + log).ceil() as u64)
}

/// A column of a table to fill.
struct Column {
    quoted: String,
    name: String,
    kind: String,
    /// Bytes of a value, if all have the same.
    fixed: Option<f64>,
    has_default: bool,
}

impl Column {
    /// The place of the column among those that are filled.
    fn place(&self, fill: &Fill) -> Option<usize> {
        let is_it = |name: &str| *name == self.quoted || name.to_ascii_lowercase() == self.name;
        fill.columns.iter().position(|(name, _)| is_it(name))
    }
}

/// The values of some rows, spread over all, if they are made here.
fn sample(fill: &Fill) -> Result<Option<Vec<Values>>, LoadError> {
    let Some(rows) = fill.source.rows::<LoadError>(&fill.table, &fill.columns)? else {
        return Ok(None);
    };
    let mut writer = rows.writer(RowFormat::Lines);
    let numbers = (1..=fill.rows).step_by(step(fill.rows) as usize);
    let sample: Result<_, _> = numbers.map(|row| writer.values(row)).collect();
    Ok(Some(sample?))
}

/// The values of a row, in the order of the columns that are filled.
type Values = Vec<Option<String>>;

/// How far apart the rows are whose sizes are asked for.
fn step(rows: u64) -> u64 {
    (rows / SAMPLE).max(1)
}

fn table_bytes(client: &mut Client, fill: &Fill, sample: Option<&[Values]>) -> Result<f64, postgres::Error> {
    let table: u32 = client
        .query_one("select $1::text::regclass::oid", &[&fill.table])?
        .get(0);
    let query = "select quote_ident(attname), attname::text, format_type(atttypid, atttypmod), attlen, atthasdef
                   from pg_attribute where attrelid = $1 and attnum > 0 and not attisdropped order by attnum";
    let columns: Vec<Column> = client
        .query(query, &[&table])?
        .iter()
        .map(|row| Column {
            quoted: row.get(0),
            name: row.get(1),
            kind: row.get(2),
            fixed: Some(row.get::<_, i16>(3)).filter(|length| *length > 0).map(f64::from),
            has_default: row.get(4),
        })
        .collect();
    let widths = match sample {
        Some(sample) => widths_of(client, fill, &columns, sample)?,
        None => widths(client, fill, &columns)?,
    };
    let tuple = TUPLE_HEADER + widths.iter().sum::<f64>();
    let query = "select coalesce((select option_value::float8 from pg_options_to_table(reloptions) where \
                 option_name = 'fillfactor'), 100)
                   from pg_class where oid = $1";
    let fill_factor: f64 = client.query_one(query, &[&table])?.get(0);
    let query = "select array(select attname::text from pg_attribute where attrelid = indrelid and attnum = any \
                 (indkey)) from pg_index where indrelid = $1";
    let mut keys: Vec<f64> = client
        .query(query, &[&table])?
        .iter()
        .map(|row| {
            let names: Vec<String> = row.get(0);
            let each = columns
                .iter()
                .zip(&widths)
                .filter(|(column, _)| names.contains(&column.name));
            let key: f64 = each.map(|(_, width)| width).sum();
            if key > 0.0 { key } else { USUAL_VALUE }
        })
        .collect();
    if keys.is_empty() {
        keys.push(ALIGNMENT);
    }
    let indexes: f64 = keys.iter().map(|key| index_bytes(fill.rows, *key)).sum();
    Ok(heap_bytes(fill.rows, tuple, fill_factor / 100.0) + indexes)
}

/// The mean size of each column's values, in a row of a page.
fn widths(client: &mut Client, fill: &Fill, columns: &[Column]) -> Result<Vec<f64>, postgres::Error> {
    let step = step(fill.rows);
    let mut sizes = Vec::new();
    for column in columns {
        let expression = column.place(fill).map(|place| &fill.columns[place].1);
        sizes.push(match (column.fixed, expression) {
            (Some(fixed), Some(_)) => constant(fixed),
            (None, Some(expression)) => {
                format!(
                    "coalesce(avg(pg_column_size(({expression})::{})), 0)::float8",
                    column.kind
                )
            }
            (fixed, None) if column.has_default => constant(fixed.unwrap_or(USUAL_VALUE)),
            (_, None) => constant(0.0),
        });
    }
    let query = format!(
        "select array[{}]::float8[] from generate_series(1::{kind}, {}::{kind}, {step}) as row",
        sizes.join(", "),
        fill.rows,
        kind = fill.row_type(),
    );
    // Rolled back, and nothing takes long.
    client.batch_execute("begin; set local statement_timeout = '20s'")?;
    let row = client.query_one(&query, &[]);
    client.batch_execute("rollback")?;
    row.map(|row| row.get(0))
}

/// The same where these are values of the rows.
fn widths_of(
    client: &mut Client,
    fill: &Fill,
    columns: &[Column],
    sample: &[Values],
) -> Result<Vec<f64>, postgres::Error> {
    let mut widths = Vec::new();
    for column in columns {
        widths.push(match (column.fixed, column.place(fill)) {
            (Some(fixed), Some(_)) => fixed,
            (None, Some(place)) => {
                let values: Vec<_> = sample.iter().map(|row| row[place].as_deref()).collect();
                let query = format!(
                    "select coalesce(avg(pg_column_size(value::{})), 0)::float8 from unnest($1::text[]) value",
                    column.kind
                );
                client.query_one(&query, &[&values])?.get(0)
            }
            (fixed, None) if column.has_default => fixed.unwrap_or(USUAL_VALUE),
            (_, None) => 0.0,
        });
    }
    Ok(widths)
}

/// An aggregate like the others, so that there is one row whatever is filled.
fn constant(bytes: f64) -> String {
    format!("max({bytes:?}::float8)")
}

/// A table's pages.
fn heap_bytes(rows: u64, tuple: f64, fill_factor: f64) -> f64 {
    if tuple > TOAST_THRESHOLD {
        return rows as f64 * (tuple * TOAST_OVERHEAD + TUPLE_HEADER + LINE_POINTER);
    }
    let space = aligned(tuple) + LINE_POINTER;
    let per_page = ((PAGE - PAGE_HEADER) * fill_factor / space).floor().max(1.0);
    (rows as f64 / per_page).ceil() * PAGE
}

/// The pages of a b-tree.
fn index_bytes(rows: u64, key: f64) -> f64 {
    let space = aligned(INDEX_TUPLE_HEADER + key) + LINE_POINTER;
    let per_page = ((PAGE - PAGE_HEADER) * INDEX_FILL / space).floor().max(1.0);
    // The pages above the leaves are few, and the first page says where they are.
    ((rows as f64 / per_page).ceil() * 1.005 + 1.0) * PAGE
}

fn aligned(bytes: f64) -> f64 {
    (bytes / ALIGNMENT).ceil() * ALIGNMENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_pages() {
        // As measured on a server: pgbench_accounts has 61 rows on a page, and its primary key 276 pages for
        // 100,000 rows.
        assert_eq!(heap_bytes(100_000, 121.0, 1.0), 1640.0 * PAGE);
        assert!((index_bytes(100_000, 4.0) / PAGE - 276.0).abs() < 1.0);
    }
}
