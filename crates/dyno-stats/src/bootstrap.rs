//! Intervals for figures whose distribution is not known.

use fastrand::Rng;

/// As many resamples as give the interval's ends two digits.
const RESAMPLES: usize = 4_000;

/// A figure with the interval that contains it at the confidence asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The ratio of the mean of `values` to the mean of `baseline`, with a percentile bootstrap interval at `confidence` (0.95 for 95 %; B. Efron, 1979).
/// Each value must be independent of the others, as runs are and seconds of a run are not. With three or four values on a side the interval is
/// narrower than it should be. The same `seed` gives the same interval.
///
/// `None` with fewer than two values on a side, or means that are not above zero.
#[must_use]
pub fn ratio_of_means(values: &[f64], baseline: &[f64], confidence: f64, seed: u64) -> Option<Estimate> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let value = mean(values) / mean(baseline);
    if values.len() < 2 || baseline.len() < 2 || !value.is_finite() || value <= 0.0 {
        return None;
    }
    let mut random = Rng::with_seed(seed);
    let mut resampled = |values: &[f64]| {
        let drawn = (0..values.len()).map(|_| values[random.usize(..values.len())]);
        drawn.sum::<f64>() / values.len() as f64
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| resampled(values) / resampled(baseline))
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let last = ratios.len().checked_sub(1)?;
    let tail = ((1.0 - confidence) / 2.0).clamp(0.0, 0.5);
    let at = |share: f64| ratios[((last as f64) * share).round() as usize];
    Some(Estimate {
        value,
        low: at(tail),
        high: at(1.0 - tail),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_that_never_differ_leave_no_doubt() {
        let estimate = ratio_of_means(&[200.0; 5], &[100.0; 4], 0.95, 1).unwrap();
        assert_eq!((estimate.value, estimate.low, estimate.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn two_values_can_be_worked_out_by_hand() {
        // Resampled means of 90 and 110 are 90, 100 and 110 with shares of 1/4, 1/2 and 1/4.
        let estimate = ratio_of_means(&[90.0, 110.0], &[100.0, 100.0], 0.8, 7).unwrap();
        assert_eq!((estimate.value, estimate.low, estimate.high), (1.0, 0.9, 1.1));
        let estimate = ratio_of_means(&[90.0, 110.0], &[100.0, 100.0], 0.2, 7).unwrap();
        assert_eq!((estimate.low, estimate.high), (1.0, 1.0));
    }

    #[test]
    fn too_little_gives_none() {
        assert_eq!(ratio_of_means(&[1.0], &[1.0, 2.0], 0.95, 1), None);
        assert_eq!(ratio_of_means(&[], &[], 0.95, 1), None);
        assert_eq!(ratio_of_means(&[1.0, 2.0], &[0.0, 0.0], 0.95, 1), None);
    }

    proptest! {
        #[test]
        fn the_interval_stays_within_the_extremes(
            values in prop::collection::vec(1.0_f64..100.0, 3..10), baseline in prop::collection::vec(1.0_f64..100.0, 3..10), seed: u64,
        ) {
            let estimate = ratio_of_means(&values, &baseline, 0.95, seed).unwrap();
            let max = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
            let min = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(estimate.low <= estimate.high);
            prop_assert!(estimate.low >= min(&values) / max(&baseline) - 1e-9 && estimate.high <= max(&values) / min(&baseline) + 1e-9);
            prop_assert_eq!(ratio_of_means(&values, &baseline, 0.95, seed), Some(estimate));
        }
    }
}
