//! What is recorded of a load, as plain data.
//!
//! The engine fills recordings, archives keep them, and analyses read them. They meet here, so that whoever reads an archive needs to know neither how
//! a load is driven nor any database. No I/O.

mod error;
mod histogram;
mod interval;
mod recording;
mod sparse;

pub use error::{ErrorClass, ErrorCode};
pub use histogram::{HIGHEST_NS, LatencyHistogram};
pub use interval::Interval;
pub use recording::{CommandRecording, ErrorCount, FailureCounts, Recording, ScriptRecording, Sums};
pub use sparse::{MOST_STATEMENTS, SparseHistogram};
