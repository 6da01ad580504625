//! `intervals.csv`: one row per interval and workload.

use crate::summary::Lag;
use crate::{clock, rounded};
use dyno_record::{Interval, Latencies, Recording};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A row of `intervals.csv`. Times count from the begin of the first phase; a latency that does not exist is left
/// empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalRow {
    /// The phase.
    pub phase: String,
    /// When the interval began.
    pub interval_start_s: f64,
    /// How long it lasted.
    pub interval_s: f64,
    /// The workload.
    pub workload: String,
    /// Transactions that completed without error.
    pub transactions: u64,
    /// Statements that completed without error.
    pub statements: u64,
    /// Transactions that ended with an error.
    pub errors: u64,
    /// How often transactions were begun again after an error.
    pub retries: u64,
    /// Transactions of an open loop that were not begun because their turn was further back than the latency limit.
    pub skipped: u64,
    /// Transactions per second.
    pub tps: f64,
    /// Mean latency.
    pub latency_mean_us: Option<f64>,
    /// Smallest latency.
    pub latency_min_us: Option<f64>,
    /// Largest latency.
    pub latency_max_us: Option<f64>,
    /// Median latency.
    pub latency_p50_us: Option<f64>,
    /// 95th percentile.
    pub latency_p95_us: Option<f64>,
    /// 99th percentile.
    pub latency_p99_us: Option<f64>,
    /// 99.9th percentile.
    pub latency_p99_9_us: Option<f64>,
    /// Open loop: mean time from the scheduled instant to the begin.
    pub lag_mean_us: Option<f64>,
    /// Open loop: the longest such time.
    pub lag_max_us: Option<f64>,
    /// Transactions that were begun more than once. This and the next column are missing in archives of the first
    /// dynos.
    #[serde(default)]
    pub retried: u64,
    /// Completed transactions that took longer than the latency limit.
    #[serde(default)]
    pub late: u64,
    /// When the interval began, by the time of day, to the millisecond. In archives of the first dynos the column is
    /// missing; what reads a run makes it of the run's begin.
    #[serde(default, serialize_with = "clock::serialize")]
    pub time: Option<Timestamp>,
}

impl IntervalRow {
    /// The row of one workload in an interval of a load that began then.
    pub(super) fn new<H: Latencies, S>(
        load_started: Option<Timestamp>,
        phase: &str,
        interval: &Interval<H, S>,
        workload: &str,
        recording: &Recording<H, S>,
    ) -> Self {
        let interval_s = interval.duration.as_secs_f64();
        let latency = recording.latency.figures([50.0, 95.0, 99.0, 99.9]);
        let percentile_us = |place: usize| latency.map(|latency| us(latency.percentiles_ns[place]));
        let lag = recording.lag.figures([]);
        Self {
            phase: phase.to_owned(),
            interval_start_s: rounded_to_us(interval.start.as_secs_f64()),
            interval_s: rounded_to_us(interval_s),
            workload: workload.to_owned(),
            transactions: recording.transactions,
            statements: recording.statements,
            errors: recording.errors,
            retries: recording.retries,
            skipped: recording.skipped,
            tps: if interval_s > 0.0 {
                rounded(recording.transactions as f64 / interval_s)
            } else {
                0.0
            },
            latency_mean_us: latency.map(|latency| rounded(latency.mean_ns / 1000.0)),
            latency_min_us: latency.map(|latency| us(latency.min_ns)),
            latency_max_us: latency.map(|latency| us(latency.max_ns)),
            latency_p50_us: percentile_us(0),
            latency_p95_us: percentile_us(1),
            latency_p99_us: percentile_us(2),
            latency_p99_9_us: percentile_us(3),
            lag_mean_us: lag.map(|lag| rounded(lag.mean_ns / 1000.0)),
            lag_max_us: lag.map(|lag| us(lag.max_ns)),
            retried: recording.retried,
            late: recording.late,
            time: None,
        }
        .timed(load_started)
    }

    /// The same with the time of day, if it has none and the load began then.
    pub(super) fn timed(mut self, load_started: Option<Timestamp>) -> Self {
        if self.time.is_none() {
            let start = Duration::try_from_secs_f64(self.interval_start_s).ok();
            self.time = load_started
                .zip(start)
                .and_then(|(began, start)| clock::time_of_day(began, start));
        }
        self
    }

    /// The lag, if the row has one.
    #[must_use]
    pub fn lag(&self) -> Option<Lag> {
        self.lag_mean_us
            .zip(self.lag_max_us)
            .map(|(mean_us, max_us)| Lag { mean_us, max_us })
    }
}

/// Nanoseconds as microseconds.
fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// Seconds rounded to microseconds.
fn rounded_to_us(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// Reads rows one by one, up to the first that is damaged: the last one of a run that was killed may be torn.
pub(super) fn rows<R: std::io::BufRead>(input: R) -> impl Iterator<Item = IntervalRow> {
    csv::Reader::from_reader(WholeLines::new(input))
        .into_deserialize()
        .map_while(Result::ok)
}

/// Passes on lines that end with a newline, and ends before one that does not: a number may be torn and yet be a
/// number.
pub(super) struct WholeLines<R> {
    input: R,
    line: Vec<u8>,
    read: usize,
}

impl<R> WholeLines<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            read: 0,
        }
    }
}

impl<R: std::io::BufRead> std::io::Read for WholeLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.read == self.line.len() {
            self.line.clear();
            self.read = 0;
            self.input.read_until(b'\n', &mut self.line)?;
            if !self.line.ends_with(b"\n") {
                self.line.clear();
            }
        }
        let count = buffer.len().min(self.line.len() - self.read);
        buffer[..count].copy_from_slice(&self.line[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LatencyParser;
    use crate::to_csv;
    use proptest::prelude::*;

    #[test]
    fn intervals_of_the_first_dynos_can_be_read() {
        let csv = "phase,interval_start_s,interval_s,workload,transactions,statements,errors,retries,skipped,tps,\
            latency_mean_us,latency_min_us,latency_max_us,latency_p50_us,latency_p95_us,latency_p99_us,\
            latency_p99_9_us,lag_mean_us,lag_max_us\n\
            measure,0.0,1.0,main,5,5,0,0,0,5.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,,\n";
        let rows: Vec<_> = rows(csv.as_bytes()).collect();
        assert_eq!((rows.len(), rows[0].transactions, rows[0].late), (1, 5, 0));
        assert_eq!(rows[0].time, None);
        let began = "2026-11-21T19:40:12Z".parse().ok();
        assert_eq!(rows[0].clone().timed(began).time, began);
    }

    proptest! {
        #[test]
        fn rows_survive_the_round_trip(rows in prop::collection::vec(row(), 0..10)) {
            let csv = to_csv(&rows, true);
            let read: Vec<_> = super::rows(csv.as_slice()).collect();
            prop_assert_eq!(read, rows);
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..300), text in
            "[Tag=a-z/0-9,.#\\[\\]\"\n+-]{0,200}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                rows(bytes).count();
                let mut parser = LatencyParser::default();
                bytes.split_inclusive(|byte| *byte == b'\n').for_each(|line| {
                    parser.parse(line, |_, _| true);
                });
            }
        }
    }

    /// Any row as it could be in a file.
    fn row() -> impl Strategy<Value = IntervalRow> {
        let number = || (0_u64..10_000_000_000).prop_map(|thousandths| thousandths as f64 / 1000.0);
        let latencies = prop::array::uniform9(prop::option::of(number()));
        let counts = prop::array::uniform7(any::<u64>());
        let time = prop::option::of((0_i64..1 << 42).prop_map(|ms| Timestamp::from_millisecond(ms).unwrap()));
        (
            "[a-z]{1,8}",
            "[a-zA-Z0-9_-]{1,12}",
            number(),
            number(),
            number(),
            counts,
            latencies,
            time,
        )
            .prop_map(
                |(phase, workload, interval_start_s, interval_s, tps, counts, latencies, time)| IntervalRow {
                    phase,
                    interval_start_s,
                    interval_s,
                    workload,
                    transactions: counts[0],
                    statements: counts[1],
                    errors: counts[2],
                    retries: counts[3],
                    skipped: counts[4],
                    tps,
                    latency_mean_us: latencies[0],
                    latency_min_us: latencies[1],
                    latency_max_us: latencies[2],
                    latency_p50_us: latencies[3],
                    latency_p95_us: latencies[4],
                    latency_p99_us: latencies[5],
                    latency_p99_9_us: latencies[6],
                    lag_mean_us: latencies[7],
                    lag_max_us: latencies[8],
                    retried: counts[5],
                    late: counts[6],
                    time,
                },
            )
    }
}
