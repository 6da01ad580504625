//! How large the data is, and what the server counted about each table.

use serde::Serialize;
use serde_json::{Map, Value};

/// The sizes of the experiment's data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatabaseSizes {
    /// The database on disk if it is dyno's own, else the tables with their indexes.
    pub database_bytes: i64,
    /// The tables, by schema and name.
    pub tables: Vec<TableSizes>,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableSizes {
    /// Schema, or what the database has in its place.
    pub schema: String,
    /// Table.
    pub name: String,
    /// The table with all that belongs to it but indexes.
    pub table_bytes: i64,
    /// All its indexes.
    pub index_bytes: i64,
    /// The planner's estimate of rows; none before the first vacuum or analyze.
    pub rows_estimate: Option<f64>,
    /// How many of its rows were read or changed since the server counts; none where it does not.
    pub rows_touched: Option<f64>,
    /// How many of its rows were updated or deleted.
    pub rows_changed: Option<f64>,
    /// What the server counted about it, by the server's own names and in their order; empty where it may not be read.
    pub statistics: Map<String, Value>,
}
