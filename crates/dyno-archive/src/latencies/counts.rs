//! How often each latency occurred.

use crate::latencies::LatencyLine;
use crate::summary::Latency;
use dyno_record::{LatencyHistogram, SparseHistogram};
use hdrhistogram::Histogram;
use std::ops::Range;
use std::sync::LazyLock;

/// The largest latency of each class, in nanoseconds.
static HIGHEST_NS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let histogram = LatencyHistogram::new();
    histogram
        .inner()
        .iter_all()
        .map(|class| class.value_iterated_to())
        .collect()
});

/// Counts of latencies by class, for sums over many intervals. Classes are numbered by ascending latency, and alike
/// in all of dyno.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyCounts {
    counts: Vec<u64>,
    /// The classes outside of this have no counts.
    used: Range<usize>,
    total: u64,
}

impl LatencyCounts {
    /// How many classes there are.
    #[must_use]
    pub fn classes() -> usize {
        HIGHEST_NS.len()
    }

    /// The largest latency of a class in microseconds.
    #[must_use]
    pub fn highest_us(class: usize) -> f64 {
        HIGHEST_NS
            .get(class)
            .or(HIGHEST_NS.last())
            .map_or(0.0, |ns| *ns as f64 / 1000.0)
    }

    /// Adds what `line` counts.
    pub fn add(&mut self, line: &LatencyLine) {
        let (Some((first, _)), Some((last, _))) = (line.counts.first(), line.counts.last()) else {
            return;
        };
        self.use_classes(*first as usize..*last as usize + 1);
        let mut total = self.total;
        for (class, count) in line.counts() {
            if let Some(sum) = self.counts.get_mut(class) {
                *sum = sum.saturating_add(count);
                total = total.saturating_add(count);
            }
        }
        self.total = total;
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.total == 0 {
            return;
        }
        self.use_classes(other.used.clone());
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum = sum.saturating_add(*count);
        }
        self.total = self.total.saturating_add(other.total);
    }

    fn use_classes(&mut self, classes: Range<usize>) {
        self.counts.resize(Self::classes(), 0);
        self.used = if self.total == 0 {
            classes
        } else {
            self.used.start.min(classes.start)..self.used.end.max(classes.end)
        };
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if let Some(used) = self.counts.get_mut(self.used.clone()) {
            used.fill(0);
        }
        (self.used, self.total) = (0..0, 0);
    }

    /// How many latencies were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The classes that have counts, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let counts = self.counts.get(self.used.clone()).unwrap_or_default();
        let counts = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(index, count)| (self.used.start + index, *count))
    }

    /// The latencies in microseconds that these percentages, in ascending order, of all do not exceed; nothing was
    /// counted: none.
    ///
    /// As in HdrHistogram, each is the largest latency of its class.
    #[must_use]
    pub fn percentiles_us<const N: usize>(&self, percents: [f64; N]) -> Option<[f64; N]> {
        let mut classes = self.iter();
        let (mut highest_us, mut below) = (0.0, 0);
        (self.total > 0).then(|| {
            percents.map(|percent| {
                let wanted = ((percent / 100.0 * self.total as f64).ceil() as u64).clamp(1, self.total);
                while below < wanted {
                    let Some((class, count)) = classes.next() else { break };
                    below = below.saturating_add(count);
                    highest_us = Self::highest_us(class);
                }
                highest_us
            })
        })
    }

    /// The figures of them all; `None` if there are none.
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        let mut histogram = Histogram::new_from(LatencyHistogram::new().inner());
        record(&mut histogram, self.iter());
        Latency::of(&histogram)
    }
}

impl LatencyLine {
    /// Adds the counts to a histogram of the engine's layout.
    pub fn add_to(&self, histogram: &mut Histogram<u64>) {
        record(histogram, self.counts());
    }

    /// Adds the counts to those of a statement.
    pub fn add_to_sparse(&self, histogram: &mut SparseHistogram) {
        for (class, count) in self.counts() {
            histogram.add_count(class, count);
        }
    }
}

fn record(histogram: &mut Histogram<u64>, counts: impl Iterator<Item = (usize, u64)>) {
    for (class, count) in counts {
        if let Some(highest_ns) = HIGHEST_NS.get(class) {
            // The last class reaches a little beyond the engine's bounds.
            histogram.saturating_record_n(*highest_ns, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(histogram: &LatencyHistogram) -> LatencyLine {
        let classes = histogram.inner().iter_all().enumerate();
        let counts = classes.filter(|(_, class)| class.count_at_value() > 0);
        LatencyLine {
            counts: counts
                .map(|(class, value)| (class as u32, value.count_at_value()))
                .collect(),
            ..LatencyLine::default()
        }
    }

    #[test]
    fn nothing_has_no_percentile() {
        let mut counts = LatencyCounts::default();
        assert_eq!((counts.percentiles_us([50.0]), counts.latency()), (None, None));
        counts.add(&LatencyLine::default());
        counts.clear();
        assert_eq!(counts.count(), 0);
    }

    proptest! {
        #[test]
        fn sums_say_what_the_histogram_library_says(
            one in prop::collection::vec(0..4_000_000_000_000_u64, 1..200),
                other in prop::collection::vec(0..10_000_000_u64, 0..200),
        ) {
            let (mut first, mut second) = (LatencyHistogram::new(), LatencyHistogram::new());
            one.iter().for_each(|ns| first.record(*ns));
            other.iter().for_each(|ns| second.record(*ns));
            let mut counts = LatencyCounts::default();
            counts.add(&line(&second));
            counts.clear();
            counts.add(&line(&first));
            let mut more = LatencyCounts::default();
            more.add(&line(&second));
            counts.merge(&more);
            first.add(&second);
            let percents = [0.1, 50.0, 95.0, 99.9, 100.0];
            let expected = percents.map(|percent| first.percentile_ns(percent) as f64 / 1000.0);
            prop_assert_eq!(counts.percentiles_us(percents), Some(expected));
            prop_assert_eq!(counts.latency(), Latency::of(first.inner()));
            prop_assert_eq!(counts.count(), first.count());
        }
    }
}
