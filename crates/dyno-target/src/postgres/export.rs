//! Rows into a table of a PostgreSQL database, for those who look at results with SQL.
//!
//! Exporting the same again replaces what is there, so that it can be done after every run. A table that is not of
//! the same form is left alone.

use crate::postgres::address::{ConnectError, ConnectionInfo};
use crate::postgres::{Transaction, server_message};
use bytes::Bytes;
use std::fmt::Write as _;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Number,
    /// Truth values.
    Boolean,
    /// Instants, in the form of RFC 3339.
    Time,
}

/// A table to be exported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Name and kind of each column; names differ.
    pub columns: Vec<(String, Kind)>,
    /// How many of the first columns say what the rows are of: rows of the same are replaced.
    pub key: usize,
    /// A text for each column, in the form that its kind has in SQL; `None` where there is no value.
    pub rows: Vec<Vec<Option<String>>>,
}

/// The rows could not be exported; the table is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The table exists, and is not of this form.
    #[error(
        "the table {table} exists with other columns: {difference}. Choose another name with --table, or drop it first"
    )]
    OtherColumns {
        /// The table.
        table: String,
        /// The first difference.
        difference: String,
    },
    /// The server refused something.
    #[error("cannot export into {table}: {message}")]
    Server {
        /// The table.
        table: String,
        /// What it says.
        message: String,
    },
}

impl Kind {
    /// The type as `format_type` names it.
    fn sql(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "bigint",
            Self::Number => "double precision",
            Self::Boolean => "boolean",
            Self::Time => "timestamp with time zone",
        }
    }
}

/// Writes `rows` into `table`, which may be given with its schema, and makes the table if there is none. Gives back
/// how many rows were written.
///
/// # Errors
/// See [`ExportError`]; then nothing has changed.
pub fn export(target: &ConnectionInfo, table: &str, rows: &Rows) -> Result<u64, ExportError> {
    let mut client = target.connect()?;
    let failed = |error: postgres::Error| ExportError::Server {
        table: table.to_owned(),
        message: server_message(&error),
    };
    let name = table.split('.').map(quoted).collect::<Vec<_>>().join(".");
    let mut transaction = client.transaction().map_err(failed)?;
    match columns_of(&mut transaction, &name).map_err(failed)? {
        None => {
            let columns = rows
                .columns
                .iter()
                .map(|(name, kind)| format!("{} {}", quoted(name), kind.sql()));
            let columns = columns.collect::<Vec<_>>().join(", ");
            transaction
                .batch_execute(&format!("create table {name} ({columns})"))
                .map_err(failed)?;
        }
        Some(existing) => {
            if let Some(difference) = difference(&existing, &rows.columns) {
                return Err(ExportError::OtherColumns {
                    table: table.to_owned(),
                    difference,
                });
            }
        }
    }
    replace(&mut transaction, &name, rows).map_err(failed)?;
    let written = copy(&mut transaction, &name, rows).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    Ok(written)
}

/// The columns of a table with their types; `None` if there is no such table.
fn columns_of(transaction: &mut Transaction<'_>, name: &str) -> Result<Option<Vec<(String, String)>>, postgres::Error> {
    // An absent table is no error: that would end the transaction. The parameter is a text from 9.6 on and a C
    // string before.
    let literal = name.replace('\'', "''");
    let oid: Option<u32> = transaction
        .query_one(&format!("select to_regclass('{literal}')::oid"), &[])?
        .get(0);
    let Some(oid) = oid else { return Ok(None) };
    let rows = transaction.query(
        "select attname::text, format_type(atttypid, atttypmod) from pg_attribute
          where attrelid = $1 and attnum > 0 and not attisdropped order by attnum",
        &[&oid],
    )?;
    Ok(Some(rows.iter().map(|row| (row.get(0), row.get(1))).collect()))
}

/// How the columns of a table differ from those to be exported, if they do. Their order does not matter.
fn difference(existing: &[(String, String)], wanted: &[(String, Kind)]) -> Option<String> {
    let missing = wanted
        .iter()
        .find_map(|(name, kind)| match existing.iter().find(|(other, _)| other == name) {
            None => Some(format!("it has no \"{name}\"")),
            Some((_, found)) if found != kind.sql() => Some(format!("its \"{name}\" is {found}, not {}", kind.sql())),
            Some(_) => None,
        });
    let more = || {
        let more = existing
            .iter()
            .find(|(name, _)| !wanted.iter().any(|(other, _)| other == name));
        more.map(|(name, _)| format!("it also has \"{name}\""))
    };
    missing.or_else(more)
}

/// Removes the rows that are about to be written again.
fn replace(transaction: &mut Transaction<'_>, name: &str, rows: &Rows) -> Result<(), postgres::Error> {
    let columns: Vec<String> = rows
        .columns
        .iter()
        .take(rows.key)
        .map(|(name, _)| quoted(name))
        .collect();
    if columns.is_empty() {
        return Ok(());
    }
    let conditions: Vec<String> = columns
        .iter()
        .zip(1..)
        .map(|(column, number)| format!("{column}::text is not distinct from ${number}"))
        .collect();
    let statement = transaction.prepare(&format!("delete from {name} where {}", conditions.join(" and ")))?;
    let mut done: Vec<&[Option<String>]> = Vec::new();
    for row in &rows.rows {
        let key = &row[..rows.key.min(row.len())];
        // Rows of the same follow each other.
        if done.last() != Some(&key) {
            let values: Vec<&(dyn postgres::types::ToSql + Sync)> = key.iter().map(|value| value as _).collect();
            transaction.execute(&statement, &values)?;
            done.push(key);
        }
    }
    Ok(())
}

/// Sends all rows in the text form of COPY.
fn copy(transaction: &mut Transaction<'_>, name: &str, rows: &Rows) -> Result<u64, postgres::Error> {
    let columns: Vec<String> = rows.columns.iter().map(|(name, _)| quoted(name)).collect();
    let statement = format!("copy {name} ({}) from stdin", columns.join(", "));
    let lines = rows.rows.iter().map(|row| {
        let mut line = String::new();
        for (index, value) in row.iter().enumerate() {
            if index > 0 {
                line.push('\t');
            }
            match value {
                Some(value) => escape(value, &mut line),
                None => line.push_str("\\N"),
            }
        }
        line.push('\n');
        Bytes::from(line)
    });
    transaction.copy_in(&statement, lines)
}

/// Appends a value as COPY reads it.
fn escape(value: &str, out: &mut String) {
    for character in value.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            // No text of PostgreSQL has it.
            '\0' => {}
            _ => {
                // Writing to a String cannot fail.
                let _ = out.write_char(character);
            }
        }
    }
}

/// A name as it stands in SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_place_in_a_line() {
        let mut line = String::new();
        escape("a\tb\\c\nd\0", &mut line);
        assert_eq!(line, "a\\tb\\\\c\\nd");
        assert_eq!(quoted("odd\"name"), "\"odd\"\"name\"");
    }

    #[test]
    fn a_table_of_another_form_is_told_by_its_first_difference() {
        let column = |name: &str, kind: &str| (name.to_owned(), kind.to_owned());
        let wanted = [("run".to_owned(), Kind::Text), ("tps".to_owned(), Kind::Number)];
        let same = [column("tps", "double precision"), column("run", "text")];
        assert_eq!(difference(&same, &wanted), None);
        assert_eq!(difference(&same[1..], &wanted).unwrap(), "it has no \"tps\"");
        let other = [column("run", "text"), column("tps", "integer")];
        assert_eq!(
            difference(&other, &wanted).unwrap(),
            "its \"tps\" is integer, not double precision"
        );
        let more = [same[0].clone(), same[1].clone(), column("note", "text")];
        assert_eq!(difference(&more, &wanted).unwrap(), "it also has \"note\"");
    }
}
