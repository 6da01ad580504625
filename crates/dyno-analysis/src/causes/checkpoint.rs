//! A checkpoint kept the storage busy.
//!
//! A checkpoint is spread over most of the time until the next, so that one is under way says nothing. What hurts
//! is its end, when files are synced, and writing more than the storage takes: both show in waits and in how busy
//! the disk is.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;
use dyno_record::Checkpoint;

/// A sync of this many seconds is felt.
const FELT_SYNC_S: f64 = 0.3;

/// More coincidence than this is that of something which is not there most of the time.
const RARE: f64 = 0.5;

/// When so large a share of the clients waits for storage, storage is what limits the throughput.
const MOST_CLIENTS: f64 = 0.6;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let end_s = |checkpoint: &Checkpoint| checkpoint.end_s.unwrap_or(recording.measured.end_s);
    let time = |checkpoint: &Checkpoint| Window {
        start_s: checkpoint.start_s,
        end_s: end_s(checkpoint),
    };
    let during = recording
        .checkpoints
        .iter()
        .find(|checkpoint| time(checkpoint).widened(0.5).overlap_s(dip) > 0.0)?;
    let times: Vec<_> = recording.checkpoints.iter().map(time).collect();
    let coincidence = recording.coincidence(dip, &times).max(0.0);
    let sync_s = during.sync_s.unwrap_or(0.0);
    let syncing = Window {
        start_s: end_s(during) - sync_s,
        end_s: end_s(during),
    }
    .widened(0.5);
    let synced = sync_s >= FELT_SYNC_S && syncing.overlap_s(dip) >= 0.5 * dip.length_s().min(syncing.length_s());

    let clients = recording.clients.max(1.0);
    let log = format!("the {}", recording.words.log_in_full);
    let waits = [
        (&recording.log_waits, log.as_str()),
        (&recording.data_waits, "data files"),
    ];
    let waited = waits.iter().filter_map(|(signal, what)| {
        let raised = signal.as_ref()?.raised_in(dip, 0.15 * clients)?;
        Some((raised, what))
    });
    let waited = waited.max_by(|one, other| (one.0.inside - one.0.usual).total_cmp(&(other.0.inside - other.0.usual)));
    // Where clients wait for storage most of the time anyway, they cannot wait more: their transactions take longer.
    let storage: f64 = waits
        .iter()
        .filter_map(|(signal, _)| signal.as_ref()?.series.mean_in(dip))
        .sum();
    let stuck = coincidence > RARE && storage >= MOST_CLIENTS * clients;
    let disk = [
        (&recording.disk_busy_share, "the disk was busy"),
        (&recording.disk_pressure, "tasks waited for the disk"),
    ];
    let disk = disk
        .into_iter()
        .find_map(|(signal, what)| Some((signal.as_ref()?.raised_in(dip, 0.15)?, what)));

    let reason = during.reason.as_str();
    let mut words = match during.end_s {
        Some(end_s) => format!("a checkpoint ({reason}) from {:.1} to {end_s:.1} s", during.start_s),
        None => format!("a checkpoint ({reason}) from {:.1} s on", during.start_s),
    };
    if synced {
        words.push_str(&format!(", syncing files for {sync_s:.1} s"));
    }
    let mut score = 0.25 * coincidence;
    if synced {
        score += 0.25;
    }
    if waited.is_none() && stuck {
        score += 0.2;
        words.push_str(&format!("; {storage:.1} clients waited for storage"));
    }
    if let Some((raised, what)) = waited {
        score += 0.2 + 0.3 * ((raised.inside - raised.usual) / clients).min(1.0);
        words.push_str(&format!(
            "; {:.1} clients waited for {what}, usually {:.1}",
            raised.inside, raised.usual
        ));
    }
    if let Some((raised, what)) = disk {
        score += 0.2;
        words.push_str(&format!(
            "; {what} {:.0} % of the time, usually {:.0} %",
            raised.inside * 100.0,
            raised.usual * 100.0
        ));
    }
    // With none of these the checkpoint is just there.
    (synced || waited.is_some() || disk.is_some() || coincidence > RARE).then_some(Evidence {
        cause: Cause::Checkpoint,
        score: score.min(0.9),
        words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};

    fn with_checkpoint(start_s: f64, end_s: f64, sync_s: f64) -> Recording {
        let mut recording = calm();
        recording.checkpoints.push(Checkpoint {
            reason: "time".to_owned(),
            start_s,
            end_s: Some(end_s),
            sync_s: Some(sync_s),
            ..Checkpoint::default()
        });
        recording
    }

    #[test]
    fn a_checkpoint_over_the_whole_run_explains_nothing() {
        assert_eq!(look(&with_checkpoint(1.0, 119.0, 0.01), DIP), None);
    }

    #[test]
    fn syncing_with_waits_explains_the_dip() {
        let mut recording = with_checkpoint(30.0, 63.0, 2.8);
        recording.log_waits = signal(1.0, 7.0);
        recording.disk_busy_share = signal(0.2, 0.98);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.8, "{found:?}");
        assert_eq!(
            found.words,
            "a checkpoint (time) from 30.0 to 63.0 s, syncing files for 2.8 s; 7.0 clients waited for the write-ahead \
             log, usually 1.0; the disk was busy 98 % of the time, usually 20 %"
        );
    }

    #[test]
    fn one_at_just_that_time_without_any_sign_is_a_mention() {
        let found = look(&with_checkpoint(60.0, 63.0, 0.01), DIP).unwrap();
        assert!(found.score < 0.5, "{found:?}");
    }

    #[test]
    fn clients_that_always_wait_for_storage_wait_longer() {
        // Figures of a run on throttled storage: of eight clients six wait for the log at any time, with and
        // without a checkpoint.
        let mut recording = with_checkpoint(59.3, 62.9, 0.97);
        recording.log_waits = signal(6.3, 6.1);
        recording.disk_pressure = signal(0.13, 0.58);
        assert!(look(&recording, DIP).unwrap().score > 0.6);
        // The same clients without a CPU.
        recording.log_waits = signal(6.3, 2.6);
        recording.disk_pressure = signal(0.13, 0.1);
        recording.disk_busy_share = signal(0.2, 0.1);
        assert!(look(&recording, DIP).unwrap().score < 0.5);
    }
}
