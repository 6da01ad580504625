//! Reading a line of the log.
//!
//! The form is that of HdrHistogram's "V2" encoding within an interval log: after the tag, the start, the length
//! and the maximum, a histogram in base64. Of that the first eight bytes are a cookie and a length, and the rest is
//! deflated: 40 bytes that give the layout, then counts by ascending class as numbers in zigzag LEB128, of which a
//! negative one says how many classes have none. Source: `EncodableHistogram` and
//! `AbstractHistogram.encodeIntoByteBuffer` of HdrHistogram, <https://github.com/HdrHistogram/HdrHistogram>.

use crate::latencies::LatencyCounts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_record::LatencyHistogram;
use libdeflater::Decompressor;
use std::sync::LazyLock;

/// What the encoding begins with: its version, and in the low bits the width of a word.
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const COOKIE: u32 = 0x1c84_9313;

/// Bytes of the inflated histogram before its counts.
const HEADER_BYTES: usize = 40;

/// More than this is no histogram of dyno, with a count of nine bytes for each class.
static MOST_BYTES: LazyLock<usize> = LazyLock::new(|| HEADER_BYTES + 9 * LatencyCounts::classes());

/// The lowest and the highest latency in nanoseconds, and the digits: the layout of all histograms of dyno.
static LAYOUT: LazyLock<(u64, u64, u32)> = LazyLock::new(|| {
    let histogram = LatencyHistogram::new();
    let known = histogram.inner();
    (known.low(), known.high(), known.sigfig().into())
});

/// How long the transactions of an interval took, or one of their statements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyLine {
    /// When the interval began, in seconds since the first phase began; rounded to milliseconds.
    pub start_s: f64,
    /// How long it lasted, in seconds; rounded to milliseconds.
    pub interval_s: f64,
    /// The workload.
    pub workload: String,
    /// The statement's index from 0, if it is of one.
    pub statement: Option<usize>,
    /// How many took how long: classes of latency in ascending order, each with its count.
    pub(super) counts: Vec<(u32, u64)>,
}

impl LatencyLine {
    /// Classes of latency by ascending latency, as [`super::LatencyCounts`] numbers them, each with its count.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().map(|(class, count)| (*class as usize, *count))
    }
}

/// Reads lines one after the other into the same memory.
pub struct LatencyParser {
    inflater: Decompressor,
    encoded: Vec<u8>,
    /// Room for an inflated histogram of any length.
    payload: Vec<u8>,
    line: LatencyLine,
}

impl Default for LatencyParser {
    fn default() -> Self {
        Self {
            inflater: Decompressor::new(),
            encoded: Vec::new(),
            payload: vec![0; *MOST_BYTES],
            line: LatencyLine::default(),
        }
    }
}

/// A line cut into its fields.
struct Fields<'a> {
    tag: &'a str,
    start: &'a str,
    length: &'a str,
    histogram: &'a [u8],
}

impl LatencyParser {
    /// Reads `line`, with or without the newline at its end. `None` if it is damaged, torn, of no known form, or
    /// not `wanted` by its workload and its statement: then it is not decoded.
    pub fn parse(&mut self, line: &[u8], wanted: impl FnOnce(&str, Option<usize>) -> bool) -> Option<&LatencyLine> {
        let fields = fields(line)?;
        let (workload, statement) = match fields.tag.split_once('/') {
            Some((workload, number)) => (workload, Some(number.parse::<usize>().ok()?.checked_sub(1)?)),
            None => (fields.tag, None),
        };
        if !wanted(workload, statement) {
            return None;
        }
        self.line.start_s = fields.start.parse().ok().filter(|start_s: &f64| start_s.is_finite())?;
        let possible = |length_s: &f64| length_s.is_finite() && *length_s >= 0.0;
        self.line.interval_s = fields.length.parse().ok().filter(possible)?;
        self.line.statement = statement;
        self.line.workload.clear();
        self.line.workload.push_str(workload);
        self.encoded.clear();
        STANDARD.decode_vec(fields.histogram, &mut self.encoded).ok()?;
        let length = self.inflate()?;
        decode(self.payload.get(..length)?, &mut self.line.counts)?;
        Some(&self.line)
    }

    /// When the interval of `line` began; `None` if it is no line of an interval.
    pub(super) fn start_s(line: &[u8]) -> Option<f64> {
        fields(line)?.start.parse().ok()
    }

    /// Inflates what `encoded` has into `payload`. Gives back how many bytes that are.
    fn inflate(&mut self) -> Option<usize> {
        let (cookie, rest) = number(&self.encoded)?;
        let (_, deflated) = number(rest)?;
        if cookie != COMPRESSED_COOKIE {
            return None;
        }
        self.inflater.zlib_decompress(deflated, &mut self.payload).ok()
    }
}

fn fields(line: &[u8]) -> Option<Fields<'_>> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_prefix(b"Tag=")?;
    let mut fields = line.splitn(5, |byte| *byte == b',');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let (tag, start, length, _maximum) = (text()?, text()?, text()?, text()?);
    Some(Fields {
        tag,
        start,
        length,
        histogram: fields.next()?,
    })
}

/// The first four bytes, and what follows them.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*first), rest))
}

/// Reads the counts of an inflated histogram whose layout is that of all of dyno's.
fn decode(payload: &[u8], counts: &mut Vec<(u32, u64)>) -> Option<()> {
    let (header, rest) = payload.split_at_checked(HEADER_BYTES)?;
    let (cookie, header) = number(header)?;
    let (length, header) = number(header)?;
    let (_offset, header) = number(header)?;
    let (digits, bounds) = number(header)?;
    let low = u64::from_be_bytes(*bounds.first_chunk()?);
    let high = u64::from_be_bytes(*bounds.get(8..)?.first_chunk()?);
    if cookie != COOKIE || (low, high, digits) != *LAYOUT {
        return None;
    }
    let mut rest = rest.get(..length as usize)?;
    counts.clear();
    let mut class = 0_u64;
    while !rest.is_empty() {
        let value = zigzag(&mut rest)?;
        if value < 0 {
            class = class.checked_add(value.unsigned_abs())?;
        } else {
            if value > 0 {
                counts.push((u32::try_from(class).ok()?, value.unsigned_abs()));
            }
            class = class.checked_add(1)?;
        }
    }
    let is_known = |(class, _): &(u32, u64)| (*class as usize) < LatencyCounts::classes();
    counts.last().is_none_or(is_known).then_some(())
}

/// Takes a number off the front: seven bits a byte, the lowest first, but all eight of a ninth byte; every other
/// number is negative.
fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            value |= u64::from(*byte) << 56;
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::encode::Encoder;
    use dyno_record::{Interval, Recording};
    use hdrhistogram::Histogram;
    use proptest::prelude::*;
    use std::time::Duration;

    /// The log's lines of an interval in which these were measured.
    fn log(latencies_ns: &[u64]) -> Vec<u8> {
        let mut recording = Recording::new(1);
        for latency_ns in latencies_ns {
            recording.latency.record(*latency_ns);
            recording.statement_latency[0].record(latency_ns / 2);
        }
        let interval = Interval {
            phase: 0,
            start: Duration::from_millis(1_500),
            duration: Duration::from_secs(1),
            first_thread_whole: true,
            recordings: vec![recording],
        };
        let mut bytes = Vec::new();
        Encoder::default().interval(&interval, [("main", &interval.recordings[0])].into_iter(), &mut bytes);
        bytes
    }

    fn each_line(log: &[u8], mut visit: impl FnMut(&LatencyLine)) {
        let mut parser = LatencyParser::default();
        for line in log.split_inclusive(|byte| *byte == b'\n') {
            parser.parse(line, |_, _| true).into_iter().for_each(&mut visit);
        }
    }

    #[test]
    fn lines_say_when_and_of_what() {
        let mut read = Vec::new();
        each_line(&log(&[1_000_000]), |line| read.push(line.clone()));
        assert_eq!(read.len(), 2);
        assert_eq!(
            (
                read[0].start_s,
                read[0].interval_s,
                read[0].workload.as_str(),
                read[0].statement
            ),
            (1.5, 1.0, "main", None)
        );
        assert_eq!(
            (read[1].start_s, read[1].workload.as_str(), read[1].statement),
            (1.5, "main", Some(0))
        );
    }

    #[test]
    fn what_is_not_wanted_or_torn_is_passed_over() {
        let bytes = log(&[1_000_000, 2_000_000]);
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap();
        let mut parser = LatencyParser::default();
        assert!(parser.parse(line, |_, _| false).is_none());
        for length in 0..line.len() {
            assert!(parser.parse(&line[..length], |_, _| true).is_none(), "{length} bytes");
        }
        assert!(parser.parse(line, |_, _| true).is_some());
        assert!(parser.parse(b"0.0,1.0,5,HISTFAAA", |_, _| true).is_none());
    }

    proptest! {
        #[test]
        fn counts_are_those_that_the_histogram_library_reads(
            latencies_ns in prop::collection::vec(0..4_000_000_000_000_u64, 1..200),
        ) {
            let bytes = log(&latencies_ns);
            let mut expected: Histogram<u64> = Histogram::new_from(LatencyHistogram::new().inner());
            latencies_ns.iter().for_each(|latency_ns| expected.saturating_record(*latency_ns));
            let mut found: Histogram<u64> = Histogram::new_from(&expected);
            each_line(&bytes, |line| {
                if line.statement.is_none() {
                    line.add_to(&mut found);
                }
            });
            prop_assert_eq!(found, expected);
        }
    }
}
