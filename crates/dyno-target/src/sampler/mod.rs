//! What is read beside a running load, from the host and from the server: rows of numbers, and what happened.
//!
//! A [`Sampler`] is read again and again by whoever drives it, each on a thread and over a connection of its own,
//! so that one that hangs stops no other. It hands its rows and events to a [`Sink`]. Wide sources (one row of many
//! numbers each time) and long ones (several rows with names in them) differ in nothing else.

pub(crate) mod blocked;
#[cfg(test)]
pub(crate) mod heard;
pub(crate) mod tail;
pub(crate) mod waits;

use dyno_record::{Event, Series, Value};

use std::time::Duration;

/// A sample could not be taken.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SampleError(pub(crate) String);

/// A source of rows and events.
pub trait Sampler: Send {
    /// What it reads, to be put into a sentence, such as "the server's counters".
    fn subject(&self) -> &'static str;

    /// How often it is to be read.
    fn period(&self) -> Duration;

    /// Whether the time that a sample takes is spent by the server.
    fn asks_server(&self) -> bool;

    /// Reads once. Counters count since some point before the run: differences count.
    ///
    /// # Errors
    /// The source does not answer. Later samples may work again; it connects anew by itself.
    fn sample(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError>;

    /// Reads for the last time: whatever has not ended ends now.
    ///
    /// # Errors
    /// As for [`Self::sample`].
    fn finish(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        self.sample(moment, sink)
    }
}

/// When a sample is taken.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time since the first phase began.
    pub at: Duration,
    /// How much later than planned it is.
    pub late: Duration,
}

impl Moment {
    pub(crate) fn at_s(self) -> f64 {
        self.at.as_secs_f64()
    }
}

/// Takes what samplers read.
pub trait Sink {
    /// One row of a series, which has the same columns each time: a value for each.
    fn row(&mut self, moment: Moment, series: &Series, values: &[Value]);

    /// Something that happened.
    fn event(&mut self, event: Event);

    /// Something that could not be included, as a sentence with what to do about it. It is said once.
    fn warn(&mut self, text: String);
}
