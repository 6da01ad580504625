//! One load, and whether it holds the limits, told as soon as it is known.
//!
//! Each limit becomes a mean that has to be below zero. Of a percentile it is that of how many transactions of a short
//! interval took longer than the limit, less how many may: with p99 one of a hundred. So nothing is assumed about how
//! latencies are distributed, and an interval in which the server stands still counts as much as it harms. A
//! transaction that failed is none that was in time: otherwise a server that gives up what is slow holds any limit.

use super::backlog::{BEHIND, Backlog};
use dyno_archive::{CapacityStep, LimitedMeasure, LoadLimit, StepVerdict};
use dyno_record::{LatencyHistogram, Recording};
use dyno_stats::{MeanSign, mean_sign};
use std::time::Duration;

/// The probability of a wrong verdict of one limit, about.
pub(super) const RISK: f64 = 0.025;

/// A mean is not said to be below its limit before so many transactions: of a few, those that take very long are
/// missing.
const FEWEST_OF_A_MEAN: u64 = 300;

/// So many more transactions may have been over a limit by chance.
const BY_CHANCE: f64 = 3.0;

/// What was seen of a load so far.
pub(super) struct Step {
    pub load: f64,
    /// Of each limit, by how much every interval exceeds it.
    limits: Vec<(LoadLimit, Vec<f64>)>,
    /// Of each workload that has a rate.
    backlogs: Vec<Backlog>,
    /// When what counts of it began.
    start: Duration,
    end: Duration,
    intervals: usize,
    transactions: u64,
    errors: u64,
    latency: LatencyHistogram,
    latency_us: f64,
    lag_us: f64,
}

impl Step {
    /// Nothing seen yet of this load. `rates` are those of the workloads, per second; none in a closed loop.
    pub fn new(load: f64, limits: &[LoadLimit], rates: &[f64], start: Duration) -> Self {
        Self {
            load,
            limits: limits.iter().map(|limit| (*limit, Vec::new())).collect(),
            backlogs: rates.iter().copied().map(Backlog::new).collect(),
            start,
            end: start,
            intervals: 0,
            transactions: 0,
            errors: 0,
            latency: LatencyHistogram::new(),
            latency_us: 0.0,
            lag_us: 0.0,
        }
    }

    /// Takes what all workloads did in one more interval, which ended at `end`.
    pub fn add(&mut self, recordings: &[Recording], end: Duration) {
        for (limit, series) in &mut self.limits {
            series.push(recordings.iter().map(|recording| excess(limit, recording)).sum());
        }
        for (backlog, recording) in self.backlogs.iter_mut().zip(recordings) {
            backlog.add(recording);
        }
        for recording in recordings {
            self.transactions += recording.transactions;
            self.errors += recording.errors;
            self.latency.add(&recording.latency);
            self.latency_us += recording.latency_sums.sum_us;
            self.lag_us += recording.lag_sums.sum_us;
        }
        self.intervals += 1;
        self.end = end;
    }

    /// When what counts of it begins.
    pub fn begins(&self) -> Duration {
        self.start
    }

    /// Whether everything is on the right side of its limit, certain or not.
    pub fn is_within(&self) -> bool {
        let within = |series: &[f64]| !series.is_empty() && series.iter().sum::<f64>() < 0.0;
        self.limits.iter().all(|(_, series)| within(series)) && self.backlogs.iter().all(Backlog::is_within)
    }

    /// How long it was watched.
    pub fn lasted(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }

    /// What is known, and what breaks it if it does not hold. That all limits hold is not told before it was watched
    /// for `least`.
    pub fn verdict(&self, least: Duration) -> (StepVerdict, Option<String>) {
        let signs: Vec<MeanSign> = self
            .limits
            .iter()
            .map(|(limit, series)| mean_sign(series, self.least_variance(limit, series), RISK))
            .collect();
        let broken = self
            .limits
            .iter()
            .zip(&signs)
            .find(|(_, sign)| **sign == MeanSign::Above);
        if let Some(((limit, _), _)) = broken {
            return (StepVerdict::Fails, Some(limit.measure.to_string()));
        }
        if self.backlogs.iter().any(|backlog| backlog.is_behind(self.lasted())) {
            return (StepVerdict::Fails, Some(BEHIND.to_owned()));
        }
        let holds = self.lasted() >= least
            && signs.iter().all(|sign| *sign == MeanSign::Below)
            && Backlog::all_keep_up(&self.backlogs)
            && self.has_enough();
        (if holds { StepVerdict::Holds } else { StepVerdict::Unsure }, None)
    }

    /// Whether there were so many transactions that a mean below its limit means something.
    fn has_enough(&self) -> bool {
        let of_a_mean = self
            .limits
            .iter()
            .any(|(limit, _)| limit.measure == LimitedMeasure::Mean);
        !of_a_mean || self.transactions >= FEWEST_OF_A_MEAN
    }

    /// The variance that an interval's excess has at least, because transactions are counted. Of few, or none, that
    /// were over the limit so far, there may have been some more by chance.
    fn least_variance(&self, limit: &LoadLimit, series: &[f64]) -> f64 {
        let may = match limit.measure {
            LimitedMeasure::Errors => Some(limit.below),
            measure => measure.may_exceed(),
        };
        let Some(may) = may else { return 0.0 };
        let all = (self.transactions + self.errors) as f64;
        let over = series.iter().sum::<f64>() + may * all;
        let share = (over + BY_CHANCE) / (all + BY_CHANCE);
        all / self.intervals.max(1) as f64 * share * (1.0 - share)
    }

    /// What is kept of it, with what is said in the end.
    pub fn kept(&self, verdict: StepVerdict, broken: Option<String>) -> CapacityStep {
        let percentile_us = |percent| self.latency.percentile_ns(percent) as f64 / 1e3;
        let done = self.transactions.max(1) as f64;
        CapacityStep {
            load: self.load,
            verdict,
            broken,
            start_s: self.start.as_secs_f64(),
            end_s: self.end.as_secs_f64(),
            tps: self.transactions as f64 / self.lasted().as_secs_f64().max(1e-9),
            errors: self.errors as f64 / (self.transactions + self.errors).max(1) as f64,
            mean_us: self.latency_us / done,
            p50_us: percentile_us(50.0),
            p95_us: percentile_us(95.0),
            p99_us: percentile_us(99.0),
            p999_us: percentile_us(99.9),
            lag_us: self.lag_us / done,
        }
    }
}

/// By how much what was done in an interval exceeds what may be; below 0 if it does not.
fn excess(limit: &LoadLimit, recording: &Recording) -> f64 {
    let (done, errors, below) = (recording.transactions as f64, recording.errors as f64, limit.below);
    match (limit.measure, limit.measure.may_exceed()) {
        (LimitedMeasure::Errors, _) => errors - below * (done + errors),
        (_, Some(share)) => longer(&recording.latency, below) as f64 + errors - share * (done + errors),
        (_, None) => recording.latency_sums.sum_us - below * done,
    }
}

/// How many transactions took so many microseconds or longer.
fn longer(latency: &LatencyHistogram, us: f64) -> u64 {
    let counts = latency.inner();
    let below_ns = (us * 1e3) as u64;
    counts.len() - counts.count_between(0, below_ns.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);

    fn recording(latencies_ms: &[(u64, u64)], lag_ms: u64) -> Recording {
        let mut recording = Recording::default();
        for (ms, count) in latencies_ms {
            recording.transactions += count;
            recording.latency.record_n(ms * 1_000_000, *count);
            for _ in 0..*count {
                recording.latency_sums.record(ms * 1_000_000);
                recording.lag_sums.record(lag_ms * 1_000_000);
            }
        }
        recording
    }

    fn step(limits: &[&str], load: f64) -> Step {
        let limits: Vec<LoadLimit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        Step::new(load, &limits, &[load], Duration::ZERO)
    }

    /// The first verdict that is not unsure, and after how many intervals.
    fn told(step: &mut Step, mut next: impl FnMut(u32) -> Recording) -> (StepVerdict, Option<String>, u32) {
        for number in 1..=400 {
            step.add(&[next(number)], INTERVAL * number);
            let (verdict, broken) = step.verdict(Duration::from_secs(3));
            if verdict != StepVerdict::Unsure {
                return (verdict, broken, number);
            }
        }
        (StepVerdict::Unsure, None, 400)
    }

    #[test]
    fn a_percentile_far_from_its_limit_is_told_soon() {
        let mut held = step(&["p99 < 5ms"], 1_000.0);
        let (verdict, _, after) = told(&mut held, |_| recording(&[(1, 100)], 0));
        assert_eq!(verdict, StepVerdict::Holds);
        assert!((30..60).contains(&after), "{after}");
        let mut failed = step(&["p99 < 5ms"], 1_000.0);
        let (verdict, broken, after) = told(&mut failed, |_| recording(&[(1, 50), (9, 50)], 0));
        assert_eq!((verdict, broken.as_deref()), (StepVerdict::Fails, Some("p99")));
        assert!(after <= 25, "{after}");
    }

    #[test]
    fn a_standstill_of_the_server_counts() {
        // Every second, a tenth of it: ten times as many as p99 allows.
        let mut stalls = step(&["p99 < 5ms"], 1_000.0);
        let (verdict, ..) = told(&mut stalls, |number| {
            if number.is_multiple_of(10) {
                recording(&[(50, 100)], 40)
            } else {
                recording(&[(1, 100)], 0)
            }
        });
        assert_eq!(verdict, StepVerdict::Fails);
    }

    #[test]
    fn the_mean_and_errors_have_limits_too() {
        let mut mean = step(&["mean < 2ms"], 1_000.0);
        let (verdict, broken, _) = told(&mut mean, |_| recording(&[(1, 50), (9, 50)], 0));
        assert_eq!((verdict, broken.as_deref()), (StepVerdict::Fails, Some("mean")));
        let failing = |number: u32| Recording {
            errors: u64::from(number.is_multiple_of(2)),
            ..recording(&[(1, 100)], 0)
        };
        let verdict = |limit: &str| told(&mut step(&[limit], 1_000.0), failing);
        assert_eq!(verdict("errors < 0.1%").1.as_deref(), Some("errors"));
        assert_eq!(verdict("errors < 5%").0, StepVerdict::Holds);
    }

    #[test]
    fn what_fails_is_not_in_time() {
        // The server gives up what would take longer than 4 ms.
        let failing = |_| Recording {
            errors: 10,
            ..recording(&[(3, 90)], 0)
        };
        let (verdict, broken, _) = told(&mut step(&["p99 < 5ms"], 1_000.0), failing);
        assert_eq!((verdict, broken.as_deref()), (StepVerdict::Fails, Some("p99")));
        assert_eq!(told(&mut step(&["p50 < 5ms"], 1_000.0), failing).0, StepVerdict::Holds);
        let nothing_else = |_| Recording {
            errors: 100,
            ..Recording::default()
        };
        let (verdict, ..) = told(&mut step(&["p99 < 5ms"], 1_000.0), nothing_else);
        assert_eq!(verdict, StepVerdict::Fails);
    }

    #[test]
    fn a_mean_of_few_transactions_is_not_believed() {
        let mut few = step(&["mean < 5ms"], 10.0);
        let (verdict, _, after) = told(&mut few, |_| recording(&[(1, 1)], 0));
        assert_eq!((verdict, after), (StepVerdict::Holds, 300));
    }

    #[test]
    fn a_backlog_that_grows_while_transactions_are_slow_does_not_hold() {
        // Three seconds each; the queue grows by 0.4 s a second.
        let mut behind = step(&["p95 < 20s"], 100.0);
        let (verdict, broken, _) = told(&mut behind, |number| {
            let lag_ms = u64::from(number) * 40;
            recording(&[(lag_ms + 3_000, 7)], lag_ms)
        });
        assert_eq!((verdict, broken.as_deref()), (StepVerdict::Fails, Some(BEHIND)));
    }

    #[test]
    fn a_workload_that_is_behind_is_not_hidden_by_another() {
        let limits: Vec<LoadLimit> = vec!["p50 < 10s".parse().unwrap()];
        let verdict = |late: &dyn Fn(u32) -> Recording| {
            let mut step = Step::new(1_100.0, &limits, &[1_000.0, 100.0], Duration::ZERO);
            for number in 1..=100 {
                step.add(&[recording(&[(1, 100)], 0), late(number)], INTERVAL * number);
            }
            step.verdict(Duration::from_secs(3))
        };
        let behind = (StepVerdict::Fails, Some(BEHIND.to_owned()));
        let later = |number: u32| {
            let lag_ms = u64::from(number) * 20;
            recording(&[(lag_ms + 1, 8)], lag_ms)
        };
        assert_eq!(verdict(&later), behind);
        assert_eq!(verdict(&|_| Recording::default()), behind);
        assert_eq!(verdict(&|_| recording(&[(1, 10)], 0)).0, StepVerdict::Holds);
    }

    #[test]
    fn a_backlog_that_grows_fails_even_within_the_limit() {
        let mut behind = step(&["p99 < 10s"], 1_000.0);
        let (verdict, broken, after) = told(&mut behind, |number| {
            let lag_ms = u64::from(number) * 20;
            recording(&[(lag_ms + 1, 80)], lag_ms)
        });
        assert_eq!((verdict, broken.as_deref()), (StepVerdict::Fails, Some(BEHIND)));
        assert!(after < 60, "{after}");
    }

    #[test]
    fn a_server_that_does_nothing_fails() {
        let mut still = step(&["errors < 1%"], 1_000.0);
        let (verdict, broken, after) = told(&mut still, |_| Recording::default());
        assert_eq!(
            (verdict, broken.as_deref(), after),
            (StepVerdict::Fails, Some(BEHIND), 20)
        );
    }

    #[test]
    fn few_transactions_are_not_trusted() {
        let mut few = step(&["p99 < 5ms"], 10.0);
        let (verdict, _, after) = told(&mut few, |_| recording(&[(1, 1)], 0));
        // Four of so many would have been allowed.
        assert!(
            verdict == StepVerdict::Unsure && after == 400,
            "{verdict:?} after {after}"
        );
    }
}
