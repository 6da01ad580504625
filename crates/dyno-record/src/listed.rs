//! Latency histograms as they come from another process: the classes that have counts, as they have travelled.
//!
//! Whoever merges what many hosts did reads each of their histograms once or twice and forgets it. As bytes they take
//! two for most classes, where a page of a [`SparseHistogram`] mostly holds zeros that have to be written and passed
//! over again.

use crate::classes::{self, Classes};
use crate::histogram::{Latencies, LatencyFigures};
use crate::sparse::{SparseHistogram, figures};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A histogram of durations in nanoseconds, in the layout of all others, that can be read and not recorded to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedHistogram {
    /// Checked when they came.
    bytes: Vec<u8>,
    count: u64,
}

impl ListedHistogram {
    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
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
        *self = Self {
            bytes: classes::encode(sum.counts()),
            count: sum.count(),
        };
    }
}

impl Latencies for ListedHistogram {
    #[inline]
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        Classes::new(&self.bytes)
    }

    fn figures<const N: usize>(&self, percents: [f64; N]) -> Option<LatencyFigures<N>> {
        figures(self.counts(), self.count, percents)
    }
}

impl Serialize for ListedHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.bytes)
    }
}

impl<'de> Deserialize<'de> for ListedHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (bytes, count) = classes::checked(deserializer)?;
        Ok(Self { bytes, count })
    }
}
