//! What a real agent has said, read to be said again.

use dyno_bench::Result;
use dyno_fleet::frame::{self, FrameError};
use dyno_fleet::protocol::{Connections, Ended, Hello, Report};
use dyno_record::ListedInterval;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

/// All of it.
pub struct Recorded {
    pub hello: Hello,
    pub connections: Connections,
    /// As bytes: many hosts of one machine have them in memory.
    pub intervals: Vec<Vec<u8>>,
    workloads: usize,
    /// The values of each sample of the host's counters.
    pub samples: Vec<Vec<Option<f64>>>,
    pub ended: Ended,
}

impl Recorded {
    /// Reads the stream of an agent that has driven one phase of so many workloads to its end.
    pub fn read(path: &Path, workloads: usize) -> Result<Self> {
        let mut input = BufReader::new(File::open(path)?);
        let mut buffer = Vec::new();
        let (mut hello, mut connections, mut ended) = (None, None, None);
        let (mut intervals, mut samples) = (Vec::new(), Vec::new());
        loop {
            match frame::read(&mut input, &mut buffer) {
                Ok(Report::Hello(said)) => hello = Some(said),
                Ok(Report::Connected(said)) => connections = Some(said),
                Ok(Report::Interval(bytes)) => intervals.push(bytes),
                Ok(Report::Sample { values, .. }) => samples.push(values),
                Ok(Report::Done(said)) => ended = Some(said),
                Ok(_) => {}
                Err(FrameError::Closed) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if intervals.is_empty() || samples.is_empty() {
            return Err("the agent has told of no interval, or of no sample".into());
        }
        Ok(Self {
            hello: hello.ok_or("the agent has not said who it is")?,
            connections: connections.ok_or("the agent did not connect")?,
            intervals,
            workloads,
            samples,
            ended: *ended.ok_or("the agent's load did not end")?,
        })
    }

    /// An interval that was said.
    pub fn interval(&self, number: usize) -> Result<ListedInterval> {
        let bytes = &self.intervals[number % self.intervals.len()];
        Ok(ListedInterval::from_bytes(bytes, 1, self.workloads)?)
    }

    /// The same in other time.
    pub fn again(&self, number: usize, start: Duration, duration: Duration) -> Result<Vec<u8>> {
        let again = ListedInterval {
            start,
            duration,
            ..self.interval(number)?
        };
        Ok(again.to_bytes())
    }
}
