//! What a server was seen to execute for others, as the beginning of a workload of one's own.

use std::time::{Duration, Instant};

/// A statement that was executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    /// Its text: with `$1`, `$2`, … in place of its values, or as one execution had it.
    pub text: String,
    /// The types of those values, in order, as the server calls them; `None`: it did not say.
    pub types: Option<Vec<String>>,
    /// How often.
    pub calls: u64,
    /// How long all of them took together, in seconds.
    pub total_s: f64,
}

/// A statement's place in the statistics, its text and what was counted: calls, and milliseconds.
pub(crate) type Counted = (String, String, [f64; 2]);

/// What was executed between two readings, that with the most time first. Where statistics were reset in between,
/// counting has begun anew.
pub(crate) fn between(before: Vec<Counted>, after: Vec<Counted>) -> Vec<Executed> {
    let before: std::collections::HashMap<String, [f64; 2]> =
        before.into_iter().map(|(key, _, counted)| (key, counted)).collect();
    let each = after.into_iter().filter_map(|(key, text, [calls, ms])| {
        let [calls_before, ms_before] = match before.get(&key) {
            Some(known) if known[0] <= calls && known[1] <= ms => *known,
            _ => [0.0, 0.0],
        };
        let calls = (calls - calls_before) as u64;
        (calls > 0).then(|| Executed {
            text,
            types: None,
            calls,
            total_s: (ms - ms_before) / 1_000.0,
        })
    });
    let mut executed: Vec<Executed> = each.collect();
    executed.sort_by(|one, other| other.total_s.total_cmp(&one.total_s));
    executed
}

/// Waits, but not longer than until somebody asks to `stop`.
pub(crate) fn wait(lasts: Duration, stop: &super::StopFlag) {
    let begun = Instant::now();
    while begun.elapsed() < lasts && !stop.load(std::sync::atomic::Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100).min(lasts.saturating_sub(begun.elapsed())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_before_does_not_count() {
        let counted = |key: &str, calls: f64, ms: f64| (key.to_owned(), format!("select {key}"), [calls, ms]);
        let before = vec![
            counted("a", 10.0, 100.0),
            counted("b", 5.0, 50.0),
            counted("c", 7.0, 7.0),
        ];
        let after = vec![
            counted("a", 12.0, 101.0),
            counted("b", 1.0, 2_000.0),
            counted("c", 7.0, 7.0),
            counted("d", 1.0, 500.0),
        ];
        let seen = between(before, after)
            .into_iter()
            .map(|seen| (seen.text, seen.calls, seen.total_s));
        assert_eq!(
            seen.collect::<Vec<_>>(),
            [
                ("select b".to_owned(), 1, 2.0),
                ("select d".to_owned(), 1, 0.5),
                ("select a".to_owned(), 2, 0.001)
            ]
        );
    }
}
