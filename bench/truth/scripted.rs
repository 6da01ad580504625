//! The engine at a scripted server: every delay is known, and a stopwatch with the same schedule sees what a
//! perfect client would.

use crate::check::{Check, Checks};
use crate::design::Case;
use crate::support::scripted_server::{Behaviour, ScriptedServer};
use crate::support::stopwatch::{Arrivals, Seen, closed, open};
use crate::support::{Keep, load};
use dyno_bench::{Result, Spread};
use dyno_engine::{Pacing, Stop, drive};
use dyno_record::Recording;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Answers take from 1 to 3 ms, every fiftieth 20 ms.
fn delay(connection: usize, request: usize) -> Duration {
    let number = (connection * 7919 + request * 104_729) as u64;
    if number.is_multiple_of(50) {
        Duration::from_millis(20)
    } else {
        Duration::from_micros(1000 + number * 31 % 2000)
    }
}

/// Answers per second of one connection without a pause.
const MOST_PER_S: f64 = 420.0;

/// A share of what the clients can do that lets them queue now and then.
const SHARE: f64 = 0.3;

/// A server with these delays, and when it was asked, counted from its start.
fn server(slowness: u32) -> (ScriptedServer, Arc<Mutex<Vec<Duration>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let server = ScriptedServer::start(move |connection, request, since| {
        if let Ok(mut noted) = noted.lock() {
            noted.push(since);
        }
        Behaviour::Answer(delay(connection, request) * slowness)
    });
    (server, asked)
}

/// The transactions per second of a case in an open loop.
fn rate_per_s(case: &Case) -> f64 {
    SHARE * MOST_PER_S * case.clients as f64 / f64::from(case.slowness())
}

pub fn check(case: &Case, seconds: u64, rounds: usize) -> Result<Vec<Check>> {
    let name = case.to_string();
    let lasting = Duration::from_secs(seconds);
    let mut list = Vec::new();
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        let (dyno, checks) = drive_once(case, &name, seconds)?;
        list.extend(checks);
        let (server, _) = server(case.slowness());
        let seen = if case.open {
            let arrivals = Arrivals::of_threads(case.threads, rate_per_s(case));
            open(&server, case.clients, arrivals, lasting)
        } else {
            closed(&server, case.clients, lasting)
        };
        pairs.push((dyno, seen));
    }
    let mut checks = Checks::of(&name, "a stopwatch with the same schedule");
    let mut compare = |figure, dyno: fn(&Recording) -> f64, truth: fn(&Seen) -> f64, share, least| {
        let dyno = Spread::of(pairs.iter().map(|(recorded, _)| dyno(recorded)));
        let truths: Vec<f64> = pairs.iter().map(|(_, seen)| truth(seen) / 1e3).collect();
        checks.near_all(figure, dyno.median / 1e3, &truths, share, least);
    };
    compare(
        "latency mean µs",
        |dyno| dyno.latency.mean_ns(),
        |seen| mean_ns(&seen.latencies),
        0.02,
        100.0,
    );
    compare(
        "latency stddev µs",
        |dyno| dyno.latency.stddev_ns(),
        |seen| stddev_ns(&seen.latencies),
        0.05,
        200.0,
    );
    compare(
        "latency p50 µs",
        |dyno| dyno.latency.percentile_ns(50.0) as f64,
        |seen| seen.percentile_ns(50.0),
        0.02,
        100.0,
    );
    compare(
        "latency p95 µs",
        |dyno| dyno.latency.percentile_ns(95.0) as f64,
        |seen| seen.percentile_ns(95.0),
        0.02,
        100.0,
    );
    compare(
        "latency p99 µs",
        |dyno| dyno.latency.percentile_ns(99.0) as f64,
        |seen| seen.percentile_ns(99.0),
        0.02,
        100.0,
    );
    if case.open {
        compare(
            "lag mean µs",
            |dyno| dyno.lag.mean_ns(),
            |seen| mean_ns(&seen.lags),
            0.02,
            100.0,
        );
        compare(
            "lag max µs",
            |dyno| dyno.lag.max_ns() as f64,
            |seen| seen.lags.last().map_or(0.0, |lag| lag.as_nanos() as f64),
            0.1,
            2_000.0,
        );
    }
    list.extend(checks.list);
    Ok(list)
}

/// Drives the load once, and checks what needs no stopwatch.
fn drive_once(case: &Case, name: &str, seconds: u64) -> Result<(Recording, Vec<Check>)> {
    let (server, asked) = server(case.slowness());
    let pacing = if case.open {
        Pacing::Open {
            rate_per_s: rate_per_s(case),
        }
    } else {
        Pacing::Closed
    };
    let mut load = load(
        case.transport.parse()?,
        &server,
        case.clients,
        case.threads,
        pacing,
        &[("measure", seconds * 1000)],
    );
    load.interval = Duration::from_millis(case.interval_ms);
    let mut keep = Keep::default();
    let begin = Instant::now();
    drive(&load, &mut keep, &Stop::new())?;
    let (connected, connected_at) = keep
        .connected
        .as_ref()
        .zip(keep.connected_at)
        .ok_or("it never connected")?;
    let recorded = keep.total(0);
    let done = recorded.transactions as f64;
    let asked = asked.lock().map_err(|_| "a server's thread panicked")?.clone();
    let clients = case.clients as f64;

    let mut server = Checks::of(name, "the server");
    server.within("transactions", done, asked.len() as f64 - clients, asked.len() as f64);
    let span_s = asked
        .iter()
        .max()
        .zip(asked.iter().min())
        .map_or(0.0, |(last, first)| (*last - *first).as_secs_f64());
    // Of what it was asked, each client's last may have come too late.
    server.within(
        "TPS",
        done / seconds as f64,
        (asked.len() as f64 - clients) / span_s * 0.97,
        asked.len() as f64 / span_s * 1.03,
    );
    server.within(
        "latency min µs",
        recorded.latency.min_ns() as f64 / 1e3,
        999.0 * f64::from(case.slowness()),
        f64::INFINITY,
    );
    let mut own = Checks::of(name, "the other figures");
    own.equal("statements", recorded.statements as f64, done);
    own.equal("latencies counted", recorded.latency.count() as f64, done);
    own.equal(
        "intervals",
        keep.intervals.len() as f64,
        (seconds * 1000).div_ceil(case.interval_ms) as f64,
    );
    own.near(
        "time measured s",
        keep.intervals
            .iter()
            .map(|interval| interval.duration.as_secs_f64())
            .sum(),
        seconds as f64,
        0.0,
        1e-6,
    );
    if case.open {
        let due = Arrivals::of_threads(case.threads, rate_per_s(case));
        let due: usize = due
            .into_iter()
            .map(|times| times.take_while(|at| at.as_secs() < seconds).count())
            .sum();
        let mut schedule = Checks::of(name, "the schedule");
        schedule.within("transactions", done, due as f64 - clients - 2.0, due as f64);
        own.list.extend(schedule.list);
    } else {
        // Little's law: clients that are always busy are as many as rate times latency, but for what each has not
        // finished at the end.
        let latency_s = recorded.latency.mean_ns() / 1e9;
        let busy = latency_s * done / seconds as f64;
        let unfinished = clients * latency_s / seconds as f64;
        own.within(
            "clients = TPS × latency",
            busy,
            clients * 0.97 - unfinished,
            clients * 1.03,
        );
    }
    let mut clock = Checks::of(name, "a clock outside");
    let waited_s = connected_at.duration_since(begin).as_secs_f64();
    clock.within(
        "time of connecting s",
        connected.total.as_secs_f64(),
        waited_s * 0.8 - 0.005,
        waited_s,
    );
    Ok((recorded, [server.list, own.list, clock.list].concat()))
}

fn mean_ns(times: &[Duration]) -> f64 {
    times.iter().map(|time| time.as_nanos() as f64).sum::<f64>() / times.len() as f64
}

fn stddev_ns(times: &[Duration]) -> f64 {
    let mean = mean_ns(times);
    let squares = times
        .iter()
        .map(|time| (time.as_nanos() as f64 - mean).powi(2))
        .sum::<f64>();
    (squares / times.len() as f64).sqrt()
}

/// Errors are counted by what the server said.
pub fn errors(name: &str, transport: &str, seconds: u64) -> Result<Vec<Check>> {
    let told: Arc<[AtomicU64; 2]> = Arc::default();
    let telling = Arc::clone(&told);
    let server = ScriptedServer::start(move |_, request, _| {
        let (state, count) = match request {
            _ if request % 7 == 6 => ("40001", &telling[0]),
            _ if request % 11 == 10 => ("23505", &telling[1]),
            _ => return Behaviour::Answer(Duration::from_millis(1)),
        };
        count.fetch_add(1, Ordering::Relaxed);
        Behaviour::Fail(state)
    });
    let load = load(
        transport.parse()?,
        &server,
        8,
        2,
        Pacing::Closed,
        &[("measure", seconds * 1000)],
    );
    let mut keep = Keep::default();
    drive(&load, &mut keep, &Stop::new())?;
    let recorded = keep.total(0);
    let counted = |state: &str| {
        let errors = recorded
            .errors_by_code
            .iter()
            .find(|error| error.code.to_string() == state);
        errors.map_or(0.0, |error| error.count as f64)
    };
    let mut checks = Checks::of(name, "the server");
    for (figure, state, told) in [("errors 40001", "40001", &told[0]), ("errors 23505", "23505", &told[1])] {
        let told = told.load(Ordering::Relaxed) as f64;
        checks.within(figure, counted(state), told - 8.0, told);
    }
    let mut own = Checks::of(name, "the other figures");
    own.equal("errors", recorded.errors as f64, counted("40001") + counted("23505"));
    checks.list.extend(own.list);
    Ok(checks.list)
}

/// 1,000 transactions per second for 10 s, of which the server stalls for one: a user who arrives at a random
/// instant meets the stall with a probability of 10 %, and then waits half a second on average.
pub fn stall(name: &str) -> Result<Vec<Check>> {
    let (begin, end) = (Duration::from_secs(4), Duration::from_secs(5));
    let server = ScriptedServer::start(move |_, _, since| {
        let stalled = since >= begin && since < end;
        Behaviour::Answer(if stalled { end - since } else { Duration::ZERO })
    });
    let pacing = Pacing::Open { rate_per_s: 1000.0 };
    let mut keep = Keep::default();
    drive(
        &load("auto".parse()?, &server, 8, 1, pacing, &[("measure", 10_000)]),
        &mut keep,
        &Stop::new(),
    )?;
    let recorded = keep.total(0);
    let ms = |percent| recorded.latency.percentile_ns(percent) as f64 / 1e6;
    let mut checks = Checks::of(name, "users who arrive at random");
    checks.near("p95 ms over a stall", ms(95.0), 500.0, 0.1, 0.0);
    checks.near("p99 ms over a stall", ms(99.0), 900.0, 0.05, 0.0);
    Ok(checks.list)
}
