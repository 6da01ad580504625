//! How long slices have to be, as the first ones show: as short as they can be, because what disturbs a machine for
//! longer than a slice cancels, but long enough for their figures to be of some transactions, and for a side to have
//! come back from its rest in the part that is cut.

use super::sequence::{CUT, PARTS};
use dyno_stats::Running;
use std::time::Duration;

/// So many transactions have to be complete in the part of a slice that counts.
const FEW: f64 = 50.0;

/// A part of slices differs from the last one by so many standard errors, and by this share, if a side has not settled
/// in it.
const ERRORS: f64 = 4.0;
const SHARE: f64 = 0.02;

/// So many times as long at most.
const MOST: u32 = 10;

/// What the first slices were like.
#[derive(Clone, Debug)]
pub(super) struct Length {
    /// Of each side, by how many transactions each part differs from the last part of its slice.
    differences: Vec<[Running; PARTS as usize]>,
    /// How many transactions the last part had.
    last: Vec<Running>,
    /// How many the parts had that count, all together.
    counted: Vec<Running>,
}

/// Why slices are to be longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reason {
    /// So many transactions were complete in one.
    Few(f64),
    /// A side took so many parts of it, or more, to settle.
    Settling(u32),
}

impl Length {
    /// Nothing seen yet of so many sides.
    pub fn new(sides: usize) -> Self {
        Self {
            differences: vec![Default::default(); sides],
            last: vec![Running::new(); sides],
            counted: vec![Running::new(); sides],
        }
    }

    /// Takes a slice of this side: how many transactions were complete in each of its parts.
    pub fn add(&mut self, side: usize, parts: &[u64]) {
        let Some(last) = parts.last().map(|count| *count as f64) else {
            return;
        };
        for (difference, count) in self.differences[side].iter_mut().zip(parts) {
            difference.add(*count as f64 - last);
        }
        self.last[side].add(last);
        self.counted[side].add(parts.iter().skip(CUT as usize).sum::<u64>() as f64);
    }

    /// How many times as long slices have to be, from 1 to [`MOST`], and why.
    pub fn factor(&self) -> (u32, Option<Reason>) {
        let transactions = self.counted.iter().map(|counted| counted.mean().unwrap_or(0.0));
        let fewest = transactions.reduce(f64::min).unwrap_or(0.0);
        let for_transactions = (FEW / fewest).ceil().clamp(1.0, f64::from(MOST)) as u32;
        let settled = (0..self.last.len()).map(|side| self.settled(side)).max().unwrap_or(CUT);
        let for_settling = match settled + 1 {
            // That its level was reached by the end is not known.
            PARTS => MOST,
            _ => settled / CUT,
        };
        match for_transactions.max(for_settling) {
            1 => (1, None),
            factor if factor == for_transactions => (factor, Some(Reason::Few(fewest))),
            factor => (factor, Some(Reason::Settling(settled))),
        }
    }

    /// From which part on a side goes on as it ends, at least [`CUT`].
    fn settled(&self, side: usize) -> u32 {
        let level = self.last[side].mean().unwrap_or(0.0);
        let is_settling = |difference: &Running| {
            let count = difference.count() as f64;
            let (Some(mean), Some(stddev)) = (difference.mean(), difference.stddev()) else {
                return false;
            };
            mean.abs() > SHARE * level && mean.abs() > ERRORS * stddev / count.sqrt()
        };
        let parts = (CUT..PARTS - 1).rev();
        let settling = parts
            .into_iter()
            .find(|part| is_settling(&self.differences[side][*part as usize]));
        settling.map_or(CUT, |part| part + 1)
    }
}

/// What to say of longer slices.
pub(super) fn said(reason: Reason, from: Duration, to: Duration) -> String {
    let why = match reason {
        Reason::Few(transactions) => format!(
            "in one of {} only {transactions:.1} transactions of a side were complete on average",
            seconds(from)
        ),
        Reason::Settling(parts) => format!(
            "a side took {} or more to come back from its rest",
            seconds(from / PARTS * parts)
        ),
    };
    format!("Slices were lengthened to {}, because {why}.", seconds(to))
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    /// Sixteen slices of two sides on a machine that wanders; `shape` is the throughput of each part.
    fn seen(transactions: f64, shape: [f64; PARTS as usize]) -> (u32, Option<Reason>) {
        let mut random = Rng::with_seed(5);
        let mut length = Length::new(2);
        for slice in 0..16 {
            let speed = transactions * (1.0 + 0.2 * (f64::from(slice) / 2.0).sin());
            let parts = shape.map(|share| (speed * share * (0.97 + 0.06 * random.f64())).round() as u64);
            length.add(usize::from(slice % 2 == 1), &parts);
        }
        length.factor()
    }

    #[test]
    fn slices_stay_short_where_that_is_enough() {
        assert_eq!(seen(1_000.0, [1.0; 5]), (1, None));
        // The first part is cut anyhow.
        assert_eq!(seen(1_000.0, [0.2, 1.0, 1.0, 1.0, 1.0]), (1, None));
    }

    #[test]
    fn few_transactions_make_them_longer() {
        let (factor, reason) = seen(5.0, [1.0; 5]);
        assert!((2..=4).contains(&factor), "{factor}");
        assert!(
            matches!(reason, Some(Reason::Few(count)) if (15.0..25.0).contains(&count)),
            "{reason:?}"
        );
        assert_eq!(seen(0.0, [1.0; 5]), (MOST, Some(Reason::Few(0.0))));
        assert_eq!(Length::new(2).factor(), (MOST, Some(Reason::Few(0.0))));
    }

    #[test]
    fn long_settling_makes_them_longer() {
        assert_eq!(seen(1_000.0, [0.2, 0.7, 1.0, 1.0, 1.0]), (2, Some(Reason::Settling(2))));
        assert_eq!(seen(1_000.0, [0.2, 0.5, 0.7, 1.0, 1.0]), (3, Some(Reason::Settling(3))));
        assert_eq!(
            seen(1_000.0, [0.2, 0.4, 0.6, 0.8, 1.0]),
            (MOST, Some(Reason::Settling(4)))
        );
        // Faster at first counts as well.
        assert_eq!(seen(1_000.0, [2.0, 1.5, 1.0, 1.0, 1.0]), (2, Some(Reason::Settling(2))));
    }

    #[test]
    fn equal_parts_are_seldom_taken_for_settling() {
        let mut random = Rng::with_seed(9);
        let mut count = || 80 + (0..40).filter(|_| random.bool()).count() as u64;
        let longer = (0..1_000).filter(|_| {
            let mut length = Length::new(2);
            for slice in 0..16 {
                length.add(slice % 2, &[count(), count(), count(), count(), count()]);
            }
            length.factor().0 > 1
        });
        let longer = longer.count();
        assert!(longer <= 50, "{longer} of 1000");
    }
}
