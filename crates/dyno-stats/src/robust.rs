//! Middle and spread of a series that a few wild values cannot move.
//!
//! Seconds of a benchmark are mostly alike with some far off, and what is far off is just what is asked about: mean
//! and standard deviation would be drawn towards it.

/// The spread of a normal distribution per median absolute deviation: 1 / Φ⁻¹(3/4).
const SPREAD_PER_MAD: f64 = 1.482_602_218_505_602;

/// The median of the finite values among `values`; `None` if there are none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The middle value, or the mean of the two in the middle.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle)) {
        (_, None) => None,
        (1, upper) => upper.copied(),
        // Halved first: the sum of two numbers can be too large for a number.
        (_, Some(upper)) => Some(sorted[middle - 1] / 2.0 + upper / 2.0),
    }
}

/// Where the values of a series usually lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The median.
    pub median: f64,
    /// The median absolute deviation from it, scaled so that it is the standard deviation where values are normally
    /// distributed (F. R. Hampel, "The influence curve and its role in robust estimation", JASA 69, 1974).
    pub spread: f64,
}

impl Level {
    /// The level of the finite values among `values`; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let middle = median(values)?;
        let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
        Some(Self {
            median: middle,
            spread: median(&distances)? * SPREAD_PER_MAD,
        })
    }

    /// How many spreads `value` lies above the median; negative below it. A spread smaller than `least` counts as
    /// `least`: a series that hardly ever changes would else make much of nothing. With a spread of zero the result
    /// is zero or infinite.
    #[must_use]
    pub fn distance(&self, value: f64, least: f64) -> f64 {
        let off = value - self.median;
        if off == 0.0 { 0.0 } else { off / self.spread.max(least) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn medians_worked_out_by_hand() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[9.0, 1.0, 5.0, 7.0]), Some(6.0));
        assert_eq!(median(&[f64::NAN, 2.0, f64::INFINITY, 4.0]), Some(3.0));
    }

    #[test]
    fn one_wild_value_moves_nothing() {
        // Distances from 5: 4 3 2 1 0 1 2 3, and 995; their median is 2.
        let level = Level::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1000.0]).unwrap();
        assert_eq!(level.median, 5.0);
        assert!((level.spread - 2.0 * 1.482_602).abs() < 1e-5);
        assert!((level.distance(1000.0, 0.0) - 995.0 / 2.965_204).abs() < 1e-3);
        assert!((level.distance(0.0, 10.0) + 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_constant_series_has_no_spread() {
        let level = Level::of(&[2.0; 5]).unwrap();
        assert_eq!(
            (level.distance(2.0, 0.0), level.distance(3.0, 0.0)),
            (0.0, f64::INFINITY)
        );
        assert_eq!(level.distance(3.0, 0.5), 2.0);
    }

    proptest! {
        #[test]
        fn half_of_all_values_are_on_either_side(values in prop::collection::vec(-1e6_f64..1e6, 1..100)) {
            let middle = median(&values).unwrap();
            let below = values.iter().filter(|value| **value < middle).count();
            let above = values.iter().filter(|value| **value > middle).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }
    }
}
