//! `--histogram`: dyno's own histogram, in the classes that sysbench's has.

use dyno_record::LatencyHistogram;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many classes there are.
const CLASSES: f64 = 1024.0;
/// The shortest and the longest latency that have classes of their own, in milliseconds.
const RANGE_MS: (f64, f64) = (0.001, 100_000.0);
/// The width of the longest bar.
const WIDTH: f64 = 40.0;

/// The histogram as sysbench draws it: a line for each class in which there is any event.
#[must_use]
pub fn histogram(latencies: &LatencyHistogram) -> String {
    let mut classes: BTreeMap<u64, u64> = BTreeMap::new();
    for each in latencies.inner().iter_recorded() {
        let latency_ms = each.value_iterated_to() as f64 / 1e6;
        *classes.entry(class(latency_ms)).or_default() += each.count_since_last_iteration();
    }
    let mut text = "Latency histogram (values are in milliseconds)\n".to_owned();
    text += "       value  ------------- distribution ------------- count\n";
    let most = classes.values().copied().max().unwrap_or(0);
    for (class, count) in classes {
        let stars = (WIDTH * count as f64 / most as f64 + 0.5).floor();
        let bar = "*".repeat(stars as usize);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:12.3} |{bar:<40} {count}", value_ms(class));
    }
    text + " \n"
}

/// Classes per unit of the logarithm.
fn scale() -> f64 {
    (CLASSES - 1.0) / (RANGE_MS.1.ln() - RANGE_MS.0.ln())
}

fn class(latency_ms: f64) -> u64 {
    let latency_ms = latency_ms.clamp(RANGE_MS.0, RANGE_MS.1);
    ((latency_ms.ln() - RANGE_MS.0.ln()) * scale() + 0.5).floor() as u64
}

fn value_ms(class: u64) -> f64 {
    (class as f64 / scale() + RANGE_MS.0.ln()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_reach_from_a_microsecond_to_a_hundred_seconds() {
        assert_eq!(class(0.0), 0);
        assert_eq!(class(1e9), 1023);
        assert!((value_ms(0) - 0.001).abs() < 1e-9);
        assert!((value_ms(1023) - 100_000.0).abs() < 1e-3);
        for number in [0, 1, 7, 500, 1023] {
            assert_eq!(class(value_ms(number)), number);
        }
    }

    #[test]
    fn bars_are_in_proportion_to_the_longest() {
        let mut latencies = LatencyHistogram::default();
        for latency_us in [1, 1, 1, 1, 2000] {
            latencies.record(latency_us * 1000);
        }
        let text = histogram(&latencies);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "       value  ------------- distribution ------------- count");
        assert_eq!(lines[2], format!("       0.001 |{} 4", "*".repeat(40)));
        assert!(lines[3].ends_with(&format!("|{:<40} 1", "*".repeat(10))), "{text}");
        assert_eq!(lines[4], " ");
        assert_eq!(lines.len(), 5);
    }
}
