//! The engine against a scripted server: what a real one cannot be made to do on demand.

#[macro_use]
mod support;

use dyno_engine::{ConnectError, DriveError, Ending, Pacing, Span, Stage, Stop, TransportChoice, drive};
use dyno_wire::{PgStatement, Protocol};
use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use support::scripted_server::{Behaviour, ScriptedServer};
use support::{Keep, load};

const CLOSED: Pacing = Pacing::Closed;

over_each_transport!(
    every_transaction_is_counted_once_in_the_phase_it_completed_in,
    a_stalled_server_shows_in_the_open_loop,
    errors_are_counted_by_state_and_the_load_goes_on,
    a_statement_that_can_never_work_ends_the_load_at_once,
    a_statement_that_has_worked_on_another_thread_does_not_end_the_load,
    a_lost_connection_is_an_error_and_the_others_go_on,
    a_connection_is_not_lost_by_the_error_of_an_earlier_statement,
    when_all_connections_are_lost_the_load_ends_and_keeps_what_it_has,
    a_request_to_stop_ends_the_load_and_keeps_the_partial_interval,
    transactions_that_never_end_are_cancelled_and_said_to_be_unfinished,
    a_server_that_is_far_away_is_asked_to_cancel_all_that_runs,
    an_unreachable_server_is_an_error_before_anything_runs,
);

fn every_transaction_is_counted_once_in_the_phase_it_completed_in(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::from_millis(1)));
    let load = load(transport, &server, 8, 3, CLOSED, &[("warmup", 250), ("measure", 500)]);
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
    assert_eq!((&outcome.unfinished[..], outcome.waited[0]), (&[0][..], None));
    let shape: Vec<_> = keep
        .intervals
        .iter()
        .map(|interval| {
            (
                interval.phase,
                interval.start.as_millis(),
                interval.duration.as_millis(),
            )
        })
        .collect();
    let expected = [
        (0, 0, 100),
        (0, 100, 100),
        (0, 200, 50),
        (1, 250, 100),
        (1, 350, 100),
        (1, 450, 100),
        (1, 550, 100),
        (1, 650, 100),
    ];
    assert_eq!(shape, expected);
    let measured = keep.total(1);
    assert!(measured.transactions > 0);
    assert_eq!(measured.transactions, measured.latency.count());
    assert_eq!(measured.statements, measured.statement_latency[0].count());
    assert_eq!(measured.lag.count(), 0, "a closed loop has no lag");
    // The server never answers sooner; a clock that started late would show it.
    assert!(measured.latency.min_ns() >= 999_000, "{} ns", measured.latency.min_ns());
    assert_eq!(keep.connected.expect("connected").connect_time[0].count(), 8);
}

fn a_stalled_server_shows_in_the_open_loop(transport: TransportChoice) {
    let stall = (Duration::from_millis(500), Duration::from_millis(1000));
    let server = ScriptedServer::start(move |_, _, since| {
        let stalled = since >= stall.0 && since < stall.1;
        Behaviour::Answer(if stalled { stall.1 - since } else { Duration::ZERO })
    });
    let rate_per_s = 1000.0;
    let load = load(
        transport,
        &server,
        4,
        1,
        Pacing::Open { rate_per_s },
        &[("measure", 2000)],
    );
    let mut keep = Keep::default();
    drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    let measured = keep.total(0);
    // Arrivals go on during the stall: about 500 transactions are late by up to half a second, although only 4 were
    // waiting for the server.
    let late = measured.latency.inner().count_between(100_000_000, 600_000_000);
    assert!(
        (300..700).contains(&late),
        "{late} of {} are late",
        measured.transactions
    );
    let slow_service = measured.statement_latency[0]
        .dense()
        .inner()
        .count_between(100_000_000, 600_000_000);
    assert!(slow_service <= 4, "{slow_service} statements were slow");
    assert_eq!(measured.lag.count(), measured.transactions);
    assert!(
        measured.lag.max_ns() > 300_000_000,
        "lag is recorded apart: {} ns",
        measured.lag.max_ns()
    );
}

fn errors_are_counted_by_state_and_the_load_goes_on(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, request, _| match request % 4 {
        3 => Behaviour::Fail("40001"),
        _ => Behaviour::Answer(Duration::ZERO),
    });
    let load = load(transport, &server, 1, 1, CLOSED, &[("measure", 300)]);
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    assert!(outcome.ended_early.is_none());
    let measured = keep.total(0);
    assert!(measured.errors > 0);
    assert_eq!(measured.errors_by_code.len(), 1);
    assert_eq!(measured.errors_by_code[0].code.as_str(), "40001");
    assert_eq!(measured.errors_by_code[0].count, measured.errors);
    assert!(measured.errors_by_code[0].example.contains("scripted error"));
    let expected = measured.transactions / 3;
    assert!(
        measured.errors.abs_diff(expected) <= 1,
        "{} errors, {expected} expected",
        measured.errors
    );
}

fn a_statement_that_can_never_work_ends_the_load_at_once(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Fail("42P01"));
    let load = load(transport, &server, 2, 1, CLOSED, &[("measure", 60_000)]);
    let stop = Stop::new();
    let outcome = drive(&load, &mut Keep::default(), &stop).expect("the load begins");
    assert!(
        matches!(outcome.ended_early, Some(Ending::Statement { .. })),
        "{outcome:?}"
    );
    assert!(
        !stop.requested(),
        "what a load ends by is not what its caller asked for"
    );
}

/// The second client has a thread of its own, and joins when the first has had some transactions.
fn a_statement_that_has_worked_on_another_thread_does_not_end_the_load(transport: TransportChoice) {
    let answered = AtomicUsize::new(0);
    let server = ScriptedServer::start(move |_, request, _| {
        if request == 0 && answered.fetch_add(1, Ordering::Relaxed) > 0 {
            Behaviour::Fail("42P01")
        } else {
            Behaviour::Answer(Duration::from_millis(1))
        }
    });
    let mut load = load(transport, &server, 2, 2, CLOSED, &[("measure", 400)]);
    let stage = |clients| Stage {
        duration: Duration::from_millis(200),
        clients: Some(Span {
            from: clients,
            to: clients,
        }),
        rate_per_s: None,
    };
    load.workloads[0].stages = vec![stage(1.0), stage(2.0)];
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
    let measured = keep.total(0);
    assert_eq!(measured.errors, 1);
    assert!(measured.transactions > 2, "{}", measured.transactions);
}

fn a_lost_connection_is_an_error_and_the_others_go_on(transport: TransportChoice) {
    let server = ScriptedServer::start(|connection, request, _| {
        if connection == 1 && request == 10 {
            Behaviour::BreakOff
        } else {
            Behaviour::Answer(Duration::from_millis(1))
        }
    });
    let load = load(transport, &server, 3, 1, CLOSED, &[("measure", 400)]);
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    assert!(outcome.ended_early.is_none());
    let measured = keep.total(0);
    assert_eq!(measured.errors, 1);
    assert!(measured.errors_by_code[0].code.as_str().starts_with("08"));
    assert_eq!(keep.events.len(), 1, "{:?}", keep.events);
    assert!(keep.events[0].contains("ConnectionLost"), "{:?}", keep.events);
    let last = &keep.intervals.last().expect("intervals").recordings[0];
    assert!(last.transactions > 0, "the other clients go on to the end");
}

fn a_connection_is_not_lost_by_the_error_of_an_earlier_statement(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, request, _| match request {
        1 => Behaviour::Fail("23505"),
        2 => Behaviour::BreakOff,
        _ => Behaviour::Answer(Duration::ZERO),
    });
    let load = load(transport, &server, 1, 1, CLOSED, &[("measure", 60_000)]);
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load begins");
    assert!(
        matches!(&outcome.ended_early, Some(Ending::ConnectionsLost(said)) if said.starts_with("connection lost: ")),
        "{outcome:?}"
    );
    let measured = keep.total(0);
    let codes = measured.errors_by_code.iter();
    let codes: Vec<_> = codes.map(|error| (error.code.to_string(), error.count)).collect();
    assert_eq!(codes, [("23505".to_owned(), 1), ("08006".to_owned(), 1)]);
}

fn when_all_connections_are_lost_the_load_ends_and_keeps_what_it_has(transport: TransportChoice) {
    for behaviour in [Behaviour::BreakOff, Behaviour::Garbage] {
        let server = ScriptedServer::start(move |_, request, _| {
            if request < 20 {
                Behaviour::Answer(Duration::ZERO)
            } else {
                behaviour
            }
        });
        for clients in [1, 3] {
            let load = load(transport, &server, clients, 1, CLOSED, &[("measure", 60_000)]);
            let mut keep = Keep::default();
            let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load begins");
            assert!(
                matches!(outcome.ended_early, Some(Ending::ConnectionsLost(_))),
                "{outcome:?}"
            );
            let measured = keep.total(0);
            assert_eq!(
                (measured.transactions, measured.errors),
                (20 * clients as u64, clients as u64)
            );
        }
    }
}

fn a_request_to_stop_ends_the_load_and_keeps_the_partial_interval(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::from_millis(1)));
    let mut load = load(transport, &server, 2, 1, CLOSED, &[("measure", 60_000)]);
    load.interval = Duration::from_secs(30);
    let stop = Stop::new();
    let mut keep = Keep::default();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.request();
        });
        drive(&load, &mut keep, &stop).expect("the load runs")
    });
    assert!(matches!(outcome.ended_early, Some(Ending::Stopped)));
    assert_eq!(keep.intervals.len(), 1);
    assert!(keep.intervals[0].recordings[0].transactions > 0);
    assert!(keep.intervals[0].duration < Duration::from_secs(30));
}

fn transactions_that_never_end_are_cancelled_and_said_to_be_unfinished(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, request, _| {
        Behaviour::Answer(if request < 5 {
            Duration::ZERO
        } else {
            Duration::from_secs(3600)
        })
    });
    let mut load = load(transport, &server, 2, 2, CLOSED, &[("measure", 200)]);
    load.grace = Duration::from_millis(200);
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    assert_eq!(outcome.unfinished, [2]);
    let waited = outcome.waited[0].expect("two clients waited");
    assert!(
        load.grace <= waited.least && waited.least <= waited.longest,
        "{waited:?}"
    );
    assert_eq!(server.cancels(), 2);
    assert_eq!(keep.total(0).transactions, 10);
}

fn a_server_that_is_far_away_is_asked_to_cancel_all_that_runs(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::from_secs(3600)));
    server.delay_cancels(Duration::from_millis(400));
    let mut load = load(transport, &server, 20, 1, CLOSED, &[("measure", 100)]);
    load.grace = Duration::ZERO;
    let outcome = drive(&load, &mut Keep::default(), &Stop::new()).expect("the load runs");
    assert_eq!((outcome.unfinished[0], server.cancels()), (20, 20));
}

fn an_unreachable_server_is_an_error_before_anything_runs(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::ZERO));
    let mut load = load(transport, &server, 2, 2, CLOSED, &[("measure", 200)]);
    load.workloads[0].driver.endpoints[0].address =
        dyno_engine::Address::Tcp(vec!["127.0.0.1:1".parse().expect("an address")]);
    let error = drive(&load, &mut Keep::default(), &Stop::new()).expect_err("nobody listens there");
    let first = matches!(
        error,
        DriveError::Connect {
            connected: 0,
            clients: 2,
            ..
        }
    );
    assert!(first, "{error:?}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

/// It stops reading after the log-in, and the statement is more than its system takes for it.
#[test]
fn a_server_that_takes_nothing_can_be_stopped_waiting_for() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("the port's address");
    let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::ZERO));
    let mut load = load(TransportChoice::Auto, &server, 1, 1, CLOSED, &[("measure", 200)]);
    load.workloads[0].driver.endpoints[0].address = dyno_engine::Address::Tcp(vec![address]);
    let text = "select 1 ".repeat(4_000_000);
    load.workloads[0].driver.statements =
        vec![PgStatement::new(0, &text, 0, Protocol::Prepared).expect("a valid statement")];
    let stop = Stop::new();
    let (ended, end) = mpsc::channel::<()>();
    let error = std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            stream
                .write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")
                .expect("it is taken");
            std::thread::sleep(Duration::from_millis(500));
            stop.request();
            // If the stop is not seen, the end is.
            let _ = end.recv_timeout(Duration::from_secs(5));
        });
        let error = drive(&load, &mut Keep::default(), stop).expect_err("it never begins");
        drop(ended);
        error
    });
    let stopped = matches!(
        error,
        DriveError::Connect {
            cause: ConnectError::Stopped,
            ..
        }
    );
    assert!(stopped, "{error:?}");
}
