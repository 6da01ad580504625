//! The tables behind the charts.

use super::model::{Column, Detail, Table, Value};
use super::series::{Steps, rounded_s, significant};
use crate::figures::{one_line, rounded};

/// What of a series stands in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cells {
    /// The mean alone.
    Mean,
    /// The mean, the least and the greatest value.
    Range,
}

/// A table of several series over the same time, in rows of at least `row_s`: each with its name, its unit, and what
/// is to be said of it.
pub(super) fn time_table<'a>(row_s: f64, series: impl Iterator<Item = (&'a str, &'a str, &'a Steps, Cells)>) -> Table {
    let series: Vec<_> = series.collect();
    let mut columns = vec![number("from", "s")];
    let mut rows: Vec<(f64, Vec<Value>)> = Vec::new();
    for (name, unit, steps, cells) in series {
        let before = columns.len() - 1;
        let parts: &[&str] = match cells {
            Cells::Mean => &[""],
            Cells::Range => &["", " min", " max"],
        };
        columns.extend(parts.iter().map(|part| number(&format!("{name}{part}"), unit)));
        for (from_s, mean, min, max) in steps.rows(row_s) {
            let values = [mean, min, max]
                .into_iter()
                .take(parts.len())
                .map(|value| Value::Number(significant(value)));
            let row = match rows.binary_search_by(|row| row.0.total_cmp(&from_s)) {
                Ok(row) => row,
                Err(row) => {
                    rows.insert(row, (from_s, Vec::new()));
                    row
                }
            };
            rows[row].1.resize(before, Value::Nothing(()));
            rows[row].1.extend(values);
        }
    }
    let width = columns.len() - 1;
    let rows = rows.into_iter().map(|(from_s, mut values)| {
        values.resize(width, Value::Nothing(()));
        values.insert(0, Value::Number(rounded_s(from_s)));
        values
    });
    Table {
        caption: String::new(),
        columns,
        rows: rows.collect(),
    }
}

/// The table without columns in which nothing is known of any row.
pub(super) fn without_empty_columns(table: Table) -> Table {
    let says = |value: &Value| !matches!(value, Value::Nothing(())) && *value != words("");
    let known: Vec<bool> = (0..table.columns.len())
        .map(|column| table.rows.iter().any(|row| row.get(column).is_some_and(says)))
        .collect();
    let rows = table.rows.into_iter().map(|row| only(row, &known)).collect();
    Table {
        caption: table.caption,
        columns: only(table.columns, &known),
        rows,
    }
}

/// Of a row the places that are known.
fn only<T>(row: Vec<T>, known: &[bool]) -> Vec<T> {
    let places = row.into_iter().zip(known);
    places.filter(|(_, known)| **known).map(|(of, _)| of).collect()
}

/// The columns of a table of facts, each of which has a name and a value.
pub(crate) const FACTS: [&str; 2] = ["what", "value"];

/// The column of the names of runs.
pub(crate) const RUN: &str = "run";

/// A table of facts, without those that say nothing.
pub(super) fn facts(caption: &str, facts: impl IntoIterator<Item = (impl Into<String>, String)>) -> Table {
    let facts = facts.into_iter().filter(|(_, fact)| !fact.is_empty());
    Table {
        caption: caption.to_owned(),
        columns: FACTS.map(text).into(),
        rows: facts
            .map(|(name, fact)| vec![words(name), words(one_line(&fact))])
            .collect(),
    }
}

/// The table with columns that are left out where there is no room for everything.
pub(super) fn with_details(table: Table, details: &[&str]) -> Table {
    let mut table = table;
    let columns = table.columns.iter_mut();
    columns
        .filter(|column| details.contains(&column.name.as_str()))
        .for_each(|column| column.detail = Detail::Full);
    table
}

/// A column of numbers.
pub(super) fn number(name: &str, unit: &str) -> Column {
    Column {
        name: name.to_owned(),
        unit: unit.to_owned(),
        numeric: true,
        detail: Detail::Brief,
    }
}

/// A column of words.
pub(super) fn text(name: &str) -> Column {
    Column {
        name: name.to_owned(),
        ..Column::default()
    }
}

/// A number as a value, with no less digits than what is said of it elsewhere, and no more than mean anything.
pub(super) fn value(number: impl Into<Option<f64>>) -> Value {
    let number = number.into().filter(|number| number.is_finite());
    number.map_or(Value::Nothing(()), |number| Value::Number(rounded(number)))
}

/// A latency as a value, in milliseconds.
pub(super) fn ms(time_us: impl Into<Option<f64>>) -> Value {
    value(time_us.into().map(|time_us| time_us / 1e3))
}

/// A count as a value, exact.
pub(super) fn exactly(count: u64) -> Value {
    Value::Number(count as f64)
}

/// Words as a value.
pub(super) fn words(words: impl Into<String>) -> Value {
    Value::Text(words.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_stays_if_any_row_says_something() {
        let table = Table {
            caption: String::new(),
            columns: vec![text("run"), number("least", "TPS"), text("event"), number("dips", "")],
            rows: vec![
                vec![words("1"), value(None), words(""), value(None)],
                vec![words("2"), value(None), words(""), exactly(0)],
            ],
        };
        let left = without_empty_columns(table);
        let names: Vec<&str> = left.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["run", "dips"]);
        assert_eq!(left.rows[1], [words("2"), exactly(0)]);
        assert_eq!(left.rows[0].len(), 2);
    }
}
