//! Whether a series rises or falls.

use crate::median;
use statrs::distribution::{ContinuousCDF, Normal};

/// With fewer values the normal approximation of the test does not hold (R. O. Gilbert, 1987).
const FEWEST: usize = 10;

/// A rise or fall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// How much the series rises from its first to its last value, as a share of its median; negative if it falls.
    pub change: f64,
    /// How probable a rise or fall as clear as this is in a series without any.
    pub p_value: f64,
    /// The share of the series' variance that a straight line describes, from 0 to 1.
    pub share: f64,
}

/// The trend of a series of independent values, such as means of long batches: significance by the Mann-Kendall
/// test (H. B. Mann, 1945, with the correction for ties of M. G. Kendall, 1975), slope as the median of all slopes
/// between two values (P. K. Sen, 1968). Neither is moved by a few wild values.
///
/// `None` with fewer than ten values, or a median of zero.
#[must_use]
pub fn trend(values: &[f64]) -> Option<Trend> {
    let middle = median(values).filter(|middle| *middle != 0.0)?;
    if values.len() < FEWEST {
        return None;
    }
    let count = values.len() as f64;
    let mut concordance = 0.0;
    let mut slopes = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    for (index, first) in values.iter().enumerate() {
        for (further, second) in values.iter().enumerate().skip(index + 1) {
            let rise = second - first;
            if rise != 0.0 {
                concordance += rise.signum();
            }
            slopes.push(rise / (further - index) as f64);
        }
    }
    let pairs = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|one, other| one == other)
        .map(|tied| pairs(tied.len() as f64))
        .sum();
    let variance = (pairs(count) - ties) / 18.0;
    let p_value = if concordance == 0.0 || variance <= 0.0 {
        1.0
    } else {
        // One less: the statistic moves in steps of two.
        let deviation = (f64::abs(concordance) - 1.0) / variance.sqrt();
        2.0 * Normal::standard().sf(deviation)
    };
    let slope = median(&slopes)?;
    Some(Trend {
        change: slope * (count - 1.0) / middle.abs(),
        p_value: p_value.min(1.0),
        share: straightness(values),
    })
}

/// The squared correlation of the values with their positions; 0 for a series that never changes.
fn straightness(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut both, mut along, mut up) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let (x, y) = (index as f64 - middle, value - mean);
        both += x * y;
        along += x * x;
        up += y * y;
    }
    if along * up > 0.0 {
        both * both / (along * up)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_by_hand() {
        // 10 values, all 45 pairs rise: S = 45, variance 10·9·25/18 = 125, z = 44/√125 = 3.935, p = 8.3e-5.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let found = trend(&values).unwrap();
        assert!((found.p_value - 8.3e-5).abs() < 1e-6, "{found:?}");
        // From 1 to 10 around a median of 5.5.
        assert!((found.change - 9.0 / 5.5).abs() < 1e-12);
        assert!((found.share - 1.0).abs() < 1e-12);
    }

    #[test]
    fn ties_are_allowed_for() {
        // 1 1 1 1 1 2 2 2 2 2: S = 25, variance (2250 − 2·5·4·15)/18 = 91.67, z = 24/9.574 = 2.507, p = 0.0122.
        let values = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0];
        assert!((trend(&values).unwrap().p_value - 0.0122).abs() < 1e-4);
    }

    #[test]
    fn what_goes_up_and_down_has_no_trend() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 4.0, 3.0, 2.0, 1.0];
        let found = trend(&values).unwrap();
        assert_eq!((found.p_value, found.share), (1.0, 0.0));
        assert_eq!(trend(&[5.0; 20]).unwrap().p_value, 1.0);
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(trend(&[1.0; 9]), None);
        assert_eq!(trend(&[0.0; 20]), None);
    }
}
