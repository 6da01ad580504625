//! `latency.hlog`: an HdrHistogram log, one histogram per interval and tag, for this and other HdrHistogram tools.
//!
//! The tag is the workload's name for its transactions, and `name/1` for its first statement. Empty histograms are left out.

use super::LATENCY_HLOG;
use super::reader::{Run, open};
use crate::experiment::WARMUP;
use crate::summary::{Latency, latency_of};
use base64::Engine as _;
use dyno_engine::{Interval, LatencyHistogram, Recording};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag};
use jiff::Timestamp;
use std::io::BufRead;

/// The lines before the first histogram; `base` is the instant from which the intervals' times count.
pub(super) fn header(base: Timestamp) -> Vec<u8> {
    let seconds = base.as_duration().as_secs_f64();
    format!(
        "#[Histogram log format version 1.3]\n\
         #Values are latencies in nanoseconds. Tags are WORKLOAD, or WORKLOAD/N for its N-th statement.\n\
         #[BaseTime: {seconds:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
    .into_bytes()
}

/// Writes the lines of one interval.
#[derive(Default)]
pub(super) struct Encoder {
    serializer: V2DeflateSerializer,
}

impl Encoder {
    /// Appends the histograms of `interval` to `out`.
    pub fn interval<'a>(
        &mut self,
        interval: &Interval,
        recordings: impl Iterator<Item = (&'a str, &'a Recording)>,
        out: &mut Vec<u8>,
    ) {
        for (workload, recording) in recordings {
            self.histogram(interval, workload, recording.latency.inner(), out);
            for (index, latency) in recording.statement_latency.iter().enumerate() {
                self.histogram(interval, &format!("{workload}/{}", index + 1), latency.inner(), out);
            }
        }
    }

    fn histogram(&mut self, interval: &Interval, tag: &str, histogram: &Histogram<u64>, out: &mut Vec<u8>) {
        if histogram.is_empty() {
            return;
        }
        // Neither step fails in memory: what fails is writing the bytes later.
        if let Ok(mut log) = IntervalLogWriterBuilder::new().begin_log_with(out, &mut self.serializer) {
            let _ = log.write_histogram(histogram, interval.start, interval.duration, Tag::new(tag));
        }
    }
}

/// The latency of all transactions measured in `runs` together, of all workloads; `None` if none completed.
#[must_use]
pub fn latency_of_runs<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<Latency> {
    let mut sum = Histogram::new_from(LatencyHistogram::new().inner());
    for run in runs {
        let Ok(record) = &run.record else { continue };
        // The log knows no phases, so they are told by time; it rounds to milliseconds, and no interval is as short as ten of them.
        const TOLERANCE_S: f64 = 0.002;
        let measured = record.phases.iter().filter(|phase| phase.name != WARMUP);
        let measured: Vec<_> = measured.filter_map(|phase| phase.start_s.zip(phase.end_s)).collect();
        let is_measured = |at_s: f64| {
            let mut phases = measured.iter();
            phases.any(|(start_s, end_s)| (start_s - TOLERANCE_S..end_s - TOLERANCE_S).contains(&at_s))
        };
        let Ok(log) = open(&run.path.join(LATENCY_HLOG)) else {
            continue;
        };
        for line in lines(log).filter(|line| line.statement.is_none() && is_measured(line.start_s)) {
            // Fails only for values beyond the engine's bounds, which no histogram of the engine has.
            let _ = sum.add(&line.histogram);
        }
    }
    latency_of(&sum)
}

/// A line of the log.
pub(super) struct Line {
    /// When its interval began, in seconds since the first phase began; rounded to milliseconds.
    pub start_s: f64,
    /// The workload, and the statement's index from 0 if it is of a statement.
    pub workload: String,
    pub statement: Option<usize>,
    pub histogram: Histogram<u64>,
}

/// Reads the log line by line; lines that are damaged or of no known form are passed over.
pub(super) fn lines<R: BufRead>(mut input: R) -> impl Iterator<Item = Line> {
    let mut deserializer = Deserializer::new();
    let mut bytes = Vec::new();
    std::iter::from_fn(move || {
        bytes.clear();
        // What cannot be read further ends the log like its end.
        let count = input.read_until(b'\n', &mut bytes).unwrap_or(0);
        (count > 0).then(|| line(&bytes, &mut deserializer))
    })
    .flatten()
}

fn line(bytes: &[u8], deserializer: &mut Deserializer) -> Option<Line> {
    let entry = IntervalLogIterator::new(bytes).next()?.ok()?;
    let LogEntry::Interval(interval) = entry else {
        return None;
    };
    let tag = interval.tag()?;
    let (workload, statement) = match tag.as_str().split_once('/') {
        Some((workload, number)) => (workload, Some(number.parse::<usize>().ok()?.checked_sub(1)?)),
        None => (tag.as_str(), None),
    };
    let encoded = base64::engine::general_purpose::STANDARD
        .decode(interval.encoded_histogram())
        .ok()?;
    Some(Line {
        start_s: interval.start_timestamp().as_secs_f64(),
        workload: workload.to_owned(),
        statement,
        histogram: deserializer.deserialize(&mut encoded.as_slice()).ok()?,
    })
}
