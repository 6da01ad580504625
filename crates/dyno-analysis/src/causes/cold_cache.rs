//! Pages that are otherwise in the server's cache had to be read: it was emptied, made smaller, or filled with others.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;
use dyno_archive::figures::decimal;

/// Fewer pages per second than this are read at no cost.
const LEAST_PAGES: f64 = 100.0;

/// A transaction that reads less than this many times as many pages as usual is not held up by it.
const MORE: f64 = 3.0;

/// Nor are transactions of which fewer than every second has to read a page, however rare that is otherwise.
const LEAST_EACH: f64 = 0.5;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let raised = recording.pages_read.as_ref()?.raised_in(dip, LEAST_PAGES)?;
    let each = recording.reads_per_transaction.as_ref();
    let more = each.and_then(|each| Some((each.series.mean_in(dip)?, each.usual.median)));
    if more.is_some_and(|(inside, usual)| inside < LEAST_EACH.max(MORE * usual)) {
        return None;
    }
    let disk = [&recording.disk_busy_share, &recording.disk_pressure]
        .into_iter()
        .any(|signal| {
            signal
                .as_ref()
                .is_some_and(|signal| signal.raised_in(dip, 0.15).is_some())
        });
    let mut score = if disk { 0.65 } else { 0.5 };
    // Who reads a whole table has a better name.
    if during_work(recording, dip) {
        score *= 0.7;
    }
    Some(Evidence {
        cause: Cause::ColdCache,
        score,
        words: format!(
            "{} {}s per second were not found in {}, usually {}",
            decimal(raised.inside, 0),
            recording.words.page_read,
            recording.words.cache,
            decimal(raised.usual, 0)
        ),
    })
}

/// Whether the server removes old versions of rows from a table, and so reads it.
fn during_work(recording: &Recording, dip: Window) -> bool {
    let vacuums = recording.vacuums.iter().map(|work| (work.start_s, work.end_s));
    let autovacuums = recording.autovacuums.iter().map(|work| (work.start_s, work.end_s));
    vacuums
        .chain(autovacuums)
        .any(|(start_s, end_s)| Window { start_s, end_s }.widened(0.5).overlap_s(dip) > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};
    use dyno_record::Vacuum;

    #[test]
    fn pages_that_are_missing_then_alone_explain_the_dip() {
        let mut recording = calm();
        assert_eq!(look(&recording, DIP), None);
        recording.pages_read = signal(20.0, 3_000.0);
        recording.reads_per_transaction = signal(0.02, 30.0);
        assert_eq!(look(&recording, DIP).unwrap().score, 0.5);
        recording.disk_busy_share = signal(0.2, 0.9);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.6, "{found:?}");
        assert_eq!(
            found.words,
            "3,000 blocks per second were not found in shared buffers, usually 20"
        );
        recording.vacuums.push(Vacuum {
            table: "t".to_owned(),
            start_s: 59.0,
            end_s: 64.0,
        });
        assert!(look(&recording, DIP).unwrap().score < 0.5);
    }

    #[test]
    fn a_page_for_every_fourth_transaction_explains_nothing() {
        let mut recording = calm();
        recording.pages_read = signal(0.0, 862.0);
        recording.reads_per_transaction = signal(0.0, 0.26);
        assert_eq!(look(&recording, DIP), None);
    }

    #[test]
    fn a_load_that_reads_as_much_as_always_for_each_transaction_is_not_held_up_by_it() {
        let mut recording = calm();
        recording.pages_read = signal(1_000.0, 1_500.0);
        recording.reads_per_transaction = signal(1.0, 1.5);
        assert_eq!(look(&recording, DIP), None);
    }
}
