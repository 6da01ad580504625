//! Latency histograms as they come from another process: the list of the classes that have counts.
//!
//! Whoever merges what many hosts did reads each of their histograms once or twice and forgets it. A list takes what
//! occurred and nothing else, where a page of a [`SparseHistogram`] mostly holds zeros that have to be written and
//! passed over again.

use crate::histogram::{Latencies, LatencyFigures};
use crate::sparse::{SparseHistogram, figures};
use crate::wire::classes::{self, Counts};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A histogram of durations in nanoseconds, in the layout of all others, that can be read and not recorded to: classes
/// with their counts, in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedHistogram(Vec<(usize, u64)>);

impl ListedHistogram {
    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds all counts of `other`.
    pub fn add(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        let mut sum = SparseHistogram::default();
        sum.add(self);
        sum.add(&other);
        self.0 = sum.counts().collect();
    }
}

impl Latencies for ListedHistogram {
    #[inline]
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.0.iter().copied()
    }

    fn figures<const N: usize>(&self, percents: [f64; N]) -> Option<LatencyFigures<N>> {
        figures(self.counts(), self.0.iter().map(|(_, count)| count).sum(), percents)
    }
}

impl Counts for ListedHistogram {
    #[inline]
    fn with_room(classes: usize) -> Self {
        Self(Vec::with_capacity(classes))
    }

    #[inline]
    fn count(&mut self, class: usize, count: u64) {
        self.0.push((class, count));
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
