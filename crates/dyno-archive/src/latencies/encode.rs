//! Writing the log.

use dyno_record::{Interval, LatencyHistogram, Recording};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use jiff::Timestamp;

/// The lines before the first histogram; `base` is the instant from which the intervals' times count.
pub(crate) fn header(base: Timestamp) -> Vec<u8> {
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
pub(crate) struct Encoder {
    serializer: V2DeflateSerializer,
    /// A statement's latencies on their way into the log.
    statement: LatencyHistogram,
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
                if latency.count() > 0 {
                    let mut statement = std::mem::take(&mut self.statement);
                    statement.add(latency);
                    self.histogram(interval, &format!("{workload}/{}", index + 1), statement.inner(), out);
                    statement.clear();
                    self.statement = statement;
                }
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
