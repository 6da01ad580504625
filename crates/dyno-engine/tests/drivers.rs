//! One suite over the drivers there are, on a real PostgreSQL: sessions of our own over transports, and a library that
//! owns its socket and blocks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

#[path = "drivers/case.rs"]
mod case;
#[path = "drivers/library.rs"]
mod library;
#[path = "drivers/policies.rs"]
mod policies;
#[path = "drivers/unlisted.rs"]
mod unlisted;

use case::{Case, SERVER, execute};
use dyno_engine::{Ending, FailurePolicy, OnError};
use std::time::{Duration, Instant};

#[test]
fn transactions_are_executed_and_counted() {
    execute("drop table if exists counted; create table counted (n int)");
    Case::of("\\set n random(1, 9)\ninsert into counted values (:n);", 3, 7).each(|driver, came| {
        assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
        assert_eq!(came.recording.transactions, 21, "{driver}");
        assert_eq!(came.recording.statements, 21, "{driver}");
        assert_eq!(came.recording.latency.count(), 21, "{driver}");
    });
    let mut client = SERVER.connection("postgres").connect().unwrap();
    let count: i64 = client
        .query_one("select count(*) from counted where n between 1 and 9", &[])
        .unwrap()
        .get(0);
    assert_eq!(count, 63);
}

#[test]
fn results_become_variables() {
    let script = "select 6 * 7 as answer \\gset\nselect 1 / (case when :answer = 42 then 1 else 0 end);";
    Case::of(script, 2, 3).each(|driver, came| {
        assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
        assert_eq!((came.recording.transactions, came.recording.errors), (6, 0), "{driver}");
    });
}

#[test]
fn errors_roll_back_and_are_counted_by_code() {
    let script = "begin;\nselect 1 / (:client_id * 0);\nend;";
    Case::of(script, 2, 4).each(|driver, came| {
        assert_eq!((came.recording.transactions, came.recording.errors), (0, 8), "{driver}");
        let codes: Vec<_> = came
            .recording
            .errors_by_code
            .iter()
            .map(|error| error.code.to_string())
            .collect();
        assert_eq!(codes, ["22012"], "{driver}");
    });
}

#[test]
fn a_lost_connection_ends_its_client() {
    let script = "select pg_terminate_backend(pg_backend_pid());";
    Case::of(script, 1, 5).each(|driver, came| {
        assert!(
            matches!(came.outcome.ended_early, Some(Ending::ConnectionsLost(_))),
            "{driver}: {:?} {:?}",
            came.outcome,
            came.events
        );
        assert_eq!(came.recording.errors, 1, "{driver}");
    });
}

#[test]
fn what_is_executed_at_the_end_is_cancelled() {
    let case = Case {
        transactions: None,
        lasts: Duration::from_millis(300),
        ..Case::of("select pg_sleep(600);", 2, 0)
    };
    case.each(|driver, came| {
        assert_eq!(came.outcome.unfinished, [2], "{driver}");
    });
    let still = "select count(*) from pg_stat_activity where state = 'active' and query like 'select pg_sleep(600)%'";
    let begun = Instant::now();
    let mut client = SERVER.connection("postgres").connect().unwrap();
    while client.query_one(still, &[]).unwrap().get::<_, i64>(0) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "still executed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_load_can_be_driven_again() {
    let case = Case {
        transactions: None,
        lasts: Duration::from_millis(300),
        ..Case::of("select 1;\nselect pg_sleep(600 * :client_id);", 2, 0)
    };
    case.each_twice(|driver, first, again| {
        for came in [first, again] {
            assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
            assert_eq!(came.outcome.unfinished, [1], "{driver}");
            assert!(came.recording.transactions > 0, "{driver}");
        }
    });
}

#[test]
fn a_connection_lost_within_a_pipeline_ends_its_client() {
    let script = "\\startpipeline\nselect pg_terminate_backend(pg_backend_pid());\n\\sleep 50 ms\n\\endpipeline";
    let case = Case {
        failures: FailurePolicy {
            on_error: OnError::AbortClient,
            ..FailurePolicy::default()
        },
        ..Case::of(script, 1, 2)
    };
    case.each(|driver, came| {
        assert!(
            matches!(came.outcome.ended_early, Some(Ending::Aborted)),
            "{driver}: {:?}",
            came.outcome
        );
        assert!(
            matches!(&came.events[..], [only] if only.contains("ConnectionLost")),
            "{driver}: {:?}",
            came.events
        );
    });
}
