//! Columns of PostgreSQL's results, described as Oracle's.

use super::values::column_kind;
use crate::executor::OracleError;
use crate::value::{Column, Kind};
use postgres::types::Type;
use postgres::{Client, Statement};
use std::collections::HashMap;
use std::sync::Arc;

/// What a modifier is counted from.
const MODIFIER_BASE: i32 = 4;

/// Which columns of tables are never null, as far as that was asked.
#[derive(Debug, Default)]
pub(super) struct NotNull(HashMap<(u32, i16), bool>);

impl NotNull {
    fn is(&mut self, client: &mut Client, table: u32, column: i16) -> Result<bool, postgres::Error> {
        if let Some(known) = self.0.get(&(table, column)) {
            return Ok(*known);
        }
        let asked = "select attnotnull from pg_attribute where attrelid = $1 and attnum = $2";
        let row = client.query_opt(asked, &[&table, &column])?;
        let is = row.is_some_and(|row| row.get(0));
        self.0.insert((table, column), is);
        Ok(is)
    }

    /// Forgets, as tables may have changed.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The columns of a statement.
pub(super) fn columns(
    client: &mut Client,
    statement: &Statement,
    not_null: &mut NotNull,
) -> Result<Arc<[Column]>, OracleError> {
    let mut columns = Vec::with_capacity(statement.columns().len());
    for told in statement.columns() {
        let modifier = told.type_modifier();
        let of = told.type_();
        let kind = column_kind(of, modifier).ok_or_else(|| {
            let says = format!(
                "inconsistent datatypes (the stand-in has none for {of} of {})",
                told.name()
            );
            OracleError::new(932, &says)
        })?;
        let mut column = Column::new(&shown(told.name()), kind);
        let table = told.table_oid().zip(told.column_id());
        size(&mut column, of, modifier, table.is_some());
        if let Some((table, id)) = table {
            let is = not_null.is(client, table, id);
            column.nullable = !is.map_err(|error| super::oracle_error(&error))?;
        }
        columns.push(column);
    }
    Ok(columns.into())
}

/// A name as Oracle shows it: names without quotes are in capitals.
fn shown(name: &str) -> String {
    if name.chars().any(char::is_uppercase) {
        name.to_owned()
    } else {
        name.to_uppercase()
    }
}

fn size(column: &mut Column, of: &Type, modifier: i32, in_table: bool) {
    match column.kind {
        Kind::Number => {
            let (precision, scale) = match *of {
                Type::NUMERIC if modifier >= MODIFIER_BASE => {
                    let modifier = modifier - MODIFIER_BASE;
                    (modifier >> 16, modifier & 0x7ff)
                }
                // A sum or a count has no precision in Oracle.
                _ if !in_table => return,
                Type::BOOL => (1, 0),
                Type::INT2 => (5, 0),
                Type::INT4 | Type::OID => (10, 0),
                Type::INT8 => (19, 0),
                _ => return,
            };
            column.precision = u8::try_from(precision).unwrap_or_default();
            // Eleven bits with a sign.
            let scale = if scale & 0x400 == 0 { scale } else { scale - 0x800 };
            column.scale = i8::try_from(scale).unwrap_or_default();
        }
        Kind::Varchar | Kind::Char if modifier > MODIFIER_BASE => {
            column.size = u32::try_from(modifier - MODIFIER_BASE).unwrap_or(column.size);
        }
        Kind::Timestamp | Kind::TimestampTz if modifier >= 0 => {
            column.scale = i8::try_from(modifier).unwrap_or(column.scale);
        }
        _ => {}
    }
}
