//! Values over time, gathered into steps of equal length.
//!
//! A chart has a few thousand pixels and a long run has tens of thousands of intervals. What is gathered keeps the
//! mean of each step, and its least and greatest value: a dip of one second is as deep in the figure of eight hours
//! as it was.
//!
//! Steps count from an instant at which what they hold begins: those of intervals from the begin of the measurement,
//! before and after it, because that is where intervals begin anew; those of samples from the begin of the load. So a
//! value is drawn when it was measured, whatever the warm-up lasted; where a warm-up or a stage is no multiple of the
//! interval, some intervals are drawn off by less than half a step. What holds for the measured time, such as a mean,
//! is not made from steps: each value counts for the part of its time that was measured.

use super::model::Series;
use crate::figures::rounded_to;

/// Times beyond this many steps are those of a damaged file.
const MOST_STEPS: usize = 200_000;

/// Clocks differ by less than this share of a step from where it begins.
pub(super) const TOLERANCE: f64 = 1e-3;

/// How finely the time of a run is divided in its figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Grid {
    interval_s: f64,
    measured_from_s: f64,
    end_s: f64,
    runs: usize,
}

impl Grid {
    /// For a run with intervals of `interval_s` that ends after `end_s`, both in seconds; while it goes on, its end
    /// as planned. All of it is measured.
    #[must_use]
    pub fn new(interval_s: f64, end_s: f64) -> Self {
        let interval_s = if interval_s.is_finite() {
            interval_s.max(0.01)
        } else {
            1.0
        };
        let end_s = if end_s.is_finite() { end_s.max(0.0) } else { 0.0 };
        Self {
            interval_s,
            measured_from_s: 0.0,
            end_s,
            runs: 1,
        }
    }

    /// The same with a measurement that begins `from_s` seconds after the load.
    #[must_use]
    pub fn measured_from(self, from_s: f64) -> Self {
        let from_s = if from_s.is_finite() { from_s.max(0.0) } else { 0.0 };
        Self {
            measured_from_s: from_s,
            ..self
        }
    }

    /// Coarser, for a document with the figures of so many runs.
    #[must_use]
    pub fn shared_by(self, runs: usize) -> Self {
        Self {
            runs: runs.max(1),
            ..self
        }
    }

    /// How long an interval lasts.
    #[must_use]
    pub fn interval_s(self) -> f64 {
        self.interval_s
    }

    /// When the last one ends.
    #[must_use]
    pub fn end_s(self) -> f64 {
        self.end_s
    }

    /// How much of the time from `start_s` to `end_s` was measured, in seconds.
    pub(super) fn measured_s(self, start_s: f64, end_s: f64) -> f64 {
        (self.within(end_s) - start_s.max(self.measured_from_s)).max(0.0)
    }

    /// `at_s`, or the end of the run if that comes first.
    pub(super) fn within(self, at_s: f64) -> f64 {
        at_s.min(self.over_s())
    }

    /// From when on nothing is of the run any more; never, if its end is not known.
    fn over_s(self) -> f64 {
        if self.end_s > 0.0 { self.end_s } else { f64::INFINITY }
    }

    /// Where the first step of intervals begins, of steps of `step_s`: at 0, or so far before it that one begins with
    /// the measurement.
    pub(super) fn first_s(self, step_s: f64) -> f64 {
        first_s(self.measured_from_s, step_s)
    }

    /// Steps of throughput: every interval of an eight-hour run, because people zoom into dips.
    pub(super) fn fine_s(self) -> f64 {
        self.step_s(self.share(30_000, 240))
    }

    /// Steps of everything else.
    pub(super) fn step(self) -> f64 {
        self.step_s(self.share(3_600, 120))
    }

    /// Columns of a heat map.
    pub(super) fn column_s(self) -> f64 {
        self.step_s(self.share(400, 60))
    }

    /// Rows of a table that people read.
    pub(super) fn row_s(self) -> f64 {
        self.step_s(if self.runs == 1 { 24 } else { 8 })
    }

    fn share(self, of: usize, least: usize) -> usize {
        (of / self.runs).max(least)
    }

    /// The shortest round multiple of an interval of which there are at most so many.
    fn step_s(self, most: usize) -> f64 {
        let wanted = self.end_s / self.interval_s / most.max(1) as f64;
        let mut power = 1.0;
        loop {
            // The allowance is for a last interval that was a little late.
            let multiple = [1.0, 2.0, 5.0]
                .into_iter()
                .map(|digit| digit * power)
                .find(|multiple| *multiple >= wanted - 0.01);
            match multiple {
                Some(multiple) => return self.interval_s * multiple,
                None => power *= 10.0,
            }
        }
    }
}

/// Where the first of the steps of `step_s` begins one of which begins at `from_s`: the last time up to 0.
fn first_s(from_s: f64, step_s: f64) -> f64 {
    let first_s = from_s - (from_s / step_s - TOLERANCE).ceil().max(0.0) * step_s;
    if first_s.abs() < TOLERANCE * step_s {
        0.0
    } else {
        first_s
    }
}

/// One step with what was measured in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Step {
    sum: f64,
    time_s: f64,
    count: u32,
    min: f64,
    max: f64,
}

impl Step {
    fn push(&mut self, time_s: f64, value: f64) {
        (self.min, self.max) = match self.count {
            0 => (value, value),
            _ => (self.min.min(value), self.max.max(value)),
        };
        self.sum += value * time_s;
        self.time_s += time_s;
        self.count = self.count.saturating_add(1);
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.time_s)
    }
}

/// What a series was in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Measured {
    sum: f64,
    time_s: f64,
    /// Of the values that are of that time for the most part.
    extremes: Option<(f64, f64)>,
}

impl Measured {
    /// Adds a value that held for `length_s`, of which `measured_s` were measured.
    fn push(&mut self, measured_s: f64, length_s: f64, value: f64) {
        self.sum += value * measured_s;
        self.time_s += measured_s;
        if measured_s >= length_s / 2.0 {
            let (min, max) = self.extremes.unwrap_or((value, value));
            self.extremes = Some((min.min(value), max.max(value)));
        }
    }
}

/// A series in the making.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    grid: Grid,
    step_s: f64,
    /// A time at which a step begins.
    from_s: f64,
    /// Where the first one begins.
    first_s: f64,
    steps: Vec<Step>,
    measured: Measured,
}

impl Steps {
    /// For intervals of a run, in steps of `step_s` seconds each.
    #[must_use]
    pub(super) fn of_intervals(grid: Grid, step_s: f64) -> Self {
        Self::new(grid, step_s, grid.measured_from_s)
    }

    /// For what was sampled beside a run.
    #[must_use]
    pub(super) fn of_samples(grid: Grid) -> Self {
        Self::new(grid, grid.step(), 0.0)
    }

    fn new(grid: Grid, step_s: f64, from_s: f64) -> Self {
        let step_s = if step_s > 0.0 { step_s } else { 1.0 };
        Self {
            grid,
            step_s,
            from_s,
            first_s: first_s(from_s, step_s),
            steps: Vec::new(),
            measured: Measured::default(),
        }
    }

    /// Adds a value that held from `start_s` to `end_s`; one that is not finite, or of no time, is left out, and so is
    /// what is of the time after the run.
    pub fn push(&mut self, start_s: f64, end_s: f64, value: f64) {
        let length_s = end_s - start_s;
        let possible = value.is_finite() && length_s > 0.0 && length_s.is_finite();
        if !possible || self.step_of(self.grid.within(end_s)).is_none() {
            return;
        }
        self.measured
            .push(self.grid.measured_s(start_s, end_s), length_s, value);
        // What is of the time after the run for the most part is not drawn.
        if (start_s + end_s) / 2.0 >= self.grid.over_s() {
            return;
        }
        let end_s = self.grid.within(end_s);
        let length_s = end_s - start_s;
        // An interval belongs to one step, even if it began late by a little; one that is longer than a step to all
        // that it covers.
        let (first, last) = if length_s < 1.5 * self.step_s {
            let middle = self.step_of((start_s + end_s) / 2.0);
            (middle, middle)
        } else {
            let half_s = self.step_s / 2.0;
            (self.step_of(start_s + half_s), self.step_of(end_s - half_s))
        };
        let (Some(first), Some(last)) = (first, last) else {
            return;
        };
        if self.steps.len() <= last {
            self.steps.resize(last + 1, Step::default());
        }
        let time_s = length_s / (last - first + 1) as f64;
        for step in &mut self.steps[first..=last] {
            step.push(time_s, value);
        }
    }

    /// The step in which `at_s` lies.
    fn step_of(&self, at_s: f64) -> Option<usize> {
        let step = ((at_s - self.first_s) / self.step_s + TOLERANCE).floor();
        (step < MOST_STEPS as f64).then_some(step.max(0.0) as usize)
    }

    /// Where a step begins.
    fn begin_s(&self, step: usize) -> f64 {
        self.first_s + step as f64 * self.step_s
    }

    /// Whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many steps there are up to the last that has a value.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The mean of one step.
    pub(super) fn mean_of(&self, step: usize) -> Option<f64> {
        self.steps.get(step)?.mean()
    }

    /// The least and the greatest value in the measured time.
    #[must_use]
    pub fn extremes(&self) -> Option<(f64, f64)> {
        self.measured.extremes
    }

    /// The mean over the measured time.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.measured.time_s > 0.0).then(|| self.measured.sum / self.measured.time_s)
    }

    /// Gathered into longer steps, for a table: begin, mean, least and greatest value of each that has any.
    pub(super) fn rows(&self, row_s: f64) -> Vec<(f64, f64, f64, f64)> {
        let mut rows = Self::new(self.grid, row_s.max(self.step_s), self.from_s);
        for (index, step) in self.steps.iter().enumerate() {
            let middle_s = self.begin_s(index) + self.step_s / 2.0;
            let (Some(mean), Some(row)) = (step.mean(), rows.step_of(middle_s)) else {
                continue;
            };
            if rows.steps.len() <= row {
                rows.steps.resize(row + 1, Step::default());
            }
            let sum = &mut rows.steps[row];
            sum.push(step.time_s, mean);
            (sum.min, sum.max) = (sum.min.min(step.min), sum.max.max(step.max));
        }
        let begin_s = |row: usize| rows.begin_s(row).max(0.0);
        let of_steps = rows.steps.iter().enumerate();
        of_steps
            .filter_map(|(row, of)| Some((begin_s(row), of.mean()?, of.min, of.max)))
            .collect()
    }

    /// As it is drawn, rounded to four digits.
    #[must_use]
    pub fn series(&self, name: impl Into<String>) -> Series {
        let first = self.steps.iter().position(|step| step.count > 0).unwrap_or(0);
        let steps = &self.steps[first..];
        let values = |value: fn(&Step) -> f64| {
            steps
                .iter()
                .map(|step| (step.count > 0).then(|| significant(value(step))))
                .collect::<Vec<_>>()
        };
        let gathered = steps.iter().any(|step| step.count > 1);
        Series {
            name: name.into(),
            first_s: rounded_s(self.begin_s(first)),
            step_s: rounded_s(self.step_s),
            mean: steps.iter().map(|step| step.mean().map(significant)).collect(),
            min: if gathered { values(|step| step.min) } else { Vec::new() },
            max: if gathered { values(|step| step.max) } else { Vec::new() },
            ..Series::default()
        }
    }
}

/// A time in seconds, rounded to milliseconds.
pub(super) fn rounded_s(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// A number rounded to four significant digits: more are noise, and take room.
pub(super) fn significant(value: f64) -> f64 {
    rounded_to(4, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_round_multiples_of_the_interval() {
        let night = Grid::new(1.0, 28_800.0);
        assert_eq!((night.fine_s(), night.step(), night.column_s()), (1.0, 10.0, 100.0));
        let night = night.shared_by(30);
        assert_eq!((night.fine_s(), night.step(), night.column_s()), (50.0, 500.0, 500.0));
        let short = Grid::new(0.1, 20.0);
        assert_eq!((short.fine_s(), short.step(), short.column_s()), (0.1, 0.1, 0.1));
        assert_eq!(Grid::new(f64::NAN, f64::INFINITY).fine_s(), 1.0);
        assert_eq!(Grid::new(10.0, 3_600.0).fine_s(), 10.0);
    }

    #[test]
    fn an_interval_that_began_late_leaves_no_hole() {
        let mut steps = Steps::of_intervals(Grid::new(1.0, 10.0).measured_from(2.5), 1.0);
        for second in 0..5 {
            let start_s = 2.5 + f64::from(second) + 1e-6 * f64::from(second % 3 - 1);
            steps.push(start_s, start_s + 1.0, f64::from(second));
        }
        let series = steps.series("x");
        assert_eq!((series.first_s, series.mean.len()), (2.5, 5));
        assert!(series.mean.iter().all(Option::is_some) && series.min.is_empty());
    }

    #[test]
    fn a_long_interval_fills_what_it_covers() {
        let mut steps = Steps::of_intervals(Grid::new(1.0, 0.0), 1.0);
        steps.push(0.0, 1.0, 5.0);
        steps.push(3.0, 6.0, 7.0);
        let series = steps.series("x");
        assert_eq!(series.mean, [Some(5.0), None, None, Some(7.0), Some(7.0), Some(7.0)]);
        steps.push(f64::NAN, 2.0, 1.0);
        steps.push(1e300, 2e300, 1.0);
        steps.push(1.0, 2.0, f64::INFINITY);
        assert_eq!(steps.series("x"), series);
        assert_eq!(steps.mean(), Some((5.0 + 3.0 * 7.0) / 4.0));
    }

    #[test]
    fn intervals_are_drawn_when_they_were_whatever_the_warm_up_lasted() {
        let grid = Grid::new(1.0, 4.6).measured_from(0.6);
        let mut steps = Steps::of_intervals(grid, 1.0);
        steps.push(0.0, 0.6, 1.0);
        for second in 0..4 {
            let start_s = 0.6 + f64::from(second);
            steps.push(start_s, start_s + 1.0, 2.0 + f64::from(second));
        }
        let series = steps.series("x");
        assert_eq!((series.first_s, series.mean.len()), (-0.4, 5));
        assert!(series.min.is_empty(), "{series:?}");
        assert_eq!((steps.mean(), steps.extremes()), (Some(3.5), Some((2.0, 5.0))));
        let from_s: Vec<f64> = steps.rows(2.0).iter().map(|row| rounded_s(row.0)).collect();
        assert_eq!(from_s, [0.0, 0.6, 2.6]);
        // In longer steps, too, none has a part of both.
        assert_eq!(Grid::new(1.0, 4.6).measured_from(2.0).first_s(5.0), -3.0);
        assert_eq!(Grid::new(0.1, 4.6).measured_from(0.3).first_s(0.1), 0.0);
    }

    #[test]
    fn samples_count_for_the_part_of_their_time_that_was_measured() {
        let mut steps = Steps::of_samples(Grid::new(1.0, 3.5).measured_from(1.25));
        for (start_s, end_s, value) in [(0.0, 1.0, 100.0), (1.0, 2.0, 8.0), (2.0, 3.0, 4.0), (3.0, 3.75, 2.0)] {
            steps.push(start_s, end_s, value);
        }
        // The last one was taken when the load was over.
        steps.push(3.75, 4.0, 0.0);
        let series = steps.series("x");
        assert_eq!(series.mean, [100.0, 8.0, 4.0, 2.0].map(Some));
        assert_eq!(steps.mean(), Some((0.75 * 8.0 + 4.0 + 0.5 * 2.0) / 2.25));
        assert_eq!(steps.extremes(), Some((2.0, 8.0)));
    }

    proptest! {
        #[test]
        fn gathering_keeps_extremes_mean_and_time(values in prop::collection::vec(1.0_f64..1e6, 1..400),
            most in 1_u32..50) {
            let step_s = f64::from(most);
            let mut steps = Steps::of_intervals(Grid::new(1.0, values.len() as f64), step_s);
            for (second, value) in values.iter().enumerate() {
                steps.push(second as f64, second as f64 + 1.0, *value);
            }
            let series = steps.series("x");
            prop_assert_eq!(series.mean.len(), values.len().div_ceil(most as usize));
            let max = values.iter().copied().fold(0.0, f64::max);
            let min = values.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert_eq!(steps.extremes(), Some((min, max)));
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            prop_assert!((steps.mean().unwrap() / mean - 1.0).abs() < 1e-9);
            // Where each extreme was measured, there it is seen.
            for (step, chunk) in values.chunks(most as usize).enumerate() {
                let max = significant(chunk.iter().copied().fold(0.0, f64::max));
                let seen = series.max.get(step).copied().flatten().or(series.mean[step]);
                prop_assert_eq!(seen, Some(max));
            }
            let rows = steps.rows(7.0 * step_s);
            prop_assert!(rows.iter().any(|row| row.3 == max) && rows.iter().any(|row| row.2 == min));
        }
    }
}
