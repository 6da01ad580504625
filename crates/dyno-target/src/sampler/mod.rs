//! Counters read during a run, from the host and from the server, one row of numbers at a time.

mod event;
mod host;
mod postgres;

pub use self::event::{Autovacuum, Blocked, Checkpoint, Happening, Stalled, Vacuum, Who};
pub use self::host::HostSampler;
pub use self::postgres::{PgSampler, PgSamplerError};

/// A sample could not be taken.
#[derive(Debug, thiserror::Error)]
#[error("no sample of {source_name}: {message}")]
pub struct SampleError {
    /// What was to be sampled.
    pub source_name: &'static str,
    /// Why it could not be.
    pub message: String,
}

/// A source of numbers: the same columns every time.
pub trait Sampler: Send {
    /// Names of the columns, units last; they never change.
    fn columns(&self) -> &[String];

    /// What could not be included, as sentences for the user.
    fn warnings(&self) -> &[String];

    /// One value per column; none where the source has no value now. Counters count since some point before the run: differences count.
    ///
    /// # Errors
    /// The source does not answer. Later samples may work again.
    fn sample(&mut self) -> Result<Vec<Option<f64>>, SampleError>;
}
