//! The one line that is shown while a run goes on.

use crate::figures::{TimeUnit, count, duration, rate};
use dyno_lab::run::Live;
use std::time::Duration;

/// The line, without a line break. Its parts keep their places from one interval to the next.
#[must_use]
pub fn live_line(live: &Live) -> String {
    let unit = TimeUnit::for_max(live.latency_us.map_or(0.0, |(_, _, p99)| p99));
    let (p50, p95, p99) = match live.latency_us {
        Some((p50, p95, p99)) => (Some(p50), Some(p95), Some(p99)),
        None => (None, None, None),
    };
    let show = |latency_us: Option<f64>| latency_us.map_or("-".to_owned(), |latency_us| unit.show(latency_us));
    let left = live.left.map_or_else(String::new, |left| {
        let whole = Duration::from_secs(left.as_secs_f64().ceil() as u64);
        format!("   {} left", duration(whole))
    });
    format!(
        "{:<7} {:>9} tps   p50 {:>7}  p95 {:>7}  p99 {:>7} {:<2}   {} {}{left}",
        live.phase,
        rate(live.tps),
        show(p50),
        show(p95),
        show(p99),
        unit.symbol(),
        count(live.errors),
        if live.errors == 1 { "error" } else { "errors" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_all_in_one_line() {
        let live = Live {
            phase: "measure".to_owned(),
            elapsed: Duration::from_secs(9),
            tps: 12_345.6,
            latency_us: Some((612.3, 1_034.5, 1_800.0)),
            errors: 0,
            left: Some(Duration::from_millis(11_200)),
        };
        insta::assert_snapshot!(live_line(&live), @"measure    12,346 tps   p50   612.3  p95 1,034.5  p99 1,800.0 µs   0 errors   12 s left");
        let stalled = Live {
            phase: "warmup".to_owned(),
            tps: 0.0,
            latency_us: None,
            errors: 1,
            ..live
        };
        insta::assert_snapshot!(live_line(&stalled), @"warmup        0.0 tps   p50       -  p95       -  p99       - µs   1 error   12 s left");
    }
}
