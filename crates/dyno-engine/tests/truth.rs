//! What is recorded beside what the server saw and what the schedule says: counts, and times to their order of
//! magnitude. `bench/truth` is exact about times, which takes a machine at rest.

mod support;

use dyno_engine::{Pacing, Stop, TransportChoice, drive};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::scripted_server::{Behaviour, ScriptedServer};
use support::stopwatch::{Arrivals, closed, open};
use support::{Keep, load};

/// How long the server takes for each answer.
const DELAY: Duration = Duration::from_millis(20);
const LASTING: Duration = Duration::from_millis(500);

/// A server that counts what it is asked.
fn server() -> (ScriptedServer, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&asked);
    let server = ScriptedServer::start(move |_, _, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        Behaviour::Answer(DELAY)
    });
    (server, asked)
}

fn check(transport: TransportChoice, clients: usize, threads: usize, rate_per_s: Option<f64>, interval_ms: u64) {
    let what =
        format!("{clients} clients, {threads} threads, {rate_per_s:?}/s, intervals of {interval_ms} ms, {transport}");
    let pacing = rate_per_s.map_or(Pacing::Closed, |rate_per_s| Pacing::Open { rate_per_s });
    let (server, asked) = server();
    let mut load = load(
        transport,
        &server,
        clients,
        threads,
        pacing,
        &[("measure", LASTING.as_millis() as u64)],
    );
    load.interval = Duration::from_millis(interval_ms);
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");

    let recorded = keep.total(0);
    let done = recorded.transactions;
    let asked = asked.load(Ordering::Relaxed);
    assert_eq!(recorded.errors, 0, "{what}");
    assert_eq!((recorded.statements, recorded.latency.count()), (done, done), "{what}");
    // One transaction of each client may have ended after the measurement.
    let after = asked - done;
    assert!(
        after <= clients as u64 && outcome.unfinished[0] <= after,
        "{what}: {asked} were asked, {done} recorded"
    );
    let lasted: Duration = keep.intervals.iter().map(|interval| interval.duration).sum();
    assert_eq!(lasted, LASTING, "{what}");
    assert_eq!(keep.intervals.len() as u64, 500_u64.div_ceil(interval_ms), "{what}");

    // No answer is sooner than the server gives it, and the middle one of many is not ten times as late even on a
    // busy machine.
    assert!(
        recorded.latency.min_ns() >= DELAY.as_nanos() as u64 * 999 / 1000,
        "{what}"
    );
    assert!(
        recorded.latency.percentile_ns(50.0) < 10 * DELAY.as_nanos() as u64,
        "{what}: {} ns",
        recorded.latency.percentile_ns(50.0)
    );
    if let Some(rate_per_s) = rate_per_s {
        let due = Arrivals::of_threads(threads, rate_per_s);
        let due: usize = due
            .into_iter()
            .map(|times| times.take_while(|at| *at < LASTING).count())
            .sum();
        assert!(asked <= due as u64, "{what}: {asked} were asked, {due} due");
        assert!(done * 4 >= due as u64, "{what}: {done} of {due} due");
        assert_eq!(recorded.lag.count(), done, "{what}");
        assert!(
            recorded.lag.percentile_ns(50.0) < 10 * DELAY.as_nanos() as u64,
            "{what}"
        );
    }
}

/// Every two levels of what makes a load different come together in some case.
#[test]
fn what_is_recorded_agrees_with_the_server_and_the_schedule() {
    use TransportChoice::{Auto, IoUring, Readiness};
    for (transport, clients, threads, rate_per_s, interval_ms) in [
        (Auto, 1, 1, Some(20.0), 10),
        (Auto, 2, 2, None, 100),
        (Auto, 16, 2, Some(200.0), 1_000),
        (Auto, 60, 2, None, 10),
        (Readiness, 1, 1, None, 1_000),
        (Readiness, 2, 2, Some(40.0), 10),
        (Readiness, 16, 2, None, 100),
        (Readiness, 60, 2, Some(400.0), 1_000),
        (IoUring, 1, 1, Some(20.0), 100),
        (IoUring, 2, 2, None, 1_000),
        (IoUring, 16, 2, Some(200.0), 10),
        (IoUring, 60, 2, Some(400.0), 100),
    ] {
        if transport.check().is_ok() {
            check(transport, clients, threads, rate_per_s, interval_ms);
        } else {
            eprintln!("not tested, this system has no {transport}");
        }
    }
}

/// What the others are measured with must not be wrong itself.
#[test]
fn a_stopwatch_sees_what_the_server_does() {
    let (server, asked) = server();
    let seen = closed(&server, 3, LASTING);
    let done = seen.latencies.len() as u64;
    let asked = asked.load(Ordering::Relaxed);
    assert!(done > 0 && asked >= done && asked - done <= 3, "{done} of {asked}");
    assert!(seen.percentile_ns(0.0) >= DELAY.as_nanos() as f64);
    let seen = open(&server, 8, Arrivals::of_threads(2, 100.0), LASTING);
    assert!((10..100).contains(&seen.latencies.len()), "{}", seen.latencies.len());
    assert_eq!(seen.lags.len(), seen.latencies.len());
}
