//! The one line that is shown while a run goes on.

use crate::figures::{count, duration, ms, rate};
use crate::table::Page;
use dyno_analysis::progress::{Live, LiveLatency};
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

/// What an animation beside the line takes.
const SPINNER: usize = 2;

/// So much is left free for the time that is left, so that what is shown does not change with it.
const TIME: usize = 16;

/// The percentiles that are shown, p50, p95 and p99: as many as there is room for.
const SHOWN: [&[usize]; 4] = [&[0, 1, 2], &[0, 2], &[2], &[]];

/// The line, without a line break. Its parts keep their places from one line to the next.
#[must_use]
pub fn live_line(live: &Live, page: Page) -> String {
    let left = live
        .left
        .map_or_else(String::new, |left| format!("{} left", whole(left)));
    with_room_for(live, "", &left, page)
}

/// The line with what stands before and behind it, and with what there is room for between them.
pub(crate) fn with_room_for(live: &Live, before: &str, time: &str, page: Page) -> String {
    let lines = SHOWN.map(|shown| format!("{before}{}", line(live, shown)));
    let room = page.columns().saturating_sub(SPINNER + time.width().max(TIME) + 2);
    let fitting = lines.iter().find(|line| line.width() <= room);
    let line = fitting.or(lines.last()).map_or("", String::as_str);
    format!("{line}  {time}").trim_end().to_owned()
}

/// A duration in whole seconds that have begun.
pub(crate) fn whole(time: Duration) -> String {
    duration(Duration::from_secs(time.as_secs_f64().ceil() as u64))
}

fn line(live: &Live, shown: &[usize]) -> String {
    let latencies = live.latencies.iter().filter(|_| !shown.is_empty());
    let latencies = latencies.map(|latency| match live.latencies.len() {
        1 => format!("  {}", percentiles(latency, shown)),
        _ => format!("  {} {}", latency.workload, percentiles(latency, shown)),
    });
    format!(
        "{:<7} {:>9} tps{}  {} {}",
        live.phase,
        rate(live.tps),
        latencies.collect::<String>(),
        count(live.errors),
        if live.errors == 1 { "error" } else { "errors" },
    )
}

fn percentiles(latency: &LiveLatency, shown: &[usize]) -> String {
    const NAMES: [&str; 3] = ["p50", "p95", "p99"];
    let value = |place: &usize| {
        let percentile = latency.percentiles_us.map(|percentiles_us| percentiles_us[*place]);
        format!("{} {:>6}", NAMES[*place], ms(percentile))
    };
    shown.iter().map(value).collect::<Vec<_>>().join("  ") + " ms"
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
        let wide = Page::new(100);
        insta::assert_snapshot!(live_line(&live, wide), @"
        measure    12,346 tps  p50  0.612  p95   1.03  p99   1.80 ms  0 errors  12 s left
        ");
        // A terminal of the usual size has no room for all, however long is left.
        insta::assert_snapshot!(live_line(&live, Page::default()), @"
        measure    12,346 tps  p50  0.612  p99   1.80 ms  0 errors  12 s left
        ");
        let long = Live {
            left: Some(Duration::from_secs(5_999)),
            ..live.clone()
        };
        insta::assert_snapshot!(live_line(&long, Page::default()), @"
        measure    12,346 tps  p50  0.612  p99   1.80 ms  0 errors  1 h 39 min left
        ");
        let several = Live {
            latencies: vec![
                latency("update", Some([612.3, 1_034.5, 1_800.0])),
                latency("ingest", Some([12_345.0, 98_765.0, 4_370_460.0])),
            ],
            ..live.clone()
        };
        insta::assert_snapshot!(live_line(&several, Page::new(120)), @"
        measure    12,346 tps  update p50  0.612  p99   1.80 ms  ingest p50   12.3  p99  4,370 ms  0 errors  12 s left
        ");
        insta::assert_snapshot!(live_line(&several, Page::default()), @"measure    12,346 tps  0 errors  12 s left");
        let stalled = Live {
            phase: "warmup".to_owned(),
            tps: 0.0,
            latencies: vec![latency("update", None)],
            errors: 1,
            ..live
        };
        insta::assert_snapshot!(live_line(&stalled, wide), @"
        warmup          0 tps  p50      -  p95      -  p99      - ms  1 error  12 s left
        ");
    }
}
