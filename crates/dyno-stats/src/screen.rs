//! Which of several factors matter, by a fractional design of two levels whose runs are made in pairs.
//!
//! Trying factors one after the other takes a comparison for each and uses every measurement once. In a design of
//! n rows and orthogonal columns (R. Plackett and J. Burman, "The design of optimum multifactorial experiments",
//! Biometrika 33, 1946) each effect is estimated from all measurements, as exactly as if all had been made for it
//! alone.
//!
//! Each row is measured beside its mirror image, in which every factor has its other level: the logarithmic ratio of
//! the two. What factors do together in twos (or fours) is the same in a row and in its mirror image, so it is not in
//! the ratio (the fold-over of G. E. P. Box and K. B. Wilson, "On the experimental attainment of optimum conditions",
//! Journal of the Royal Statistical Society B 13, 1951): effects are free of it, and it remains unknown. What three do
//! together is in the ratios and, with more than four factors, mixed into effects.
//!
//! Every row is measured twice, the second time with the sides exchanged. What the two say of the row differs by
//! twice what the first of two has before the second always, and otherwise by noise: that of the blocks within a
//! pair, and that which a pair cannot see in itself, such as where its servers' files lie. The columns that no
//! factor needs, and that of ones, have only such noise if effects explain what was measured. If they have more,
//! that is taken for the noise of effects, too.

use crate::bootstrap::Estimate;
use crate::judgement::CONFIDENCE;
use crate::running::Running;
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// The most factors of a design.
pub const MOST_FACTORS: usize = 11;

/// The first row of the design of twelve, whose others follow by rotation (Plackett and Burman); the last has ones
/// only.
const TWELVE: [bool; 11] = [true, true, false, true, true, true, false, false, false, true, false];

/// Logarithms are not told apart more exactly than by a billionth.
const LEAST_VARIANCE: f64 = 1e-18;

/// With so small a probability chance alone would be taken for something that effects do not explain.
const CHANCE: f64 = 0.01;

/// The rows of a design: for each row the level of each column, the column of ones first. Rows are made in pairs, each
/// in two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    factors: usize,
    /// Whether a row has the second level in a column.
    rows: Vec<Vec<bool>>,
}

/// What a design says.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// Of each factor, the figure with its second level as a ratio to that with its first, whatever levels the others
    /// have. All intervals hold at [`CONFIDENCE`] together.
    pub factors: Vec<Estimate>,
    /// What single effects do not explain, if it is more than the noise of pairs: about how much of it is in each
    /// effect, as the standard deviation of its logarithm. Intervals are made of that then.
    pub unexplained: Option<f64>,
}

impl Design {
    /// The smallest design for so many factors; `None` for none or more than [`MOST_FACTORS`].
    #[must_use]
    pub fn new(factors: usize) -> Option<Self> {
        let rows = match factors {
            1..=3 => sylvester(4),
            4..=7 => sylvester(8),
            8..=MOST_FACTORS => twelve(),
            _ => return None,
        };
        Some(Self { factors, rows })
    }

    /// How many pairs are to be measured.
    #[must_use]
    pub fn pairs(&self) -> usize {
        2 * self.rows.len()
    }

    /// Whether `factor` has its second level in the second of this pair, and its first in the first. All rows come once
    /// before they come again, the other way round.
    #[must_use]
    pub fn is_second(&self, pair: usize, factor: usize) -> bool {
        let count = self.rows.len();
        factor < self.factors && self.at(pair % count, factor + 1) == (pair < count)
    }

    fn at(&self, row: usize, column: usize) -> bool {
        let row = self.rows.get(row).map_or(&[][..], Vec::as_slice);
        row.get(column).copied().unwrap_or_default()
    }

    /// What the `pairs` say: of each, all in their order, the logarithm of the figure of its second as a ratio to that
    /// of its first. `None` if they are not all, or one is not finite.
    #[must_use]
    pub fn effects(&self, pairs: &[f64]) -> Option<Effects> {
        let count = self.rows.len();
        if pairs.len() != self.pairs() || !pairs.iter().all(|log| log.is_finite()) {
            return None;
        }
        let (once, again) = pairs.split_at(count);
        let both = || once.iter().zip(again);
        let rows: Vec<f64> = both().map(|(once, again)| (once - again) / 2.0).collect();
        let noises: Running = both().map(|(once, again)| (once + again) / 2.0).collect();
        let columns: Vec<f64> = (0..count).map(|column| self.column(column, &rows)).collect();
        let is_spare = |column: usize| column == 0 || column > self.factors;
        let spare: Vec<f64> = (0..count)
            .filter(|column| is_spare(*column))
            .map(|c| columns[c])
            .collect();
        let noise = Noise {
            // Without any noise there would be nothing to compare with.
            variance: (noises.stddev()?.powi(2) / count as f64).max(LEAST_VARIANCE),
            freedom: count as f64 - 1.0,
        };
        let left = Noise {
            variance: spare.iter().map(|column| column * column).sum::<f64>() / spare.len() as f64,
            freedom: spare.len() as f64,
        };
        let is_more = left.is_more_than(noise);
        let taken = match is_more {
            true => left,
            false => noise.pooled(left),
        };
        let half = taken.half(self.factors)?;
        let estimate = |factor: usize| {
            let log = columns[factor + 1];
            Estimate {
                value: log.exp(),
                low: (log - half).exp(),
                high: (log + half).exp(),
            }
        };
        Some(Effects {
            factors: (0..self.factors).map(estimate).collect(),
            unexplained: is_more.then(|| left.variance.sqrt()),
        })
    }

    /// The mean of the rows, each with the sign that it has in a column.
    fn column(&self, column: usize, rows: &[f64]) -> f64 {
        let signed = rows.iter().enumerate().map(|(row, log)| match self.at(row, column) {
            true => *log,
            false => -log,
        });
        signed.sum::<f64>() / rows.len() as f64
    }
}

/// J. J. Sylvester's matrix (1867) of this order, a power of two.
fn sylvester(order: usize) -> Vec<Vec<bool>> {
    let row = |row: usize| (0..order).map(move |column| (row & column).count_ones().is_multiple_of(2));
    (0..order).map(|number| row(number).collect()).collect()
}

/// The matrix of order twelve (R. E. A. C. Paley, 1933).
fn twelve() -> Vec<Vec<bool>> {
    let rotated = |by: usize| (0..TWELVE.len()).map(move |column| !TWELVE[(column + by) % TWELVE.len()]);
    let rows = (0..TWELVE.len()).map(|by| std::iter::once(true).chain(rotated(by)).collect());
    std::iter::once(vec![true; TWELVE.len() + 1]).chain(rows).collect()
}

/// The variance of each effect's logarithm, and how exactly it is known.
#[derive(Clone, Copy)]
struct Noise {
    variance: f64,
    /// Degrees of freedom.
    freedom: f64,
}

impl Noise {
    /// What both say of the same noise.
    fn pooled(self, other: Self) -> Self {
        let freedom = self.freedom + other.freedom;
        Self {
            variance: (self.variance * self.freedom + other.variance * other.freedom) / freedom,
            freedom,
        }
    }

    /// Whether this is so much more than `other` that it is no chance.
    fn is_more_than(self, other: Self) -> bool {
        FisherSnedecor::new(self.freedom, other.freedom)
            .is_ok_and(|fisher| fisher.sf(self.variance / other.variance) < CHANCE)
    }

    /// Half of the interval of an effect, one of so many that are all to lie in theirs (C. E. Bonferroni, 1936).
    fn half(self, effects: usize) -> Option<f64> {
        let student = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        let beyond = (1.0 - CONFIDENCE) / 2.0 / effects as f64;
        Some(student.inverse_cdf(1.0 - beyond) * self.variance.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use proptest::prelude::*;

    fn normal(random: &mut Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    /// The sign of a factor in a row or, `mirrored`, in its mirror image.
    fn sign(design: &Design, pair: usize, factor: usize, mirrored: bool) -> f64 {
        if design.is_second(pair, factor) == mirrored {
            -1.0
        } else {
            1.0
        }
    }

    /// What is measured without noise if `log` is the logarithm of the figure, given the signs of all factors.
    fn exact(design: &Design, log: impl Fn(&dyn Fn(usize) -> f64) -> f64) -> Vec<f64> {
        let of = |pair: usize, mirrored: bool| log(&|factor| sign(design, pair, factor, mirrored));
        (0..design.pairs())
            .map(|pair| of(pair, false) - of(pair, true))
            .collect()
    }

    fn logs(design: &Design, pairs: &[f64]) -> Vec<f64> {
        let effects = design.effects(pairs).expect("all pairs");
        effects.factors.iter().map(|effect| effect.value.ln()).collect()
    }

    #[test]
    fn columns_are_orthogonal() {
        for factors in 1..=MOST_FACTORS {
            let design = Design::new(factors).expect("a design");
            let order = design.rows.len();
            assert!(order > factors && order.is_multiple_of(4), "{factors}");
            for one in 0..order {
                for other in 0..one {
                    let alike = (0..order).filter(|row| design.at(*row, one) == design.at(*row, other));
                    assert_eq!(alike.count() * 2, order, "columns {one} and {other} of {order}");
                }
            }
            assert!((0..order).all(|row| design.at(row, 0)));
        }
        assert_eq!((Design::new(0), Design::new(12)), (None, None));
    }

    #[test]
    fn with_four_factors_what_three_do_together_is_in_no_effect() {
        for factors in 3..=4 {
            let design = Design::new(factors).expect("a design");
            let pairs = exact(&design, |sign| 0.1 * sign(0) + sign(0) * sign(1) * sign(factors - 1));
            let found = logs(&design, &pairs);
            assert!((found[0] - 0.2).abs() < 1e-9 && found[1..].iter().all(|log| log.abs() < 1e-9));
            // But in columns that are left over.
            assert!(design.effects(&pairs).expect("all pairs").unexplained.is_some());
        }
        let design = Design::new(7).expect("a design");
        let pairs = exact(&design, |sign| sign(0) * sign(1) * sign(3));
        assert!(logs(&design, &pairs).iter().any(|log| log.abs() > 0.1));
    }

    #[test]
    fn what_the_first_of_two_has_always_is_in_no_effect() {
        let design = Design::new(7).expect("a design");
        let mut pairs = exact(&design, |sign| 0.05 * sign(4));
        pairs.iter_mut().for_each(|log| *log += 0.3);
        let found = logs(&design, &pairs);
        assert!((found[4] - 0.1).abs() < 1e-9 && found[0].abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn too_few_pairs_say_nothing() {
        let design = Design::new(3).expect("a design");
        let mut pairs = exact(&design, |sign| sign(0));
        assert_eq!(design.effects(&pairs[1..]), None);
        pairs[2] = f64::NAN;
        assert_eq!(design.effects(&pairs), None);
        // Pairs without any noise: nothing is divided by zero.
        let effects = design.effects(&exact(&design, |_| 0.0)).expect("all pairs");
        let has_one = |effect: &Estimate| effect.low <= 1.0 && effect.high >= 1.0;
        assert!(effects.factors.iter().all(has_one));
    }

    /// Of 2,000 screenings of so many factors, in per cent: how many have all true effects in their intervals, and how
    /// many found something unexplained. Pairs scatter by `noise`.
    fn covered(factors: usize, noise: f64) -> (f64, f64) {
        const TRIES: usize = 2_000;
        let mut random = Rng::with_seed(11);
        let design = Design::new(factors).expect("a design");
        let (mut covered, mut unexplained) = (0, 0);
        for _ in 0..TRIES {
            let truth: Vec<f64> = (0..factors).map(|_| 0.1 * normal(&mut random)).collect();
            let pairs: Vec<f64> = (0..design.pairs())
                .map(|pair| {
                    let all = truth.iter().enumerate();
                    let log: f64 = all.map(|(factor, log)| log * sign(&design, pair, factor, false)).sum();
                    log + noise * normal(&mut random)
                })
                .collect();
            let effects = design.effects(&pairs).expect("all pairs");
            let within = |(effect, log): (&Estimate, &f64)| (effect.low..=effect.high).contains(&log.exp());
            covered += usize::from(effects.factors.iter().zip(&truth).all(within));
            unexplained += usize::from(effects.unexplained.is_some());
        }
        let percent = |count: usize| 100.0 * count as f64 / TRIES as f64;
        (percent(covered), percent(unexplained))
    }

    #[test]
    fn all_effects_lie_in_their_intervals_as_often_as_is_said() {
        for noise in [0.03, 0.3] {
            for factors in [2, 3, 5, 7, 11] {
                let (covered, unexplained) = covered(factors, noise);
                assert!(
                    (94.0..98.5).contains(&covered),
                    "{factors} factors, {noise}: {covered} %"
                );
                assert!(unexplained < 2.0, "{factors} factors, {noise}: {unexplained} %");
            }
        }
    }

    proptest! {
        #[test]
        fn effects_are_found_whatever_factors_do_in_twos(
            factors in 1..=MOST_FACTORS, seed in any::<u64>(), size in 0.0..10.0_f64,
        ) {
            let mut random = Rng::with_seed(seed);
            let design = Design::new(factors).expect("a design");
            let truth: Vec<f64> = (0..factors).map(|_| normal(&mut random) / 5.0).collect();
            let together: Vec<f64> = (0..factors * factors).map(|_| size * normal(&mut random)).collect();
            let pairs = exact(&design, |sign| {
                let alone: f64 = truth.iter().enumerate().map(|(factor, log)| log / 2.0 * sign(factor)).sum();
                let twos = together.iter().enumerate();
                let twos: f64 = twos.map(|(both, log)| log * sign(both / factors) * sign(both % factors)).sum();
                alone + twos + 7.0
            });
            let effects = design.effects(&pairs).expect("all pairs");
            for (effect, truth) in effects.factors.iter().zip(&truth) {
                prop_assert!((effect.value.ln() - truth).abs() < 1e-9, "{effect:?} {truth}");
                prop_assert!(effect.low <= effect.value && effect.value <= effect.high);
            }
            prop_assert_eq!(effects.unexplained, None);
        }
    }
}
