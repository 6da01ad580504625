//! Whether instants come at regular times.

use crate::median;

/// Fewer gaps than this between instants are regular by chance too often.
const FEWEST_GAPS: usize = 4;

/// How far a gap may be from a multiple of the period, as a share of the period.
const TOLERANCE: f64 = 0.1;

/// As many periods as an instant may be missing for.
const MOST_MISSING: f64 = 3.0;

/// The share of gaps that must fit.
const REGULAR: f64 = 0.8;

/// The period of `instants`, which are in ascending order, in their unit; `None` if they do not come at regular
/// times, or are too few to tell. Some instants may be missing.
#[must_use]
pub fn period(instants: &[f64]) -> Option<f64> {
    let gaps: Vec<f64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if gaps.len() < FEWEST_GAPS {
        return None;
    }
    let usual = median(&gaps).filter(|gap| *gap > 0.0)?;
    let fits = |gap: &&f64| {
        let periods = (*gap / usual).round();
        (1.0..=MOST_MISSING).contains(&periods) && (*gap - periods * usual).abs() <= TOLERANCE * usual
    };
    let regular: Vec<f64> = gaps.iter().filter(fits).copied().collect();
    if (regular.len() as f64) < REGULAR * gaps.len() as f64 {
        return None;
    }
    // Over many periods the mean is more exact than the median gap.
    let periods: f64 = regular.iter().map(|gap| (gap / usual).round()).sum();
    Some(regular.iter().sum::<f64>() / periods)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_instants_have_a_period() {
        let found = period(&[12.0, 610.0, 1_213.0, 1_811.0, 2_412.0]).unwrap();
        assert_eq!(found, 600.0);
    }

    #[test]
    fn one_that_is_missing_does_no_harm() {
        // Gaps 600, 600, 1200, 600, 600: six periods in 3600 s.
        assert_eq!(period(&[0.0, 600.0, 1_200.0, 2_400.0, 3_000.0, 3_600.0]), Some(600.0));
    }

    #[test]
    fn irregular_or_few_instants_have_none() {
        assert_eq!(period(&[0.0, 100.0, 450.0, 520.0, 900.0, 1_700.0]), None);
        assert_eq!(period(&[0.0, 600.0, 1_200.0, 1_800.0]), None);
        assert_eq!(period(&[0.0; 10]), None);
        assert_eq!(period(&[]), None);
    }
}
