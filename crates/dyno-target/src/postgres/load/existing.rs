//! Tables that exist before anything is loaded.

use super::{Fill, LoadError};
use crate::postgres::Client;
use crate::postgres::server_message;

/// Makes sure that tables which exist already, where this connection looks for them, can be filled: every column
/// that is filled is there, and no other column needs a value. Changes nothing.
///
/// # Errors
/// [`LoadError::OtherColumns`] for the first table that differs, or the connection is broken.
pub fn check_columns(client: &mut Client, fills: &[Fill]) -> Result<(), LoadError> {
    for fill in fills {
        // The cast, unlike to_regclass, is in every version and takes the same text; it fails where there is no
        // such table.
        let Ok(row) = client.query_one("select $1::text::regclass::oid", &[&fill.table]) else {
            continue;
        };
        let table: u32 = row.get(0);
        // An identity is no default but gives a value all the same; before version 10 the column of that name is
        // missing.
        let query = "select quote_ident(attname), attname::text,
                    attnotnull and not atthasdef and typdefault is null and
                      coalesce(row_to_json(a)->>'attidentity', '') = ''
               from pg_attribute a join pg_type t on t.oid = atttypid
              where attrelid = $1 and attnum > 0 and not attisdropped order by attnum";
        let rows = client.query(query, &[&table]).map_err(|error| LoadError::Settle {
            what: format!("looking at the columns of {}", fill.table),
            message: server_message(&error),
        })?;
        let columns: Vec<Column> = rows
            .iter()
            .map(|row| Column {
                quoted: row.get(0),
                name: row.get(1),
                needs_value: row.get(2),
            })
            .collect();
        if let Some(differences) = differences(&columns, fill) {
            return Err(LoadError::OtherColumns {
                table: fill.table.clone(),
                differences,
            });
        }
    }
    Ok(())
}

/// A column that is there.
struct Column {
    name: String,
    /// As SQL must say it.
    quoted: String,
    needs_value: bool,
}

impl Column {
    fn is(&self, written: &str) -> bool {
        self.quoted == written || self.name == written.to_ascii_lowercase() || format!("\"{}\"", self.name) == written
    }
}

/// How the columns stand in the way of a fill.
fn differences(columns: &[Column], fill: &Fill) -> Option<String> {
    let filled = fill.columns.iter().map(|(name, _)| name.as_str());
    let missing: Vec<&str> = filled
        .filter(|name| !columns.iter().any(|column| column.is(name)))
        .collect();
    let empty: Vec<&str> = columns
        .iter()
        .filter(|column| column.needs_value && !fill.columns.iter().any(|(name, _)| column.is(name)))
        .map(|column| column.name.as_str())
        .collect();
    let mut parts = Vec::new();
    if !missing.is_empty() {
        let there: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        parts.push(format!(
            "it has no {} (it has {})",
            missing.join(", no "),
            there.join(", ")
        ));
    }
    if !empty.is_empty() {
        parts.push(format!(
            "nothing is to be filled into its {}, which may not be null",
            empty.join(", ")
        ));
    }
    (!parts.is_empty()).then(|| parts.join(", and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(columns: &[&str]) -> Fill {
        let columns = columns.iter().map(|name| ((*name).to_owned(), "row".to_owned()));
        Fill::new("t", 1, columns.collect())
    }

    #[test]
    fn names_the_columns_that_differ() {
        let column = |name: &str, quoted: &str, needs_value| Column {
            name: name.to_owned(),
            quoted: quoted.to_owned(),
            needs_value,
        };
        let columns = [column("id", "id", true), column("The Info", "\"The Info\"", false)];
        assert_eq!(differences(&columns, &fill(&["ID", "\"The Info\""])), None);
        assert_eq!(differences(&columns, &fill(&["\"id\""])), None);
        assert_eq!(
            differences(&columns, &fill(&["a", "b"])).unwrap(),
            "it has no a, no b (it has id, The Info), and nothing is to be filled into its id, which may not be null"
        );
    }
}
