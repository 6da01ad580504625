//! `dyno pgbench` at a real server: what it reports beside every single latency of its log, what the server counted
//! and logged, and what pgbench reports.

use crate::check::{Check, Checks};
use crate::design::Case;
use crate::process::{Bed, number, rate_per_s, read_json, script, watched};
use dyno_bench::{Result, number_after};
use serde_json::Value;
use std::path::Path as File;

/// What `-l` wrote of each transaction, in microseconds.
#[derive(Default)]
struct Log {
    latencies: Vec<f64>,
    lags: Vec<f64>,
    skipped: f64,
}

impl Log {
    fn read(folder: &File) -> Result<Self> {
        let mut log = Self::default();
        for file in std::fs::read_dir(folder)? {
            let file = file?;
            if !file.file_name().to_string_lossy().starts_with("log.") {
                continue;
            }
            for line in std::fs::read_to_string(file.path())?.lines() {
                let words: Vec<&str> = line.split(' ').collect();
                match words.get(2).map(|word| word.parse()) {
                    Some(Ok(latency_us)) => {
                        log.latencies.push(latency_us);
                        log.lags.extend(words.get(6).and_then(|word| word.parse::<f64>().ok()));
                    }
                    _ => log.skipped += 1.0,
                }
            }
        }
        log.latencies.sort_by(f64::total_cmp);
        Ok(log)
    }

    fn percentile_ms(&self, percent: f64) -> f64 {
        percentile(&self.latencies, percent) / 1e3
    }
}

/// The percentile of ascending values.
fn percentile(values: &[f64], percent: f64) -> f64 {
    let rank = (percent / 100.0 * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn stddev(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// What `dyno pgbench` says of a load.
struct Pgbench {
    printed: String,
    report: Value,
    log: Log,
}

/// Runs `dyno pgbench` with further options, its log and its JSON.
fn run_pgbench(bed: &Bed, tcp: bool, script: &str, words: &[String]) -> Result<Pgbench> {
    let folder = tempfile::tempdir()?;
    let (file, json) = (folder.path().join("script.sql"), folder.path().join("report.json"));
    std::fs::write(&file, script)?;
    let mut command = bed.command(&bed.dyno, tcp);
    command
        .arg("pgbench")
        .arg("-n")
        .arg("-f")
        .arg(&file)
        .args(words)
        .arg("-l")
        .arg("--log-prefix")
        .arg(folder.path().join("log"));
    command
        .arg("--json")
        .arg(&json)
        .arg("--percentiles=50,95,99")
        .current_dir(folder.path());
    let (printed, _) = watched(&mut command)?;
    Ok(Pgbench {
        printed,
        report: read_json(&json)?,
        log: Log::read(folder.path())?,
    })
}

/// Runs the real pgbench with these options.
fn run_peer(bed: &Bed, tcp: bool, script: &str, words: &[String]) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("script.sql");
    std::fs::write(&file, script)?;
    let mut command = bed.command(File::new("pgbench"), tcp);
    command.arg("-n").arg("-f").arg(&file).args(words);
    Ok(watched(&mut command)?.0)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What the report says beside what the log has of every transaction.
fn against_log(name: &str, run: &Pgbench) -> Result<Vec<Check>> {
    let (report, log) = (&run.report, &run.log);
    let done = log.latencies.len() as f64;
    let mut checks = Checks::of(name, "the log of every transaction");
    checks.equal("transactions", number(report, "/total/transactions")?, done);
    checks.equal("skipped", number(report, "/total/skipped")?, log.skipped);
    let ms = |pointer: &str| number(report, pointer);
    // The log has whole microseconds.
    checks.near(
        "latency mean ms",
        ms("/total/latency_ms/mean")?,
        mean(&log.latencies) / 1e3,
        0.0,
        0.001,
    );
    checks.near(
        "latency stddev ms",
        ms("/total/latency_ms/stddev")?,
        stddev(&log.latencies) / 1e3,
        1e-4,
        0.001,
    );
    checks.near(
        "latency min ms",
        ms("/total/latency_ms/min")?,
        log.percentile_ms(0.0),
        0.0,
        0.001,
    );
    checks.near(
        "latency max ms",
        ms("/total/latency_ms/max")?,
        log.percentile_ms(100.0),
        0.0,
        0.001,
    );
    for (figure, percent) in [("latency p50 ms", 50), ("latency p95 ms", 95), ("latency p99 ms", 99)] {
        let dyno = ms(&format!("/latency_percentiles_ms/p{percent}"))?;
        checks.near(figure, dyno, log.percentile_ms(f64::from(percent)), 0.002, 0.001);
    }
    if !log.lags.is_empty() {
        checks.near("lag mean ms", ms("/lag_ms/mean")?, mean(&log.lags) / 1e3, 0.0, 0.001);
        checks.near(
            "lag max ms",
            ms("/lag_ms/max")?,
            log.lags.iter().copied().fold(0.0, f64::max) / 1e3,
            0.0,
            0.001,
        );
    }
    let mut own = Checks::of(name, "the other figures");
    own.equal(
        "transactions printed",
        number_after(&run.printed, "number of transactions actually processed:")?,
        done,
    );
    let tps = done / number(report, "/measured_s")?;
    own.near("TPS", number(report, "/tps")?, tps, 1e-6, 0.0);
    own.near("TPS printed", number_after(&run.printed, "tps = ")?, tps, 1e-6, 0.0);
    checks.list.extend(own.list);
    Ok(checks.list)
}

/// A load of the design.
pub fn check(bed: &Bed, case: &Case, tcp: bool) -> Result<Vec<Check>> {
    let name = case.to_string();
    let script = script(case.slowness());
    let clients = case.clients as f64;
    let mut common = words(&["-c", &case.clients.to_string(), "-j", &case.threads.to_string()]);
    common.extend(words(&["-T", &bed.seconds.to_string(), "--random-seed=7"]));
    let by_second = case.interval_ms == 1_000;
    if by_second {
        common.extend(words(&["-P", "1"]));
    }
    if case.open {
        common.extend(words(&["-R", &rate_per_s(case).to_string()]));
    }
    let mut ours = common.clone();
    ours.extend(words(&["--transport", case.transport]));
    if case.sampled {
        ours.extend(words(&["--archive=archive"]));
    }
    let mut peers = Vec::new();
    if case.open {
        peers.push(run_peer(bed, tcp, &script, &common)?);
    }
    bed.forget()?;
    let run = run_pgbench(bed, tcp, &script, &ours)?;
    let served = bed.served()?;
    let mut list = against_log(&name, &run)?;
    let done = run.log.latencies.len() as f64;
    let ms = |pointer: &str| number(&run.report, pointer);
    let mut server = Checks::of(&name, "pg_stat_statements");
    server.equal("transactions", done, served.calls);
    let lag_ms = if case.open { ms("/lag_ms/mean")? } else { 0.0 };
    server.within(
        "latency mean − lag µs",
        (ms("/total/latency_ms/mean")? - lag_ms) * 1e3,
        served.mean_us * 0.99,
        served.mean_us * 1.5 + 3_000.0,
    );
    list.extend(server.list);
    if by_second {
        let lines = run
            .printed
            .lines()
            .filter_map(|line| line.strip_prefix("progress: ")?.split(' ').nth(2)?.parse::<f64>().ok());
        let lines: Vec<f64> = lines.collect();
        let mut own = Checks::of(&name, "the other figures");
        own.within(
            "TPS of progress lines",
            mean(&lines),
            done / bed.seconds as f64 * 0.9 - clients,
            done / bed.seconds as f64 * 1.1 + clients,
        );
        own.within(
            "progress lines",
            lines.len() as f64,
            bed.seconds as f64 - 1.0,
            bed.seconds as f64,
        );
        list.extend(own.list);
    }
    if case.open {
        // One before and one after: they differ by as much as the machine does.
        peers.push(run_peer(bed, tcp, &script, &common)?);
        let of_peers = |label| {
            peers
                .iter()
                .map(|peer| number_after(peer, label))
                .collect::<Result<Vec<f64>>>()
        };
        let mut checks = Checks::of(&name, "pgbench with the same seed");
        // The clock runs while connections are made, which takes each its own time.
        let tps = number(&run.report, "/tps")?;
        checks.near_all("TPS", tps, &of_peers("tps = ")?, 0.03, clients / bed.seconds as f64);
        // That it is not too low is for the stopwatch to tell: pgbench's own is higher where many clients cost it more.
        let most = of_peers("rate limit schedule lag: avg")?
            .into_iter()
            .fold(0.0, f64::max);
        checks.within("lag mean ms", lag_ms, 0.0, most + (most * 0.1).max(0.1));
        let latencies = of_peers("latency average =")?;
        checks.near_all("latency mean ms", ms("/total/latency_ms/mean")?, &latencies, 0.05, 0.2);
        list.extend(checks.list);
    }
    Ok(list)
}

/// A rate beyond what the clients can do, with a limit: some are skipped, some late, as with pgbench.
pub fn skipping(bed: &Bed, name: &str) -> Result<Vec<Check>> {
    let mut list = Vec::new();
    for (script, options, all, room) in [
        (
            "select pg_sleep(0.003);\n",
            ["-R", "1500", "-L", "2", "-t", "300"],
            1_200.0,
            0.1,
        ),
        ("select 1;\n", ["-R", "200", "-L", "0.2", "-t", "50"], 200.0, 0.05),
    ] {
        let mut common = words(&["-c", "4", "-j", "2", "--random-seed=7"]);
        common.extend(words(&options));
        let run = run_pgbench(bed, false, script, &common)?;
        let peer = run_peer(bed, false, script, &common)?;
        list.extend(against_log(name, &run)?);
        let limit_us = options[3].parse::<f64>()? * 1e3;
        let late = run.log.latencies.iter().filter(|latency| **latency > limit_us).count();
        let mut log = Checks::of(name, "the log of every transaction");
        log.near("late", number(&run.report, "/late")?, late as f64, 0.005, 1.0);
        log.equal(
            "done and skipped",
            run.log.latencies.len() as f64 + run.log.skipped,
            all,
        );
        let mut with_peer = Checks::of(name, "pgbench with the same seed");
        let skipped = number_after(&peer, "number of transactions skipped:")?;
        with_peer.near("skipped", run.log.skipped, skipped, 0.0, all * room);
        with_peer.near(
            "lag mean ms",
            number(&run.report, "/lag_ms/mean")?,
            number_after(&peer, "rate limit schedule lag: avg")?,
            0.1,
            0.1,
        );
        list.extend(log.list);
        list.extend(with_peer.list);
    }
    Ok(list)
}

/// A connection for each transaction.
pub fn reconnecting(bed: &Bed, name: &str) -> Result<Vec<Check>> {
    let run = run_pgbench(
        bed,
        false,
        "select 1;\n",
        &words(&["-C", "-c", "4", "-j", "2", "-t", "100"]),
    )?;
    let mut list = against_log(name, &run)?;
    let mut own = Checks::of(name, "the other figures");
    own.equal("connections", number(&run.report, "/connections")?, 400.0);
    list.extend(own.list);
    Ok(list)
}

/// The server logs how long it took for each statement.
pub fn logged(bed: &Bed, name: &str) -> Result<Vec<Check>> {
    let mut admin = bed.server.connect()?;
    admin.batch_execute("alter role bench set log_min_duration_statement = 0")?;
    let begin = std::fs::read(bed.server.log())?.len();
    let seconds = bed.seconds.to_string();
    let run = run_pgbench(bed, false, &script(1), &words(&["-c", "4", "-j", "2", "-T", &seconds]));
    admin.batch_execute("alter role bench reset log_min_duration_statement")?;
    let run = run?;
    let log = std::fs::read(bed.server.log())?;
    let text = String::from_utf8_lossy(log.get(begin..).unwrap_or_default());
    let durations = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once("duration: ")?;
        let (ms, statement) = rest.split_once(" ms  statement: ")?;
        statement
            .starts_with("select abalance, pg_sleep")
            .then(|| ms.parse::<f64>().ok())?
    });
    let mut durations: Vec<f64> = durations.collect();
    durations.sort_by(f64::total_cmp);
    let mut list = against_log(name, &run)?;
    let mut server = Checks::of(name, "durations in the server's log");
    server.equal(
        "transactions",
        number(&run.report, "/total/transactions")?,
        durations.len() as f64,
    );
    for (figure, percent) in [("latency p50 ms", 50), ("latency p95 ms", 95), ("latency p99 ms", 99)] {
        let server_ms = percentile(&durations, f64::from(percent));
        let dyno = number(&run.report, &format!("/latency_percentiles_ms/p{percent}"))?;
        // What the server tells begins with the statement's arrival: the way there and back comes on top.
        server.within(figure, dyno, server_ms * 0.998, server_ms * 1.1 + 0.5);
    }
    list.extend(server.list);
    Ok(list)
}
