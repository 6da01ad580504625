//! Which of several causes is told.

use crate::causes::cause_of;
use crate::causes::fixture::{DIP, calm, signal};
use dyno_archive::analysis::Cause;
use dyno_record::{Autovacuum, Blocked, Stalled, Who};

#[test]
fn nothing_remarkable_explains_nothing() {
    assert_eq!(cause_of(&calm(), DIP), (Cause::Unknown, Vec::new()));
}

#[test]
fn the_strongest_cause_is_told_and_the_others_are_evidence() {
    let mut recording = calm();
    recording.steal_share = signal(0.01, 0.12);
    recording.blocked.push(Blocked {
        start_s: 60.1,
        end_s: 63.0,
        waiting: 8,
        holder: Some("4711 psql, idle in transaction".to_owned()),
        lock: None,
        relation: Some("tbl".to_owned()),
    });
    let (cause, evidence) = cause_of(&recording, DIP);
    assert_eq!((cause, evidence.len()), (Cause::Lock, 2));
    assert!(evidence[0].contains("4711"), "{evidence:?}");
}

#[test]
fn a_hog_that_starves_dyno_is_told_by_its_name() {
    let mut recording = calm();
    recording.stalled.push(Stalled {
        who: Who::Dyno,
        start_s: 60.5,
        end_s: 62.0,
        starved: true,
        detail: "its threads did not run for 1.5 s".to_owned(),
    });
    recording.run_queue = signal(0.2, 3.0);
    recording.other_cores = signal(0.1, 1.6);
    recording.idle_share = signal(0.2, 0.0);
    assert_eq!(cause_of(&recording, DIP).0, Cause::OtherProcesses);
}

#[test]
fn what_goes_on_all_the_time_explains_nothing() {
    let mut recording = calm();
    recording.autovacuums.push(Autovacuum {
        table: "public.tbl".to_owned(),
        start_s: 0.0,
        end_s: 120.0,
        analyze: false,
    });
    assert_eq!(cause_of(&recording, DIP).0, Cause::Unknown);
}
