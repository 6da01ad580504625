//! Every transport records the same, whatever the server does to the connections.

#[macro_use]
mod support;

use dyno_engine::{Connecting, Pacing, Stop, TransportChoice, drive};
use dyno_record::Recording;
use dyno_wire::Protocol;
use std::time::Duration;
use support::scripted_server::{Behaviour, ScriptedServer};
use support::{Keep, load, script_load};

over_each_transport!(
    what_is_recorded_is_what_the_server_did,
    replies_may_come_in_pieces,
    statements_may_be_larger_than_the_server_takes_at_once,
    connections_may_come_and_go,
    intervals_make_nothing_late,
    a_reply_that_nobody_asked_for_is_an_error,
);

/// How long the server takes for request `number` of a connection; `None`: it fails.
fn scripted(number: usize) -> Option<Duration> {
    (number % 5 != 4).then(|| Duration::from_millis(number as u64 % 4 + 1))
}

fn what_is_recorded_is_what_the_server_did(transport: TransportChoice) {
    const REQUESTS: usize = 40;
    let mut delays: Vec<_> = (0..REQUESTS).filter_map(scripted).collect();
    delays.sort();
    for pacing in [Pacing::Closed, Pacing::Open { rate_per_s: 2_000.0 }] {
        for (clients, threads) in [(1, 1), (4, 1), (5, 2)] {
            let server = ScriptedServer::start(|_, number, _| match scripted(number) {
                Some(delay) => Behaviour::Answer(delay),
                None => Behaviour::Fail("40001"),
            });
            let mut load = load(transport, &server, clients, threads, pacing, &[("measure", 600_000)]);
            load.workloads[0].transactions_per_client = Some(REQUESTS as u64);
            let mut keep = Keep::default();
            let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
            assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);

            let recorded = keep.total(0);
            let good = (clients * delays.len()) as u64;
            let failed = (clients * REQUESTS) as u64 - good;
            let states: Vec<_> = recorded
                .errors_by_code
                .iter()
                .map(|error| (error.code.to_string(), error.count))
                .collect();
            assert_eq!(counts(&recorded), [good, good, good, failed]);
            assert_eq!(states, [("40001".to_owned(), failed)]);
            let lags = if pacing == Pacing::Closed { 0 } else { good };
            assert_eq!(recorded.lag.count(), lags, "of {clients} clients with {pacing:?}");
            // The server is never faster than it is told to be.
            let latency = recorded.statement_latency[0].dense();
            let latency = latency.inner();
            assert_eq!(latency.len(), good);
            for (rank, delay) in delays.iter().enumerate() {
                let least_us = latency.value_at_quantile((rank as f64 + 0.5) / delays.len() as f64) as f64 / 1e3;
                assert!(
                    least_us >= delay.as_micros() as f64 * 0.999,
                    "{least_us} µs for {delay:?}"
                );
            }
        }
    }
}

fn counts(recorded: &Recording) -> [u64; 4] {
    [
        recorded.transactions,
        recorded.statements,
        recorded.latency.count(),
        recorded.errors,
    ]
}

fn replies_may_come_in_pieces(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Pieces);
    for clients in [1, 3] {
        let mut load = load(transport, &server, clients, 1, Pacing::Closed, &[("measure", 600_000)]);
        load.workloads[0].transactions_per_client = Some(20);
        let mut keep = Keep::default();
        drive(&load, &mut keep, &Stop::new()).expect("the load runs");
        let expected = 20 * clients as u64;
        assert_eq!(counts(&keep.total(0)), [expected, expected, expected, 0]);
    }
}

fn statements_may_be_larger_than_the_server_takes_at_once(transport: TransportChoice) {
    // Larger than the buffers of both sockets together.
    let text = format!("select '{}';", "0123456789abcdef".repeat(1 << 18));
    for clients in [1, 2] {
        let server = ScriptedServer::start(|_, _, _| Behaviour::AnswerAndPause(Duration::from_millis(50)));
        let load = script_load(transport, &server, Protocol::Simple, clients, 3, &[(&text, 1)]);
        let mut keep = Keep::default();
        drive(&load, &mut keep, &Stop::new()).expect("the load runs");
        let expected = 3 * clients as u64;
        assert_eq!(counts(&keep.total(0)), [expected, expected, expected, 0]);
        let queries = server.queries();
        assert_eq!(queries.len() as u64, expected);
        assert!(
            queries.iter().all(|(_, query)| *query == text),
            "a statement was changed on its way"
        );
    }
}

fn connections_may_come_and_go(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::ZERO));
    for clients in [1, 4] {
        let mut load = script_load(transport, &server, Protocol::Simple, clients, 25, &[("select 1;", 1)]);
        load.workloads[0].connecting = Connecting::EveryTransaction;
        let mut keep = Keep::default();
        let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
        let expected = 25 * clients as u64;
        assert_eq!(counts(&keep.total(0)), [expected, expected, expected, 0]);
        assert_eq!(outcome.connections, [expected]);
    }
}

/// The whole of it or its begin, in a closed loop, where the next request is already made then, and while the
/// client waits for the schedule.
fn a_reply_that_nobody_asked_for_is_an_error(transport: TransportChoice) {
    for (clients, pacing, bytes) in [
        (1, Pacing::Closed, usize::MAX),
        (3, Pacing::Closed, usize::MAX),
        (1, Pacing::Closed, 5),
        (3, Pacing::Closed, 25),
        (2, Pacing::Open { rate_per_s: 200.0 }, usize::MAX),
        (1, Pacing::Open { rate_per_s: 200.0 }, 5),
    ] {
        let server = ScriptedServer::start(move |connection, number, _| match (connection, number) {
            (0, 4) => Behaviour::AnswerAgain(bytes),
            _ => Behaviour::Answer(Duration::ZERO),
        });
        let mut load = load(transport, &server, clients, 1, pacing, &[("measure", 600_000)]);
        load.workloads[0].transactions_per_client = Some(10);
        let mut keep = Keep::default();
        drive(&load, &mut keep, &Stop::new()).expect("the load runs");
        let recorded = keep.total(0);
        let done = 5 + 10 * (clients as u64 - 1);
        assert_eq!(
            (recorded.transactions, recorded.errors),
            (done, 1),
            "{clients} with {pacing:?}, {bytes} bytes"
        );
        let said = &recorded.errors_by_code[0].example;
        assert!(said.contains("a reply though nothing was asked"), "{said}");
        let ended = &keep.events[..];
        assert!(
            matches!(ended, [one] if one.contains("though nothing was asked")),
            "{ended:?}"
        );
    }
}

/// Something is always due soon after the end of an interval here: a transaction by the schedule, or the end of a
/// sleep.
fn intervals_make_nothing_late(transport: TransportChoice) {
    const PUNCTUAL_US: f64 = 20_000.0;
    let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::ZERO));
    for clients in [1, 3] {
        let pacing = Pacing::Open { rate_per_s: 300.0 };
        let mut scheduled = load(transport, &server, clients, 1, pacing, &[("measure", 600_000)]);
        scheduled.workloads[0].transactions_per_client = Some(100);
        scheduled.interval = Duration::from_millis(10);
        let script = "\\sleep 3 ms\nselect 1;";
        let mut sleeping = script_load(transport, &server, Protocol::Simple, clients, 40, &[(script, 1)]);
        sleeping.interval = Duration::from_millis(10);
        // A busy machine may hold a thread up, but not each time.
        let punctual = (0..5).any(|_| {
            let mut keep = Keep::default();
            drive(&scheduled, &mut keep, &Stop::new()).expect("the load runs");
            let late_us = keep.total(0).lag.percentile_ns(50.0) as f64 / 1e3;
            let mut keep = Keep::default();
            drive(&sleeping, &mut keep, &Stop::new()).expect("the load runs");
            let slept_us = keep.total(0).latency.percentile_ns(50.0) as f64 / 1e3;
            late_us < PUNCTUAL_US && slept_us < 3_000.0 + PUNCTUAL_US
        });
        assert!(punctual, "{clients} clients are late by more than {PUNCTUAL_US} µs");
    }
}
