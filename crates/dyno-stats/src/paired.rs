//! Whether one of two systems does more than the other, told while slices of both are measured in turn, as soon as it
//! is known.
//!
//! On a machine whose speed wanders, what is measured now and what was measured a minute ago differ by more than the
//! systems do. Slices that follow each other in turn share the wandering, and their ratio is free of most of it. Four
//! slices make a *block*: A B B A or B A A B, so that a drift within it cancels as well; which of the two is drawn
//! anew for each block. That draw is what makes the verdict sound: whatever the machine did during a block, it would
//! have favoured the other side as much had the draw been the other. A block's logarithmic ratio is therefore the true
//! one plus something that is as probably so much above as below, and nothing else is asked for: no normal
//! distribution, no finite variance, no independence of what the machine does from block to block.
//!
//! The interval may be looked at after every block, and measuring may end because of what it says: the probability that
//! it *ever* excludes the true ratio is at most one minus its confidence. (An ordinary interval that is looked at after
//! each block sooner or later excludes it.) It is all ratios that would not have lost a gambler, who bets on the blocks
//! against them, all but a twentieth of what the others won: for a symmetric X, exp(λX − λ²X²/2) is a fair game or
//! worse at any λ (V. de la Peña, "A general class of exponential inequalities for martingales and ratios", The Annals
//! of Probability 27, 1999), as are stakes on the signs alone; what is won is at most twenty-fold, ever, with a
//! probability of 5 % (J. Ville, 1939). Half of the money goes on sizes, which tells small differences where noise is
//! ordinary; half on signs, which no outlier impresses.

use crate::bootstrap::Estimate;
use crate::judgement::CONFIDENCE;
use statrs::function::gamma::ln_gamma;
use std::cmp::Ordering;

/// How the money on sizes is spread over λ: a normal distribution of this variance, in units of one over the squared
/// spread of a block. Tried on traces of two equal servers: anything from a fifth of it to three times as much does
/// about as well.
const STAKES: f64 = 0.1;

/// How the money on signs is spread over their probabilities: a beta distribution with both parameters so large.
const SIGNS: f64 = 3.0;

/// Two servers that are equal may differ by so much for as long as they run: by where their memory lies, say. A smaller
/// difference is therefore no difference of what is compared, which may be larger by as much. (Of equal servers on a
/// quiet machine, `bench/verdicts`.)
const ALIKE: f64 = 0.01;

/// So many of the least and of the greatest blocks are left out of the middle.
const TRIMMED: f64 = 0.2;

/// Beyond so many steps between the least and the greatest block, an end of the interval is sought by halving.
const STEPS: usize = 256;

/// Nobody measures more blocks.
const MOST_BLOCKS: usize = 1_000_000;

/// The blocks of a comparison so far, and what they say.
#[derive(Clone, Debug)]
pub struct Paired {
    /// The variance of the stakes on sizes.
    variance: f64,
    /// The logarithm of what has to be won against a ratio that is excluded.
    won: f64,
    /// The blocks' logarithmic ratios, ascending.
    sorted: Vec<f64>,
    sum: f64,
    squares: f64,
}

/// What the blocks so far say about the second system beside the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has more.
    Higher,
    /// It has less.
    Lower,
    /// If they differ, then by less than was asked for.
    Same,
    /// Not known yet.
    Unknown,
}

impl Paired {
    /// `spread` is about how much the logarithmic ratios of blocks scatter: their standard deviation, best found by
    /// some blocks that are not added later. A wrong one costs time, never soundness. Not above zero is taken as a
    /// tenth.
    #[must_use]
    pub fn new(spread: f64) -> Self {
        let spread = if spread.is_finite() && spread > 0.0 {
            spread
        } else {
            0.1
        };
        Self {
            variance: STAKES / (spread * spread),
            won: (1.0 / (1.0 - CONFIDENCE)).ln(),
            sorted: Vec::new(),
            sum: 0.0,
            squares: 0.0,
        }
    }

    /// The same of one of several comparisons, at least one: intervals are so much wider that the probability that any
    /// of them *ever* excludes its true ratio is at most one minus [`CONFIDENCE`] (C. E. Bonferroni, 1936).
    #[must_use]
    pub fn of_several(spread: f64, comparisons: usize) -> Self {
        let one = Self::new(spread);
        Self {
            won: one.won + (comparisons.max(1) as f64).ln(),
            ..one
        }
    }

    /// Takes the logarithmic ratio of one more block, see [`block`]. Which side began must have been drawn for this
    /// block alone, each with the same probability, before anything of it was measured. What is not finite is left out.
    pub fn add(&mut self, ratio: f64) {
        if ratio.is_finite() {
            self.sum += ratio;
            self.squares += ratio * ratio;
            let place = self.sorted.partition_point(|other| *other < ratio);
            self.sorted.insert(place, ratio);
        }
    }

    /// How many blocks there are.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.sorted.len()
    }

    /// The second system's figure as a ratio to the first's, with the interval that never, at any look, excludes the
    /// true one, at [`CONFIDENCE`]. `None` as long as there are too few blocks for an interval: about ten.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        let (first, last) = (*self.sorted.first()?, *self.sorted.last()?);
        // Beyond all blocks, the signs alone exclude as much as they can.
        if !self.excludes(first - 1.0) || !self.excludes(last + 1.0) {
            return None;
        }
        let (low, high) = (self.end(first, last), self.end(last, first));
        Some(Estimate {
            value: self.middle().max(low).min(high).exp(),
            low: low.exp(),
            high: high.exp(),
        })
    }

    /// What may be said of the second system if a difference of `detect` (0.03 for 3 %) or more matters. One that is
    /// known to be smaller than that in either direction counts as none, even if equal systems would differ by
    /// [`ALIKE`] (or by half of `detect`, if that is less); one that is known to be larger than that is told.
    #[must_use]
    pub fn answer(&self, detect: f64) -> Answer {
        let Some(Estimate { low, high, .. }) = self.estimate() else {
            return Answer::Unknown;
        };
        let same = 1.0 - surely(detect);
        if low > same && high < 1.0 / same {
            return Answer::Same;
        }
        match differs(low, high) {
            Some(Ordering::Greater) => Answer::Higher,
            Some(Ordering::Less) => Answer::Lower,
            _ => Answer::Unknown,
        }
    }

    /// About how many blocks there have to be in all until there is an [`answer`](Self::answer), if the ratio is what
    /// it seems and blocks go on to scatter as they do. `None` with fewer than two blocks, or if it would be more than
    /// anybody measures.
    #[must_use]
    pub fn blocks_for(&self, detect: f64) -> Option<usize> {
        let count = self.blocks() as f64;
        if count < 2.0 {
            return None;
        }
        let mean = self.sum / count;
        let variance = ((self.squares - self.sum * mean) / (count - 1.0)).max(f64::MIN_POSITIVE);
        // Told from what equal systems differ by, or told to be nearer to none than `detect` is.
        let far = |part: f64| -(1.0 - part).ln();
        let margin = (mean.abs() - far(ALIKE)).max(far(surely(detect)) - mean.abs());
        if margin <= 0.0 {
            return None;
        }
        let told = |blocks: usize| {
            let blocks = blocks as f64;
            let squares = blocks * (variance + margin * margin);
            on_sizes(self.variance, blocks * margin, squares) > self.won + 2_f64.ln()
        };
        let enough = (0..)
            .map(|power| 1_usize << power)
            .take_while(|blocks| *blocks <= MOST_BLOCKS)
            .find(|n| told(*n))?;
        let (mut few, mut many) = (enough / 2, enough);
        while many - few > 1 {
            let between = usize::midpoint(few, many);
            if told(between) {
                many = between;
            } else {
                few = between;
            }
        }
        Some(many)
    }

    /// The mean of the blocks without the least and the greatest of them.
    fn middle(&self) -> f64 {
        let cut = (self.blocks() as f64 * TRIMMED) as usize;
        let kept = self.sorted.get(cut..self.blocks() - cut).unwrap_or_default();
        kept.iter().sum::<f64>() / kept.len() as f64
    }

    /// The first place, on the way from one end to the other, that is not excluded.
    fn end(&self, from: f64, to: f64) -> f64 {
        let step = (to - from) / STEPS as f64;
        let Some(inside) = (0..=STEPS).find(|steps| !self.excludes(from + step * *steps as f64)) else {
            // Narrower than a step: nothing but the middle is left.
            return self.middle();
        };
        if inside == 0 {
            return from;
        }
        let (mut out, mut inside) = (from + step * (inside - 1) as f64, from + step * inside as f64);
        for _ in 0..40 {
            let between = f64::midpoint(out, inside);
            if self.excludes(between) {
                out = between;
            } else {
                inside = between;
            }
        }
        // The last one that is excluded, so that the interval is never too narrow by rounding.
        out
    }

    /// Whether the blocks exclude the logarithmic ratio `candidate`.
    fn excludes(&self, candidate: f64) -> bool {
        let count = self.blocks() as f64;
        let sum = self.sum - count * candidate;
        let squares = (self.squares - 2.0 * candidate * self.sum + count * candidate * candidate).max(0.0);
        let sizes = on_sizes(self.variance, sum, squares);
        let below = self.sorted.partition_point(|block| *block < candidate);
        let above = self.blocks() - self.sorted.partition_point(|block| *block <= candidate);
        let signs = on_signs(below as f64, above as f64);
        let won = sizes.max(signs) + (-(sizes - signs).abs()).exp().ln_1p() - 2_f64.ln();
        won > self.won
    }
}

/// A difference as large as this, as it is measured, is surely less than `detect`.
fn surely(detect: f64) -> f64 {
    (detect - ALIKE).max(detect / 2.0)
}

/// Whether a ratio with this interval is above or below what equal systems may have; `None` if it may be either.
#[must_use]
pub fn differs(low: f64, high: f64) -> Option<Ordering> {
    match (low, high) {
        (low, _) if low > 1.0 / (1.0 - ALIKE) => Some(Ordering::Greater),
        (_, high) if high < 1.0 - ALIKE => Some(Ordering::Less),
        _ => None,
    }
}

/// The logarithm of what stakes on sizes bring, given the sum of what should be symmetric around zero and the sum of
/// its squares.
fn on_sizes(variance: f64, sum: f64, squares: f64) -> f64 {
    let grown = 1.0 + variance * squares;
    variance * sum * sum / (2.0 * grown) - grown.ln() / 2.0
}

/// The logarithm of what stakes on signs bring, which should be those of a fair coin.
fn on_signs(below: f64, above: f64) -> f64 {
    let beta = |one: f64, other: f64| ln_gamma(one) + ln_gamma(other) - ln_gamma(one + other);
    beta(SIGNS + below, SIGNS + above) - beta(SIGNS, SIGNS) + (below + above) * 2_f64.ln()
}

/// The logarithmic ratio of a block: the figures of the first system's two slices and of the second's. `None` if one of
/// them is not above zero: nothing was done in it, so there is no ratio.
#[must_use]
pub fn block(first: [f64; 2], second: [f64; 2]) -> Option<f64> {
    let mean = |slices: [f64; 2]| f64::midpoint(slices[0].ln(), slices[1].ln());
    let usable = |slice: &f64| slice.is_finite() && *slice > 0.0;
    (first.iter().all(usable) && second.iter().all(usable)).then(|| mean(second) - mean(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use proptest::prelude::*;

    /// Something symmetric around zero with heavy tails, about `spread` in size.
    fn noise(random: &mut Rng, spread: f64) -> f64 {
        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let size = if random.u8(..) < 13 { 8.0 } else { 1.0 };
        normal * spread * size
    }

    fn duel(random: &mut Rng, ratio: f64, blocks: usize, detect: f64) -> (Answer, usize) {
        let mut paired = Paired::new(0.1);
        for count in 1..=blocks {
            paired.add(ratio.ln() + noise(random, 0.1));
            let answer = paired.answer(detect);
            if answer != Answer::Unknown {
                return (answer, count);
            }
        }
        (Answer::Unknown, blocks)
    }

    #[test]
    fn equal_systems_are_seldom_called_different() {
        let mut random = Rng::with_seed(3);
        let wrong = (0..400)
            .filter(|_| {
                let mut paired = Paired::new(0.1);
                // Looked at after each block, and called different if it ever excludes that they are equal.
                (0..400).any(|_| {
                    paired.add(noise(&mut random, 0.1));
                    paired.excludes(0.0)
                })
            })
            .count();
        // 5 % are promised at most.
        assert!(wrong <= 20, "{wrong} of 400");
    }

    #[test]
    fn a_difference_is_found_and_has_its_direction() {
        let mut random = Rng::with_seed(4);
        for (ratio, answer) in [(0.9, Answer::Lower), (1.0 / 0.9, Answer::Higher)] {
            let found = (0..50)
                .filter(|_| duel(&mut random, ratio, 120, 0.03).0 == answer)
                .count();
            assert!(found >= 48, "{found} of 50 at {ratio}");
        }
    }

    #[test]
    fn equal_systems_are_called_the_same_when_that_is_known() {
        let mut random = Rng::with_seed(5);
        let answers: Vec<(Answer, usize)> = (0..20).map(|_| duel(&mut random, 1.0, 3_000, 0.05)).collect();
        let same = answers.iter().filter(|(answer, _)| *answer == Answer::Same).count();
        assert!(same >= 18, "{answers:?}");
        assert!(answers.iter().all(|(_, blocks)| *blocks > 30), "{answers:?}");
    }

    #[test]
    fn a_difference_that_equal_systems_may_have_is_none() {
        let answer = |ratio: f64, detect: f64| {
            let mut random = Rng::with_seed(9);
            let mut paired = Paired::new(0.01);
            (0..400).for_each(|_| paired.add(ratio.ln() + noise(&mut random, 0.005)));
            let estimate = paired.estimate().expect("400 blocks");
            assert!((estimate.value / ratio - 1.0).abs() < 0.002, "{estimate:?}");
            (paired.answer(detect), paired.blocks_for(detect).is_some())
        };
        assert_eq!(answer(0.995, 0.03), (Answer::Same, true));
        assert_eq!(answer(0.995, 0.001), (Answer::Unknown, false));
        assert_eq!(answer(0.985, 0.001), (Answer::Lower, true));
        assert_eq!(answer(1.02, 0.001), (Answer::Higher, true));
    }

    #[test]
    fn the_middle_is_that_of_most_blocks() {
        let mut paired = Paired::new(0.01);
        for block in 0..20 {
            paired.add(if block < 2 {
                -3.0
            } else {
                f64::from(block % 3 - 1) / 1_000.0
            });
        }
        let estimate = paired.estimate().expect("20 blocks");
        assert!((estimate.value - 1.0).abs() < 0.001, "{estimate:?}");
        assert!(
            estimate.low <= estimate.value && estimate.value <= estimate.high,
            "{estimate:?}"
        );
    }

    #[test]
    fn a_wrong_guess_of_the_spread_costs_time_only() {
        let mut random = Rng::with_seed(6);
        for spread in [0.01, 1.0, f64::NAN, -1.0] {
            let mut paired = Paired::new(spread);
            for _ in 0..400 {
                paired.add(0.1 + noise(&mut random, 0.1));
            }
            let estimate = paired.estimate().expect("400 blocks");
            assert!(estimate.low > 1.0 && estimate.high < 1.25, "{spread}: {estimate:?}");
        }
    }

    #[test]
    fn one_of_several_comparisons_is_seldom_wrong_as_well() {
        let mut random = Rng::with_seed(8);
        let wrong = (0..200)
            .filter(|_| {
                // Three candidates that share their baseline's noise.
                let mut all = [(); 3].map(|()| Paired::of_several(0.1, 3));
                (0..300).any(|_| {
                    let shared = noise(&mut random, 0.07);
                    all.iter_mut().any(|paired| {
                        paired.add(shared + noise(&mut random, 0.07));
                        paired.excludes(0.0)
                    })
                })
            })
            .count();
        assert!(wrong <= 10, "{wrong} of 200");
        let of = |comparisons: usize| {
            let mut paired = Paired::of_several(0.1, comparisons);
            (0..40).for_each(|block| paired.add((f64::from(block) * 0.7).sin() / 10.0));
            paired.estimate().map(|estimate| estimate.high - estimate.low)
        };
        assert_eq!(of(0), of(1));
        assert!(of(1) < of(3), "{:?} {:?}", of(1), of(3));
    }

    #[test]
    fn few_blocks_say_nothing() {
        let mut paired = Paired::new(0.1);
        assert_eq!(paired.estimate(), None);
        assert_eq!(paired.blocks_for(0.05), None);
        for _ in 0..4 {
            paired.add(1.0);
            assert_eq!(paired.answer(0.05), Answer::Unknown);
        }
        paired.add(f64::NAN);
        assert_eq!(paired.blocks(), 4);
    }

    #[test]
    fn what_more_blocks_would_bring_is_about_right() {
        let mut random = Rng::with_seed(7);
        let mut paired = Paired::new(0.1);
        for _ in 0..20 {
            paired.add(0.95_f64.ln() + (random.f64() - 0.5) / 5.0);
        }
        // As in the simulations of the traces, which scatter nearly twice as much and need 45 (median).
        let expected = paired.blocks_for(0.01).expect("few enough");
        assert!((10..60).contains(&expected), "{expected}");
        let mut equal = Paired::new(0.1);
        equal.add(0.1);
        equal.add(-0.1);
        let (coarse, fine) = (equal.blocks_for(0.1), equal.blocks_for(0.01));
        assert!(coarse < fine, "{coarse:?} {fine:?}");
        assert_eq!(equal.blocks_for(0.0), None);
    }

    #[test]
    fn a_block_cancels_a_drift() {
        // The first system's slices came first and last while the machine became slower by a tenth each time.
        let drift = block([100.0, 72.9], [90.0, 81.0]).expect("a ratio");
        assert!(drift.abs() < 1e-12, "{drift}");
        let doubled = block([1.0, 1.0], [2.0, 2.0]).expect("a ratio");
        assert!((doubled - 2_f64.ln()).abs() < 1e-12);
        for zero in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(block([1.0, zero], [1.0, 1.0]), None);
            assert_eq!(block([1.0, 1.0], [zero, 1.0]), None);
        }
    }

    proptest! {
        #[test]
        fn any_blocks_have_an_interval_around_their_ratio(
            blocks in prop::collection::vec(-30.0..30.0_f64, 0..60), spread in 1e-9..10.0_f64,
        ) {
            let mut paired = Paired::new(spread);
            blocks.iter().for_each(|block| paired.add(*block));
            if let Some(Estimate { value, low, high }) = paired.estimate() {
                prop_assert!(low <= value && value <= high && low > 0.0 && high.is_finite());
            }
            let _ = paired.blocks_for(0.05);
        }

        #[test]
        fn changing_sides_inverts_the_interval(blocks in prop::collection::vec(-1.0..1.0_f64, 12..60)) {
            let (mut one, mut other) = (Paired::new(0.1), Paired::new(0.1));
            for block in blocks {
                one.add(block);
                other.add(-block);
            }
            if let (Some(one), Some(other)) = (one.estimate(), other.estimate()) {
                prop_assert!((one.low * other.high - 1.0).abs() < 1e-6, "{one:?} {other:?}");
                prop_assert!((one.high * other.low - 1.0).abs() < 1e-6, "{one:?} {other:?}");
            }
        }
    }
}
