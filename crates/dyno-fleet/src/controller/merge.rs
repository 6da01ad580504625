//! One load's intervals from those of its parts.
//!
//! All parts cut the phases at the same instants since their begin, so an interval of one belongs to that of another
//! with the same begin. What was counted is added, histograms class by class, so percentiles are those of one process
//! that recorded everything. An interval is told when no host can add to it any more: intervals that come late are
//! waited for, and a host that is gone is not.

use dyno_record::{Interval, ListedInterval, Recording, SparseHistogram};
use std::collections::BTreeMap;
use std::time::Duration;

/// Intervals in the making.
#[derive(Debug)]
pub struct Merge {
    workloads: usize,
    /// Up to where each host has told; `None`: it tells nothing any more.
    told: Vec<Option<Duration>>,
    /// Sums with memory for what occurred: they take a third of the time that full histograms take, as less has to be
    /// written and passed over.
    pending: BTreeMap<Duration, Interval<SparseHistogram>>,
    /// Up to where the whole has been told.
    done: Duration,
}

impl Merge {
    /// For a load of so many workloads on so many hosts.
    #[must_use]
    pub fn new(workloads: usize, hosts: usize) -> Self {
        Self {
            workloads,
            told: vec![Some(Duration::ZERO); hosts],
            pending: BTreeMap::new(),
            done: Duration::ZERO,
        }
    }

    /// Adds what a host did. An interval before one that it has told of already, or of a host that has left, is not
    /// taken: whether it was is given back.
    pub fn add(&mut self, host: usize, interval: &ListedInterval) -> bool {
        let Some(Some(told)) = self.told.get_mut(host) else {
            return false;
        };
        if interval.start < *told || interval.start < self.done {
            return false;
        }
        *told = interval.start.saturating_add(interval.duration).max(*told);
        let sum = self.pending.entry(interval.start).or_insert_with(|| Interval {
            phase: interval.phase,
            start: interval.start,
            duration: Duration::ZERO,
            first_thread_whole: true,
            recordings: (0..self.workloads).map(|_| Recording::sparse()).collect(),
        });
        sum.duration = sum.duration.max(interval.duration);
        sum.first_thread_whole &= interval.first_thread_whole;
        for (sum, part) in sum.recordings.iter_mut().zip(&interval.recordings) {
            sum.add(part);
        }
        true
    }

    /// A host tells nothing any more: it is done, or gone.
    pub fn leave(&mut self, host: usize) {
        if let Some(told) = self.told.get_mut(host) {
            *told = None;
        }
    }

    /// The next interval that no host can add to, in the order of time.
    pub fn pop(&mut self) -> Option<Interval> {
        let awaited = self.told.iter().flatten().min();
        let first = self.pending.first_entry()?;
        if awaited.is_some_and(|awaited| first.key() >= awaited) {
            return None;
        }
        let interval = first.remove();
        self.done = interval.start.saturating_add(interval.duration);
        Some(Interval {
            phase: interval.phase,
            start: interval.start,
            duration: interval.duration,
            first_thread_whole: interval.first_thread_whole,
            recordings: interval.recordings.into_iter().map(Recording::dense).collect(),
        })
    }

    /// How many intervals wait for hosts.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start_ms: u64, latency_ns: u64) -> ListedInterval {
        let mut recording = Recording::new(1);
        recording.transactions = 1;
        recording.latency.record(latency_ns);
        let whole = Interval {
            phase: 0,
            start: Duration::from_millis(start_ms),
            duration: Duration::from_millis(10),
            first_thread_whole: true,
            recordings: vec![recording],
        };
        ListedInterval::from_bytes(&whole.to_bytes(), 1, 1).unwrap()
    }

    #[test]
    fn intervals_wait_for_late_hosts_and_not_for_those_that_are_gone() {
        let mut merge = Merge::new(1, 3);
        assert!(merge.add(0, &interval(0, 1_000)) && merge.add(0, &interval(10, 1_000)));
        assert!(merge.add(2, &interval(0, 3_000)) && merge.add(2, &interval(10, 3_000)));
        assert!(merge.pop().is_none());
        assert!(merge.add(1, &interval(0, 2_000)));
        let first = merge.pop().unwrap();
        assert_eq!((first.start, first.recordings[0].transactions), (Duration::ZERO, 3));
        assert!(merge.pop().is_none() && merge.waiting() == 1);
        merge.leave(1);
        let second = merge.pop().unwrap();
        assert_eq!(
            (second.start, second.recordings[0].transactions),
            (Duration::from_millis(10), 2)
        );
        // Who has left, or tells what is past, is not heard.
        assert!(!merge.add(1, &interval(20, 1)) && !merge.add(0, &interval(10, 1)));
        assert!(!merge.add(7, &interval(20, 1)));
        assert!(merge.pop().is_none());
    }
}
