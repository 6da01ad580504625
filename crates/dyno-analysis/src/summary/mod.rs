//! From intervals to the figures of a run, and from those of several runs to the figures of a cell.

mod builder;
pub mod metrics;
mod over_runs;
mod rebuild;
mod stretch;
mod sums;

pub(crate) use builder::Counts;
pub use builder::{SummaryBuilder, is_complete};
pub use over_runs::{latency_over_runs, over_runs};
pub use rebuild::summary_of;
pub use sums::{sum_of, sums};
