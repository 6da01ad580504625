//! The median of a window that runs along a series.

use crate::robust::median_of_sorted;

/// For each value the median of the `window` values around it. Near the ends the window stays within the series
/// instead of getting shorter, so that the first values are compared with as many others as those in the middle. A
/// window as long as the series gives its median everywhere.
///
/// Values must be finite; what is not counts as 0.
#[must_use]
pub fn running_median(values: &[f64], window: usize) -> Vec<f64> {
    let window = window.clamp(1, values.len().max(1));
    let value = |index: usize| Some(values[index]).filter(|value| value.is_finite()).unwrap_or(0.0);
    let mut first = 0;
    let mut sorted: Vec<f64> = (0..window.min(values.len())).map(value).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let medians = (0..values.len()).map(|index| {
        let wanted = index.saturating_sub(window / 2).min(values.len() - window);
        while first < wanted {
            // One value leaves the window, one enters; the others keep their order.
            let leaving = sorted.partition_point(|other| other.total_cmp(&value(first)).is_lt());
            sorted.remove(leaving);
            let entering = value(first + window);
            let place = sorted.partition_point(|other| other.total_cmp(&entering).is_lt());
            sorted.insert(place, entering);
            first += 1;
        }
        median_of_sorted(&sorted).unwrap_or(0.0)
    });
    medians.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median;
    use proptest::prelude::*;

    #[test]
    fn a_window_of_three() {
        let medians = running_median(&[5.0, 1.0, 4.0, 2.0, 8.0, 3.0], 3);
        // Windows: 5 1 4, 5 1 4, 1 4 2, 4 2 8, 2 8 3, 2 8 3.
        assert_eq!(medians, [4.0, 4.0, 2.0, 4.0, 3.0, 3.0]);
    }

    #[test]
    fn windows_of_any_length() {
        assert!(running_median(&[], 3).is_empty());
        assert_eq!(running_median(&[2.0, 1.0], 0), [2.0, 1.0]);
        assert_eq!(running_median(&[3.0, 1.0, 2.0], 99), [2.0, 2.0, 2.0]);
    }

    proptest! {
        #[test]
        fn agrees_with_medians_taken_one_by_one(values in prop::collection::vec(-100_i32..100, 1..80),
            window in 1_usize..90) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let length = window.min(values.len());
            for (index, found) in running_median(&values, window).into_iter().enumerate() {
                let first = index.saturating_sub(length / 2).min(values.len() - length);
                prop_assert_eq!(Some(found), median(&values[first..first + length]));
            }
        }
    }
}
