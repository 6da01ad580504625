//! `latency.hlog`: an HdrHistogram log, one histogram per interval and tag, for this and other HdrHistogram tools.
//!
//! The tag is the workload's name for its transactions, and `name/1` for its first statement. Empty histograms are
//! left out.
//!
//! It is read without making a histogram of each line: one of a second has some hundred classes of latency in it,
//! and a histogram room for 28,000, which over the 86,400 lines of a long night would be most of the time that a
//! report takes.

mod counts;
mod encode;
mod parse;

pub use counts::LatencyCounts;
pub(super) use encode::{Encoder, header};
pub use parse::{LatencyLine, LatencyParser};

use crate::plan::WARMUP;
use crate::reader::Run;
use crate::run::PhaseRecord;
use crate::{LATENCY_HLOG, open_regular};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::ops::Range;

/// How far times of the log may be from those of the intervals, which are exact to a microsecond: it rounds to
/// milliseconds. The last interval of a phase may be as short as one.
pub const LOG_TOLERANCE_S: f64 = 0.000_501;

/// Some hundred lines at a time.
const BUFFER_BYTES: usize = 1 << 18;

impl Run {
    /// Visits the lines of `latency.hlog` that are of transactions, not of single statements, and of intervals that
    /// began within `time_s`, in order. Lines that are damaged or of no known form are passed over, and so is a log
    /// that is missing.
    pub fn latencies(&self, time_s: Range<f64>, mut visit: impl FnMut(&LatencyLine)) {
        let Ok(log) = open_regular(&self.path.join(LATENCY_HLOG)) else {
            return;
        };
        let mut log = BufReader::with_capacity(BUFFER_BYTES, log);
        // Lines are in order of time: what comes before need not be read.
        let from = if time_s.start > 0.0 {
            offset_of(&mut log, time_s.start)
        } else {
            0
        };
        if log.seek(SeekFrom::Start(from)).is_err() {
            return;
        }
        let mut parser = LatencyParser::default();
        let mut bytes = Vec::new();
        while next_line(&mut log, &mut bytes) {
            let start_s = LatencyParser::start_s(&bytes);
            if start_s.is_some_and(|start_s| start_s >= time_s.end) {
                break;
            }
            let within = start_s.is_some_and(|start_s| start_s >= time_s.start);
            if let Some(line) = parser.parse(&bytes, |_, statement| within && statement.is_none()) {
                visit(line);
            }
        }
    }

    /// Visits all lines of `latency.hlog`, those of single statements too. Lines that are damaged or of no known
    /// form are passed over, and so is a log that is missing.
    pub fn all_latencies(&self, mut visit: impl FnMut(&LatencyLine)) {
        let Ok(log) = open_regular(&self.path.join(LATENCY_HLOG)) else {
            return;
        };
        let mut log = BufReader::with_capacity(BUFFER_BYTES, log);
        let mut parser = LatencyParser::default();
        let mut bytes = Vec::new();
        while next_line(&mut log, &mut bytes) {
            if let Some(line) = parser.parse(&bytes, |_, _| true) {
                visit(line);
            }
        }
    }
}

/// Whether an interval that began at `start_s` by the log's times belongs to the measured ones of `phases`. The log
/// knows no phases.
#[must_use]
pub fn is_measured(phases: &[PhaseRecord], start_s: f64) -> bool {
    let measured = phases.iter().filter(|phase| phase.name != WARMUP);
    let mut measured = measured.filter_map(|phase| phase.start_s.zip(phase.end_s));
    measured.any(|(from_s, to_s)| (from_s - LOG_TOLERANCE_S..to_s - LOG_TOLERANCE_S).contains(&start_s))
}

/// Reads a line; `false` at the end of what can be read.
fn next_line(log: &mut impl BufRead, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    // What cannot be read further ends the log like its end.
    log.read_until(b'\n', bytes).unwrap_or(0) > 0
}

/// Where to begin to read for lines from `time_s` on: at the begin of some line a little before them. By halving,
/// because a log may have gigabytes.
fn offset_of(log: &mut BufReader<File>, time_s: f64) -> u64 {
    const NEAR_BYTES: u64 = 1 << 16;
    let (mut low, mut high) = (0, log.get_ref().metadata().map_or(0, |file| file.len()));
    let mut bytes = Vec::new();
    while high - low > NEAR_BYTES {
        let middle = low + (high - low) / 2;
        if log.seek(SeekFrom::Start(middle)).is_err() {
            break;
        }
        // The rest of the line in the middle of which this is.
        let mut at = middle;
        let mut found = None;
        while found.is_none() && at < high && next_line(log, &mut bytes) {
            found = LatencyParser::start_s(&bytes).filter(|_| at > middle);
            if found.is_none() {
                at += bytes.len() as u64;
            }
        }
        match found {
            Some(start_s) if start_s < time_s => low = at,
            _ => high = middle,
        }
    }
    low
}
