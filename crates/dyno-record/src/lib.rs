//! What is recorded of a load, as plain data.
//!
//! The engine fills recordings, archives keep them, and analyses read them. They meet here, so that whoever reads
//! an archive needs to know neither how a load is driven nor any database. No I/O.

mod ceiling;
mod classes;
mod error;
mod event;
mod examination;
mod histogram;
mod interval;
mod listed;
mod meaning;
mod query_plan;
mod recording;
mod series;
mod sparse;
mod storage;
mod traits;
mod wire;

pub use ceiling::{Ceiling, Machine, Point, Route, Shape};
pub use error::{ErrorClass, ErrorCode};
pub use event::{Autovacuum, Blocked, Checkpoint, Event, Said, Stalled, Vacuum, Who};
pub use examination::{Examination, Finding, Mark, Topic};
pub use histogram::{HIGHEST_NS, Latencies, LatencyFigures, LatencyHistogram};
pub use interval::{Interval, ListedInterval};
pub use listed::ListedHistogram;
pub use meaning::{Meaning, WaitKind};
pub use query_plan::{AskedWith, Explained, PlanStep, QueryPlan};
pub use recording::{
    CommandRecording, ErrorCount, FailureCounts, MOST_CODES, Recording, ScriptRecording, Sums, count_code,
};
pub use series::{Series, Value};
pub use sparse::{MOST_STATEMENTS, SparseHistogram};
pub use storage::Storage;
pub use traits::{ServerTraits, SettingNames, Words};
pub use wire::{IntervalError, MOST_COUNTED};

/// What the names of the threads that make a load begin with: their waiting for a CPU is in what they measure.
pub const LOAD_THREAD: &str = "load ";
