//! What a server was seen to execute for others, as the beginning of a workload of one's own.

use super::{StopFlag, TargetError};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What was executed for so long.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    /// The statements, that with the most time first.
    pub statements: Vec<Statement>,
    /// For how long the server was watched.
    pub lasts: Duration,
    /// How many executions there were besides, in all databases, of which the server does not say what they were.
    pub uncounted: u64,
}

/// A statement that was executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Its text.
    pub text: String,
    /// What stands in the text in place of its values.
    pub values: Values,
    /// How often.
    pub calls: u64,
    /// How long all of them took together, in seconds.
    pub total_s: f64,
}

/// What stands in a statement's text in place of its values.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Values {
    /// They themselves, those of one execution.
    Given,
    /// `$1`, `$2`, …, of these types, as the server calls them; none where it cannot say.
    Numbered(Vec<String>),
    /// `?` for each.
    Marked,
    /// `?` for each, and dots for what is left of a list of them, in words that a server set in order.
    LeftOut,
}

/// A statement's place in the statistics, with what was counted.
pub(crate) struct Counted {
    pub key: String,
    pub text: String,
    pub values: Values,
    pub calls: f64,
    pub total_ms: f64,
}

/// What was executed between two readings, that with the most time first. Where statistics were reset in between,
/// counting has begun anew.
pub(crate) fn between(before: Vec<Counted>, after: Vec<Counted>) -> Vec<Statement> {
    let before: HashMap<String, (f64, f64)> = before
        .into_iter()
        .map(|counted| (counted.key, (counted.calls, counted.total_ms)))
        .collect();
    let each = after.into_iter().filter_map(|counted| {
        let (calls_before, ms_before) = match before.get(&counted.key) {
            Some(known) if known.0 <= counted.calls && known.1 <= counted.total_ms => *known,
            _ => (0.0, 0.0),
        };
        let calls = (counted.calls - calls_before) as u64;
        (calls > 0).then(|| Statement {
            text: counted.text,
            values: counted.values,
            calls,
            total_s: (counted.total_ms - ms_before) / 1_000.0,
        })
    });
    let mut executed: Vec<Statement> = each.collect();
    executed.sort_by(|one, other| other.total_s.total_cmp(&one.total_s));
    executed
}

/// Waits, but not longer than until somebody asks to `stop`, and looks again and again meanwhile. Gives how long it
/// waited.
pub(crate) fn wait(
    lasts: Duration,
    stop: &StopFlag,
    mut look: impl FnMut() -> Result<(), TargetError>,
) -> Result<Duration, TargetError> {
    let begun = Instant::now();
    while begun.elapsed() < lasts && !stop.load(std::sync::atomic::Ordering::Relaxed) {
        look()?;
        std::thread::sleep(Duration::from_millis(100).min(lasts.saturating_sub(begun.elapsed())));
    }
    Ok(begun.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_before_does_not_count() {
        let counted = |key: &str, calls: f64, total_ms: f64| Counted {
            key: key.to_owned(),
            text: format!("select {key}"),
            values: Values::Given,
            calls,
            total_ms,
        };
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
