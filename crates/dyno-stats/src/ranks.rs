//! Whether two groups of values differ, by their ranks alone: a test that no wild value and no shape of the
//! distribution can mislead.

use statrs::distribution::{ContinuousCDF, Normal};

/// Up to this many values on both sides together every arrangement is counted; beyond, the normal distribution is
/// as good.
const MOST_COUNTED: usize = 60;

/// The probability that ranks differ at least as much as these if both groups come from one distribution: the
/// two-sided test of H. B. Mann and D. R. Whitney (Annals of Mathematical Statistics 18, 1947), exact also where
/// values are equal. At best 3 values against 3 reach 0.1, 4 against 4 reach 0.029.
///
/// `None` if a side is empty or a value is not a number.
#[must_use]
pub fn mann_whitney(values: &[f64], others: &[f64]) -> Option<f64> {
    let all = values.len() + others.len();
    let finite = values.iter().chain(others).all(|value| value.is_finite());
    if values.is_empty() || others.is_empty() || !finite {
        return None;
    }
    // Which of the two groups is looked at makes no difference, and the smaller has fewer arrangements.
    let (fewer, more) = if values.len() <= others.len() {
        (values, others)
    } else {
        (others, values)
    };
    let ranks = doubled_ranks(fewer, more);
    let sum: usize = ranks[..fewer.len()].iter().sum();
    let off = sum.abs_diff(fewer.len() * (all + 1));
    Some(if all <= MOST_COUNTED {
        counted(&ranks, fewer.len(), off)
    } else {
        approximated(&ranks, fewer.len(), off)
    })
}

/// The least probability that [`mann_whitney`] can find for so many values of each: all of one side above all of
/// the other.
#[must_use]
pub fn least_p_value(values: usize, others: usize) -> f64 {
    let (fewer, more) = (values.min(others), values.max(others));
    // The number of arrangements, one factor after the other; two of them are the farthest.
    let arrangements: f64 = (1..=fewer).map(|place| (more + place) as f64 / place as f64).product();
    (2.0 / arrangements).min(1.0)
}

/// Twice the rank of each value among all, first of `values`, then of `others`: equal values share the mean of
/// their ranks, and twice that is whole.
fn doubled_ranks(values: &[f64], others: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = values.iter().chain(others).copied().collect();
    let rank = |value: &f64| {
        let below = all.iter().filter(|other| *other < value).count();
        let equal = all.iter().filter(|other| *other == value).count();
        2 * below + equal + 1
    };
    all.iter().map(rank).collect()
}

/// The share of all choices of `size` ranks whose sum is at least `off` away from its mean.
fn counted(ranks: &[usize], size: usize, off: usize) -> f64 {
    let most: usize = ranks.iter().sum();
    // Of each size and sum, how many choices of the ranks looked at so far have it.
    let mut choices = vec![vec![0.0; most + 1]; size + 1];
    choices[0][0] = 1.0;
    for rank in ranks {
        for taken in (1..=size).rev() {
            let (smaller, larger) = choices.split_at_mut(taken);
            let (from, to) = (&smaller[taken - 1], &mut larger[0]);
            for sum in *rank..=most {
                to[sum] += from[sum - rank];
            }
        }
    }
    let mean = size * (ranks.len() + 1);
    let total: f64 = choices[size].iter().sum();
    let far = choices[size]
        .iter()
        .enumerate()
        .filter(|(sum, _)| sum.abs_diff(mean) >= off);
    far.map(|(_, count)| count).sum::<f64>() / total
}

/// The same by the normal distribution, with the correction for equal values.
fn approximated(ranks: &[usize], size: usize, off: usize) -> f64 {
    let (all, size) = (ranks.len() as f64, size as f64);
    let mean = all + 1.0;
    let squares: f64 = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum();
    // Drawing without putting back: the variance of the sum of `size` of the doubled ranks.
    let variance = size * (all - size) * squares / (all * (all - 1.0));
    if variance <= 0.0 {
        return 1.0;
    }
    // Sums come in steps of two; half a step is the correction for continuity.
    let distance = (off as f64 - 1.0).max(0.0) / variance.sqrt();
    2.0 * Normal::standard().cdf(-distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_that_do_not_overlap_reach_the_least_probability() {
        // One arrangement of all at either end: 2 of 20, of 70, of 252.
        let apart = |count: usize| {
            let values: Vec<f64> = (0..2 * count).map(|value| value as f64).collect();
            mann_whitney(&values[..count], &values[count..]).unwrap()
        };
        assert!((apart(3) - 2.0 / 20.0).abs() < 1e-12);
        assert!((apart(4) - 2.0 / 70.0).abs() < 1e-12);
        assert!((apart(5) - 2.0 / 252.0).abs() < 1e-12);
    }

    #[test]
    fn sums_worked_out_by_hand() {
        // Ranks 1, 2 and 4 of 6. Sums of three ranks of six, and how many have them: 6, 7 (one each), 8 (2), 9, 10,
        // 11 (3 each), and the same from 15 down. As far from 10.5 as 7 are 6, 7, 14 and 15: 4 of 20.
        assert!((mann_whitney(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]).unwrap() - 0.2).abs() < 1e-12);
        // Values 1 1 2 2, ranks 1.5 1.5 3.5 3.5: the sums 3, 5 (four times) and 7.
        assert!((mann_whitney(&[1.0, 1.0], &[2.0, 2.0]).unwrap() - 2.0 / 6.0).abs() < 1e-12);
        assert_eq!(mann_whitney(&[1.0, 2.0], &[1.0, 2.0]), Some(1.0));
        assert_eq!(mann_whitney(&[5.0; 4], &[5.0; 40]), Some(1.0));
        assert_eq!(mann_whitney(&[5.0; 40], &[5.0; 40]), Some(1.0));
    }

    #[test]
    fn nothing_to_compare_gives_none() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[f64::NAN]), None);
    }

    #[test]
    fn counting_and_the_normal_distribution_agree_where_one_hands_over_to_the_other() {
        let half = MOST_COUNTED / 2;
        for shift in [0, 3, 6, 9, 12] {
            let values: Vec<f64> = (0..half).map(|value| (2 * value) as f64).collect();
            let others: Vec<f64> = (0..half).map(|value| (2 * value + 1 + 2 * shift) as f64).collect();
            let ranks = doubled_ranks(&values, &others);
            let off = ranks[..half].iter().sum::<usize>().abs_diff(half * (2 * half + 1));
            let (exact, near) = (counted(&ranks, half, off), approximated(&ranks, half, off));
            assert!((exact - near).abs() < 0.005, "{shift}: {exact} {near}");
        }
    }

    #[test]
    fn the_least_probability_is_that_of_sides_that_do_not_mix() {
        for (values, others) in [(1, 1), (1, 39), (2, 8), (3, 3), (3, 5), (4, 4), (5, 3), (6, 10)] {
            let count = |first: usize, many: usize| (first..first + many).map(|value| value as f64).collect::<Vec<_>>();
            let found = mann_whitney(&count(0, values), &count(100, others)).unwrap();
            let least = least_p_value(values, others);
            assert!((found - least).abs() < 1e-9, "{values} {others}: {found} {least}");
        }
    }

    proptest! {
        #[test]
        fn a_probability_that_knows_no_sides_and_no_scale(
            values in prop::collection::vec(0_u8..20, 1..12), others in prop::collection::vec(0_u8..20, 1..12),
        ) {
            let plain = |values: &[u8]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
            let (values, others) = (plain(&values), plain(&others));
            let p_value = mann_whitney(&values, &others).unwrap();
            prop_assert!(p_value > 0.0 && p_value <= 1.0 + 1e-9, "{}", p_value);
            prop_assert!((mann_whitney(&others, &values).unwrap() - p_value).abs() < 1e-9);
            let scaled = |values: &[f64]| values.iter().map(|value| (value / 7.0).exp()).collect::<Vec<_>>();
            prop_assert_eq!(mann_whitney(&scaled(&values), &scaled(&others)), Some(p_value));
        }
    }
}
