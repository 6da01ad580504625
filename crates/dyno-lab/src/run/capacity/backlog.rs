//! Whether the clients of a workload keep up with its rate. If they do not, transactions wait longer and longer for a
//! free client, and a limit of some seconds would hold until the backlog has grown so long.

use super::step::RISK;
use dyno_record::Recording;
use dyno_stats::{MeanSign, mean_sign};
use std::time::Duration;

/// Transactions may on average wait this long for a client, or as long as they take if that is longer. By more than
/// this the wait does not grow either.
const LAG: Duration = Duration::from_millis(100);

/// A rate of which no more than this share is done is not kept up with, whatever the latencies of what was done.
const LEAST_DONE: f64 = 0.5;

/// What is said when clients do not keep up.
pub(super) const BEHIND: &str = "the clients do not keep up with the rate";

/// What one workload has left undone.
pub(super) struct Backlog {
    rate_per_s: f64,
    /// Of each interval, by how much the waits of its transactions exceed what they may be.
    excess_us: Vec<f64>,
    /// Of each interval, how long its transactions waited together, and how many there were.
    waits: Vec<(f64, u64)>,
    /// All that ended, with or without an error.
    done: u64,
}

impl Backlog {
    /// Nothing seen yet of a workload with this rate.
    pub fn new(rate_per_s: f64) -> Self {
        Self {
            rate_per_s,
            excess_us: Vec::new(),
            waits: Vec::new(),
            done: 0,
        }
    }

    /// Takes what the workload did in one more interval.
    pub fn add(&mut self, recording: &Recording) {
        let (waited_us, count) = (recording.lag_sums.sum_us, recording.transactions);
        let took_us = recording.latency_sums.sum_us - waited_us;
        self.excess_us.push(waited_us - took_us.max(lag_us() * count as f64));
        self.waits.push((waited_us, count));
        self.done += count + recording.errors;
    }

    /// Whether the clients seem to keep up.
    pub fn is_within(&self) -> bool {
        self.excess_us.iter().sum::<f64>() <= 0.0 && !self.grows()
    }

    /// Whether it is known that they do not, after so long a time.
    pub fn is_behind(&self, lasted: Duration) -> bool {
        mean_sign(&self.excess_us, 0.0, RISK) == MeanSign::Above || self.is_far_behind(lasted)
    }

    /// Whether the clients of all these workloads keep up. That is shown of all together, because one of them may do
    /// few transactions; but none has to seem otherwise.
    pub fn all_keep_up(all: &[Self]) -> bool {
        let intervals = all.iter().map(|one| one.excess_us.len()).min().unwrap_or(0);
        let together: Vec<f64> = (0..intervals)
            .map(|interval| all.iter().map(|one| one.excess_us[interval]).sum())
            .collect();
        all.is_empty() || all.iter().all(Self::is_within) && mean_sign(&together, 0.0, RISK) == MeanSign::Below
    }

    /// Whether transactions wait longer and longer.
    fn grows(&self) -> bool {
        let mean_us = |waits: &[(f64, u64)]| {
            let count: u64 = waits.iter().map(|(_, count)| count).sum();
            waits.iter().map(|(us, _)| us).sum::<f64>() / count.max(1) as f64
        };
        let (first, second) = self.waits.split_at(self.waits.len() / 2);
        mean_us(second) > mean_us(first) + lag_us()
    }

    /// Whether hardly anything is done, so that there are no latencies to judge by.
    fn is_far_behind(&self, lasted: Duration) -> bool {
        let asked = self.rate_per_s * lasted.as_secs_f64();
        lasted >= Duration::from_secs(2)
            // Arrivals are random.
            && self.done as f64 + 5.0 * asked.sqrt() < LEAST_DONE * asked
    }
}

fn lag_us() -> f64 {
    LAG.as_secs_f64() * 1e6
}
