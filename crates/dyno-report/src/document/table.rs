//! The tables behind the charts.

use super::model::{Column, Detail, Table, Value};
use super::series::{Steps, rounded_s, significant};
use crate::figures::{decimal, figure, in_unit, one_line, rounded};

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
    only_columns(table, &known)
}

/// The table without the columns of this name.
pub(crate) fn without_column(table: Table, name: &str) -> Table {
    let kept: Vec<bool> = table.columns.iter().map(|column| column.name != name).collect();
    only_columns(table, &kept)
}

/// Of a table the columns that are `kept`.
fn only_columns(table: Table, kept: &[bool]) -> Table {
    Table {
        caption: table.caption,
        columns: only(table.columns, kept),
        rows: table.rows.into_iter().map(|row| only(row, kept)).collect(),
    }
}

/// Of a row the places that are kept.
fn only<T>(row: Vec<T>, kept: &[bool]) -> Vec<T> {
    let places = row.into_iter().zip(kept);
    places.filter(|(_, kept)| **kept).map(|(of, _)| of).collect()
}

/// The table as people read it: intervals stand in the cells of what they are around, and numbers of a column that says
/// with how many digits are texts.
pub(crate) fn for_people(table: &Table) -> Table {
    let mut told = table.clone();
    for row in &mut told.rows {
        for (place, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.interval) {
            let shown = |value: &Value| match (value, column.digits) {
                (Value::Number(number), Some(digits)) => Some(significant_digits(*number, digits)),
                (Value::Number(number), None) => Some(in_unit(*number, &column.unit)),
                _ => None,
            };
            let ends = table.columns[place + 1..].iter().take_while(|column| column.interval);
            let ends: Vec<String> = row
                .iter()
                .skip(place + 1)
                .take(ends.count())
                .filter_map(shown)
                .collect();
            if column.digits.is_none() && ends.is_empty() {
                continue;
            }
            if let Some(number) = row.get(place).and_then(shown) {
                let interval = match ends.as_slice() {
                    [] => String::new(),
                    // A dash is no good neighbour of a sign.
                    ends if ends.iter().any(|end| end.starts_with('-')) => format!(" ({})", ends.join(" to ")),
                    ends => format!(" ({})", ends.join("–")),
                };
                row[place] = words(number + &interval);
            }
        }
    }
    let kept: Vec<bool> = table.columns.iter().map(|column| !column.interval).collect();
    only_columns(told, &kept)
}

/// A number with so many significant digits, or all before the decimal point.
fn significant_digits(number: f64, digits: u8) -> String {
    if number == 0.0 || !number.is_finite() {
        return figure(number);
    }
    // Rounding may add a digit before the decimal point.
    let before = |number: f64| number.abs().log10().floor() as i32 + 1;
    let decimals = |before: i32| (i32::from(digits) - before).clamp(0, 9) as usize;
    let rounded: f64 = decimal(number, decimals(before(number)))
        .replace(',', "")
        .parse()
        .unwrap_or(number);
    decimal(number, decimals(before(if rounded == 0.0 { number } else { rounded })))
}

/// Marks the best and the worst value of a column among rows that have the same in `groups`.
pub(super) fn mark_extremes(table: &mut Table, groups: &[String], column: usize, less_is_better: bool) {
    let all: indexmap::IndexSet<&String> = groups.iter().collect();
    for group in all {
        let number = |row: usize| match table.rows[row].get(column) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        };
        let rows = (0..table.rows.len()).filter(|row| groups.get(*row) == Some(group));
        let known: Vec<(usize, f64)> = rows.filter_map(|row| Some((row, number(row)?))).collect();
        let values = || known.iter().map(|(_, value)| *value);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        // What cannot be told apart is neither.
        if known.len() < 2 || figure(least) == figure(most) {
            continue;
        }
        for (row, value) in known {
            if figure(value) == figure(if less_is_better { least } else { most }) {
                table.columns[column].best.push(row);
            } else if figure(value) == figure(if less_is_better { most } else { least }) {
                table.columns[column].worst.push(row);
            }
        }
    }
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
        ..Column::default()
    }
}

/// A column of latencies, which have three digits: more say nothing.
pub(super) fn latency(name: &str) -> Column {
    Column {
        digits: Some(3),
        ..number(name, "ms")
    }
}

/// A column of numbers that are the ends of an interval around the column before.
pub(super) fn interval_end(name: &str, unit: &str) -> Column {
    Column {
        interval: true,
        ..number(name, unit)
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
    fn an_interval_stands_in_one_cell_and_digits_are_alike() {
        let table = Table {
            columns: vec![
                text("cell"),
                Column {
                    digits: Some(3),
                    ..number("p99", "ms")
                },
                number("ratio", ""),
                interval_end("lower", ""),
                interval_end("upper", ""),
                number("dips", ""),
            ],
            rows: vec![
                vec![
                    words("a"),
                    Value::Number(1.1),
                    value(1.0),
                    value(None),
                    value(None),
                    exactly(2),
                ],
                vec![
                    words("b"),
                    Value::Number(0.09996),
                    value(1.705),
                    value(1.416),
                    value(1.984),
                    exactly(3),
                ],
                vec![
                    words("c"),
                    value(None),
                    value(None),
                    value(None),
                    value(None),
                    exactly(1_234),
                ],
            ],
            ..Table::default()
        };
        let told = for_people(&table);
        let names: Vec<&str> = told.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["cell", "p99", "ratio", "dips"]);
        assert_eq!(told.rows[0], [words("a"), words("1.10"), value(1.0), exactly(2)]);
        assert_eq!(
            told.rows[1],
            [words("b"), words("0.100"), words("1.705 (1.416–1.984)"), exactly(3)]
        );
        assert_eq!(told.rows[2], [words("c"), value(None), value(None), exactly(1_234)]);
        let digits = [999.6, 1_886.4, 16.56, 0.02184, 0.0].map(|number| significant_digits(number, 3));
        assert_eq!(digits, ["1,000", "1,886", "16.6", "0.0218", "0"]);
    }

    #[test]
    fn the_best_and_the_worst_are_marked_among_their_like() {
        let mut table = Table {
            columns: vec![number("p99", "ms")],
            rows: [1.0, 9.0, 2.0, 7.0, 1.0]
                .map(|number| vec![Value::Number(number)])
                .into(),
            ..Table::default()
        };
        let groups = ["read", "write", "read", "write", "read"].map(str::to_owned);
        mark_extremes(&mut table, &groups, 0, true);
        let marks = |table: &Table| (table.columns[0].best.clone(), table.columns[0].worst.clone());
        assert_eq!(marks(&table), (vec![0, 4, 3], vec![2, 1]));
        let before = marks(&table);
        mark_extremes(
            &mut table,
            &[1, 2, 3, 4, 5].map(|number: usize| number.to_string()),
            0,
            true,
        );
        assert_eq!(marks(&table), before, "what has no like is neither");
    }

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
