//! What happened during a run, as tables: checkpoints, and everything else that lasted.

use super::model::{Column, Table, Value};
use super::table::{number, text, value, words};
use crate::figures::one_line;
use dyno_archive::{EventKind, Run};
use dyno_record::Words;

/// More rows than this are not read.
const MOST_ROWS: usize = 20;

/// What happened, as a row with when it began and how long it lasted, in seconds.
struct Row {
    begins_s: f64,
    lasts_s: Option<f64>,
    values: Vec<Value>,
}

/// A table of `rows` in order of time, of too many the longest. It is called `name`.
fn longest(name: &str, columns: Vec<Column>, mut rows: Vec<Row>) -> Table {
    let all = rows.len();
    // What did not end lasts longest.
    let length_s = |row: &Row| row.lasts_s.unwrap_or(f64::INFINITY);
    rows.sort_by(|one, other| length_s(other).total_cmp(&length_s(one)));
    rows.truncate(MOST_ROWS);
    rows.sort_by(|one, other| one.begins_s.total_cmp(&other.begins_s));
    let caption = if all > MOST_ROWS {
        format!("{name}: the longest {MOST_ROWS} of {all}; events.jsonl has all")
    } else {
        name.to_owned()
    };
    Table {
        caption,
        columns,
        rows: rows.into_iter().map(|row| row.values).collect(),
    }
}

/// The checkpoints of a run.
pub(super) fn checkpoints(run: &Run, server: &Words) -> Table {
    let events = run.events().into_iter().flatten();
    let checkpoints = events.filter_map(|event| match event.kind {
        EventKind::Checkpoint(checkpoint) => Some(checkpoint),
        _ => None,
    });
    let rows = checkpoints.map(|checkpoint| {
        let lasts_s = checkpoint.end_s.map(|end_s| end_s - checkpoint.start_s);
        Row {
            begins_s: checkpoint.start_s,
            lasts_s,
            values: vec![
                value(checkpoint.start_s),
                value(lasts_s),
                words(one_line(&checkpoint.reason)),
                value(checkpoint.write_s),
                value(checkpoint.sync_s),
                value(checkpoint.buffers.map(|buffers| buffers as f64)),
                value(checkpoint.wal_files.map(|files| files as f64)),
            ],
        }
    });
    let columns = vec![
        number("begins", "s"),
        number("lasts", "s"),
        text("reason"),
        number("write", "s"),
        number("sync", "s"),
        number(&format!("{}s", server.page_written), ""),
        number(&format!("{} files", server.log), ""),
    ];
    longest("Checkpoints", columns, rows.collect())
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
            let lock = blocked.lock.unwrap_or_else(|| "lock".to_owned());
            let detail = format!("{} waiting; {lock} held by {holder}", blocked.waiting);
            Some(("sessions blocked", blocked.start_s, blocked.end_s, detail))
        }
        EventKind::Stalled(stalled) => Some(("stall", stalled.start_s, stalled.end_s, stalled.detail)),
        _ => None,
    });
    let rows = lasting.map(|(what, start_s, end_s, detail)| Row {
        begins_s: start_s,
        lasts_s: Some(end_s - start_s),
        values: vec![
            words(what),
            value(start_s),
            value(end_s - start_s),
            words(one_line(&detail)),
        ],
    });
    let columns = vec![
        text("what"),
        number("begins", "s"),
        number("lasts", "s"),
        text("detail"),
    ];
    longest("Vacuums, locks and stalls", columns, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_the_longest_are_shown_in_order_of_time() {
        let row = |second: u32| Row {
            begins_s: f64::from(second),
            lasts_s: (second != 3).then_some(f64::from(second)),
            values: vec![value(f64::from(second))],
        };
        let table = longest("Checkpoints", vec![number("begins", "s")], (0..50).map(row).collect());
        assert_eq!(table.caption, "Checkpoints: the longest 20 of 50; events.jsonl has all");
        assert_eq!(
            (table.rows.len(), &table.rows[0][0], &table.rows[1][0]),
            (20, &value(3.0), &value(31.0))
        );
        assert_eq!(longest("Checkpoints", Vec::new(), vec![row(1)]).caption, "Checkpoints");
    }
}
