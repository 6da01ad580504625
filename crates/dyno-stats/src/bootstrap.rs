//! Intervals for figures whose distribution is not known.

use crate::running::Running;
use fastrand::Rng;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// As many resamples as give the interval's ends two digits.
const RESAMPLES: usize = 4_000;

/// Any seed does, as long as it stays: the same archive is to be shown alike each time.
const SEED: u64 = 1;

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

/// The ratio of the mean of `values` to the mean of `baseline`, with a bootstrap interval at `confidence` (0.95 for
/// 95 %). Each value must be independent of the others, as runs are and seconds of a run are not. The order of the
/// values makes no difference, and changing sides inverts the result.
///
/// A plain percentile interval (B. Efron, 1979) of a few values is much narrower than it should be. This is the
/// expanded one of T. Hesterberg ("What teachers should know about the bootstrap", The American Statistician 69,
/// 2015), which takes quantiles so much further out that the interval is as wide as Student's t would make it. It
/// still cannot go beyond the extremes of the values, so three values on a side give about 90 % where 95 % were
/// asked for.
///
/// `None` with fewer than two values on a side, or means that are not above zero.
#[must_use]
pub fn ratio_of_means(values: &[f64], baseline: &[f64], confidence: f64) -> Option<Estimate> {
    let value = mean(values) / mean(baseline);
    if values.len() < 2 || baseline.len() < 2 || !value.is_finite() || value <= 0.0 {
        return None;
    }
    // What is drawn must depend neither on the order of the values nor on which side is the baseline.
    let (mut upper, mut lower) = (values.to_vec(), baseline.to_vec());
    upper.sort_unstable_by(f64::total_cmp);
    lower.sort_unstable_by(f64::total_cmp);
    let inverted = upper < lower;
    if inverted {
        (upper, lower) = (lower, upper);
    }
    let mut random = Rng::with_seed(SEED);
    let mut resampled = |values: &[f64]| {
        let drawn = (0..values.len()).map(|_| values[random.usize(..values.len())]);
        drawn.sum::<f64>() / values.len() as f64
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| resampled(&upper) / resampled(&lower))
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let last = ratios.len().checked_sub(1)?;
    let cut = (last as f64 * tail(&upper, &lower, confidence)).round() as usize;
    let (low, high) = (ratios[cut], ratios[last - cut]);
    let (low, high) = if inverted { (1.0 / high, 1.0 / low) } else { (low, high) };
    Some(Estimate { value, low, high })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The share of the resampled ratios that lies beyond each end of an interval at `confidence`.
fn tail(one: &[f64], other: &[f64], confidence: f64) -> f64 {
    let plain = ((1.0 - confidence) / 2.0).clamp(0.0, 0.5);
    // The squared standard error of a mean as a share of the mean, and how many values say so.
    let error = |values: &[f64]| {
        let count = values.len() as f64;
        let variation = values.iter().copied().collect::<Running>().variation();
        (variation.unwrap_or(0.0).powi(2) / count, count)
    };
    let ((one, ones), (other, others)) = (error(one), error(other));
    // Resampling divides by n where the true variance divides by n − 1.
    let resampled = one * (ones - 1.0) / ones + other * (others - 1.0) / others;
    // Degrees of freedom of the difference of two logarithms of means (B. L. Welch, 1947).
    let freedom = (one + other).powi(2) / (one * one / (ones - 1.0) + other * other / (others - 1.0));
    let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else {
        // Values that never differ: every quantile is the same.
        return plain;
    };
    Normal::standard().cdf(student.inverse_cdf(plain) * ((one + other) / resampled).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_that_never_differ_leave_no_doubt() {
        let estimate = ratio_of_means(&[200.0; 5], &[100.0; 4], 0.95).unwrap();
        assert_eq!((estimate.value, estimate.low, estimate.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn two_values_can_be_worked_out_by_hand() {
        // Resampled means of 90 and 110 are 90, 100 and 110 with shares of 1/4, 1/2 and 1/4.
        let at = |confidence: f64| ratio_of_means(&[110.0, 90.0], &[100.0, 100.0], confidence).unwrap();
        let is = |estimate: Estimate, low: f64, high: f64| {
            assert!(
                (estimate.low - low).abs() < 1e-9 && (estimate.high - high).abs() < 1e-9,
                "{estimate:?}"
            );
        };
        is(at(0.8), 0.9, 1.1);
        is(at(0.1), 1.0, 1.0);
    }

    #[test]
    fn quantiles_are_taken_as_far_out_as_student_demands() {
        // Five values each with equal variance: t(0.975, 8) = 2.306, times √(5/4) is 2.578, beyond which lie 0.497
        // % of a normal distribution.
        let values = [98.0, 99.0, 100.0, 101.0, 102.0];
        assert!((tail(&values, &values, 0.95) - 0.00497).abs() < 2e-5);
        // Of many values the tail is the plain one: t(0.975, 198) = 1.972, times √(100/99) is 1.982.
        let many: Vec<f64> = (0..100).map(|value| 1_000.0 + f64::from(value)).collect();
        assert!((tail(&many, &many, 0.95) - 0.02374).abs() < 2e-4);
    }

    #[test]
    fn too_little_gives_none() {
        assert_eq!(ratio_of_means(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio_of_means(&[], &[], 0.95), None);
        assert_eq!(ratio_of_means(&[1.0, 2.0], &[0.0, 0.0], 0.95), None);
    }

    proptest! {
        #[test]
        fn the_interval_stays_within_the_extremes_and_turns_with_the_sides(
            values in prop::collection::vec(1.0_f64..100.0, 3..10),
                baseline in prop::collection::vec(1.0_f64..100.0, 3..10), scale in 0.01_f64..100.0,
        ) {
            let estimate = ratio_of_means(&values, &baseline, 0.95).unwrap();
            let max = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
            let min = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(estimate.low <= estimate.high);
            prop_assert!(estimate.low >= min(&values) / max(&baseline) - 1e-9
                && estimate.high <= max(&values) / min(&baseline) + 1e-9);

            let turned = ratio_of_means(&baseline, &values, 0.95).unwrap();
            prop_assert!((turned.low * estimate.high - 1.0).abs() < 1e-9
                && (turned.high * estimate.low - 1.0).abs() < 1e-9);

            let scaled = |values: &[f64]| values.iter().rev().map(|value| value * scale).collect::<Vec<_>>();
            let scaled = ratio_of_means(&scaled(&values), &scaled(&baseline), 0.95).unwrap();
            prop_assert!((scaled.low - estimate.low).abs() < 1e-9 && (scaled.high - estimate.high).abs() < 1e-9);
        }
    }
}
