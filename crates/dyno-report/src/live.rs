//! The one line that is shown while a run goes on.

use crate::figures::{count, duration, ms, rate};
use dyno_analysis::progress::{Live, LiveLatency};
use std::time::Duration;

/// The line, without a line break. Its parts keep their places from one line to the next.
#[must_use]
pub fn live_line(live: &Live) -> String {
    let left = live.left.map_or_else(String::new, |left| {
        let whole = Duration::from_secs(left.as_secs_f64().ceil() as u64);
        format!("   {} left", duration(whole))
    });
    let latencies: Vec<String> = live
        .latencies
        .iter()
        .map(|latency| match live.latencies.len() {
            1 => percentiles(latency),
            _ => format!("{} {}", latency.workload, percentiles(latency)),
        })
        .collect();
    format!(
        "{:<7} {:>9} tps   {}   {} {}{left}",
        live.phase,
        rate(live.tps),
        latencies.join("   "),
        count(live.errors),
        if live.errors == 1 { "error" } else { "errors" },
    )
}

fn percentiles(latency: &LiveLatency) -> String {
    let shown = match latency.percentiles_us {
        Some(percentiles_us) => percentiles_us.map(ms),
        None => [const { String::new() }; 3].map(|_| "-".to_owned()),
    };
    let [p50, p95, p99] = shown;
    format!("p50 {p50:>6}  p95 {p95:>6}  p99 {p99:>6} ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_all_in_one_line() {
        let latency = |workload: &str, percentiles_us| LiveLatency {
            workload: workload.to_owned(),
            percentiles_us,
        };
        let live = Live {
            phase: "measure".to_owned(),
            elapsed: Duration::from_secs(9),
            tps: 12_345.6,
            latencies: vec![latency("update", Some([612.3, 1_034.5, 1_800.0]))],
            errors: 0,
            left: Some(Duration::from_millis(11_200)),
        };
        insta::assert_snapshot!(live_line(&live), @"measure    12,346 tps   p50 0.6123  p95  1.034  p99    1.8 \
            ms   0 errors   12 s left");
        let several = Live {
            latencies: vec![
                latency("update", Some([612.3, 1_034.5, 1_800.0])),
                latency("ingest", Some([12_345.0, 98_765.0, 4_370_460.0])),
            ],
            ..live.clone()
        };
        insta::assert_snapshot!(live_line(&several), @"measure    12,346 tps   update p50 0.6123  p95  1.034  \
            p99    1.8 ms   ingest p50  12.35  p95  98.77  p99  4,370 ms   0 errors   12 s left");
        let stalled = Live {
            phase: "warmup".to_owned(),
            tps: 0.0,
            latencies: vec![latency("update", None)],
            errors: 1,
            ..live
        };
        insta::assert_snapshot!(live_line(&stalled), @"warmup          0 tps   p50      -  p95      -  p99      - \
            ms   1 error   12 s left");
    }
}
