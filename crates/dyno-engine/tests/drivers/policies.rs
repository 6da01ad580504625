//! What a load may ask of the engine beyond plain transactions.

use crate::case::{Case, execute, number};
use dyno_engine::{
    Connecting, Ending, FailurePolicy, LogContext, LogEntry, LoggedOutcome, OnBrokenScript, OnError, Pacing, Span,
    Stage, TransactionLog,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A log that others can read.
#[derive(Clone, Default)]
struct Entries(Arc<Mutex<Vec<LogEntry>>>);

impl TransactionLog for Entries {
    fn transaction(&mut self, entry: &LogEntry) {
        self.0.lock().unwrap().push(*entry);
    }
}

#[test]
fn every_client_has_its_transactions_and_no_more() {
    for (connecting, made) in [(Connecting::Once, 0), (Connecting::EveryTransaction, 15)] {
        let case = Case {
            connecting,
            ..Case::of("select 1;", 3, 5)
        };
        case.each(|driver, came| {
            assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
            assert_eq!(came.recording.transactions, 15, "{driver}");
            assert_eq!(came.recording.latency_sums.count, 15, "{driver}");
            assert_eq!(came.outcome.connections, [made], "{driver}");
            assert!(came.events.is_empty(), "{driver}: {:?}", came.events);
        });
    }
}

#[test]
fn a_retry_repeats_the_draws() {
    execute(
        "create or replace function again(r bigint) returns void language plpgsql as $$
         declare n bigint := nextval('tries');
         begin
             -- What a sequence has is not rolled back.
             perform setval('draw' || n, r);
             if n < 3 then raise exception using errcode = '40001'; end if;
         end $$",
    );
    let script = "\\set r random(1, 1000000000)\nselect again(:r);";
    let log = Entries::default();
    let new_log = || {
        execute("drop sequence if exists tries, draw1, draw2, draw3, draw4");
        execute("create sequence tries; create sequence draw1; create sequence draw2; create sequence draw3");
        execute("create sequence draw4");
        log.0.lock().unwrap().clear();
        let log = log.clone();
        Some(Box::new(move |_: LogContext| Box::new(log.clone()) as Box<dyn TransactionLog>) as _)
    };
    Case::of(script, 1, 2).each_logged(new_log, |driver, came| {
        assert_eq!((came.recording.transactions, came.recording.errors), (2, 0), "{driver}");
        assert_eq!((came.recording.retried, came.recording.retries), (1, 2), "{driver}");
        let retries: Vec<_> = log.0.lock().unwrap().iter().map(|entry| entry.retries).collect();
        assert_eq!(retries, [2, 0], "{driver}");
        let draws = [1, 2, 3, 4].map(|draw| number(&format!("select last_value from draw{draw}")));
        assert!(draws[1] == draws[0] && draws[2] == draws[0], "{driver}: {draws:?}");
        assert_ne!(draws[3], draws[0], "{driver}");
    });
}

#[test]
fn what_fails_too_often_counts_and_has_no_latency() {
    let script = "do $$ begin raise exception using errcode = '40001'; end $$;";
    let case = Case {
        failures: FailurePolicy {
            max_tries: Some(3),
            report_failures: true,
            ..FailurePolicy::default()
        },
        time_commands: true,
        ..Case::of(script, 1, 2)
    };
    case.each(|driver, came| {
        assert_eq!((came.recording.transactions, came.recording.errors), (0, 2), "{driver}");
        assert_eq!(came.recording.failures.serialization, 2, "{driver}");
        assert_eq!((came.recording.retried, came.recording.retries), (2, 4), "{driver}");
        assert_eq!(came.recording.latency_sums.count, 0, "{driver}");
        assert_eq!(came.recording.commands[0][0].retries, 4, "{driver}");
        let again = came.events.iter().filter(|event| event.contains("again: true")).count();
        let given_up = came
            .events
            .iter()
            .filter(|event| event.contains("again: false"))
            .count();
        assert_eq!((again, given_up), (4, 2), "{driver}: {:?}", came.events);
    });
}

#[test]
fn an_error_aborts_its_client_or_counts() {
    let script = "select 1 / (:client_id - 1);";
    for (on_error, aborted, errors) in [(OnError::AbortClient, 1, 0), (OnError::Count, 0, 5)] {
        let case = Case {
            failures: FailurePolicy {
                on_error,
                ..FailurePolicy::default()
            },
            ..Case::of(script, 3, 5)
        };
        case.each(|driver, came| {
            assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
            assert_eq!(came.outcome.aborted, [aborted], "{driver}");
            assert_eq!(
                (came.recording.transactions, came.recording.errors),
                (10, errors),
                "{driver}"
            );
            let told = came.events.iter().filter(|event| event.starts_with("Aborted")).count();
            assert_eq!(told as u64, aborted, "{driver}: {:?}", came.events);
        });
    }
}

#[test]
fn an_aborted_client_may_end_the_load() {
    let case = Case {
        failures: FailurePolicy {
            on_error: OnError::AbortClient,
            abort_load: true,
            ..FailurePolicy::default()
        },
        ..Case::of("select 1 / (:client_id - 1);", 2, u64::MAX)
    };
    case.each(|driver, came| {
        assert!(
            matches!(came.outcome.ended_early, Some(Ending::Aborted)),
            "{driver}: {:?}",
            came.outcome
        );
    });
}

#[test]
fn scripts_that_cannot_work_abort_their_clients() {
    let cases = [
        ("begin;", "OpenTransaction"),
        ("\\set x 1/0", "division by zero"),
        ("select 1 where false \\gset", "RowCount"),
        ("\\startpipeline\nselect 1;", "pipeline open"),
    ];
    for (script, part) in cases {
        let case = Case {
            failures: FailurePolicy {
                on_broken_script: OnBrokenScript::AbortClient,
                ..FailurePolicy::default()
            },
            ..Case::of(script, 1, 2)
        };
        case.each(|driver, came| {
            assert!(
                matches!(came.outcome.ended_early, Some(Ending::Aborted)),
                "{driver}, {script}"
            );
            assert_eq!(came.outcome.aborted, [1], "{driver}, {script}");
            assert!(
                matches!(&came.events[..], [only] if only.contains(part)),
                "{driver}, {script}: {:?}",
                came.events
            );
        });
    }
}

#[test]
fn a_statement_that_can_never_work_ends_the_load_at_once() {
    // Only its execution tells.
    let script = "do $$ begin perform nonsense(); end $$;";
    Case::of(script, 2, u64::MAX).each(|driver, came| match came.outcome.ended_early {
        Some(Ending::Statement { error, .. }) => assert_eq!(error.code.as_str(), "42883", "{driver}"),
        other => panic!("{driver}: {other:?}"),
    });
}

#[test]
fn a_pipeline_is_executed_and_fails_at_its_end() {
    let whole = "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline";
    Case::of(whole, 2, 3).each(|driver, came| {
        assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
        assert_eq!(
            (came.recording.transactions, came.recording.statements),
            (6, 12),
            "{driver}"
        );
    });
    let failing = "\\startpipeline\nselect 1;\nselect 1 / (:client_id * 0);\nselect 3;\n\\endpipeline";
    Case::of(failing, 2, 3).each(|driver, came| {
        assert_eq!((came.recording.transactions, came.recording.errors), (0, 6), "{driver}");
        assert_eq!(came.recording.errors_by_code[0].code.as_str(), "22012", "{driver}");
    });
}

#[test]
fn a_lost_connection_is_made_anew() {
    let script = "select pg_terminate_backend(pg_backend_pid()) from nextval('losses') n where n = 4;";
    let case = Case {
        reconnect: true,
        ..Case::of(script, 1, 10)
    };
    let anew = || {
        execute("drop sequence if exists losses; create sequence losses");
        None
    };
    case.each_logged(anew, |driver, came| {
        assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
        assert_eq!(
            (came.recording.transactions, came.recording.failures.other),
            (9, 1),
            "{driver}"
        );
        assert_eq!(came.outcome.connections, [1], "{driver}");
        let reconnected = came.events.iter().filter(|event| event.starts_with("Reconnected"));
        assert_eq!(reconnected.count(), 1, "{driver}: {:?}", came.events);
    });
}

#[test]
fn a_sleep_may_end_a_transaction_with_its_connection() {
    let case = Case {
        connecting: Connecting::EveryTransaction,
        ..Case::of("select 1;\n\\sleep 1 ms", 2, 3)
    };
    case.each(|driver, came| {
        assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
        assert_eq!((came.recording.transactions, came.recording.errors), (6, 0), "{driver}");
    });
}

#[test]
fn late_transactions_are_counted_and_those_too_late_are_skipped() {
    let case = Case {
        pacing: Pacing::Open { rate_per_s: 2000.0 },
        latency_limit: Some(Duration::from_millis(10)),
        ..Case::of("select pg_sleep(0.02);", 2, 50)
    };
    let log = Entries::default();
    let new_log = || {
        log.0.lock().unwrap().clear();
        let log = log.clone();
        Some(Box::new(move |_: LogContext| Box::new(log.clone()) as Box<dyn TransactionLog>) as _)
    };
    case.each_logged(new_log, |driver, came| {
        let recording = came.recording;
        assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
        assert_eq!(recording.transactions + recording.skipped, 100, "{driver}");
        assert!(
            recording.skipped > 10 && recording.transactions > 1,
            "{driver}: {recording:?}"
        );
        assert_eq!(recording.late, recording.transactions, "{driver}");
        assert_eq!(recording.lag_sums.count, recording.transactions, "{driver}");
        let entries = log.0.lock().unwrap();
        let skipped = entries.iter().filter(|entry| entry.outcome == LoggedOutcome::Skipped);
        assert_eq!(skipped.count() as u64, recording.skipped, "{driver}");
    });
}

#[test]
fn clients_rest_and_nothing_begins_after_the_last_stage() {
    let stage = |clients: f64| Stage {
        duration: Duration::from_millis(200),
        clients: Some(Span {
            from: clients,
            to: clients,
        }),
        rate_per_s: None,
    };
    for (active, works) in [(0.0, false), (2.0, true)] {
        let case = Case {
            transactions: None,
            lasts: Duration::from_millis(600),
            stages: vec![stage(active), stage(0.0)],
            ..Case::of("select pg_sleep(0.001);", 3, 0)
        };
        let log = Entries::default();
        let new_log = || {
            log.0.lock().unwrap().clear();
            let log = log.clone();
            Some(Box::new(move |_: LogContext| Box::new(log.clone()) as Box<dyn TransactionLog>) as _)
        };
        case.each_logged(new_log, |driver, came| {
            assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
            assert_eq!(came.recording.transactions > 0, works, "{driver}");
            let entries = log.0.lock().unwrap();
            assert!(
                entries.iter().all(|entry| entry.client < 2),
                "{driver}: the third client rests"
            );
        });
    }
}

#[test]
fn what_finishes_after_the_end_is_recorded_if_asked_for() {
    for (record_finishing, expected) in [(true, 2), (false, 0)] {
        let case = Case {
            transactions: None,
            lasts: Duration::from_millis(150),
            grace: Duration::from_secs(20),
            record_finishing,
            ..Case::of("select pg_sleep(0.45);", 2, 0)
        };
        case.each(|driver, came| {
            assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
            assert_eq!(came.recording.transactions, expected, "{driver}");
        });
    }
}

#[test]
fn a_request_to_stop_ends_what_is_executed() {
    let case = Case {
        stops_after: Some(Duration::from_millis(500)),
        ..Case::of("select pg_sleep(600) from generate_series(1, :client_id);", 2, u64::MAX)
    };
    case.each(|driver, came| {
        assert!(
            matches!(came.outcome.ended_early, Some(Ending::Stopped)),
            "{driver}: {:?}",
            came.outcome
        );
        assert_eq!(came.outcome.unfinished, [1], "{driver}");
        assert!(came.recording.transactions > 0, "{driver}");
    });
}
