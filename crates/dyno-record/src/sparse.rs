//! Latency histograms of single statements: in the layout of all others, but with memory only for what occurred.
//!
//! A script may have hundreds of statements, and a full histogram takes 220 kB in every recording of every thread.
//! Classes of latency lie in pages, which come with the first latency that falls into one.

use crate::classes::{self, Counts};
use crate::histogram::{HIGHEST_NS, Latencies, LatencyFigures, LatencyHistogram, Sum};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Statements of a workload that have a histogram of their own. What comes after them shares one: nobody reads
/// hundreds of lines, and each takes time to write at the end of every interval.
pub const MOST_STATEMENTS: usize = 256;

/// The layout's constants: units of 2^6 ns, 2^11 classes in the first bucket and 2^10 in each of the other 25, of
/// twice the width of the one before.
const UNIT_BITS: u32 = 6;
const BUCKET_BITS: u32 = 10;
pub(crate) const CLASSES: usize = 27 << BUCKET_BITS;

const PAGE: usize = 32;
const PAGES: usize = CLASSES / PAGE;
const NO_PAGE: u16 = u16::MAX;

/// What the pages of a recording may take before any latency is recorded, in bytes; it is not used before it is
/// needed. With a few dozen statements they never take more, and recording never allocates.
const RESERVED_BYTES: usize = 8 << 20;

/// A histogram of durations in nanoseconds that is as exact as a [`LatencyHistogram`].
#[derive(Clone, Debug, Default)]
pub struct SparseHistogram {
    /// Where each page lies; empty until the first latency.
    index: Vec<u16>,
    pages: Vec<[u64; PAGE]>,
    count: u64,
}

impl SparseHistogram {
    /// The histograms of a recording for so many statements.
    #[must_use]
    pub fn of_statements(statements: usize) -> Vec<Self> {
        // One more for all that have none of their own.
        let own = statements.min(MOST_STATEMENTS + 1);
        let pages = (RESERVED_BYTES / size_of::<[u64; PAGE]>() / own.max(1)).min(PAGES);
        let each = || Self {
            index: vec![NO_PAGE; PAGES],
            pages: Vec::with_capacity(pages),
            count: 0,
        };
        (0..own).map(|_| each()).collect()
    }

    /// Counts one duration; one beyond the layout's bounds is counted there.
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        let class = class_of(duration_ns);
        // As the full histogram does it.
        let class = if class < CLASSES { class } else { class_of(HIGHEST_NS) };
        self.add_count(class, 1);
    }

    /// Counts a class of latency, numbered by ascending latency, so many times.
    #[inline]
    pub fn add_count(&mut self, class: usize, count: u64) {
        let class = class.min(CLASSES - 1);
        let page = self.page(class / PAGE);
        if let Some(page) = self.pages.get_mut(usize::from(page)) {
            page[class % PAGE] += count;
            self.count += count;
        }
    }

    /// Where the page of this number lies.
    #[inline]
    fn page(&mut self, number: usize) -> u16 {
        match self.index.get(number) {
            Some(page) if *page != NO_PAGE => *page,
            _ => self.new_page(number),
        }
    }

    #[cold]
    fn new_page(&mut self, number: usize) -> u16 {
        if self.index.is_empty() {
            self.index.resize(PAGES, NO_PAGE);
        }
        if self.pages.len() == self.pages.capacity() {
            // Twice the room would be much for many statements.
            self.pages.reserve_exact(self.pages.len() / 4 + 1);
        }
        let page = self.pages.len() as u16;
        self.pages.push([0; PAGE]);
        self.index[number] = page;
        page
    }

    /// Adds all counts of `other`.
    pub fn add(&mut self, other: &impl Latencies) {
        // Classes come in order, so those of a page one after the other.
        let (mut number, mut page) = (PAGES, NO_PAGE);
        for (class, count) in other.counts() {
            let class = class.min(CLASSES - 1);
            if class / PAGE != number {
                number = class / PAGE;
                page = self.page(number);
            }
            if let Some(page) = self.pages.get_mut(usize::from(page)) {
                page[class % PAGE] += count;
                self.count += count;
            }
        }
    }

    /// Forgets all counts, keeping the memory.
    pub fn clear(&mut self) {
        if self.count > 0 {
            self.index.fill(NO_PAGE);
            self.pages.clear();
            self.count = 0;
        }
    }

    /// The number of durations counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The same with room for everything, to read figures from.
    #[must_use]
    pub fn dense(&self) -> LatencyHistogram {
        let mut dense = LatencyHistogram::new();
        dense.add(self);
        dense
    }

    /// The duration that `percent` percent of all do not exceed, in nanoseconds; 0 when empty.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        self.dense().percentile_ns(percent)
    }
}

impl Sum for SparseHistogram {
    fn add_all(&mut self, other: &impl Latencies) {
        self.add(other);
    }
}

impl Latencies for SparseHistogram {
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let pages = self.index.iter().enumerate();
        let pages = pages.filter_map(|(number, page)| Some((number * PAGE, self.pages.get(usize::from(*page))?)));
        pages.flat_map(|(first, page)| {
            let classes = page.iter().enumerate().filter(|(_, count)| **count > 0);
            classes.map(move |(place, count)| (first + place, *count))
        })
    }

    fn figures<const N: usize>(&self, percents: [f64; N]) -> Option<LatencyFigures<N>> {
        figures(self.counts(), self.count, percents)
    }
}

/// The figures of classes with their counts, `total` in all: as HdrHistogram has them, to the last bit.
pub(crate) fn figures<const N: usize>(
    counts: impl Iterator<Item = (usize, u64)>,
    total: u64,
    percents: [f64; N],
) -> Option<LatencyFigures<N>> {
    let total = total as f64;
    let wanted = percents.map(|percent| ((percent / 100.0).min(1.0) * total).ceil().max(1.0) as u64);
    let mut figures = None;
    let (mut reached, mut below) = (0, 0);
    for (class, count) in counts {
        let (lowest_ns, next_ns) = (lowest_ns(class), lowest_ns(class + 1));
        let figures = figures.get_or_insert(LatencyFigures {
            mean_ns: 0.0,
            min_ns: lowest_ns,
            max_ns: 0,
            percentiles_ns: [0; N],
        });
        figures.mean_ns += (lowest_ns + (next_ns - lowest_ns) / 2) as f64 * count as f64 / total;
        figures.max_ns = next_ns - 1;
        below += count;
        while reached < N && wanted[reached] <= below {
            figures.percentiles_ns[reached] = figures.max_ns;
            reached += 1;
        }
    }
    figures
}

impl PartialEq for SparseHistogram {
    /// Whether it has counted the same, whatever memory it took.
    fn eq(&self, other: &Self) -> bool {
        self.counts().eq(other.counts())
    }
}

impl Counts for SparseHistogram {
    fn count(&mut self, class: usize, count: u64) {
        self.add_count(class, count);
    }
}

impl Serialize for SparseHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        classes::serialize(self.counts(), serializer)
    }
}

impl<'de> Deserialize<'de> for SparseHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        classes::deserialize(deserializer)
    }
}

/// The class of a duration: which bucket it is in by its highest bit, and which part of that by the next ones
/// (HdrHistogram's scheme).
#[inline]
pub(crate) fn class_of(duration_ns: u64) -> usize {
    let first = (1_u64 << (BUCKET_BITS + 1 + UNIT_BITS)) - 1;
    let bucket = (duration_ns | first).ilog2() - BUCKET_BITS - UNIT_BITS;
    ((bucket as usize) << BUCKET_BITS) + (duration_ns >> (bucket + UNIT_BITS)) as usize
}

/// The smallest duration of a class.
pub(crate) fn lowest_ns(class: usize) -> u64 {
    let bucket = (class >> BUCKET_BITS).saturating_sub(1);
    ((class - (bucket << BUCKET_BITS)) as u64) << (bucket as u32 + UNIT_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_all_histograms() {
        let dense = LatencyHistogram::new();
        assert_eq!(dense.inner().distinct_values(), CLASSES);
        for (class, value) in dense.inner().iter_all().enumerate() {
            let highest = value.value_iterated_to();
            assert_eq!(class_of(highest).min(CLASSES - 1), class);
            assert_eq!(class_of(lowest_ns(class)), class);
        }
    }

    #[test]
    fn many_statements_take_little() {
        let mut recording = SparseHistogram::of_statements(100_000);
        assert_eq!(recording.len(), MOST_STATEMENTS + 1);
        for (place, statement) in recording.iter_mut().enumerate() {
            let room = statement.pages.capacity();
            for latency_us in 100..200 {
                statement.record(1_000 * (place as u64 + latency_us));
            }
            assert_eq!(statement.pages.capacity(), room);
        }
    }

    /// A thread has one recording in use, and one or two on their way to the collector and back.
    #[test]
    fn three_recordings_of_many_statements_take_less_than_100_mb() {
        let mut recording = SparseHistogram::of_statements(1000);
        for statement in &mut recording {
            for duration_ns in (50_000..50_000_000).step_by(5_000) {
                statement.record(duration_ns);
            }
        }
        let pages = |statement: &SparseHistogram| statement.pages.capacity() * size_of::<[u64; PAGE]>();
        let index = |statement: &SparseHistogram| statement.index.capacity() * size_of::<u16>();
        let bytes: usize = recording
            .iter()
            .map(|statement| pages(statement) + index(statement))
            .sum();
        assert!(3 * bytes < 100_000_000, "{bytes} bytes each");
    }

    proptest! {
        #[test]
        fn it_counts_what_a_full_one_counts(
            durations in prop::collection::vec(prop_oneof![0..1_000_000_u64, 0..4_000_000_000_000_u64, any::<u64>()],
                0..300),
            split in 0..300_usize,
        ) {
            let mut full = LatencyHistogram::new();
            let (mut one, mut other) = (SparseHistogram::default(), SparseHistogram::of_statements(1).remove(0));
            other.record(7);
            other.clear();
            for (number, duration) in durations.iter().enumerate() {
                full.record(*duration);
                if number < split { one.record(*duration) } else { other.record(*duration) }
            }
            one.add(&other);
            prop_assert_eq!(one.count(), full.count());
            let classes = full.inner().iter_all().enumerate().map(|(class, value)| (class, value.count_at_value()));
            let expected: Vec<_> = classes.filter(|(_, count)| *count > 0).collect();
            prop_assert_eq!(one.counts().collect::<Vec<_>>(), expected);
            let percents = [0.1, 50.0, 95.0, 99.9, 100.0];
            prop_assert_eq!(one.figures(percents), full.figures(percents));
            let dense = one.dense();
            prop_assert_eq!(dense.inner(), full.inner());
        }
    }
}
