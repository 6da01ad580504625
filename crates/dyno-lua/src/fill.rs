//! Tables that the host fills with rows which it makes itself: by other means, and faster, than a script that puts each
//! row together.
//!
//! It is no part of sysbench's API. dyno's own workloads prepare their tables so; scripts may, too, by
//! `driver:fill(table, rows, columns, connections)`.

use crate::random::{Generator, RandomSource};
use dyno_wire::ServerError;
use mlua::Value;
use std::fmt;
use std::sync::Arc;

/// Fills tables for scripts.
pub trait Filler: Send + Sync {
    /// Fills a table, over so many connections of its own.
    ///
    /// # Errors
    /// The server refuses it, or there is no connection.
    fn fill(&self, table: &FilledTable, connections: usize) -> Result<(), Box<ServerError>>;
}

/// What a table is to be filled with.
#[derive(Debug)]
pub struct FilledTable {
    /// Its name, as in SQL.
    pub name: String,
    /// Rows, numbered from 1.
    pub rows: u64,
    /// Names and contents of the columns.
    pub columns: Vec<(String, Column)>,
    /// What random contents follow from.
    pub seed: u64,
}

/// What is in a column.
pub enum Column {
    /// The number of the row.
    Row,
    /// A text in which each `#` of the template is a random digit, and each `@` a letter.
    Text(String),
    /// A number that follows from random bits of the row's own.
    Number(Arc<dyn Fn([u64; 2]) -> i64 + Send + Sync>),
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row => f.write_str("Row"),
            Self::Text(template) => f.debug_tuple("Text").field(template).finish(),
            Self::Number(_) => f.write_str("Number"),
        }
    }
}

/// What a script asks for: the table, its rows and columns, and so many connections.
#[derive(Debug, Default)]
pub(crate) struct Wish {
    table: String,
    rows: u64,
    columns: Vec<[String; 2]>,
    range: [u32; 2],
    pub connections: usize,
}

/// The contents of columns by their names in Lua; anything else is the template of a text.
const ROW: &str = "row";
const NUMBER: &str = "number";

impl Wish {
    /// Reads table, rows, connections, the range of numbers, and then each column's name, kind and template.
    pub fn read(values: &[Value]) -> Option<Self> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.to_string_lossy()),
            _ => None,
        };
        let number = |value: &Value| match value {
            Value::Integer(number) => Some(u64::try_from(*number).unwrap_or(0)),
            Value::Number(number) => Some(*number as u64),
            _ => None,
        };
        let bound = |value: &Value| Some(u32::try_from(number(value)?).unwrap_or(u32::MAX));
        let [table, rows, connections, first, last, columns @ ..] = values else {
            return None;
        };
        let columns = columns.chunks_exact(2).map(|pair| match pair {
            [name, content] => Some([text(name)?, text(content)?]),
            _ => None,
        });
        Some(Self {
            table: text(table)?,
            rows: number(rows)?,
            connections: usize::try_from(number(connections)?).ok()?,
            range: [bound(first)?, bound(last)?],
            columns: columns.collect::<Option<_>>()?,
        })
    }

    /// The same with what numbers are drawn by.
    pub fn table(self, source: &Arc<RandomSource>) -> FilledTable {
        let [first, last] = self.range;
        let columns = self.columns.into_iter().map(|[name, content]| {
            let column = match content.as_str() {
                ROW => Column::Row,
                NUMBER => {
                    let source = Arc::clone(source);
                    let draw = move |bits| i64::from(Generator::of(bits).default(&source, first, last));
                    Column::Number(Arc::new(draw))
                }
                template => Column::Text(template.to_owned()),
            };
            (name, column)
        });
        FilledTable {
            name: self.table,
            rows: self.rows,
            columns: columns.collect(),
            seed: source.seed(),
        }
    }
}
