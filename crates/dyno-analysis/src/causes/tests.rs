//! Which of several causes is told.

use crate::causes::Server;
use crate::causes::fixture::{DIP, calm, cause_of, signal};
use crate::recording::Recording;
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

/// Why a proxy and the server behind it had a dip.
fn cause_of_chain(remote: &Recording, proxy: &Recording) -> (Cause, Vec<String>) {
    let servers = [("database", None, remote), ("proxy", Some("database"), proxy)];
    let servers = servers.map(|(name, behind, recording)| Server {
        name: Some(name),
        behind,
        recording,
    });
    super::cause_of(remote, &servers, DIP)
}

#[test]
fn what_held_up_the_remote_is_why_its_proxy_waited() {
    let (mut remote, mut proxy) = (calm(), calm());
    proxy.remote_waits = signal(1.0, 8.0);
    let (cause, evidence) = cause_of_chain(&remote, &proxy);
    assert_eq!(cause, Cause::Remote);
    assert!(evidence[0].starts_with("on proxy: 8.0 clients waited"), "{evidence:?}");
    // Sessions of the proxy are clients of the remote; of the lock they wait for only this knows.
    remote.lock_waits = signal(0.0, 4.5);
    let (cause, evidence) = cause_of_chain(&remote, &proxy);
    assert_eq!(cause, Cause::Lock, "{evidence:?}");
    assert!(
        evidence[0].starts_with("on database: ") && evidence[1].starts_with("on proxy: "),
        "{evidence:?}"
    );
}

#[test]
fn what_the_machine_does_is_told_once() {
    let mut noisy = calm();
    noisy.steal_share = signal(0.01, 0.5);
    let (cause, evidence) = cause_of_chain(&noisy, &noisy);
    assert_eq!((cause, evidence.len()), (Cause::HostNoise, 1), "{evidence:?}");
    assert!(!evidence[0].starts_with("on "), "{evidence:?}");
}
