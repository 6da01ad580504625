//! The one line that is shown while a run goes on.

use crate::figures::{TimeUnit, count, duration, rate};
use std::time::Duration;

/// What the live line says.
#[derive(Clone, Debug, PartialEq)]
pub struct Live<'a> {
    /// The phase.
    pub phase: &'a str,
    /// Transactions per second of the last interval, all workloads together.
    pub tps: f64,
    /// Median latency of the last interval in microseconds; `None` if nothing completed.
    pub p50_us: Option<f64>,
    /// 95th percentile, likewise.
    pub p95_us: Option<f64>,
    /// 99th percentile, likewise.
    pub p99_us: Option<f64>,
    /// Transactions that ended with an error since the phase began.
    pub errors: u64,
    /// Time until the run ends.
    pub left: Duration,
}

/// The line, without a line break. Its parts keep their places from one interval to the next.
#[must_use]
pub fn live_line(live: &Live<'_>) -> String {
    let unit = TimeUnit::for_max(live.p99_us.unwrap_or_default());
    let show = |latency_us: Option<f64>| latency_us.map_or("-".to_owned(), |latency_us| unit.show(latency_us));
    format!(
        "{:<7} {:>9} tps   p50 {:>7}  p95 {:>7}  p99 {:>7} {:<2}   {} {}   {} left",
        live.phase,
        rate(live.tps),
        show(live.p50_us),
        show(live.p95_us),
        show(live.p99_us),
        unit.symbol(),
        count(live.errors),
        if live.errors == 1 { "error" } else { "errors" },
        duration(Duration::from_secs(live.left.as_secs_f64().ceil() as u64)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_all_in_one_line() {
        let live = Live {
            phase: "measure",
            tps: 12_345.6,
            p50_us: Some(612.3),
            p95_us: Some(1_034.5),
            p99_us: Some(1_800.0),
            errors: 0,
            left: Duration::from_millis(11_200),
        };
        insta::assert_snapshot!(live_line(&live), @"measure    12,346 tps   p50   612.3  p95 1,034.5  p99 1,800.0 µs   0 errors   12 s left");
        let stalled = Live {
            phase: "warmup",
            tps: 0.0,
            p50_us: None,
            p95_us: None,
            p99_us: None,
            errors: 1,
            ..live
        };
        insta::assert_snapshot!(live_line(&stalled), @"warmup        0.0 tps   p50       -  p95       -  p99       - µs   1 error   12 s left");
    }
}
