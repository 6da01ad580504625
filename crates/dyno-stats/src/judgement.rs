//! Whether one system does more of something than another, judged by runs of both.
//!
//! The unit is the run: seconds of one run depend on each other, and what differs from run to run (placement of
//! data, neighbours on the machine) is in none of them. A judgement asks for two things at once. The interval of
//! the ratio must exclude 1 (T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, who
//! say how much and how sure rather than whether), and a rank test must find such a difference improbable: the
//! interval of a few runs is too narrow at times, and the test holds its level whatever the distribution is.

use crate::bootstrap::{Estimate, ratio_of_means};
use crate::ranks::mann_whitney;
use crate::running::Running;

/// The confidence of intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Systems that do not differ are said to differ in no more than this share of all judgements.
pub const FALSE_JUDGEMENTS: f64 = 0.05;

/// With as many runs on both sides, this many are needed for a rank test to reach [`FALSE_JUDGEMENTS`]; see
/// [`least_p_value`](crate::least_p_value) for others.
pub const FEWEST_RUNS: usize = 4;

/// From so many runs on each side on, their spread says about how many are needed.
const FEWEST_FOR_SPREAD: usize = 3;

/// As many more runs, or any larger number: nobody makes them.
pub const MANY_RUNS: usize = 100;

/// What runs of two systems say about each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The mean of the runs as a ratio to that of the baseline.
    pub ratio: f64,
    /// Its interval at [`CONFIDENCE`]; `None` with a single run on a side.
    pub interval: Option<Estimate>,
    /// How probable ranks like these are if nothing differs, see [`mann_whitney`].
    pub p_value: f64,
    /// What may be concluded.
    pub outcome: Outcome,
}

/// What may be concluded from the runs of two systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// More than the baseline.
    Higher,
    /// Less than the baseline.
    Lower,
    /// The runs do not tell.
    Unknown {
        /// About how many more runs of each would tell four times out of five, if the difference is what it seems;
        /// at most [`MANY_RUNS`]. `None` if there are too few runs to say even that.
        more_runs: Option<usize>,
    },
}

/// Judges the figures of runs against those of the baseline's runs. `None` if a side has no run, or if the
/// baseline's mean is not above zero: then there is nothing that the other could be a multiple of.
#[must_use]
pub fn judge(runs: &[f64], baseline: &[f64]) -> Option<Judgement> {
    let (of_runs, of_baseline): (Running, Running) =
        (runs.iter().copied().collect(), baseline.iter().copied().collect());
    let ratio = of_runs.mean()? / of_baseline.mean()?;
    let p_value = mann_whitney(runs, baseline)?;
    if !ratio.is_finite() || ratio < 0.0 {
        return None;
    }
    let interval = if ratio > 0.0 {
        ratio_of_means(runs, baseline, CONFIDENCE)
    } else {
        // Runs in which nothing at all was done leave no room for doubt about how much that was.
        const NOTHING: Estimate = Estimate {
            value: 0.0,
            low: 0.0,
            high: 0.0,
        };
        (runs.len() > 1 && baseline.len() > 1).then_some(NOTHING)
    };
    let outcome = match interval {
        Some(interval) if interval.low > 1.0 && p_value <= FALSE_JUDGEMENTS => Outcome::Higher,
        Some(interval) if interval.high < 1.0 && p_value <= FALSE_JUDGEMENTS => Outcome::Lower,
        _ => Outcome::Unknown {
            more_runs: more_runs(ratio, &of_runs, &of_baseline),
        },
    };
    Some(Judgement {
        ratio,
        interval,
        p_value,
        outcome,
    })
}

/// About how many more runs of each would tell a difference as large as `ratio` if runs go on to spread as they did.
///
/// The usual formula for two means, n = (z₀.₉₇₅ + z₀.₈)² (v₁² + v₂²) / d², with d the logarithm of the ratio and v
/// the coefficients of variation; more by π/3 for ranks, which use a little less of what normally distributed
/// values say (E. L. Lehmann, "Nonparametrics", 1975), and by one because v is an estimate (W. C. Guenther, 1981).
fn more_runs(ratio: f64, runs: &Running, baseline: &Running) -> Option<usize> {
    const Z_SQUARED: f64 = (1.959_964 + 0.841_621) * (1.959_964 + 0.841_621);
    let have = runs.count().min(baseline.count()) as usize;
    if have < FEWEST_FOR_SPREAD {
        return None;
    }
    let spread = runs.variation()?.powi(2) + baseline.variation()?.powi(2);
    let needed = std::f64::consts::FRAC_PI_3 * Z_SQUARED * spread / ratio.ln().powi(2) + 1.0;
    // Equal means need infinitely many. A number that is not one comes of equal means without any spread: nothing
    // to be found there either.
    let needed = if needed.is_nan() { f64::INFINITY } else { needed.ceil() };
    let needed = (needed as usize).max(FEWEST_RUNS);
    Some(needed.saturating_sub(have).clamp(1, MANY_RUNS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use proptest::prelude::*;

    fn outcome(runs: &[f64], baseline: &[f64]) -> Outcome {
        judge(runs, baseline).unwrap().outcome
    }

    #[test]
    fn more_less_and_neither() {
        let baseline = [99.0, 100.0, 101.0, 102.0, 98.0];
        let judged = judge(&[110.0, 111.0, 109.0, 112.0, 108.0], &baseline).unwrap();
        assert_eq!(judged.outcome, Outcome::Higher);
        assert!((judged.ratio - 1.1).abs() < 1e-9 && (judged.p_value - 2.0 / 252.0).abs() < 1e-9);
        let interval = judged.interval.unwrap();
        assert!(
            1.07 < interval.low && interval.low < 1.09 && 1.11 < interval.high && interval.high < 1.13,
            "{interval:?}"
        );
        assert_eq!(outcome(&[90.0, 91.0, 89.0, 92.0, 88.0], &baseline), Outcome::Lower);
        assert!(matches!(
            outcome(&[100.5, 101.0, 99.0, 98.5, 102.0], &baseline),
            Outcome::Unknown { .. }
        ));
    }

    #[test]
    fn three_runs_are_too_few_however_far_apart_they_are() {
        assert_eq!(
            outcome(&[200.0, 201.0, 202.0], &[100.0, 101.0, 102.0]),
            Outcome::Unknown { more_runs: Some(1) }
        );
        assert_eq!(
            outcome(&[200.0, 201.0, 202.0, 203.0], &[100.0, 101.0, 102.0, 103.0]),
            Outcome::Higher
        );
    }

    #[test]
    fn how_many_more_runs_would_tell() {
        // Coefficients of variation of 2 % each and a difference of 2 %: 7.849 × 0.0008 / 0.000392 × 1.047 + 1 = 17.8.
        let spread = [98.0, 98.0, 102.0, 102.0];
        let factor = 2.0 / (16.0_f64 / 3.0).sqrt();
        let baseline: Vec<f64> = spread.iter().map(|value| 100.0 + (value - 100.0) * factor).collect();
        let runs: Vec<f64> = baseline.iter().map(|value| value * 1.02).collect();
        assert_eq!(outcome(&runs, &baseline), Outcome::Unknown { more_runs: Some(14) });
        // Nothing to be seen, and nothing known of the spread.
        assert_eq!(
            outcome(&baseline, &baseline),
            Outcome::Unknown {
                more_runs: Some(MANY_RUNS)
            }
        );
        assert_eq!(
            outcome(&[5.0; 4], &[5.0; 4]),
            Outcome::Unknown {
                more_runs: Some(MANY_RUNS)
            }
        );
        assert_eq!(
            outcome(&[1.0, 2.0], &[1.0, 2.0, 3.0]),
            Outcome::Unknown { more_runs: None }
        );
        assert_eq!(outcome(&[1.0], &[2.0]), Outcome::Unknown { more_runs: None });
    }

    #[test]
    fn doing_nothing_at_all_is_less_and_a_baseline_that_did_nothing_is_none() {
        assert_eq!(outcome(&[0.0; 4], &[98.0, 99.0, 101.0, 102.0]), Outcome::Lower);
        assert_eq!(judge(&[], &[1.0]), None);
        assert_eq!(judge(&[1.0], &[0.0]), None);
    }

    /// Figures of runs around `middle` with a lognormal `spread`.
    fn runs(random: &mut Rng, count: usize, middle: f64, spread: f64) -> Vec<f64> {
        // The sum of twelve uniform numbers is as good as normally distributed here.
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        (0..count).map(|_| middle * (spread * normal()).exp()).collect()
    }

    #[test]
    fn systems_that_do_not_differ_are_seldom_told_apart() {
        const TRIALS: usize = 400;
        let mut random = Rng::with_seed(7);
        for count in 3..=10 {
            for spread in [0.02, 0.5] {
                let judged = (0..TRIALS).filter(|_| {
                    let (one, other) = (
                        runs(&mut random, count, 1_000.0, spread),
                        runs(&mut random, count, 1_000.0, spread),
                    );
                    // Without this the outcome is not known, and resampling takes long.
                    let improbable = mann_whitney(&one, &other) <= Some(FALSE_JUDGEMENTS);
                    improbable && !matches!(outcome(&one, &other), Outcome::Unknown { .. })
                });
                let share = judged.count() as f64 / TRIALS as f64;
                // At 5 % a share of 400 trials is within three standard errors of 1.1 % each.
                assert!(
                    share <= FALSE_JUDGEMENTS + 0.033,
                    "{share} of {count} runs that spread by {spread}"
                );
            }
        }
    }

    #[test]
    fn a_difference_of_ten_percent_is_found_by_five_runs_that_spread_by_two() {
        const TRIALS: usize = 200;
        let mut random = Rng::with_seed(11);
        let found = (0..TRIALS).filter(|_| {
            let (runs, baseline) = (runs(&mut random, 5, 1_100.0, 0.02), runs(&mut random, 5, 1_000.0, 0.02));
            outcome(&runs, &baseline) == Outcome::Higher
        });
        assert!(found.count() * 10 >= TRIALS * 9);
    }

    proptest! {
        #[test]
        fn changing_sides_inverts_the_judgement(
            runs in prop::collection::vec(50.0_f64..150.0, 1..9),
                baseline in prop::collection::vec(50.0_f64..150.0, 1..9), scale in 0.01_f64..100.0,
        ) {
            let judged = judge(&runs, &baseline).unwrap();
            let turned = judge(&baseline, &runs).unwrap();
            prop_assert!((judged.ratio * turned.ratio - 1.0).abs() < 1e-9);
            let inverted = match judged.outcome {
                Outcome::Higher => Outcome::Lower,
                Outcome::Lower => Outcome::Higher,
                unknown => unknown,
            };
            prop_assert_eq!(turned.outcome, inverted);

            let scaled = |values: &[f64]| values.iter().map(|value| value * scale).collect::<Vec<_>>();
            prop_assert_eq!(judge(&scaled(&runs), &scaled(&baseline)).unwrap().outcome, judged.outcome);
        }
    }
}
