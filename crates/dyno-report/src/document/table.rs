//! The tables behind the charts.

use super::model::{Column, Detail, Table, Value};
use super::series::{Steps, rounded_s, significant};
use crate::figures::{LATENCY_DIGITS, MS, decimals_of_change, significant_digits};
use crate::figures::{in_unit, one_line, rounded, signed};

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
            let ends = table.columns[place + 1..].iter().take_while(|column| column.interval);
            let ends = row.iter().skip(place + 1).take(ends.count());
            let ends: Vec<f64> = ends.filter_map(|end| number_of(Some(end))).collect();
            if column.digits.is_none() && !column.change && ends.is_empty() {
                continue;
            }
            let written = |number: f64| in_column(number, column, &ends);
            let shown = |value: &Value| number_of(Some(value)).map(written);
            let ends: Vec<String> = ends.iter().copied().map(written).collect();
            if let Some(number) = row.get(place).and_then(shown) {
                let interval = match ends.as_slice() {
                    [] => String::new(),
                    // A dash is no good neighbour of a sign.
                    ends if ends.iter().any(|end| end.starts_with(['-', '−', '+'])) => {
                        format!(" ({})", ends.join(" to "))
                    }
                    ends => format!(" ({})", ends.join("–")),
                };
                row[place] = words(number + &interval);
            }
        }
    }
    let kept: Vec<bool> = table.columns.iter().map(|column| !column.interval).collect();
    only_columns(told, &kept)
}

fn number_of(value: Option<&Value>) -> Option<f64> {
    match value {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

/// An interval this wide, as a share of its lower end, is wide.
const WIDE: f64 = 0.1;
const WIDE_DIGITS: u8 = 2;

/// A number as it is written in `column`, with the interval between `ends` around it, if there is one.
fn in_column(number: f64, column: &Column, ends: &[f64]) -> String {
    match (column.digits, ends) {
        _ if column.change => signed(
            number,
            match ends {
                [low, high] => decimals_of_change(*low, *high),
                _ => 1,
            },
        ),
        // In a wide interval a third digit says nothing.
        (Some(digits), [low, high]) if high - low >= WIDE * low.abs() => {
            significant_digits(number, digits.min(WIDE_DIGITS))
        }
        (Some(digits), _) => significant_digits(number, digits),
        (None, _) => in_unit(number, &column.unit),
    }
}

/// Marks the best and the worst value of a column among rows that have the same in `groups`, where these are known to
/// differ: `differ` is asked with the best row, the worst, and how many rows there are.
pub(super) fn mark_extremes(
    table: &mut Table,
    groups: &[String],
    column: usize,
    less_is_better: bool,
    differ: &dyn Fn(usize, usize, usize) -> bool,
) {
    let all: indexmap::IndexSet<&String> = groups.iter().collect();
    for group in all {
        let rows = (0..table.rows.len()).filter(|row| groups.get(*row) == Some(group));
        let known = rows.filter_map(|row| Some((row, number_of(table.rows[row].get(column))?)));
        let mut known: Vec<(usize, f64)> = known.collect();
        known.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        if !less_is_better {
            known.reverse();
        }
        let ([(best, least), .., (worst, most)], true) = (known.as_slice(), known.len() > 1) else {
            continue;
        };
        let shown = |value: f64| in_column(value, &table.columns[column], &[]);
        let (first, last) = (shown(*least), shown(*most));
        // What cannot be told apart is neither.
        if first == last || !differ(*best, *worst, known.len()) {
            continue;
        }
        let of = |text: &str| -> Vec<usize> {
            let like = known.iter().filter(|(_, value)| shown(*value) == text);
            like.map(|(row, _)| *row).collect()
        };
        let (best, worst) = (of(&first), of(&last));
        table.columns[column].best.extend(best);
        table.columns[column].worst.extend(worst);
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
        digits: Some(LATENCY_DIGITS),
        ..number(name, MS)
    }
}

/// A column of changes in percent.
pub(super) fn percent_change(name: &str) -> Column {
    Column {
        change: true,
        ..number(name, "%")
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
        let always = |_, _, _| true;
        mark_extremes(&mut table, &groups, 0, true, &always);
        let marks = |table: &Table| (table.columns[0].best.clone(), table.columns[0].worst.clone());
        assert_eq!(marks(&table), (vec![0, 4, 3], vec![2, 1]));
        let before = marks(&table);
        let apart = [1, 2, 3, 4, 5].map(|number: usize| number.to_string());
        mark_extremes(&mut table, &apart, 0, true, &always);
        assert_eq!(marks(&table), before, "what has no like is neither");
        let together = groups.map(|_| String::new());
        mark_extremes(&mut table, &together, 0, true, &|best, worst, of| {
            (best, worst, of) != (0, 1, 5)
        });
        assert_eq!(marks(&table), before, "what is not known to differ is neither");
        table.columns[0].digits = Some(3);
        table.rows = [13.12, 13.08].map(|number| vec![Value::Number(number)]).into();
        mark_extremes(&mut table, &together[..2], 0, true, &always);
        assert_eq!(marks(&table), before, "what is written alike is neither");
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
