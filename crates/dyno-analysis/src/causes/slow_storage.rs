//! Commits waited for storage longer than usual, and nothing that the server did is known to be why.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::{Signal, Window};
use dyno_archive::analysis::Cause;

/// Storage is what limits the throughput when at least so large a share of the clients waits for it.
const MOST_CLIENTS: f64 = 0.5;

/// A wait is longer when it is so many times what it usually is.
const LONGER: f64 = 2.0;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let waiting = recording.log_waits.as_ref()?.series.mean_in(dip)?;
    if waiting < MOST_CLIENTS * recording.clients {
        return None;
    }
    // Without transactions there is nothing to divide by; each waits for all that time.
    let each = recording.log_wait_per_transaction.as_ref();
    let each = each.and_then(|each| Some((each.series.mean_in(dip)?, each.usual.median)));
    if each.is_some_and(|(inside, usual)| inside < LONGER * usual) {
        return None;
    }
    let raised = |signal: &Option<Signal>, least| {
        signal
            .as_ref()
            .is_some_and(|signal| signal.raised_in(dip, least).is_some())
    };
    let disk = raised(&recording.disk_pressure, 0.15) || raised(&recording.disk_busy_share, 0.15);
    let mut score = if disk { 0.7 } else { 0.55 };
    // Who writes more waits longer, whatever the storage; and who waits for a core is at a commit for longer, too.
    let more = raised(&recording.page_images, 1.0) || writes_more(recording, dip);
    let no_core = recording.is_starved(dip) == Some(true) || raised(&recording.steal_share, 0.04);
    if more || no_core || server_worked(recording, dip) {
        score *= 0.65;
    }
    let took = each.map_or_else(String::new, |(inside, usual)| {
        format!(
            ": each transaction for {:.1} ms, usually {:.1} ms",
            inside * 1e3,
            usual * 1e3
        )
    });
    Some(Evidence {
        cause: Cause::SlowStorage,
        score,
        words: format!(
            "{waiting:.1} of {:.0} clients waited for the {} at any time{took}",
            recording.clients, recording.words.log_in_full
        ),
    })
}

/// Less of the usual log than this is not more of it, however few transactions share it.
const AS_MUCH: f64 = 0.8;

/// Whether each transaction wrote notably more log than usual, and not only because there were few of them.
fn writes_more(recording: &Recording, dip: Window) -> bool {
    let each = recording.log_per_transaction.as_ref();
    let log = recording.log_bytes.as_ref();
    let inside = log.and_then(|log| Some((log.series.mean_in(dip)?, log.usual.median)));
    let as_much = inside.is_none_or(|(inside, usual)| inside >= AS_MUCH * usual);
    as_much && each.is_some_and(|each| each.raised_in(dip, 100.0).is_some())
}

/// Whether a checkpoint or a vacuum was under way, which write much themselves.
fn server_worked(recording: &Recording, dip: Window) -> bool {
    let checkpoints = recording.checkpoints.iter().map(|checkpoint| {
        let end_s = checkpoint.end_s.unwrap_or(recording.measured.end_s);
        (checkpoint.start_s, end_s)
    });
    let vacuums = recording.vacuums.iter().map(|work| (work.start_s, work.end_s));
    let autovacuums = recording.autovacuums.iter().map(|work| (work.start_s, work.end_s));
    checkpoints
        .chain(vacuums)
        .chain(autovacuums)
        .any(|(start_s, end_s)| Window { start_s, end_s }.widened(0.5).overlap_s(dip) > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};
    use dyno_record::Checkpoint;

    fn slow() -> Recording {
        let mut recording = calm();
        recording.log_waits = signal(5.0, 7.8);
        recording.log_wait_per_transaction = signal(0.005, 0.06);
        recording
    }

    #[test]
    fn commits_that_take_many_times_as_long_explain_the_dip() {
        assert_eq!(look(&calm(), DIP), None);
        let mut recording = slow();
        assert_eq!(look(&recording, DIP).unwrap().score, 0.55);
        recording.disk_pressure = signal(0.1, 0.9);
        let found = look(&recording, DIP).unwrap();
        assert_eq!(found.score, 0.7);
        assert_eq!(
            found.words,
            "7.8 of 8 clients waited for the write-ahead log at any time: each transaction for 60.0 ms, usually 5.0 ms"
        );
    }

    #[test]
    fn clients_without_a_core_are_at_a_commit_for_longer_too() {
        let mut recording = slow();
        recording.run_queue = signal(0.2, 3.0);
        assert!(look(&recording, DIP).unwrap().score < 0.5);
    }

    #[test]
    fn a_checkpoint_has_a_name_of_its_own() {
        let mut recording = slow();
        recording.disk_pressure = signal(0.1, 0.9);
        recording.checkpoints.push(Checkpoint {
            start_s: 59.0,
            end_s: Some(63.0),
            ..Checkpoint::default()
        });
        assert!(look(&recording, DIP).unwrap().score < 0.5);
    }

    #[test]
    fn transactions_that_write_more_wait_longer_on_any_storage() {
        let mut recording = slow();
        recording.log_per_transaction = signal(500.0, 5_000.0);
        assert!(look(&recording, DIP).unwrap().score < 0.5);
        // What the server writes by itself is shared by few transactions.
        recording.log_bytes = signal(500_000.0, 60_000.0);
        assert_eq!(look(&recording, DIP).unwrap().score, 0.55);
    }

    #[test]
    fn waits_as_long_as_usual_explain_nothing() {
        let mut recording = slow();
        recording.log_wait_per_transaction = signal(0.005, 0.007);
        assert_eq!(look(&recording, DIP), None);
    }
}
