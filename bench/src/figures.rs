//! Medians and spread of a few measurements.

use serde::Serialize;

/// The median of some measurements with the smallest and the largest.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// Smallest.
    pub min: f64,
    /// Half are smaller, half larger.
    pub median: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// Of at least one value; NaN for none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            at(middle)
        } else {
            (at(middle.wrapping_sub(1)) + at(middle)) / 2.0
        };
        Self {
            min: at(0),
            median,
            max: at(values.len().wrapping_sub(1)),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A precision that is asked for wins.
        let digits = f.precision().unwrap_or(if self.median >= 1000.0 { 0 } else { 2 });
        write!(
            f,
            "{:.digits$} ({:.digits$}–{:.digits$})",
            self.median, self.min, self.max
        )
    }
}
