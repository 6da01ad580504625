//! Whether recorded latencies are true: beside a bare stopwatch on a scripted server with known delays, and against one that stalls.
//!
//!     cargo bench --bench latency_truth -- [--rounds 5] [--seconds 5]

#[path = "../crates/dyno-engine/tests/support/mod.rs"]
mod support;

use dyno_bench::{Result, Spread, archive, option};
use dyno_engine::{Pacing, Stop, TransportChoice, drive};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use support::scripted_server::{Behaviour, ScriptedServer};
use support::{Keep, load};

/// Answers take from 1 to 3 ms, every fiftieth 20 ms.
fn delay(connection: usize, request: usize) -> Duration {
    let number = (connection * 7919 + request * 104_729) as u64;
    if number.is_multiple_of(50) {
        Duration::from_millis(20)
    } else {
        Duration::from_micros(1000 + number * 31 % 2000)
    }
}

/// Times requests with nothing but a socket and a clock: what any client of this server sees, the system's own delays in waking server and client
/// included. `clients` threads, each with one request under way, for `duration`; `pause` between requests keeps to a rate.
fn stopwatch(server: &ScriptedServer, clients: usize, pause: Duration, duration: Duration) -> Vec<Duration> {
    let request = b"Q\0\0\0\x0dselect 1\0";
    let client = || -> std::io::Result<Vec<Duration>> {
        let mut stream = TcpStream::connect(server.address())?;
        stream.set_nodelay(true)?;
        stream.write_all(b"\0\0\0\x08\0\x03\0\0")?;
        let mut buffer = [0; 256];
        // The greeting comes in one piece, and so does every answer.
        let _ = stream.read(&mut buffer)?;
        let (begin, mut times) = (Instant::now(), Vec::new());
        while begin.elapsed() < duration {
            let sent = Instant::now();
            stream.write_all(request)?;
            let _ = stream.read(&mut buffer)?;
            times.push(sent.elapsed());
            std::thread::sleep(pause);
        }
        Ok(times)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        let joined = threads.into_iter().filter_map(|thread| thread.join().ok()?.ok());
        joined.flatten().collect()
    })
}

/// The percentile of exact values, in microseconds.
fn exact_us(sorted: &[Duration], percent: f64) -> f64 {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1))
        .map_or(f64::NAN, |delay| delay.as_secs_f64() * 1e6)
}

fn main() -> Result<()> {
    let rounds: usize = option("--rounds", 5)?;
    let seconds: u64 = option("--seconds", 5)?;
    let mut table =
        "| case | percentile | stopwatch µs | dyno − stopwatch µs | dyno / stopwatch |\n|---|---|---|---|---|\n"
            .to_owned();
    let mut results = Vec::new();
    for (name, clients, threads, pacing) in [
        ("closed loop, 1 client", 1, 1, Pacing::Closed),
        ("closed loop, 8 clients, 1 thread", 8, 1, Pacing::Closed),
        (
            "open loop, 500 tx/s, 8 clients, 2 threads",
            8,
            2,
            Pacing::Open { rate_per_s: 500.0 },
        ),
    ] {
        let mut rows = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let server = ScriptedServer::start(|connection, request, _| Behaviour::Answer(delay(connection, request)));
            let mut keep = Keep::default();
            drive(
                &load(
                    TransportChoice::Auto,
                    &server,
                    clients,
                    threads,
                    pacing,
                    &[("measure", seconds * 1000)],
                ),
                &mut keep,
                &Stop::new(),
            )?;
            let recorded = keep.total(0);
            let pause = match pacing {
                Pacing::Closed => Duration::ZERO,
                Pacing::Open { rate_per_s } => Duration::from_secs_f64(clients as f64 / rate_per_s),
            };
            let server = ScriptedServer::start(|connection, request, _| Behaviour::Answer(delay(connection, request)));
            let mut truth = stopwatch(&server, clients, pause, Duration::from_secs(seconds));
            truth.sort_unstable();
            for (rows, percent) in rows.iter_mut().zip([50.0, 99.0]) {
                // The statement's time is what the server decides; a transaction in the open loop may also have waited for its turn.
                let recorded_us = recorded.statement_latency[0].percentile_ns(percent) as f64 / 1e3;
                rows.push((exact_us(&truth, percent), recorded_us));
            }
        }
        for (rows, percentile) in rows.iter().zip(["p50", "p99"]) {
            let truth = Spread::of(rows.iter().map(|(truth, _)| *truth));
            let off = Spread::of(rows.iter().map(|(truth, recorded)| recorded - truth));
            let ratio = Spread::of(rows.iter().map(|(truth, recorded)| recorded / truth));
            let row = format!(
                "| {name} | {percentile} | {truth} | {off} | {:.4} ({:.4}–{:.4}) |\n",
                ratio.median, ratio.min, ratio.max
            );
            print!("{row}");
            write!(table, "{row}")?;
            results.push(
                json!({ "case": name, "percentile": percentile, "true_us": truth, "off_us": off, "ratio": ratio }),
            );
        }
    }
    // 1,000 transactions per second for 10 s, of which the server stalls for one: a user arriving at a random instant meets the stall with a
    // probability of 10 %, and then waits half a second on average.
    let mut rows = Vec::new();
    for _ in 0..rounds {
        let stall = (Duration::from_secs(4), Duration::from_secs(5));
        let server = ScriptedServer::start(move |_, _, since| {
            let stalled = since >= stall.0 && since < stall.1;
            Behaviour::Answer(if stalled { stall.1 - since } else { Duration::ZERO })
        });
        let pacing = Pacing::Open { rate_per_s: 1000.0 };
        let mut keep = Keep::default();
        drive(
            &load(TransportChoice::Auto, &server, 8, 1, pacing, &[("measure", 10_000)]),
            &mut keep,
            &Stop::new(),
        )?;
        let recorded = keep.total(0);
        let ms = |percent| recorded.latency.percentile_ns(percent) as f64 / 1e6;
        let service_ms = recorded.statement_latency[0].percentile_ns(99.0) as f64 / 1e6;
        rows.push((ms(50.0), ms(95.0), ms(99.0), service_ms));
    }
    let spread = |figure: fn(&(f64, f64, f64, f64)) -> f64| Spread::of(rows.iter().map(figure));
    let [p50, p95, p99, service] = [
        spread(|row| row.0),
        spread(|row| row.1),
        spread(|row| row.2),
        spread(|row| row.3),
    ];
    let text = format!(
        "\nStall of 1 s in 10 s at 1,000 tx/s, open loop. Expected for users arriving at random: p95 500 ms, p99 900 ms.\n\
         Recorded: p50 {p50} ms, p95 {p95} ms, p99 {p99} ms. The 99th percentile of the statement alone, which hides the stall: {service} ms.\n"
    );
    print!("{text}");
    write!(table, "{text}")?;
    results.push(json!({ "case": "stall", "p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "statement_p99_ms": service }));
    let facts = json!({ "summary": format!("{rounds} rounds of {seconds} s. Cells are the median (minimum–maximum) over the rounds.") });
    println!(
        "\nKept in {}",
        archive("latency-truth", facts, json!(results), &table)?.display()
    );
    Ok(())
}
