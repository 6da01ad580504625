//! Where a series goes over to another level.

use fastrand::Rng;

/// How often the series is shuffled to see what chance does.
const SHUFFLES: usize = 999;

/// The shortest level, in values: fewer are a dip or a peak.
const SHORTEST: usize = 3;

/// The seed of the shuffling, so that the same series is always judged alike.
const SEED: u64 = 0x64_79_6e_6f;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Position of the first value on the new level.
    pub at: usize,
    /// The mean of the values from there on, as a share of the mean of those before.
    pub ratio: f64,
    /// How probable a change as clear as this is in a series without any.
    pub p_value: f64,
    /// The share of the series' variance that two levels describe, from 0 to 1.
    pub share: f64,
}

/// The clearest change of level in a series of independent values, such as means of long batches: where the means
/// of the two sides differ most for their lengths. How often the shuffled series shows as clear a one is its
/// p-value (a permutation test, as in N. A. James and D. S. Matteson's E-divisive, 2014; their energy statistic
/// also finds changes of spread, which do not matter for a mean).
///
/// `None` with fewer than six values, or a mean of zero in front.
#[must_use]
pub fn change_point(values: &[f64]) -> Option<Change> {
    let (at, clearest) = clearest(values)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let ratio = mean(&values[at..]) / mean(&values[..at]);
    let mut random = Rng::with_seed(SEED);
    let mut shuffled = values.to_vec();
    let as_clear = (0..SHUFFLES).filter(|_| {
        random.shuffle(&mut shuffled);
        // The allowance is for sums in another order.
        crate::change::clearest(&shuffled).is_some_and(|(_, found)| found >= clearest * (1.0 - 1e-9))
    });
    let p_value = (as_clear.count() + 1) as f64 / (SHUFFLES + 1) as f64;
    let whole = mean(values);
    let variance: f64 = values.iter().map(|value| (value - whole).powi(2)).sum();
    let share = if variance > 0.0 { clearest / variance } else { 0.0 };
    ratio.is_finite().then_some(Change {
        at,
        ratio,
        p_value,
        share,
    })
}

/// The position that divides the series most clearly, and how clearly: the squared difference of means, weighted by
/// the lengths of both sides.
fn clearest(values: &[f64]) -> Option<(usize, f64)> {
    let total: f64 = values.iter().sum();
    let last = values.len().checked_sub(SHORTEST)?;
    let mut before = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for (index, value) in values.iter().enumerate().take(last + 1) {
        if index >= SHORTEST {
            let (left, right) = (index as f64, (values.len() - index) as f64);
            let difference = before / left - (total - before) / right;
            let clear = difference * difference * left * right / (left + right);
            if best.is_none_or(|(_, clearest)| clear > clearest) {
                best = Some((index, clear));
            }
        }
        before += value;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_by_hand() {
        // Ten values around 100, ten around 80.
        let values: Vec<f64> = (0..20)
            .map(|index| if index < 10 { 99.0 } else { 79.0 } + f64::from(index % 3))
            .collect();
        let change = change_point(&values).unwrap();
        // The first ten are 99 100 101 99 100 101 99 100 101 99 = 999, the others 80 81 79 80 81 79 80 81 79 80 = 800.
        assert_eq!(change.at, 10);
        assert!((change.ratio - 800.0 / 999.0).abs() < 1e-12);
        assert_eq!(change.p_value, 0.001);
        // Between the levels (199/10)² · 10·10/20 = 1980.05, within them 6.9 + 6.0.
        assert!((change.share - 1_980.05 / 1_992.95).abs() < 1e-6, "{}", change.share);
    }

    #[test]
    fn a_series_on_one_level_has_none_that_is_significant() {
        let mut random = Rng::with_seed(11);
        let significant = (0..100).filter(|_| {
            let values: Vec<f64> = (0..30).map(|_| random.f64()).collect();
            change_point(&values).unwrap().p_value < 0.01
        });
        assert!(significant.count() <= 4);
        assert_eq!(change_point(&[7.0; 30]).unwrap().p_value, 1.0);
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(change_point(&[1.0; 5]), None);
        assert_eq!(change_point(&[0.0; 12]), None);
    }
}
