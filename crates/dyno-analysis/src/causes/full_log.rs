//! The log of changes was nearly full: changed pages had to be written at once, so that a part of it could be reused.
//!
//! How much of a log is used goes up and down, and a server begins to write more long before it is full. What hurts is
//! the last part: there everybody who changes something waits. Some servers say of sessions that this is what they wait
//! for.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;
use dyno_archive::figures::decimal;

/// A log that is used to this share is full: a server that is in time keeps well away from it. The same share written
/// within a second: samples a second apart need not see a log that is filled and freed so fast.
const FULL: f64 = 0.9;

/// What leads to a dip begins a little before it.
const BEFORE_S: f64 = 1.5;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    waited(recording, dip).or_else(|| filled(recording, dip))
}

/// Where the server says itself that sessions wait for room in the log, no counter is needed.
fn waited(recording: &Recording, dip: Window) -> Option<Evidence> {
    let clients = recording.clients;
    let raised = recording.room_waits.as_ref()?.raised_in(dip, 0.25 * clients)?;
    Some(Evidence {
        cause: Cause::FullLog,
        score: 0.4 + 0.55 * (raised.inside / clients.max(1.0)).min(1.0),
        words: format!(
            "{:.1} of {clients:.0} clients waited for room in the {}, usually {:.1}",
            raised.inside, recording.words.log_in_full, raised.usual
        ),
    })
}

fn filled(recording: &Recording, dip: Window) -> Option<Evidence> {
    let (near, log) = (dip.widened(BEFORE_S), &recording.words.log_in_full);
    let fill = recording.log_fill.as_ref()?;
    let fullest = fill.series.max_in(near)?;
    let fastest = recording
        .log_turnover
        .as_ref()
        .and_then(|turnover| turnover.series.max_in(near))
        .unwrap_or_default();
    let mut words = if fullest >= FULL {
        let usual = fill.usual.median * 100.0;
        format!("{:.0} % of the {log} were used, usually {usual:.0} %", fullest * 100.0)
    } else if fastest >= FULL {
        format!("the {log} was written over {fastest:.1} times per second")
    } else {
        return None;
    };
    let signals = [Some(fill), recording.log_turnover.as_ref()];
    let mut full: Vec<Window> = signals
        .into_iter()
        .flatten()
        .flat_map(|signal| signal.series.iter())
        .filter(|(_, share)| *share >= FULL)
        .map(|(window, _)| window.widened(BEFORE_S))
        .collect();
    full.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    // What is nearly full all the time explains a dip only if something was done about it just then.
    let coincidence = recording.coincidence(dip, &merged(full)).clamp(0.0, 1.0);
    let written = recording.pages_written.as_ref();
    let flushed = written.and_then(|written| written.raised_in(near, 0.5 * written.usual.median));
    let mut score = 0.3 + 0.4 * coincidence;
    if let Some(flushed) = flushed {
        score += 0.2;
        words.push_str(&format!(
            "; {} {}s per second were written, usually {}",
            decimal(flushed.inside, 0),
            recording.words.page_written,
            decimal(flushed.usual, 0)
        ));
    }
    Some(Evidence {
        cause: Cause::FullLog,
        score,
        words,
    })
}

/// The same stretches of time, in order, in which none overlaps another.
fn merged(windows: Vec<Window>) -> Vec<Window> {
    let mut merged: Vec<Window> = Vec::new();
    for window in windows {
        match merged.last_mut().filter(|last| last.end_s >= window.start_s) {
            Some(last) => last.end_s = last.end_s.max(window.end_s),
            None => merged.push(window),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};

    #[test]
    fn a_log_that_is_full_only_then_explains_the_dip() {
        let mut recording = calm();
        assert_eq!(look(&recording, DIP), None);
        recording.log_fill = signal(0.5, 0.98);
        recording.pages_written = signal(200.0, 4_000.0);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.8, "{found:?}");
        let said = "98 % of the write-ahead log were used, usually 50 %; ";
        assert!(found.words.starts_with(said), "{}", found.words);
        assert!(
            found.words.ends_with("buffers per second were written, usually 200"),
            "{}",
            found.words
        );
    }

    #[test]
    fn one_that_is_always_full_explains_it_by_what_is_written_or_not_at_all() {
        let mut recording = calm();
        recording.log_fill = signal(0.9, 0.92);
        assert!(look(&recording, DIP).unwrap().score < 0.5);
        recording.pages_written = signal(200.0, 4_000.0);
        assert!(look(&recording, DIP).unwrap().score >= 0.5);
    }

    #[test]
    fn one_that_is_written_over_again_and_again_was_full_between_the_samples() {
        let mut recording = calm();
        recording.log_fill = signal(0.5, 0.6);
        recording.log_turnover = signal(0.1, 1.7);
        recording.pages_written = signal(200.0, 4_000.0);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.8, "{found:?}");
        let said = "the write-ahead log was written over 1.7 times per second; ";
        assert!(found.words.starts_with(said), "{}", found.words);
    }

    #[test]
    fn what_the_server_says_of_waits_for_room_is_enough() {
        let mut recording = calm();
        recording.room_waits = signal(0.0, 7.5);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.85, "{found:?}");
        let said = "7.5 of 8 clients waited for room in the write-ahead log, usually 0.0";
        assert_eq!(found.words, said);
        recording.room_waits = signal(0.0, 1.0);
        assert_eq!(look(&recording, DIP), None);
        recording.room_waits = signal(6.0, 6.0);
        assert_eq!(look(&recording, DIP), None);
    }

    #[test]
    fn half_a_log_explains_nothing() {
        let mut recording = calm();
        recording.log_fill = signal(0.3, 0.6);
        recording.log_turnover = signal(0.1, 0.6);
        recording.pages_written = signal(200.0, 4_000.0);
        assert_eq!(look(&recording, DIP), None);
    }
}
