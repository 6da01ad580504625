//! The heat map: how many transactions took how long, over time.

use super::annotations::Annotations;
use super::model::HeatMap;
use super::series::{rounded_s, significant};
use dyno_archive::{LatencyCounts, LatencyLine};
use std::sync::LazyLock;

/// Rows for each factor of ten of latency while counts are gathered, and the least number of rows that is drawn where
/// there are as many.
const ROWS_PER_DECADE: f64 = 20.0;

/// More rows than this are too thin to be seen.
const MOST_ROWS: usize = 60;

/// The row of each class of latency: row 0 is up to a microsecond, which no transaction is as fast as.
static ROW: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let row = |class| (LatencyCounts::highest_us(class).max(1.0).log10() * ROWS_PER_DECADE).floor();
    (0..LatencyCounts::classes())
        .map(|class| row(class).min(255.0) as u8)
        .collect()
});

/// Where a row begins, in microseconds.
fn bound_us(row: usize) -> f64 {
    significant(10_f64.powf(row as f64 / ROWS_PER_DECADE))
}

/// The columns of a heat map in the making.
#[derive(Clone, Debug)]
pub(super) struct HeatColumns {
    step_s: f64,
    /// For each column the number of transactions in each row; as many rows as were needed.
    columns: Vec<Vec<u64>>,
}

impl HeatColumns {
    /// None yet, of `step_s` seconds each.
    pub fn new(step_s: f64) -> Self {
        Self {
            step_s,
            columns: Vec::new(),
        }
    }

    /// Adds an interval in the middle of which is `at_s`.
    pub fn add(&mut self, at_s: f64, line: &LatencyLine) {
        const MOST_COLUMNS: f64 = 10_000.0;
        let column = (at_s / self.step_s).max(0.0);
        if column < MOST_COLUMNS {
            let column = self.column(column as usize);
            for (class, count) in line.counts() {
                let row = ROW.get(class).copied().unwrap_or(u8::MAX).into();
                if column.len() <= row {
                    column.resize(row + 1, 0);
                }
                column[row] = column[row].saturating_add(count);
            }
        }
    }

    fn column(&mut self, column: usize) -> &mut Vec<u64> {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, Vec::new());
        }
        &mut self.columns[column]
    }

    /// Adds what was gathered of another stretch of the same run.
    pub fn append(&mut self, other: Self) {
        for (index, more) in other
            .columns
            .into_iter()
            .enumerate()
            .filter(|(_, more)| !more.is_empty())
        {
            let column = self.column(index);
            column.resize(column.len().max(more.len()), 0);
            column
                .iter_mut()
                .zip(more)
                .for_each(|(sum, count)| *sum = sum.saturating_add(count));
        }
    }

    /// As it is drawn: transactions per second in the rows that are used, neighbouring rows together if there are too
    /// many.
    pub fn heat_map(&self, annotations: &Annotations) -> Option<HeatMap> {
        let used = |column: &Vec<u64>| column.iter().position(|count| *count > 0);
        let first = self.columns.iter().filter_map(used).min()?;
        let last = self.columns.iter().map(Vec::len).max()?.saturating_sub(1);
        let first_column = self.columns.iter().position(|column| !column.is_empty())?;
        let by = (last + 1 - first).div_ceil(MOST_ROWS);
        let rows = (last + 1 - first).div_ceil(by);
        let rate = |count: u64| significant(count as f64 / self.step_s);
        let column = |column: &Vec<u64>| {
            let rows = (0..rows).map(|row| {
                let from = first + row * by;
                rate(column.iter().skip(from).take(by).sum())
            });
            rows.collect()
        };
        Some(HeatMap {
            group: annotations.group().to_owned(),
            start_s: 0.0,
            end_s: rounded_s(annotations.end_s()),
            first_s: rounded_s(first_column as f64 * self.step_s),
            step_s: rounded_s(self.step_s),
            bounds_us: (0..=rows).map(|row| bound_us(first + row * by)).collect(),
            counts: self.columns.iter().skip(first_column).map(column).collect(),
        })
    }
}
