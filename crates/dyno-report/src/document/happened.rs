//! What happened during a run, as tables: checkpoints, and everything else that lasted.

use super::model::{Table, Value};
use super::table::{number, text, value, words};
use crate::figures::one_line;
use dyno_lab::archive::{EventKind, Run};

/// More rows than this are not read.
const MOST_ROWS: usize = 100;

/// The checkpoints of a run.
pub(super) fn checkpoints(run: &Run) -> Table {
    let events = run.events().into_iter().flatten();
    let checkpoints = events.filter_map(|event| match event.kind {
        EventKind::Checkpoint(checkpoint) => Some(checkpoint),
        _ => None,
    });
    let rows = checkpoints.take(MOST_ROWS).map(|checkpoint| {
        vec![
            value(checkpoint.start_s),
            value(checkpoint.end_s.map(|end_s| end_s - checkpoint.start_s)),
            words(one_line(&checkpoint.reason)),
            value(checkpoint.write_s),
            value(checkpoint.sync_s),
            value(checkpoint.buffers.map(|buffers| buffers as f64)),
            value(checkpoint.wal_files.map(|files| files as f64)),
        ]
    });
    Table {
        caption: format!("Checkpoints, at most the first {MOST_ROWS}"),
        columns: vec![
            number("begins", "s"),
            number("lasts", "s"),
            text("reason"),
            number("write", "s"),
            number("sync", "s"),
            number("buffers", ""),
            number("WAL files", ""),
        ],
        rows: rows.collect(),
    }
}

/// What else lasted: vacuums, waits for locks, standstills.
pub(super) fn others(run: &Run) -> Table {
    let events = run.events().into_iter().flatten();
    let lasting = events.filter_map(|event| match event.kind {
        EventKind::Autovacuum(work) => {
            let what = if work.analyze { "autoanalyze" } else { "autovacuum" };
            Some((what, work.start_s, work.end_s, work.table))
        }
        EventKind::Vacuum(work) => Some(("vacuum", work.start_s, work.end_s, work.table)),
        EventKind::Blocked(blocked) => {
            let holder = blocked.holder.unwrap_or_else(|| "a measured session".to_owned());
            let detail = format!("{} waiting; lock held by {holder}", blocked.waiting);
            Some(("sessions blocked", blocked.start_s, blocked.end_s, detail))
        }
        EventKind::Stalled(stalled) => Some(("standstill", stalled.start_s, stalled.end_s, stalled.detail)),
        _ => None,
    });
    let rows = lasting
        .take(MOST_ROWS)
        .map(|(what, start_s, end_s, detail)| -> Vec<Value> {
            vec![
                words(what),
                value(start_s),
                value(end_s - start_s),
                words(one_line(&detail)),
            ]
        });
    Table {
        caption: format!("Vacuums, locks and standstills, at most the first {MOST_ROWS}"),
        columns: vec![
            text("what"),
            number("begins", "s"),
            number("lasts", "s"),
            text("detail"),
        ],
        rows: rows.collect(),
    }
}
