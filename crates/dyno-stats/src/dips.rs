//! Stretches in which a series lies well below what is usual around it.

use crate::{Level, median, running_median};
use std::ops::Range;

/// A dip must be at least this deep, as a share of the running median: less is not worth an explanation.
const LEAST_DEPTH: f64 = 0.2;

/// A single low value must be deeper than this many spreads of the (logarithmic) series around its running median:
/// noise alone goes that far once in 30,000 values. Of n low values in a row each needs to be only 1/√n of that
/// deep, for noise would have to do it n times: for any n that is rarer still.
const LEAST_SPREADS: f64 = 4.0;

/// In longer rows noise is no noise any more, but a slow change.
const LONGEST_ROW: usize = 5;

/// Whatever the noise, a value that has lost more than this share is a dip.
const SURE_DEPTH: f64 = 0.9;

/// A running median below this share of the overall one is itself within a dip that is longer than half the window.
const LOST: f64 = 0.1;

/// A series that is 0 for most of the time stood still if something was done in one value of so many …
const LEAST_BUSY: usize = 5;

/// … and if it turns from nothing to something, or back, once in so many values at most.
const TURNS_APART: usize = 20;

/// A stretch of low values.
#[derive(Clone, Debug, PartialEq)]
pub struct Dip {
    /// The positions of its values.
    pub range: Range<usize>,
    /// How far the lowest of them lies below the running median, as a share of it: 1 is a standstill.
    pub depth: f64,
    /// The mean of the running median meanwhile.
    pub usual: f64,
}

/// The dips of a series of rates, all 0 or more, against the running median of `window` values: values far below
/// it, and rows of values that all are somewhat below it. Dips with a single value between them are one: the
/// recovery of a moment is none.
#[must_use]
pub fn dips(values: &[f64], window: usize) -> Vec<Dip> {
    let Some(overall) = usual_level(values) else {
        return Vec::new();
    };
    let mut usual = running_median(values, window);
    for median in usual.iter_mut().filter(|median| **median < LOST * overall) {
        *median = overall;
    }
    let ratios: Vec<f64> = values.iter().zip(&usual).map(|(value, usual)| value / usual).collect();
    // Noise multiplies rather than adds: as logarithms of ratios, half and double are equally far, and values at
    // different heights alike noisy.
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.max(f64::MIN_POSITIVE).ln()).collect();
    let spread = Level::of(&logarithms).map_or(0.0, |level| level.spread);
    let depths: Vec<f64> = ratios.into_iter().map(|ratio| 1.0 - ratio).collect();
    let mut low = vec![false; depths.len()];
    for length in 1..=LONGEST_ROW {
        let spreads = LEAST_SPREADS / (length as f64).sqrt();
        let threshold = (1.0 - (-spreads * spread).exp()).clamp(LEAST_DEPTH, SURE_DEPTH);
        for (start, row) in depths.windows(length).enumerate() {
            if row.iter().all(|depth| *depth > threshold) {
                low[start..start + length].fill(true);
            }
        }
    }

    let mut dips: Vec<Dip> = Vec::new();
    for (index, depth) in depths.into_iter().enumerate().filter(|(index, _)| low[*index]) {
        match dips.last_mut().filter(|dip| index <= dip.range.end + 1) {
            Some(dip) => {
                dip.range.end = index + 1;
                dip.depth = dip.depth.max(depth);
            }
            None => dips.push(Dip {
                range: index..index + 1,
                depth,
                usual: 0.0,
            }),
        }
    }
    for dip in &mut dips {
        let usual = &usual[dip.range.clone()];
        dip.usual = usual.iter().sum::<f64>() / usual.len() as f64;
    }
    dips
}

/// The level of a series while anything is done. Half of it and more may be a standstill; where there is something
/// now and then, nothing is usual.
fn usual_level(values: &[f64]) -> Option<f64> {
    let overall = median(values)?;
    if overall > 0.0 {
        return Some(overall);
    }
    let busy: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    let turns = values
        .windows(2)
        .filter(|pair| (pair[0] > 0.0) != (pair[1] > 0.0))
        .count();
    let stood_still = busy.len() * LEAST_BUSY >= values.len() && turns * TURNS_APART <= values.len();
    median(&busy).filter(|_| stood_still)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A series around 1000 that is off by up to 20 either way.
    fn calm(length: usize) -> Vec<f64> {
        (0..length).map(|index| 980.0 + (index * 7 % 41) as f64).collect()
    }

    #[test]
    fn finds_a_dip_with_its_depth_and_joins_what_belongs_together() {
        let mut values = calm(120);
        (values[50], values[51], values[53]) = (400.0, 100.0, 500.0);
        let found = dips(&values, 61);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].range, 50..54);
        assert!((found[0].depth - 0.9).abs() < 0.01, "{found:?}");
        assert!((found[0].usual - 1_000.0).abs() < 20.0, "{found:?}");
        // Two values between them: two dips.
        values[51] = 1_000.0;
        values[52] = 1_000.0;
        assert_eq!(dips(&values, 61).len(), 2);
    }

    #[test]
    fn a_standstill_of_more_than_half_the_time_is_a_dip() {
        let mut values = calm(120);
        values[20..90].fill(0.0);
        let found = dips(&values, 61);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].range.clone(), found[0].depth), (20..90, 1.0));
        // Something now and then is no load that stood still.
        let rare: Vec<f64> = (0..120).map(|index| f64::from(index % 3 == 0)).collect();
        assert!(dips(&rare, 61).is_empty());
        let mut rarer = vec![0.0; 120];
        (rarer[10], rarer[70]) = (1.0, 1.0);
        assert!(dips(&rarer, 61).is_empty());
    }

    #[test]
    fn dips_at_the_ends_are_found_too() {
        let mut values = calm(100);
        (values[0], values[99]) = (10.0, 10.0);
        let found: Vec<_> = dips(&values, 61).into_iter().map(|dip| dip.range).collect();
        assert_eq!(found, [0..1, 99..100]);
    }

    #[test]
    fn a_new_level_is_no_dip() {
        let mut values = calm(200);
        values[100..].iter_mut().for_each(|value| *value /= 2.0);
        assert_eq!(dips(&values, 31), []);
    }

    #[test]
    fn a_standstill_longer_than_the_window_is_a_dip() {
        let mut values = calm(300);
        values[100..190].iter_mut().for_each(|value| *value = 0.0);
        let found = dips(&values, 61);
        assert_eq!(
            (found.len(), found[0].range.clone(), found[0].depth),
            (1, 100..190, 1.0)
        );
    }

    #[test]
    fn a_noisy_series_has_no_dips_but_standstills() {
        // Half the values lie 25 % off: a spread of 0.37, four of which are more than all.
        let mut values: Vec<f64> = (0..100)
            .map(|index| [750.0, 1_250.0, 1_000.0, 990.0][index % 4])
            .collect();
        assert_eq!(dips(&values, 61), []);
        values[40] = 5.0;
        assert_eq!(dips(&values, 61).len(), 1);
    }

    #[test]
    fn low_values_in_a_row_count_for_more_than_one() {
        // A spread of 0.19, so that a single value must lie 74 % below, and each of four in a row 37 %.
        let noise = [870.0, 1_130.0, 1_000.0, 980.0, 1_250.0, 760.0, 1_020.0];
        let mut values: Vec<f64> = (0..140).map(|index| noise[index % 7]).collect();
        values[30] = 500.0;
        values[70..74].fill(500.0);
        let found = dips(&values, 61);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].range, 70..74);
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(dips(&[], 61), []);
        assert_eq!(dips(&[0.0; 50], 61), []);
    }

    proptest! {
        #[test]
        fn dips_are_in_order_apart_and_deep(values in prop::collection::vec(0.0_f64..1000.0, 0..200),
            window in 1_usize..90) {
            let found = dips(&values, window);
            for dip in &found {
                prop_assert!(dip.range.start < dip.range.end && dip.range.end <= values.len());
                prop_assert!(dip.depth > LEAST_DEPTH && dip.depth <= 1.0);
            }
            for pair in found.windows(2) {
                prop_assert!(pair[0].range.end + 1 < pair[1].range.start);
            }
        }
    }
}
