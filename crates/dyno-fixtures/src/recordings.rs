//! What a workload does in one interval: as many transactions as its pace allows, with latencies that follow from that.

use crate::Pace;
use dyno_record::{ErrorClass, ErrorCode, Recording};

/// How far latencies spread: the standard deviation of their logarithm.
const SIGMA: f64 = 0.45;
/// So many different latencies are enough for four nines.
const LATENCIES: usize = 16_384;
/// One transaction of so many is held up.
const HELD_UP: usize = 1_500;

/// Makes recordings. The latencies are those of a log-normal distribution, with a tail of transactions that
/// something held up.
pub(crate) struct Recordings {
    /// Latencies in multiples of their median.
    latencies: Vec<f64>,
}

impl Recordings {
    pub fn new(random: &mut fastrand::Rng) -> Self {
        let mut latency = |index: usize| {
            let usual = (SIGMA * normal(random)).exp();
            if index.is_multiple_of(HELD_UP) {
                usual * (4.0 + 20.0 * random.f64())
            } else {
                usual
            }
        };
        Self {
            latencies: (0..LATENCIES).map(&mut latency).collect(),
        }
    }

    /// What `clients` do in `duration_s` at this pace, when `share` of the throughput is left.
    pub fn make(
        &self,
        pace: &Pace,
        clients: usize,
        statements: usize,
        duration_s: f64,
        share: f64,
        random: &mut fastrand::Rng,
    ) -> Recording {
        let noise = (1.0 + pace.spread * normal(random)).max(0.1);
        let tps = (pace.tps * share * noise).max(1.0);
        // A closed loop by Little's law; the factor makes a median of a mean.
        let median_ns = clients as f64 / tps * 1e9 * (-SIGMA * SIGMA / 2.0).exp();
        let mut recording = Recording::new(statements);
        recording.transactions = (tps * duration_s).round() as u64;
        recording.statements = recording.transactions * statements as u64;
        let mut place = random.usize(..LATENCIES);
        for _ in 0..recording.transactions {
            place = (place + 1) % LATENCIES;
            let latency_ns = median_ns * self.latencies.get(place).copied().unwrap_or(1.0);
            recording.latency.record(latency_ns as u64);
            for statement in &mut recording.statement_latency {
                statement.record((latency_ns * 0.98 / statements as f64) as u64);
            }
        }
        if !pace.error.is_empty() {
            for _ in 0..(recording.transactions / 1_000).max(1) {
                recording.count_error(ErrorClass::Other, ErrorCode::new("P0001"), || pace.error.clone());
            }
        }
        recording
    }
}

/// A number of the standard normal distribution, by the method of Box and Muller (1958).
pub(crate) fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}
