//! Mean, spread and extremes of a series that is never stored.
//!
//! A run may last for days and report a value every 10 ms; what a summary says of them must not need them all at
//! the end.

/// What is known of the values added so far, in constant memory.
///
/// Mean and variance follow B. P. Welford, "Note on a method for calculating corrected sums of squares and
/// products", Technometrics 4 (1962), which does not lose precision when the spread is small beside the mean. The
/// unit of every figure is that of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Running {
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Running {
    /// No values yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one value. A value that is not finite says nothing about the series and is left out.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        (self.min, self.max) = if self.count == 0 {
            (value, value)
        } else {
            (self.min.min(value), self.max.max(value))
        };
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
    }

    /// The number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The arithmetic mean; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The smallest value; `None` without values.
    #[must_use]
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value; `None` without values.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// The sample standard deviation (divided by n − 1); `None` with fewer than two values.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }

    /// The standard deviation as a share of the mean (0.05 is 5 %): how unsteady the series is, whatever its
    /// height. `None` with fewer than two values or a mean of zero.
    #[must_use]
    pub fn variation(&self) -> Option<f64> {
        self.stddev()
            .filter(|_| self.mean != 0.0)
            .map(|stddev| stddev / self.mean.abs())
    }
}

impl Extend<f64> for Running {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.add(value));
    }
}

impl FromIterator<f64> for Running {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut running = Self::new();
        running.extend(values);
        running
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_figures_worked_out_by_hand() {
        let running: Running = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().collect();
        assert_eq!(running.count(), 8);
        assert_eq!(running.mean(), Some(5.0));
        assert_eq!((running.min(), running.max()), (Some(2.0), Some(9.0)));
        let stddev = (32.0_f64 / 7.0).sqrt();
        assert!((running.stddev().unwrap() - stddev).abs() < 1e-12);
        assert!((running.variation().unwrap() - stddev / 5.0).abs() < 1e-12);
    }

    #[test]
    fn says_nothing_without_values() {
        let running = Running::new();
        assert_eq!(
            (running.mean(), running.min(), running.max(), running.stddev()),
            (None, None, None, None)
        );
        let one: Running = [3.0].into_iter().collect();
        assert_eq!((one.mean(), one.stddev(), one.variation()), (Some(3.0), None, None));
    }

    #[test]
    fn a_series_around_zero_has_no_variation() {
        let running: Running = [-1.0, 1.0].into_iter().collect();
        assert_eq!(running.variation(), None);
    }

    #[test]
    fn leaves_out_what_is_not_a_number() {
        let running: Running = [1.0, f64::NAN, 3.0, f64::INFINITY].into_iter().collect();
        assert_eq!(
            (running.count(), running.mean(), running.max()),
            (2, Some(2.0), Some(3.0))
        );
    }

    #[test]
    fn keeps_a_small_spread_on_a_large_mean() {
        let running: Running = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0].into_iter().collect();
        assert!((running.stddev().unwrap() - 30.0_f64.sqrt()).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn agrees_with_two_passes(values in prop::collection::vec(-1e6_f64..1e6, 2..200)) {
            let running: Running = values.iter().copied().collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
            prop_assert!((running.mean().unwrap() - mean).abs() < 1e-6);
            prop_assert!((running.stddev().unwrap() - variance.sqrt()).abs() < 1e-5);
            prop_assert!(values.contains(&running.min().unwrap()) && values.contains(&running.max().unwrap()));
            prop_assert!(values.iter().all(|value| (running.min().unwrap()..=running.max().unwrap()).contains(value)));
        }
    }
}
