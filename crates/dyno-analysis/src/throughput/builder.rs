//! How a throughput is put together from intervals: short ones are taken together, missing ones made up for.

use super::{Phase, SHORTEST_S, Throughput};
use crate::series::Window;

/// A load that has no intervals for so long, in seconds, is a damaged file: a dyno that goes on records each, and
/// one that stood still does so afterwards.
const LONGEST_GAP_S: f64 = 86_400.0;

/// So many stretches of standstill are made up for intervals that are missing, and no more.
const MOST_MISSING: usize = 1_000_000;

/// Puts a throughput together.
#[derive(Debug, Default)]
pub(super) struct Builder {
    result: Throughput,
    phase: String,
    /// The stretch to which more may come.
    open: Option<(Window, u64)>,
    /// Stretches made up for intervals that are missing.
    missing: usize,
}

impl Builder {
    /// Adds a row; the rows of one interval follow each other. False for one whose time cannot be, which ends them.
    pub(super) fn push(&mut self, phase: &str, window: Window, transactions: u64) -> bool {
        let before_s = self.open.as_ref().map_or(window.start_s, |(open, _)| open.end_s);
        if !window.end_s.is_finite() || window.start_s - before_s > LONGEST_GAP_S {
            return false;
        }
        let new_phase = phase != self.phase;
        match &mut self.open {
            // Another workload in the same interval, or an interval that the stretch still has room for.
            Some((open, sum))
                if !new_phase && (window.start_s < open.end_s - 1e-4 || open.length_s() < SHORTEST_S - 1e-4) =>
            {
                self.result.taken_together |= window.start_s >= open.end_s - 1e-4;
                open.end_s = open.end_s.max(window.end_s);
                *sum += transactions;
            }
            _ => {
                if let Some((done, sum)) = self.open.take() {
                    self.result.push(done, sum);
                    // Intervals that are missing are of a time in which nothing was done.
                    if !new_phase {
                        self.missing += self.result.fill(done, window.start_s, MOST_MISSING - self.missing);
                    }
                }
                self.open = Some((window, transactions));
            }
        }
        if new_phase {
            phase.clone_into(&mut self.phase);
            self.result.phases.push(Phase {
                name: phase.to_owned(),
                first: self.result.windows.len(),
                ramp: false,
            });
        }
        true
    }

    pub(super) fn finish(mut self) -> Throughput {
        if let Some((done, sum)) = self.open {
            self.result.push(done, sum);
        }
        self.result
    }
}

impl Throughput {
    fn push(&mut self, window: Window, transactions: u64) {
        // The last interval may have been cut short: too short to have a rate of its own.
        if window.length_s() >= SHORTEST_S / 2.0 {
            self.windows.push(window);
            self.tps.push(transactions as f64 / window.length_s());
        }
    }

    /// Adds stretches without transactions after `last` until `until_s`, at most so many. Gives back how many.
    fn fill(&mut self, last: Window, until_s: f64, most: usize) -> usize {
        let step_s = last.length_s().max(SHORTEST_S);
        let mut start_s = last.end_s;
        let mut count = 0;
        while until_s - start_s > 0.5 * step_s && count < most {
            let end_s = until_s.min(start_s + step_s);
            self.push(Window { start_s, end_s }, 0);
            start_s = end_s;
            count += 1;
        }
        count
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn row(
        phase: &str,
        start_s: f64,
        length_s: f64,
        transactions: u64,
    ) -> (String, f64, f64, u64) {
        (phase.to_owned(), start_s, length_s, transactions)
    }

    /// Of rows of phase, begin, length in seconds, and transactions.
    pub(in super::super) fn throughput(rows: impl IntoIterator<Item = (String, f64, f64, u64)>) -> Throughput {
        let mut builder = Builder::default();
        for (phase, start_s, length_s, transactions) in rows {
            let end_s = start_s + length_s;
            if !builder.push(&phase, Window { start_s, end_s }, transactions) {
                break;
            }
        }
        builder.finish()
    }

    #[test]
    fn workloads_are_added_and_short_intervals_taken_together() {
        let mut rows = Vec::new();
        for tenth in 0..25 {
            rows.push(row("measure", 5.0 + f64::from(tenth) / 10.0, 0.1, 10));
            rows.push(row("measure", 5.0 + f64::from(tenth) / 10.0, 0.1, 5));
        }
        let found = throughput(rows);
        assert_eq!(found.tps.len(), 3);
        assert!(
            found.tps.iter().all(|tps| (tps - 150.0).abs() < 1e-6),
            "{:?}",
            found.tps
        );
        assert!((found.measured().end_s - 7.5).abs() < 1e-6);
    }

    #[test]
    fn missing_intervals_are_a_standstill_but_not_between_phases() {
        let rows = [
            row("ramp", 0.0, 1.0, 100),
            row("ramp", 4.0, 1.0, 100),
            row("hold", 9.0, 1.0, 200),
            row("hold", 10.0, 0.2, 40),
        ];
        let found = throughput(rows);
        assert_eq!(found.tps, [100.0, 0.0, 0.0, 0.0, 100.0, 200.0]);
        let phases: Vec<_> = found
            .phases
            .iter()
            .map(|phase| (phase.name.as_str(), phase.first))
            .collect();
        assert_eq!(phases, [("ramp", 0), ("hold", 5)]);
    }

    #[test]
    fn rows_whose_time_cannot_be_end_what_is_read() {
        for damaged_s in [1e12, 1e17, f64::INFINITY, f64::NAN] {
            let rows = [
                row("measure", 0.0, 1.0, 100),
                row("measure", 1.0, 1.0, 100),
                row("measure", damaged_s, 1.0, 100),
                row("measure", 2.0, 1.0, 100),
            ];
            let found = throughput(rows);
            assert_eq!(found.tps, [100.0, 100.0], "{damaged_s}");
        }
        // Each gap by itself could be.
        let days = (0..40).map(|day| row("measure", 80_000.0 * f64::from(day), 1.0, 100));
        assert_eq!(throughput(days).tps.len(), 40 + MOST_MISSING);
    }
}
