//! Whether a series settles, and from where on.
//!
//! Seconds of a run depend on those before them, so every test works on means of batches. A difference must be
//! significant and large enough to matter: in a long series anything is significant.

use crate::change::change_point;
use crate::trend::{Trend, trend};

/// Values per batch when the warm-up is cut off: the 5 of MSER-5.
const MSER_BATCH: usize = 5;

/// Fewer values than this are too few to tell.
const FEWEST: usize = 60;

/// Batches for the tests on what is left: enough for a test, and long enough to be nearly independent.
const BATCHES: usize = 30;

/// A change by less than this share does not matter.
const RELEVANT: f64 = 0.05;

/// A change as large as the tests find in this share of all series that do not change is none.
const SIGNIFICANT: f64 = 0.01;

/// What a series does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stationarity {
    /// It is steady from the value at this position on.
    Steady {
        /// Position of the first value of the steady state.
        from: usize,
    },
    /// There are too few values to tell.
    TooShort {
        /// How many are needed.
        needed: usize,
    },
    /// It is still settling in its second half.
    Settling,
    /// It rises or falls all the time.
    Trending(Trend),
    /// It goes over to another level.
    Changing {
        /// Position of the first value on the new level.
        at: usize,
        /// The new level's mean as a share of the old one's.
        ratio: f64,
    },
}

/// Judges a series of rates.
#[must_use]
pub fn stationarity(values: &[f64]) -> Stationarity {
    if values.len() < FEWEST {
        return Stationarity::TooShort { needed: FEWEST };
    }
    let warm_up = warm_up(values);
    // Where nothing settles, what the series does instead is of the whole.
    let from = warm_up.unwrap_or(0);
    let settled = &values[from..];
    let size = (settled.len() / BATCHES).max(1);
    let batches = batch_means(settled, size);
    let trend = trend(&batches).filter(|trend| trend.p_value < SIGNIFICANT && trend.change.abs() > RELEVANT);
    let change =
        change_point(&batches).filter(|change| change.p_value < SIGNIFICANT && (change.ratio - 1.0).abs() > RELEVANT);
    // A step looks like a trend to a test for trends, and the other way round: what describes the series better is it.
    match (trend, change, warm_up) {
        (Some(trend), change, _) if change.is_none_or(|change| change.share < trend.share) => {
            Stationarity::Trending(trend)
        }
        (_, Some(change), _) => Stationarity::Changing {
            at: from + change.at * size,
            ratio: change.ratio,
        },
        (_, _, Some(from)) => Stationarity::Steady { from },
        _ => Stationarity::Settling,
    }
}

/// Means of batches of `size` values; values that do not fill a batch are left out.
#[must_use]
pub fn batch_means(values: &[f64], size: usize) -> Vec<f64> {
    let size = size.max(1);
    let means = values
        .chunks_exact(size)
        .map(|batch| batch.iter().sum::<f64>() / size as f64);
    means.collect()
}

/// How many values at the begin to leave out, so that the mean of the others is as certain as can be: MSER-5 (K. P.
/// White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997; batches
/// of 5 after K. P. White et al., 2000). The squared standard error of the mean is least there. `None` if the least
/// is in the second half: then the series has not settled.
#[must_use]
pub fn warm_up(values: &[f64]) -> Option<usize> {
    let batches = batch_means(values, MSER_BATCH);
    // From the end on, sums of what is left come for one addition each; taken from the mean first, so that squares
    // lose no digits.
    let center = batches.iter().sum::<f64>() / batches.len().max(1) as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best: Option<(usize, f64)> = None;
    for (index, batch) in batches.iter().enumerate().rev() {
        let off = batch - center;
        (sum, squares) = (sum + off, squares + off * off);
        let left = (batches.len() - index) as f64;
        // The last few batches alone may agree by chance.
        if left >= MSER_BATCH as f64 {
            let error = (squares - sum * sum / left).max(0.0) / (left * left);
            // Of equal ones the one that leaves out least.
            if best.is_none_or(|(_, least)| error <= least) {
                best = Some((index, error));
            }
        }
    }
    let (index, _) = best?;
    (index <= batches.len() / 2).then_some(index * MSER_BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    /// Values around 1000, each off by up to `noise`.
    fn noisy(length: usize, noise: f64, seed: u64) -> Vec<f64> {
        let mut random = Rng::with_seed(seed);
        (0..length)
            .map(|_| 1_000.0 + noise * (2.0 * random.f64() - 1.0))
            .collect()
    }

    #[test]
    fn batches_by_hand() {
        assert_eq!(batch_means(&[1.0, 3.0, 5.0, 7.0, 9.0], 2), [2.0, 6.0]);
        assert_eq!(batch_means(&[1.0, 3.0], 0), [1.0, 3.0]);
        assert_eq!(batch_means(&[1.0], 2), []);
    }

    #[test]
    fn the_warm_up_is_cut_off_where_the_mean_is_most_certain() {
        // Batch means 0, 6, 9, 11, 9, 11, 9, 11, 9, 11 … 20 batches. Without the first two the rest only alternates.
        let means = [0.0, 6.0]
            .into_iter()
            .chain((0..18).map(|index| if index % 2 == 0 { 9.0 } else { 11.0 }));
        let values: Vec<f64> = means.flat_map(|mean| [mean; 5]).collect();
        assert_eq!(warm_up(&values), Some(10));
        assert_eq!(warm_up(&[5.0; 100]), Some(0));
        assert_eq!(warm_up(&[]), None);
    }

    #[test]
    fn a_series_that_settles_late_has_no_steady_state() {
        let values: Vec<f64> = (0..100)
            .map(|index| if index < 70 { f64::from(index) } else { 70.0 })
            .collect();
        assert_eq!(warm_up(&values), None);
        assert!(
            matches!(stationarity(&values), Stationarity::Trending(_)),
            "{:?}",
            stationarity(&values)
        );
    }

    #[test]
    fn noise_alone_is_steady() {
        let steady =
            (0..50).filter(|seed| matches!(stationarity(&noisy(600, 150.0, *seed)), Stationarity::Steady { .. }));
        // With two tests at 1 % one of fifty may fail.
        assert!(steady.count() >= 48);
    }

    #[test]
    fn a_trend_is_found() {
        let mut values = noisy(600, 50.0, 3);
        values
            .iter_mut()
            .enumerate()
            .for_each(|(index, value)| *value *= 1.0 - 0.2 * index as f64 / 600.0);
        let Stationarity::Trending(trend) = stationarity(&values) else {
            panic!("{:?}", stationarity(&values));
        };
        assert!((-0.25..-0.15).contains(&trend.change), "{trend:?}");
    }

    #[test]
    fn another_level_for_a_while_is_found() {
        let mut values = noisy(600, 30.0, 5);
        values[360..].iter_mut().for_each(|value| *value *= 1.15);
        let Stationarity::Changing { at, ratio } = stationarity(&values) else {
            panic!("{:?}", stationarity(&values));
        };
        assert_eq!(at, 360);
        assert!((1.14..1.16).contains(&ratio), "{ratio}");
    }

    #[test]
    fn few_values_say_nothing() {
        assert_eq!(stationarity(&noisy(59, 1.0, 1)), Stationarity::TooShort { needed: 60 });
    }
}
