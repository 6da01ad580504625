//! What a running load did since it was last told: whoever watches is told about once a second, however short the
//! intervals are.

use dyno_analysis::progress::{Live, LiveLatency};
use dyno_record::{Interval, LatencyHistogram};
use std::time::Duration;

/// So much is told at once; more where the intervals are longer.
const ENOUGH: Duration = Duration::from_secs(1);

/// One or more intervals of the same phase, summed.
#[derive(Default)]
pub(super) struct Lately {
    phase: usize,
    /// Since the first phase began.
    end: Duration,
    lasted: Duration,
    transactions: u64,
    errors: u64,
    /// Of each workload.
    latencies: Vec<LatencyHistogram>,
}

impl Lately {
    /// Adds an interval of this phase, or the first one of any.
    pub(super) fn add(&mut self, interval: &Interval) {
        self.phase = interval.phase;
        self.end = interval.start + interval.duration;
        self.lasted += interval.duration;
        self.latencies
            .resize_with(interval.recordings.len(), LatencyHistogram::new);
        for (sum, recording) in self.latencies.iter_mut().zip(&interval.recordings) {
            self.transactions += recording.transactions;
            self.errors += recording.errors;
            sum.add(&recording.latency);
        }
    }

    /// The index of the phase.
    pub(super) fn phase(&self) -> usize {
        self.phase
    }

    /// Whether it is time to tell it.
    pub(super) fn is_enough(&self) -> bool {
        self.lasted >= ENOUGH
    }

    /// What is told of it: `phase` and `workloads` by their names, of a load that is to last as long as `planned`.
    pub(super) fn live<'a>(
        &self,
        phase: &str,
        workloads: impl Iterator<Item = &'a str>,
        planned: Option<Duration>,
    ) -> Live {
        let latencies = workloads.zip(&self.latencies).map(|(workload, latency)| LiveLatency {
            workload: workload.to_owned(),
            percentiles_us: (latency.count() > 0)
                .then(|| [50.0, 95.0, 99.0].map(|percent| latency.percentile_ns(percent) as f64 / 1e3)),
        });
        Live {
            phase: phase.to_owned(),
            elapsed: self.end,
            left: planned.map(|planned| planned.saturating_sub(self.end)),
            tps: self.transactions as f64 / self.lasted.as_secs_f64().max(1e-9),
            latencies: latencies.collect(),
            errors: self.errors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::Recording;

    #[test]
    fn short_intervals_are_told_together_with_all_that_was_in_them() {
        let millis = Duration::from_millis;
        let mut lately = Lately::default();
        for number in 0..20 {
            assert!(!lately.is_enough(), "{number}");
            let mut recording = Recording::new(0);
            // The first half of the second is fast, and the last interval has all the errors.
            let (transactions, took_us) = if number < 10 { (100, 1_000) } else { (10, 9_000) };
            recording.transactions = transactions;
            recording.errors = if number == 19 { 3 } else { 0 };
            (0..transactions).for_each(|_| recording.latency.record(took_us * 1_000));
            lately.add(&Interval {
                phase: 1,
                start: millis(2_000 + 50 * number),
                duration: millis(50),
                first_thread_whole: true,
                recordings: vec![recording],
            });
        }
        assert!(lately.is_enough());
        let live = lately.live("measure", ["update"].into_iter(), Some(millis(5_000)));
        assert_eq!((live.elapsed, live.left), (millis(3_000), Some(millis(2_000))));
        assert_eq!((live.tps, live.errors), (1_100.0, 3));
        let [p50, _, p99] = live.latencies[0].percentiles_us.unwrap();
        assert!((p50 - 1_000.0).abs() < 10.0 && (p99 - 9_000.0).abs() < 90.0, "{live:?}");
    }
}
