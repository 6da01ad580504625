//! The heat map: how many transactions took how long, over time.

use super::annotations::Annotations;
use super::model::HeatMap;
use super::series::{Grid, TOLERANCE, rounded_s, significant};
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
    grid: Grid,
    step_s: f64,
    first_s: f64,
    /// For each column the number of transactions in each row; as many rows as were needed.
    columns: Vec<Vec<f64>>,
}

impl HeatColumns {
    /// None yet.
    pub fn new(grid: Grid) -> Self {
        let step_s = grid.column_s();
        Self {
            grid,
            step_s,
            first_s: grid.first_s(step_s),
            columns: Vec::new(),
        }
    }

    /// Adds the transactions of an interval; where it lies in several columns, to each as many as it has of its time.
    pub fn add(&mut self, line: &LatencyLine) {
        const MOST_COLUMNS: f64 = 10_000.0;
        let place = |at_s: f64| {
            let place = (at_s - self.first_s) / self.step_s;
            // The log rounds to milliseconds, and clocks differ.
            let nearest = place.round();
            let is_near = (place - nearest).abs() < TOLERANCE;
            (if is_near { nearest } else { place }).max(0.0)
        };
        let (from, to) = (place(line.start_s), place(line.start_s + line.interval_s));
        if to >= MOST_COLUMNS {
            return;
        }
        let first = from as usize;
        let last = (to.ceil() as usize).saturating_sub(1).max(first);
        for place in first..=last {
            let inside = to.min((place + 1) as f64) - from.max(place as f64);
            let share = if first < last { inside / (to - from) } else { 1.0 };
            let column = self.column(place);
            for (class, count) in line.counts() {
                let row = ROW.get(class).copied().unwrap_or(u8::MAX).into();
                if column.len() <= row {
                    column.resize(row + 1, 0.0);
                }
                column[row] += share * count as f64;
            }
        }
    }

    fn column(&mut self, column: usize) -> &mut Vec<f64> {
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
            column.resize(column.len().max(more.len()), 0.0);
            column.iter_mut().zip(more).for_each(|(sum, count)| *sum += count);
        }
    }

    /// As it is drawn: transactions per second in the rows that are used, neighbouring rows together if there are too
    /// many.
    pub fn heat_map(&self, annotations: &Annotations) -> Option<HeatMap> {
        let used = |column: &Vec<f64>| column.iter().position(|count| *count > 0.0);
        let first = self.columns.iter().filter_map(used).min()?;
        let last = self.columns.iter().map(Vec::len).max()?.saturating_sub(1);
        let first_column = self.columns.iter().position(|column| !column.is_empty())?;
        let by = (last + 1 - first).div_ceil(MOST_ROWS);
        let rows = (last + 1 - first).div_ceil(by);
        let column = |(place, column): (usize, &Vec<f64>)| {
            // Of the first and the last column a part may lie outside of the run.
            let start_s = self.first_s + place as f64 * self.step_s;
            let time_s = self.grid.within(start_s + self.step_s) - start_s.max(0.0);
            let time_s = if time_s > 0.0 { time_s } else { self.step_s };
            let rate = |count: f64| significant(count / time_s);
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
            first_s: rounded_s(self.first_s + first_column as f64 * self.step_s),
            step_s: rounded_s(self.step_s),
            bounds_us: (0..=rows).map(|row| bound_us(first + row * by)).collect(),
            counts: self.columns.iter().enumerate().skip(first_column).map(column).collect(),
        })
    }
}
