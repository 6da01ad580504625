//! Whether the mean of a series is above or below zero, told while the series goes on, as soon as it is known.
//!
//! The interval around the mean is one that may be looked at after every value (an asymptotic confidence sequence: I.
//! Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas, "Time-uniform central limit theory and asymptotic
//! confidence sequences", The Annals of Statistics 52, 2024): the probability that it ever leaves out the mean is at
//! most what was asked for, once there are enough values. An ordinary interval that is looked at all the time leaves it
//! out sooner or later.
//!
//! What a database does in a tenth of a second depends on what it did in the tenth before, so the variance of the mean
//! is more than that of independent values: it is taken from batches of several lengths, and the largest counts (batch
//! means; see A. M. Law, "Simulation Modeling and Analysis", chapter 9). It is never taken for less than `least`, which
//! the caller knows from what is counted: of a few values that are alike by chance nothing else would be left.

use crate::running::Running;
use crate::steady::batch_means;

/// Lengths of the batches from which the variance is taken.
const BATCHES: [usize; 4] = [1, 3, 5, 10];

/// A variance is not taken from fewer batches than this.
const FEWEST_BATCHES: usize = 4;

/// Never told from fewer values.
const FEWEST: usize = 20;

/// With so many values the interval is shortest for its purpose.
const SHORTEST_AT: f64 = 40.0;

/// Where the mean of a series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeanSign {
    /// Above zero.
    Above,
    /// Below zero.
    Below,
    /// Not known yet.
    Unknown,
}

/// Says where the mean of what goes on as `values` did is. The probability of a wrong answer, however often this is
/// asked as the series grows, is about `risk` for either side, from above 0 to below 1. `least` is the variance that
/// each value has at least.
#[must_use]
pub fn mean_sign(values: &[f64], least: f64, risk: f64) -> MeanSign {
    if values.len() < FEWEST {
        return MeanSign::Unknown;
    }
    let count = values.len() as f64;
    let margin = margin(count, variance(values).max(least), risk);
    match values.iter().sum::<f64>() / count {
        mean if mean > margin => MeanSign::Above,
        mean if mean < -margin => MeanSign::Below,
        _ => MeanSign::Unknown,
    }
}

/// Half the length of the interval around the mean of so many values.
fn margin(count: f64, variance: f64, risk: f64) -> f64 {
    let tightness = (2.0 * (1.0 / risk).ln() + (1.0 + 2.0 * (1.0 / risk).ln()).ln()) / SHORTEST_AT;
    let grown = count * tightness + 1.0;
    let bound = 2.0 * grown / (count * count * tightness) * (1.0 + grown.sqrt() / (2.0 * risk)).ln();
    (variance * bound).sqrt()
}

/// The variance of a value that would give the mean the variance which it has, dependence included.
fn variance(values: &[f64]) -> f64 {
    let of_batches = BATCHES.iter().filter_map(|size| {
        let means = batch_means(values, *size);
        (means.len() >= FEWEST_BATCHES).then(|| *size as f64 * scatter(&means))
    });
    of_batches.fold(0.0, f64::max)
}

/// The variance of independent values.
fn scatter(values: &[f64]) -> f64 {
    let values: Running = values.iter().copied().collect();
    values.stddev().unwrap_or(0.0).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use proptest::prelude::*;

    fn normal(random: &mut Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    /// What is said of a series, looked at after each value, and after how many.
    fn told(values: impl Iterator<Item = f64>, least: f64) -> (MeanSign, usize) {
        let mut series = Vec::new();
        for value in values {
            series.push(value);
            let sign = mean_sign(&series, least, 0.01);
            if sign != MeanSign::Unknown {
                return (sign, series.len());
            }
        }
        (MeanSign::Unknown, series.len())
    }

    #[test]
    fn a_mean_of_zero_is_seldom_taken_for_another() {
        let mut random = Rng::with_seed(1);
        let wrong = (0..400).filter(|_| {
            let series = (0..300).map(|_| normal(&mut random));
            told(series, 0.0).0 != MeanSign::Unknown
        });
        // 2 % for both sides together, and three standard deviations.
        let wrong = wrong.count();
        assert!(wrong <= 16, "{wrong} of 400");
    }

    #[test]
    fn values_that_depend_on_those_before_do_not_deceive_much() {
        let mut random = Rng::with_seed(2);
        let wrong = (0..400).filter(|_| {
            let mut last = 0.0;
            let series = (0..300).map(|_| {
                last = 0.5 * last + normal(&mut random);
                last
            });
            told(series, 0.0).0 != MeanSign::Unknown
        });
        let wrong = wrong.count();
        assert!(wrong <= 40, "{wrong} of 400");
    }

    #[test]
    fn a_mean_that_differs_is_found_soon() {
        let mut random = Rng::with_seed(3);
        for (mean, sign) in [(0.5, MeanSign::Above), (-0.5, MeanSign::Below)] {
            let answers: Vec<_> = (0..100)
                .map(|_| told((0..400).map(|_| mean + normal(&mut random)), 0.0))
                .collect();
            let right = answers.iter().filter(|(told, _)| *told == sign).count();
            assert!(right >= 98, "{right} of 100: {answers:?}");
            let mut lengths: Vec<usize> = answers.iter().map(|(_, length)| *length).collect();
            lengths.sort_unstable();
            assert!((20..120).contains(&lengths[50]), "{}", lengths[50]);
        }
    }

    #[test]
    fn values_that_are_alike_by_chance_are_not_trusted() {
        // Nothing over the limit so far, of few transactions.
        assert_eq!(mean_sign(&[-0.1; 20], 0.1, 0.01), MeanSign::Unknown);
        assert_eq!(mean_sign(&[-10.0; 20], 10.0, 0.01), MeanSign::Below);
        assert_eq!(mean_sign(&[-10.0; 19], 0.0, 0.01), MeanSign::Unknown);
    }

    proptest! {
        #[test]
        fn any_series_has_an_answer(
            values in prop::collection::vec(-1e12..1e12_f64, 0..200),
            least in 0.0..1e6_f64,
        ) {
            let sign = mean_sign(&values, least, 0.01);
            let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
            let expected = match sign {
                MeanSign::Above => MeanSign::Below,
                MeanSign::Below => MeanSign::Above,
                MeanSign::Unknown => MeanSign::Unknown,
            };
            prop_assert_eq!(mean_sign(&mirrored, least, 0.01), expected);
        }
    }
}
