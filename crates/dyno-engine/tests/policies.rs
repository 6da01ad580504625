//! What a load may ask of the engine beyond plain transactions, against a scripted server.

#[path = "support/library.rs"]
mod library;
#[macro_use]
mod support;

use dyno_engine::{
    Address, Connecting, Ending, LogContext, LogEntry, LoggedOutcome, OnError, Outcome, Pacing, TransactionLog,
};
use dyno_record::Recording;
use dyno_wire::tls::SslMode;
use dyno_wire::{AuthenticationPolicy, PgConfig, PgSession, Protocol, SessionKind};
use library::Over;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::scripted_server::{Behaviour, ScriptedServer};
use support::{Keep, load, script_load, seeded_load};

over_each_transport!(
    every_client_has_its_transactions_and_no_more,
    a_retry_repeats_the_draws,
    what_fails_too_often_counts_and_has_no_latency,
    an_error_aborts_its_client_or_counts,
    an_aborted_client_may_end_the_load,
    scripts_that_cannot_work_abort_their_clients,
    results_become_variables,
    a_pipeline_is_sent_whole_and_fails_at_its_end,
    a_sleep_may_end_a_transaction_with_its_connection,
    what_a_connection_of_one_transaction_comes_to_is_forgotten_with_it,
    a_lost_connection_is_made_anew,
    connecting_anew_ends_with_the_load,
    a_transaction_that_gets_no_connection_has_failed,
    the_others_have_their_turn_between_two_connections,
    sessions_of_the_wrong_kind_send_a_client_on_to_the_next_endpoint,
    a_connection_may_be_lost_in_a_sleep,
    a_server_that_asks_for_nothing_may_be_refused,
    late_transactions_are_counted_and_those_too_late_are_skipped,
    what_was_in_time_for_its_client_is_not_skipped,
    scripts_are_chosen_by_weight,
    shell_commands_and_warnings_are_taken_in,
    what_is_lost_while_it_is_executed_is_no_failure_to_send_it,
    what_finishes_after_the_end_is_recorded_if_asked_for,
);

/// Makes tests of functions that take what a load is driven over: one over the library.
macro_rules! over_the_library {
    ($($test:ident),* $(,)?) => {
        mod over_the_library {
            $(#[test]
            fn $test() {
                super::$test(super::Over::Library);
            })*
        }
    };
}

// The others are about transports, endpoints, notices, or what is on the way in a pipeline.
over_the_library!(
    every_client_has_its_transactions_and_no_more,
    a_retry_repeats_the_draws,
    what_fails_too_often_counts_and_has_no_latency,
    an_error_aborts_its_client_or_counts,
    an_aborted_client_may_end_the_load,
    scripts_that_cannot_work_abort_their_clients,
    results_become_variables,
    a_sleep_may_end_a_transaction_with_its_connection,
    what_a_connection_of_one_transaction_comes_to_is_forgotten_with_it,
    connecting_anew_ends_with_the_load,
    a_transaction_that_gets_no_connection_has_failed,
    a_connection_may_be_lost_in_a_sleep,
    late_transactions_are_counted_and_those_too_late_are_skipped,
    what_was_in_time_for_its_client_is_not_skipped,
    scripts_are_chosen_by_weight,
    what_is_lost_while_it_is_executed_is_no_failure_to_send_it,
    what_finishes_after_the_end_is_recorded_if_asked_for,
);

type ScriptLoad = dyno_engine::Load<dyno_engine::WireDriver<dyno_wire::PgSession>, dyno_script::ScriptProgram>;

const AT_ONCE: Behaviour = Behaviour::Answer(Duration::ZERO);

fn time_commands(load: &mut ScriptLoad) {
    let workload = &mut load.workloads[0];
    workload.time_commands = true;
    workload.program = workload.program.clone().telling_each_command(true);
}

/// A log that others can read.
#[derive(Clone, Default)]
struct Entries(Arc<Mutex<Vec<LogEntry>>>);

impl TransactionLog for Entries {
    fn transaction(&mut self, entry: &LogEntry) {
        self.0.lock().expect("no panic").push(*entry);
    }
}

impl Entries {
    fn of(load: &mut ScriptLoad) -> Self {
        let entries = Self::default();
        let log = entries.clone();
        load.workloads[0].log = Some(Box::new(move |_: LogContext| Box::new(log.clone())));
        entries
    }

    fn outcomes(&self) -> Vec<LoggedOutcome> {
        self.0
            .lock()
            .expect("no panic")
            .iter()
            .map(|entry| entry.outcome)
            .collect()
    }
}

fn run(over: Over, load: &mut ScriptLoad) -> (Outcome, Recording, Vec<String>) {
    let mut keep = Keep::default();
    let outcome = over.drive(load, &mut keep).expect("the load begins");
    (outcome, keep.total(0), keep.events)
}

fn every_client_has_its_transactions_and_no_more(over: Over) {
    let server = ScriptedServer::start(|_, _, _| AT_ONCE);
    for connecting in [Connecting::Once, Connecting::EveryTransaction] {
        for clients in [1, 3] {
            let mut load = script_load(
                over.transport(),
                &server,
                Protocol::Prepared,
                clients,
                5,
                &[("select 1;", 1)],
            );
            load.workloads[0].connecting = connecting;
            let (outcome, recording, events) = run(over, &mut load);
            assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
            assert_eq!(recording.transactions, 5 * clients as u64);
            assert_eq!(recording.latency_sums.count, recording.transactions);
            let made = match connecting {
                Connecting::Once | Connecting::OnDemand => 0,
                Connecting::EveryTransaction => recording.transactions,
            };
            assert_eq!(outcome.connections, [made]);
            assert!(events.is_empty(), "{events:?}");
        }
    }
}

fn a_retry_repeats_the_draws(over: Over) {
    let server = ScriptedServer::start(|_, request, _| match request {
        0 => Behaviour::Fail("40001"),
        1 => Behaviour::Fail("40P01"),
        _ => AT_ONCE,
    });
    let script = "\\set r random(1, 1000000000)\nselect :r;";
    let mut load = script_load(over.transport(), &server, Protocol::Simple, 1, 2, &[(script, 1)]);
    load.workloads[0].failures.max_tries = Some(3);
    let log = Entries::of(&mut load);
    let (outcome, recording, _) = run(over, &mut load);
    assert!(outcome.ended_early.is_none());
    assert_eq!((recording.transactions, recording.errors), (2, 0));
    assert_eq!((recording.retried, recording.retries), (1, 2));
    let retries: Vec<_> = log
        .0
        .lock()
        .expect("no panic")
        .iter()
        .map(|entry| entry.retries)
        .collect();
    assert_eq!(retries, [2, 0]);
    let queries: Vec<_> = server.queries().into_iter().map(|(_, query)| query).collect();
    assert_eq!(queries.len(), 4);
    assert!(queries[..3].iter().all(|query| *query == queries[0]), "{queries:?}");
    assert_ne!(queries[3], queries[0]);
}

fn what_fails_too_often_counts_and_has_no_latency(over: Over) {
    let server = ScriptedServer::start(|_, request, _| match request {
        0 | 1 => Behaviour::Fail("40001"),
        2 => Behaviour::Fail("40P01"),
        _ => AT_ONCE,
    });
    let mut load = script_load(over.transport(), &server, Protocol::Extended, 1, 2, &[("select 1;", 1)]);
    load.workloads[0].failures.max_tries = Some(2);
    load.workloads[0].failures.report_failures = true;
    time_commands(&mut load);
    let log = Entries::of(&mut load);
    let (_, recording, events) = run(over, &mut load);
    assert_eq!((recording.transactions, recording.errors), (1, 1));
    assert_eq!((recording.failures.serialization, recording.failures.deadlock), (1, 0));
    assert_eq!((recording.retried, recording.retries), (2, 2));
    assert_eq!(recording.latency_sums.count, 1);
    let command = &recording.commands[0][0];
    assert_eq!(
        (
            command.failures.serialization,
            command.retries,
            command.latency_sums.count
        ),
        (1, 2, 1)
    );
    assert_eq!(log.outcomes()[0], LoggedOutcome::Serialization);
    let told: Vec<_> = events
        .iter()
        .map(|event| (event.starts_with("Failed"), event.contains("again: true")))
        .collect();
    let (failed, again, given_up) = ((true, false), (false, true), (false, false));
    assert_eq!(told, [failed, again, failed, given_up, failed, again], "{events:?}");
}

fn an_error_aborts_its_client_or_counts(over: Over) {
    let behaviour = |connection, request, _| match (connection, request) {
        (1, 2) => Behaviour::Fail("22012"),
        _ => AT_ONCE,
    };
    let server = ScriptedServer::start(behaviour);
    let mut load = script_load(over.transport(), &server, Protocol::Simple, 3, 10, &[("select 1;", 1)]);
    let (outcome, recording, events) = run(over, &mut load);
    assert!(outcome.ended_early.is_none(), "the others had their transactions");
    assert_eq!(
        (outcome.aborted[0], recording.transactions, recording.errors),
        (1, 22, 0)
    );
    assert!(
        matches!(&events[..], [only] if only.starts_with("Aborted") && only.contains("22012")),
        "{events:?}"
    );

    let server = ScriptedServer::start(behaviour);
    load.workloads[0].driver.endpoints[0].address = Address::Tcp(vec![server.address()]);
    load.workloads[0].failures.on_error = OnError::Count;
    let (outcome, recording, events) = run(over, &mut load);
    assert_eq!(
        (outcome.aborted[0], recording.transactions, recording.failures.other),
        (0, 29, 1)
    );
    assert!(events.is_empty(), "{events:?}");
}

fn an_aborted_client_may_end_the_load(over: Over) {
    let server = ScriptedServer::start(|connection, request, _| match (connection, request) {
        (0, 2) => Behaviour::Fail("22012"),
        _ => Behaviour::Answer(Duration::from_millis(1)),
    });
    let mut load = script_load(
        over.transport(),
        &server,
        Protocol::Simple,
        2,
        u64::MAX,
        &[("select 1;", 1)],
    );
    load.workloads[0].failures.abort_load = true;
    let (outcome, recording, _) = run(over, &mut load);
    assert!(matches!(outcome.ended_early, Some(Ending::Aborted)));
    assert!(recording.transactions >= 2);
}

fn scripts_that_cannot_work_abort_their_clients(over: Over) {
    let cases: [(&str, Protocol, Behaviour, u64, &str); 6] = [
        (
            "begin;",
            Protocol::Simple,
            Behaviour::AnswerInTransaction,
            1,
            "OpenTransaction",
        ),
        ("\\set x 1/0", Protocol::Simple, AT_ONCE, 0, "division by zero"),
        ("select 1 \\gset", Protocol::Extended, Behaviour::NoRow, 0, "RowCount"),
        (
            "select 1 \\gset",
            Protocol::Prepared,
            Behaviour::Row("?", None),
            0,
            "Name",
        ),
        (
            "\\startpipeline\nselect 1;\n\\endpipeline",
            Protocol::Simple,
            AT_ONCE,
            0,
            "simple query protocol",
        ),
        (
            "\\startpipeline\nselect 1;",
            Protocol::Extended,
            AT_ONCE,
            0,
            "pipeline open",
        ),
    ];
    for (script, protocol, behaviour, transactions, part) in cases {
        let server = ScriptedServer::start(move |_, _, _| behaviour);
        let (outcome, recording, events) = run(
            over,
            &mut script_load(over.transport(), &server, protocol, 1, 2, &[(script, 1)]),
        );
        assert!(
            matches!(outcome.ended_early, Some(Ending::Aborted)),
            "{script}: {outcome:?}"
        );
        assert_eq!(
            (outcome.aborted[0], recording.transactions),
            (1, transactions),
            "{script}"
        );
        assert!(
            matches!(&events[..], [only] if only.contains(part)),
            "{script}: {events:?}"
        );
    }
}

fn results_become_variables(over: Over) {
    let server = ScriptedServer::start(|_, request, _| match request {
        0 => Behaviour::Row("a", Some("42")),
        2 => Behaviour::Row("a", None),
        _ => AT_ONCE,
    });
    let script = "select 1 as a \\gset p_\nselect ':p_a';";
    let (outcome, _, events) = run(
        over,
        &mut script_load(over.transport(), &server, Protocol::Simple, 1, 2, &[(script, 1)]),
    );
    assert!(outcome.ended_early.is_none(), "{events:?}");
    let queries: Vec<_> = server.queries().into_iter().map(|(_, query)| query).collect();
    assert_eq!(queries[1], "select '42';");
    assert_eq!(queries[3], "select '';", "NULL is an empty text");
}

fn a_pipeline_is_sent_whole_and_fails_at_its_end(over: Over) {
    let script = "\\startpipeline\nselect 1;\nselect 2;\n\\syncpipeline\nselect 3;\n\\endpipeline\nselect 4;";
    for protocol in [Protocol::Extended, Protocol::Prepared] {
        // On every connection: both parts of the pipeline, then the statement behind it.
        let server = ScriptedServer::start(|_, _, _| AT_ONCE);
        let mut load = script_load(over.transport(), &server, protocol, 2, 3, &[(script, 1)]);
        time_commands(&mut load);
        let (outcome, recording, events) = run(over, &mut load);
        assert!(outcome.ended_early.is_none(), "{events:?}");
        assert_eq!((recording.transactions, recording.statements), (6, 24));
        let counts: Vec<_> = recording.commands[0]
            .iter()
            .map(|command| command.latency_sums.count)
            .collect();
        assert_eq!(counts, [6; 7]);

        let server = ScriptedServer::start(|_, request, _| match request {
            0 => Behaviour::Fail("40001"),
            5 => Behaviour::Fail("22012"),
            _ => AT_ONCE,
        });
        load.workloads[0].driver.endpoints[0].address = Address::Tcp(vec![server.address()]);
        load.workloads[0].clients = 1;
        load.workloads[0].failures.max_tries = Some(2);
        let (outcome, recording, events) = run(over, &mut load);
        assert_eq!((outcome.aborted[0], recording.transactions), (1, 1), "{events:?}");
        assert_eq!(recording.commands[0][5].retries, 1, "the pipeline's end failed");
        assert!(
            events[0].contains("command: 5") && events[0].contains("22012"),
            "{events:?}"
        );
    }
}

/// The client is woken, and its next transaction is due in the same round.
fn a_sleep_may_end_a_transaction_with_its_connection(over: Over) {
    let server = ScriptedServer::start(|_, _, _| AT_ONCE);
    for pacing in [Pacing::Closed, Pacing::Open { rate_per_s: 5000.0 }] {
        for clients in [1, 3] {
            let script = [("select 1;\n\\sleep 1 ms", 1)];
            let mut load = script_load(over.transport(), &server, Protocol::Simple, clients, 5, &script);
            load.workloads[0].connecting = Connecting::EveryTransaction;
            load.workloads[0].pacing = pacing;
            load.phases[0].duration = Duration::from_secs(20);
            load.grace = Duration::from_secs(1);
            let (outcome, recording, events) = run(over, &mut load);
            assert_eq!(recording.transactions, 5 * clients as u64, "{pacing:?}: {outcome:?}");
            assert_eq!(
                (outcome.unfinished[0], outcome.connections[0]),
                (0, recording.transactions)
            );
            assert!(events.is_empty(), "{events:?}");
        }
    }
}

/// The server closes it before the client does, in a sleep or with the last reply.
fn what_a_connection_of_one_transaction_comes_to_is_forgotten_with_it(over: Over) {
    for script in ["select 1;\n\\sleep 20 ms", "select 1;"] {
        let server = ScriptedServer::start(|connection, _, _| match connection {
            2 => Behaviour::BreakOff,
            _ => Behaviour::AnswerLast,
        });
        let mut load = script_load(over.transport(), &server, Protocol::Prepared, 1, 3, &[(script, 1)]);
        load.workloads[0].connecting = Connecting::EveryTransaction;
        let (outcome, recording, events) = run(over, &mut load);
        assert_eq!((recording.transactions, outcome.aborted[0]), (2, 1), "{events:?}");
        assert!(
            matches!(&events[..], [only] if only.contains("doing: Executing")),
            "{events:?}"
        );
    }
    let server = ScriptedServer::start(|_, _, _| Behaviour::AnswerLast);
    let mut load = script_load(over.transport(), &server, Protocol::Simple, 2, 5, &[("select 1;", 1)]);
    load.workloads[0].connecting = Connecting::EveryTransaction;
    load.workloads[0].failures.on_error = OnError::Count;
    let (_, recording, _) = run(over, &mut load);
    assert_eq!((recording.transactions, recording.errors), (10, 0));
}

fn a_lost_connection_is_made_anew(over: Over) {
    let server = ScriptedServer::start(|connection, request, _| match (connection, request) {
        (0, 3) => Behaviour::BreakOff,
        _ => AT_ONCE,
    });
    for clients in [1, 2] {
        let mut load = script_load(
            over.transport(),
            &server,
            Protocol::Prepared,
            clients,
            10,
            &[("select 1;", 1)],
        );
        load.workloads[0].reconnect = true;
        // The first endpoint is dead.
        let dead = Address::Tcp(vec!["127.0.0.1:1".parse().expect("an address")]);
        let mut endpoint = load.workloads[0].driver.endpoints[0].clone();
        endpoint.address = dead;
        load.workloads[0].driver.endpoints.insert(0, endpoint);
        let (outcome, recording, events) = run(over, &mut load);
        assert!(outcome.ended_early.is_none());
        if clients == 1 {
            assert_eq!((recording.transactions, recording.failures.other), (9, 1));
            assert_eq!(outcome.connections, [1]);
            assert!(
                events[0].starts_with("Reconnected") && events[0].contains("endpoint: 1"),
                "{events:?}"
            );
        } else {
            assert_eq!((recording.transactions, recording.errors), (20, 0));
        }
    }
}

fn connecting_anew_ends_with_the_load(over: Over) {
    let server = ScriptedServer::start(|_, request, _| match request {
        10 => Behaviour::FallSilent,
        _ => AT_ONCE,
    });
    let mut load = load(over.transport(), &server, 4, 1, Pacing::Closed, &[("measure", 400)]);
    let timeout = Duration::from_secs(5);
    load.workloads[0].driver.endpoints[0].connect_timeout = timeout;
    load.workloads[0].reconnect = true;
    let mut keep = Keep::default();
    let outcome = over.drive(&mut load, &mut keep).expect("the load runs");
    assert!(outcome.ended_early.is_none(), "{outcome:?}");
    assert!(keep.total(0).errors > 0);
    assert!(outcome.measured < timeout, "{:?}", outcome.measured);
}

fn a_transaction_that_gets_no_connection_has_failed(over: Over) {
    for pacing in [Pacing::Closed, Pacing::Open { rate_per_s: 500.0 }] {
        let server = ScriptedServer::start(|connection, _, _| match connection {
            3 => Behaviour::AnswerAndRefuse(3),
            _ => AT_ONCE,
        });
        let mut load = script_load(over.transport(), &server, Protocol::Simple, 1, 10, &[("select 1;", 1)]);
        load.workloads[0].pacing = pacing;
        load.workloads[0].connecting = Connecting::EveryTransaction;
        load.workloads[0].reconnect = true;
        let log = Entries::of(&mut load);
        let (outcome, recording, events) = run(over, &mut load);
        assert_eq!((recording.transactions, recording.errors), (9, 1), "{pacing:?}");
        let error = &recording.errors_by_code[0];
        assert_eq!((error.code.as_str(), error.count), ("57P03", 1));
        assert!(error.example.contains("scripted refusal"), "{}", error.example);
        let numbers: Vec<_> = log
            .0
            .lock()
            .expect("no panic")
            .iter()
            .map(|entry| entry.number)
            .collect();
        assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
        assert_eq!(outcome.connections, [9]);
        assert!(
            matches!(&events[..], [only] if only.starts_with("Reconnected")),
            "{events:?}"
        );
    }
}

/// The first endpoint breaks off half of the connections, and is waited for in vain each time one of them is made anew.
fn the_others_have_their_turn_between_two_connections(over: Over) {
    let first = Arc::new(ScriptedServer::start(|connection, request, _| {
        match (connection, request) {
            (0..4, 10) => Behaviour::FallSilent,
            _ => AT_ONCE,
        }
    }));
    let (knocks, heard) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&first));
    let known = Arc::clone(&knocks);
    let second = ScriptedServer::start(move |connection, request, _| {
        if (connection, request) == (0, 0) {
            known.store(heard.knocks(), Ordering::Relaxed);
        }
        AT_ONCE
    });
    let mut load = load(over.transport(), &first, 8, 1, Pacing::Closed, &[("measure", 2000)]);
    load.workloads[0].driver.endpoints[0].connect_timeout = Duration::from_millis(300);
    let mut endpoint = load.workloads[0].driver.endpoints[0].clone();
    endpoint.address = Address::Tcp(vec![second.address()]);
    load.workloads[0].driver.endpoints.push(endpoint);
    load.workloads[0].reconnect = true;
    let outcome = over.drive(&mut load, &mut Keep::default()).expect("the load runs");
    assert_eq!(outcome.connections, [4]);
    // Eight at the start and the one that was in vain for it. The next one may have begun, but no more.
    let knocks = knocks.load(Ordering::Relaxed);
    assert!((9..=10).contains(&knocks), "{knocks}");
}

fn sessions_of_the_wrong_kind_send_a_client_on_to_the_next_endpoint(over: Over) {
    // The first request of a connection asks what kind it is. The first server is read-only; on the second, the
    // fourth transaction is the end.
    let first = ScriptedServer::start(|_, _, _| Behaviour::Row("transaction_read_only", Some("on")));
    let second = ScriptedServer::start(|connection, request, _| match (connection, request) {
        (_, 0) => Behaviour::Row("transaction_read_only", Some("off")),
        (0, 4) => Behaviour::BreakOff,
        _ => AT_ONCE,
    });
    let choosy = || {
        let config = Arc::new(PgConfig {
            user: "test".into(),
            session_kind: SessionKind::ReadWrite,
            ..PgConfig::default()
        });
        Box::new(move |_: usize, _: Option<SslMode>| PgSession::new(Arc::clone(&config)))
    };
    let mut load = script_load(over.transport(), &first, Protocol::Simple, 1, 10, &[("select 1;", 1)]);
    load.workloads[0].driver.session = choosy();
    load.workloads[0].reconnect = true;
    let mut endpoint = load.workloads[0].driver.endpoints[0].clone();
    endpoint.address = Address::Tcp(vec![second.address()]);
    load.workloads[0].driver.endpoints.push(endpoint);
    let (outcome, recording, events) = run(over, &mut load);
    assert!(outcome.ended_early.is_none());
    assert_eq!((recording.transactions, recording.failures.other), (9, 1));
    assert!(
        events[0].starts_with("Reconnected") && events[0].contains("endpoint: 1"),
        "{events:?}"
    );
    // At the start, and when reconnecting.
    assert_eq!(first.queries().len(), 2);

    let mut load = script_load(over.transport(), &first, Protocol::Simple, 1, 1, &[("select 1;", 1)]);
    load.workloads[0].driver.session = choosy();
    let error = over
        .drive(&mut load, &mut Keep::default())
        .expect_err("no server is read-write");
    assert!(error.to_string().ends_with("session is read-only"), "{error}");
}

fn a_server_that_asks_for_nothing_may_be_refused(over: Over) {
    let server = ScriptedServer::start(|_, _, _| AT_ONCE);
    let config = Arc::new(PgConfig {
        user: "test".into(),
        authentication: AuthenticationPolicy {
            require_auth: Some("!none".parse().expect("a list")),
            ..AuthenticationPolicy::default()
        },
        ..PgConfig::default()
    });
    let mut load = script_load(over.transport(), &server, Protocol::Simple, 1, 1, &[("select 1;", 1)]);
    load.workloads[0].driver.session = Box::new(move |_, _| PgSession::new(Arc::clone(&config)));
    let error = over
        .drive(&mut load, &mut Keep::default())
        .expect_err("it lets us in unasked");
    let said = "authentication method requirement \"!none\" failed: server did not complete authentication";
    assert!(error.to_string().ends_with(said), "{error}");
    assert!(server.queries().is_empty());
}

fn a_connection_may_be_lost_in_a_sleep(over: Over) {
    let server = ScriptedServer::start(|connection, request, _| match (connection, request) {
        (0, 0) => Behaviour::AnswerLast,
        _ => AT_ONCE,
    });
    let script = "select 1;\n\\sleep 30 ms\nselect 2;";
    let mut load = script_load(over.transport(), &server, Protocol::Simple, 1, 3, &[(script, 1)]);
    load.workloads[0].reconnect = true;
    let (outcome, recording, _) = run(over, &mut load);
    assert!(outcome.ended_early.is_none());
    assert_eq!(
        (recording.transactions, recording.errors, outcome.connections[0]),
        (2, 1, 1)
    );
    assert_eq!(server.queries().len(), 5);
    assert!(
        recording.latency.min_ns() >= 30_000_000,
        "the sleep that was cut off wakes nobody"
    );
}

fn late_transactions_are_counted_and_those_too_late_are_skipped(over: Over) {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::from_millis(20)));
    let mut load = script_load(over.transport(), &server, Protocol::Simple, 2, 50, &[("select 1;", 1)]);
    load.workloads[0].pacing = Pacing::Open { rate_per_s: 2000.0 };
    load.workloads[0].latency_limit = Some(Duration::from_millis(10));
    let log = Entries::of(&mut load);
    let (outcome, recording, _) = run(over, &mut load);
    assert!(outcome.ended_early.is_none());
    assert_eq!(
        recording.transactions + recording.skipped,
        100,
        "skipped ones count for their client"
    );
    assert!(recording.skipped > 10 && recording.transactions > 1);
    assert_eq!(recording.late, recording.transactions);
    assert_eq!(recording.lag_sums.count, recording.transactions);
    let skipped = log
        .outcomes()
        .iter()
        .filter(|outcome| **outcome == LoggedOutcome::Skipped)
        .count();
    assert_eq!(skipped as u64, recording.skipped);
    let mut numbers: Vec<_> = log
        .0
        .lock()
        .expect("no panic")
        .iter()
        .map(|entry| entry.number)
        .collect();
    numbers.sort_unstable();
    assert_eq!(
        numbers,
        (1..=50).flat_map(|number| [number, number]).collect::<Vec<_>>()
    );
}

/// A client that waits for its instant takes it, however late its thread is woken for it.
fn what_was_in_time_for_its_client_is_not_skipped(over: Over) {
    let server = ScriptedServer::start(|_, _, _| AT_ONCE);
    for (clients, threads) in [(1, 1), (6, 1), (5, 2)] {
        for seed in 0..5 {
            let (dealt, scripts) = ((clients, threads), [("select 1;", 1)]);
            let mut load = seeded_load(over.transport(), &server, Protocol::Simple, dealt, 1, &scripts, seed);
            load.workloads[0].pacing = Pacing::Open { rate_per_s: 500.0 };
            load.workloads[0].latency_limit = Some(Duration::from_nanos(1));
            let (_, recording, _) = run(over, &mut load);
            assert_eq!((recording.transactions, recording.skipped), (clients as u64, 0));
        }
    }
}

fn scripts_are_chosen_by_weight(over: Over) {
    let server = ScriptedServer::start(|_, _, _| AT_ONCE);
    let scripts = [("select 1;", 1), ("select 2;", 0), ("select 3;", 3)];
    let mut load = script_load(over.transport(), &server, Protocol::Prepared, 2, 200, &scripts);
    let (_, recording, _) = run(over, &mut load);
    let counts: Vec<_> = recording.scripts.iter().map(|script| script.transactions).collect();
    assert_eq!(counts.iter().sum::<u64>(), 400);
    assert_eq!(counts[1], 0);
    assert!((250..350).contains(&counts[2]), "{counts:?}");
    let histograms: Vec<_> = recording
        .statement_latency
        .iter()
        .map(|latency| latency.count())
        .collect();
    assert_eq!(histograms, counts);
}

fn shell_commands_and_warnings_are_taken_in(over: Over) {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Warn);
    let script = "\\setshell v echo 6\n\\shell true\n\\set w debug(:v + 1)\nselect :w;";
    let (outcome, _, events) = run(
        over,
        &mut script_load(over.transport(), &server, Protocol::Simple, 1, 1, &[(script, 1)]),
    );
    assert!(outcome.ended_early.is_none(), "{events:?}");
    assert_eq!(server.queries(), [(0, "select 7;".to_owned())]);
    assert_eq!(events.len(), 2);
    assert!(
        events[0].starts_with("Shown") && events[0].contains("int 7"),
        "{events:?}"
    );
    assert!(
        events[1].starts_with("Notice") && events[1].contains("scripted warning"),
        "{events:?}"
    );
}

fn what_is_lost_while_it_is_executed_is_no_failure_to_send_it(over: Over) {
    for protocol in [Protocol::Simple, Protocol::Prepared] {
        let server = ScriptedServer::start(|_, _, _| Behaviour::BreakOff);
        let (outcome, _, events) = run(
            over,
            &mut script_load(over.transport(), &server, protocol, 1, 1, &[("select 1;", 1)]),
        );
        assert_eq!(outcome.aborted, [1]);
        assert!(
            events.iter().any(|event| event.contains("doing: Executing")),
            "{events:?}"
        );
    }
}

fn what_finishes_after_the_end_is_recorded_if_asked_for(over: Over) {
    for (asked, expected) in [(true, 2), (false, 0)] {
        let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::from_millis(450)));
        let mut load = load(over.transport(), &server, 2, 1, Pacing::Closed, &[("measure", 150)]);
        load.record_finishing = asked;
        let mut keep = Keep::default();
        let outcome = over.drive(&mut load, &mut keep).expect("the load runs");
        assert!(outcome.ended_early.is_none());
        assert_eq!(keep.total(0).transactions, expected);
        // As before the end, each interval is told when it is over.
        let whole = keep.intervals.iter().filter(|interval| interval.first_thread_whole);
        let ends: Vec<_> = whole.map(|interval| interval.start + interval.duration).collect();
        let planned: &[u64] = if asked { &[100, 200, 300, 400] } else { &[100, 150] };
        assert_eq!(
            ends,
            planned.iter().copied().map(Duration::from_millis).collect::<Vec<_>>()
        );
    }
}
