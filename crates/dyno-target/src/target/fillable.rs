//! Whether tables that are to be filled are there, with the columns that rows are to have: asked before any is made.

use super::{Asked, Control, Fill, Reach, TargetError};

/// Rows cannot get into a table, as far as its name and those of its columns tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfillable {
    /// What the server says of it.
    pub why: String,
    /// The tables that there are beside it; empty if they are not known.
    pub tables: Vec<String>,
    /// The columns that it has; empty if they are not known, or if there is no such table.
    pub columns: Vec<String>,
}

impl Unfillable {
    /// Asks for the table and columns of `fill`; nothing if they are there.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn of(control: &mut dyn Control, reach: Reach<'_>, fill: &Fill) -> Result<Option<Self>, TargetError> {
        let names: Vec<&str> = fill.columns.iter().map(|(name, _)| name.as_str()).collect();
        let query = format!("select {} from {} where 1 = 0", names.join(", "), fill.table);
        let Asked::Refused(why) = control.rows(&query)? else {
            return Ok(None);
        };
        let unfillable = Self { why, ..Self::default() };
        let schema = match reach {
            Reach::Postgres(_) => "current_schema()",
            Reach::Mysql(_) => "database()",
            Reach::Oracle(_) => return Ok(Some(unfillable)),
        };
        if fill.table.contains('.') {
            // It is elsewhere.
            return Ok(Some(unfillable));
        }
        let query =
            format!("select table_name, column_name from information_schema.columns where table_schema = {schema}");
        let Asked::Rows(known) = control.rows(&query)? else {
            return Ok(Some(unfillable));
        };
        let known = known.rows.iter();
        let known: Vec<(&str, &str)> = known
            .filter_map(|row| Some((row.first()?.as_deref()?, row.get(1)?.as_deref()?)))
            .collect();
        let its = known.iter().filter(|(table, _)| is_called(table, &fill.table));
        Ok(Some(Self {
            columns: its.map(|(_, column)| (*column).to_owned()).collect(),
            tables: known.iter().map(|(table, _)| (*table).to_owned()).collect(),
            ..unfillable
        }))
    }

    /// The first of these columns that the table does not have, if its columns are known.
    #[must_use]
    pub fn missing<'c>(&self, mut columns: impl Iterator<Item = &'c str>) -> Option<&'c str> {
        columns.find(|name| !self.columns.iter().any(|column| is_called(column, name)))
    }
}

/// Whether something of this name is meant, which may be in quotes.
fn is_called(known: &str, written: &str) -> bool {
    known.eq_ignore_ascii_case(written.trim_matches(['"', '`']))
}
