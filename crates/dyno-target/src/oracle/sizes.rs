//! How large the experiment's data is.

use super::rights::refusable;
use super::statement::{quoted, shown};
use super::{Client, ClientError};
use crate::target::{DatabaseSizes, TableSizes};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The experiment's tables with the rows that were counted when they were last analyzed, and what was done to them
/// since, which the server writes down now and then. All of it everybody may read of their own, since 12.1 and before.
const TABLES: &str = "select t.table_name, t.num_rows, m.inserts, m.updates, m.deletes from user_tables t left join \
                      user_tab_modifications m on m.table_name = t.table_name and m.partition_name is null where \
                      t.table_name in (select name from dyno_run where kind = 'made' and note = 'TABLE') order by 1";

/// What segments hold, by the table that they belong to: its own, its partitions', its large objects', its indexes'.
const SEGMENTS: &str = "select coalesce(i.table_name, l.table_name, s.segment_name), case when i.table_name is null \
                        then 'table' else 'index' end, sum(s.bytes) from user_segments s left join user_indexes i on \
                        i.index_name = s.segment_name left join user_lobs l on l.segment_name = s.segment_name group \
                        by coalesce(i.table_name, l.table_name, s.segment_name), case when i.table_name is null then \
                        'table' else 'index' end";

/// Table, rows, and what was done to it.
type Row = (String, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

/// Reads the sizes of the tables that dyno made.
///
/// # Errors
/// The connection is broken.
pub fn database_sizes(client: &mut Client) -> Result<DatabaseSizes, ClientError> {
    let schema = client.info().schema();
    let bytes = segments(client)?;
    let of = |table: &str, kind: &str| bytes.get(&(table.to_owned(), kind.to_owned())).copied().unwrap_or(0);
    let rows = client.query::<Row>(TABLES)?.into_iter();
    let tables: Vec<TableSizes> = rows
        .map(|(name, rows, inserts, updates, deletes)| {
            let changed = [inserts, updates, deletes];
            let statistics: Map<String, Value> = ["inserts", "updates", "deletes"]
                .into_iter()
                .zip(changed)
                .filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))))
                .collect();
            let sum = |values: &[Option<f64>]| values.iter().copied().flatten().reduce(|sum, value| sum + value);
            TableSizes {
                schema: shown(&schema),
                table_bytes: of(&name, "table"),
                index_bytes: of(&name, "index"),
                name: shown(&name),
                rows_estimate: rows,
                rows_touched: None,
                rows_changed: sum(&changed[1..]),
                statistics,
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

/// The bytes of each table and of its indexes, by name and by which of the two.
pub(super) fn segments(client: &mut Client) -> Result<BTreeMap<(String, String), i64>, ClientError> {
    let rows = refusable(client.query::<(String, String, f64)>(SEGMENTS))?.unwrap_or_default();
    let each = rows
        .into_iter()
        .map(|(table, kind, bytes)| ((table, kind), bytes as i64));
    Ok(each.collect())
}

/// The names of the tables that dyno made, as SQL takes them.
pub(super) fn table_names(client: &mut Client) -> Result<Vec<String>, ClientError> {
    let rows = client.query::<Row>(TABLES)?.into_iter();
    Ok(rows.map(|(name, ..)| quoted(&name)).collect())
}
