//! Latency histograms with one fixed layout.
//!
//! Every histogram of dyno has the same bounds and precision, so that any two can be added without loss: threads
//! into an interval, intervals into a run, runs into a comparison. Percentiles are read from sums of histograms and
//! never averaged.

use crate::classes::{self, Counts};
use crate::sparse::{CLASSES, class_of, lowest_ns};
use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The smallest latency told apart from its neighbours, in nanoseconds. Below 131 µs the resolution is this or
/// better; above, three digits.
const LOWEST_NS: u64 = 100;

/// The largest latency recorded, in nanoseconds (one hour). A longer one is recorded as this.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// A histogram of durations in nanoseconds, whatever memory it takes.
pub trait Latencies {
    /// Adds all counts to `sum`.
    fn add_to(&self, sum: &mut LatencyHistogram) {
        for (class, count) in self.counts() {
            sum.record_n(lowest_ns(class), count);
        }
    }

    /// The classes that have counts, numbered by ascending latency, in ascending order.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)>;

    /// The figures of all of them; `None` when empty. Percentages are in ascending order.
    fn figures<const N: usize>(&self, percents: [f64; N]) -> Option<LatencyFigures<N>>;
}

/// A histogram to which others can be added.
pub trait Sum: Default {
    /// Adds all counts of `other`.
    fn add_all(&mut self, other: &impl Latencies);
}

/// What is read from a histogram, in nanoseconds and to its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyFigures<const N: usize> {
    /// The mean.
    pub mean_ns: f64,
    /// The smallest.
    pub min_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// The durations that so many percent of all do not exceed.
    pub percentiles_ns: [u64; N],
}

/// A histogram of durations in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram(Histogram<u64>);

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, 3);
        Self(histogram.expect("constant bounds are valid"))
    }

    /// Counts one duration; one beyond [`HIGHEST_NS`] is counted there.
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        self.record_n(duration_ns, 1);
    }

    /// Counts a duration so many times.
    #[inline]
    pub fn record_n(&mut self, duration_ns: u64, count: u64) {
        // Of zeros alone HdrHistogram says that the largest is 0, although they are counted with others; counts that
        // were added could then say something else than what was recorded.
        self.0.saturating_record_n(duration_ns.max(1), count);
    }

    /// Adds all counts of `other`.
    pub fn add(&mut self, other: &impl Latencies) {
        other.add_to(self);
    }

    /// Forgets all counts; writes nothing if there are none.
    pub fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.reset();
        }
    }

    /// The number of durations counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The duration that `percent` percent of all do not exceed, in nanoseconds; 0 when empty.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        self.0.value_at_percentile(percent)
    }

    /// The mean in nanoseconds, 0 when empty.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.0.mean()
    }

    /// The standard deviation in nanoseconds, 0 when empty.
    #[must_use]
    pub fn stddev_ns(&self) -> f64 {
        self.0.stdev()
    }

    /// The smallest recorded duration (to the histogram's precision) in nanoseconds, 0 when empty.
    #[must_use]
    pub fn min_ns(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.min() }
    }

    /// The largest recorded duration (to the histogram's precision) in nanoseconds, 0 when empty.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.max() }
    }

    /// The underlying histogram, for serialization.
    #[must_use]
    pub fn inner(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl Latencies for LatencyHistogram {
    fn add_to(&self, sum: &mut LatencyHistogram) {
        if !self.0.is_empty() {
            // Cannot fail: all histograms share one layout.
            let _ = sum.0.add(&self.0);
        }
    }

    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let class = |highest_ns| class_of(highest_ns).min(CLASSES - 1);
        let recorded = self.0.iter_recorded();
        recorded.map(move |value| (class(value.value_iterated_to()), value.count_at_value()))
    }

    fn figures<const N: usize>(&self, percents: [f64; N]) -> Option<LatencyFigures<N>> {
        (!self.0.is_empty()).then(|| LatencyFigures {
            mean_ns: self.mean_ns(),
            min_ns: self.min_ns(),
            max_ns: self.max_ns(),
            percentiles_ns: percents.map(|percent| self.percentile_ns(percent)),
        })
    }
}

impl Sum for LatencyHistogram {
    fn add_all(&mut self, other: &impl Latencies) {
        self.add(other);
    }
}

impl Counts for LatencyHistogram {
    fn count(&mut self, class: usize, count: u64) {
        self.record_n(lowest_ns(class), count);
    }
}

impl Serialize for LatencyHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        classes::serialize(self.counts(), serializer)
    }
}

impl<'de> Deserialize<'de> for LatencyHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        classes::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_three_digits_from_microseconds_to_an_hour() {
        for value_ns in [1_000_u64, 20_000, 131_000, 5_000_000, 7_000_000_000, HIGHEST_NS] {
            let mut histogram = LatencyHistogram::new();
            histogram.record(value_ns);
            let read_ns = histogram.percentile_ns(50.0);
            let allowed_ns = (value_ns / 1000).max(LOWEST_NS);
            assert!(
                read_ns.abs_diff(value_ns) <= allowed_ns,
                "{value_ns} was read back as {read_ns}"
            );
        }
    }

    #[test]
    fn a_duration_beyond_the_bounds_is_counted_at_the_end() {
        let mut histogram = LatencyHistogram::new();
        histogram.record(u64::MAX);
        assert_eq!(histogram.count(), 1);
        assert!(histogram.max_ns() >= HIGHEST_NS);
    }

    #[test]
    fn clearing_forgets_everything() {
        let mut histogram = LatencyHistogram::new();
        histogram.record(5);
        histogram.clear();
        assert_eq!((histogram.count(), histogram.max_ns()), (0, 0));
    }
}
