//! The search against simulated servers whose capacity is known.

use super::search::Search;
use super::step::Step;
use super::{INTERVAL, least_of};
use dyno_archive::{LoadLimit, StepVerdict};
use dyno_record::Recording;
use fastrand::Rng;
use proptest::prelude::*;
use std::time::Duration;

/// A server that does one transaction after the other, each in a random time, on a machine whose speed wanders.
struct Server {
    random: Rng,
    /// Transactions per second that it does at most, on average.
    speed_per_s: f64,
    /// By how much that wanders: the standard deviation of its logarithm.
    noise: f64,
    wandering: f64,
}

impl Server {
    fn new(seed: u64, speed_per_s: f64, noise: f64) -> Self {
        Self {
            random: Rng::with_seed(seed),
            speed_per_s,
            noise,
            wandering: 0.0,
        }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.random.f64()).ln() * mean
    }

    /// The speed in the next interval: what disturbs a machine lasts for about two seconds.
    fn wander(&mut self) -> f64 {
        let normal = (0..12).map(|_| self.random.f64()).sum::<f64>() - 6.0;
        let kept = 0.95_f64;
        self.wandering = kept * self.wandering + (1.0 - kept * kept).sqrt() * self.noise * normal;
        self.speed_per_s * self.wandering.exp()
    }

    /// What is seen of a rate until there is a verdict, or for so long: the verdict.
    fn tried(&mut self, rate: f64, limits: &[LoadLimit], least: Duration, most: Duration) -> (StepVerdict, bool) {
        let mut step = Step::new(rate, limits, &[rate], Duration::ZERO);
        let interval_s = INTERVAL.as_secs_f64();
        let (mut due_s, mut free_s) = (0.0_f64, 0.0_f64);
        let mut number = 0;
        loop {
            number += 1;
            let end_s = f64::from(number) * interval_s;
            let speed = self.wander();
            let mut recording = Recording::default();
            // What begins later than this interval is of the next.
            while due_s.max(free_s) < end_s {
                let begin_s = due_s.max(free_s);
                free_s = begin_s + self.exponential(1.0 / speed);
                let ns = |seconds: f64| (seconds * 1e9) as u64;
                recording.transactions += 1;
                recording.latency.record(ns(free_s - due_s));
                recording.latency_sums.record(ns(free_s - due_s));
                recording.lag_sums.record(ns(begin_s - due_s));
                due_s += self.exponential(1.0 / rate);
            }
            step.add(&[recording], INTERVAL * number);
            let (verdict, _) = step.verdict(least);
            if verdict != StepVerdict::Unsure || step.lasted() >= most {
                return (verdict, step.is_within());
            }
        }
    }

    /// The highest rate that holds and the lowest that does not, how many steps it took, and whether there was an end.
    fn searched(&mut self, limit: &str) -> (Option<f64>, Option<f64>, usize) {
        let limits: Vec<LoadLimit> = vec![limit.parse().unwrap()];
        let mut search = Search::new(self.speed_per_s / 2.0, [self.speed_per_s / 20.0, f64::MAX], false, 0.05);
        let most = Duration::from_secs(20);
        for steps in 0..40 {
            let Some(rate) = search.next() else {
                return (search.holds(), search.fails(), steps);
            };
            let least = least_of(&search, rate, most);
            let (verdict, within) = self.tried(rate, &limits, least, most);
            search.found(rate, verdict, within);
        }
        (search.holds(), search.fails(), 40)
    }
}

/// Latency in a queue of one server is exponentially distributed with the mean 1 / (speed − rate).
fn capacity(speed_per_s: f64, percentile: f64, limit_s: f64) -> f64 {
    speed_per_s + (1.0 - percentile).ln() / limit_s
}

#[test]
fn the_capacity_of_a_known_queue_is_found_in_most_tries() {
    let (speed_per_s, limit) = (2_000.0, "p99 < 10ms");
    let expected = capacity(speed_per_s, 0.99, 0.010);
    let tries: Vec<_> = (0..10)
        .map(|seed| Server::new(seed, speed_per_s, 0.0).searched(limit))
        .collect();
    let ratio = |load: Option<f64>| load.map_or(f64::NAN, |load| load / expected);
    let right = |&(holds, fails, _): &(Option<f64>, Option<f64>, usize)| {
        // A queue is long now and short then, so it takes more to show that a rate does not hold.
        (0.9..1.05).contains(&ratio(holds)) && (0.97..1.15).contains(&ratio(fails))
    };
    let found = tries.iter().filter(|found| right(found)).count();
    assert!(found >= 9, "{limit}: {expected} expected, {found} of 10: {tries:?}");
    assert!(tries.iter().all(|(.., steps)| *steps < 25), "{tries:?}");
}

#[test]
fn a_machine_that_wanders_is_searched_to_an_end() {
    let expected = capacity(2_000.0, 0.99, 0.010);
    let tries: Vec<_> = (0..3)
        .map(|seed| Server::new(seed, 2_000.0, 0.03).searched("p99 < 10ms"))
        .collect();
    // The queue is longest when the machine is slowest, so somewhat less than at its mean speed holds.
    let near = |load: f64| (0.75..1.05).contains(&(load / expected));
    let right = tries.iter().filter(|(holds, ..)| holds.is_some_and(near)).count();
    assert!(right >= 2, "{expected} expected, {right} of 3: {tries:?}");
}

#[test]
fn a_limit_that_no_rate_holds_is_found_out() {
    let mut server = Server::new(1, 100.0, 0.0);
    // A transaction alone takes 10 ms on average.
    let (holds, fails, _) = server.searched("p50 < 3ms");
    assert_eq!(holds, None);
    assert!(fails.is_some_and(|fails| fails < 13.0), "{fails:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    /// Whatever the speed, what is said to hold does hold, and what is said not to does not, but for the risk.
    #[test]
    fn verdicts_are_on_the_right_side(seed: u64, speed_per_s in 500.0..3_000.0_f64, limit_ms in 8_u32..40) {
        let limit = format!("p95 < {limit_ms}ms");
        let expected = capacity(speed_per_s, 0.95, f64::from(limit_ms) / 1e3);
        prop_assume!(expected > speed_per_s / 4.0);
        let (holds, fails, _) = Server::new(seed, speed_per_s, 0.0).searched(&limit);
        prop_assert!(holds.is_some_and(|holds| holds < expected * 1.06), "{holds:?} of {expected}");
        prop_assert!(fails.is_some_and(|fails| fails > expected * 0.97), "{fails:?} of {expected}");
    }
}
