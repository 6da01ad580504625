//! What a load did in one interval.

use crate::{LatencyHistogram, ListedHistogram, Recording, SparseHistogram};
use std::time::Duration;

/// One interval of the whole load, all threads summed; `H` is the form of the histograms of its transactions, `S` that
/// of its statements'.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval<H = LatencyHistogram, S = SparseHistogram> {
    /// Index of its phase among those of the load.
    pub phase: usize,
    /// Begin, counted from the start of the first phase.
    pub start: Duration,
    /// How long it lasted: the load's interval, or less at the end of a phase or of an interrupted run.
    pub duration: Duration,
    /// Whether the first thread went on to its regular end: it is the one that tells of progress in pgbench.
    pub first_thread_whole: bool,
    /// One recording per workload, in the load's order.
    pub recordings: Vec<Recording<H, S>>,
}

/// An interval as it comes from another process, with memory only for what occurred: whoever merges those of many
/// hosts has many of them in hand each second.
pub type ListedInterval = Interval<ListedHistogram, ListedHistogram>;
