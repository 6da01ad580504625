//! Latency histograms as they come from another process: the list of the classes that have counts.
//!
//! Whoever merges what many hosts did reads each of their histograms once or twice and forgets it. A list takes what
//! occurred and nothing else, where a page of a [`SparseHistogram`] mostly holds zeros that
//! have to be written and passed over again.

use crate::histogram::{Latencies, LatencyFigures, LatencyHistogram};
use crate::sparse::{SparseHistogram, figures, lowest_ns};
use crate::wire::classes::{self, Counts};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A histogram of durations in nanoseconds, in the layout of all others, that can be read and not recorded to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedHistogram {
    /// Classes in ascending order.
    counts: Vec<(u32, u64)>,
    total: u64,
}

impl ListedHistogram {
    /// The number of durations counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Adds all counts of `other`.
    pub fn add(&mut self, other: Self) {
        if self.total == 0 {
            *self = other;
            return;
        }
        let mut sum = SparseHistogram::default();
        sum.add(self);
        sum.add(&other);
        *self = Self {
            counts: sum.counts().map(listed).collect(),
            total: sum.count(),
        };
    }
}

/// A class as lists have it; no layout has as many.
fn listed((class, count): (usize, u64)) -> (u32, u64) {
    (u32::try_from(class).unwrap_or(u32::MAX), count)
}

impl Latencies for ListedHistogram {
    fn add_to(&self, sum: &mut LatencyHistogram) {
        for (class, count) in self.counts() {
            sum.record_n(lowest_ns(class), count);
        }
    }

    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().map(|(class, count)| (*class as usize, *count))
    }

    fn figures<const N: usize>(&self, percents: [f64; N]) -> Option<LatencyFigures<N>> {
        figures(self.counts(), self.total, percents)
    }
}

impl Counts for ListedHistogram {
    fn with_room(classes: usize) -> Self {
        Self {
            counts: Vec::with_capacity(classes),
            total: 0,
        }
    }

    fn count(&mut self, class: usize, count: u64) {
        self.counts.push(listed((class, count)));
        self.total += count;
    }
}

impl Serialize for ListedHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        classes::serialize(self.counts(), serializer)
    }
}

impl<'de> Deserialize<'de> for ListedHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        classes::deserialize(deserializer)
    }
}
