//! `dyno run` and `dyno pgbench` at a real server: what they print beside what the server counted, what the system accounted, every single latency of the log, and
//! what pgbench prints.

use crate::check::{Check, Checks};
use crate::design::{Case, Path};
use dyno_bench::{BenchServer, Result, number_after, server_environment};
use jiff::Timestamp;
use procfs::process::Process;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path as File, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// What the cases share.
pub struct Bed {
    pub server: BenchServer,
    pub dyno: PathBuf,
    pub seconds: u64,
}

/// What pg_stat_statements has of the bench's statement.
struct Served {
    calls: f64,
    mean_us: f64,
    commits: f64,
}

/// How long the statement sleeps in the server, with few clients.
const SLEEP_S: f64 = 0.002;

/// The bench's statement for this case.
fn script(slowness: u32) -> String {
    let sleep_s = SLEEP_S * f64::from(slowness);
    format!(
        "\\set aid random(1, 100000)\nselect abalance, pg_sleep({sleep_s}) from public.pgbench_accounts where aid = :aid;\n"
    )
}

/// A rate that keeps the clients busy for a third of the time, or less if that is more than a server beside its load can do.
fn rate_per_s(case: &Case) -> f64 {
    (case.clients as f64 / (SLEEP_S * f64::from(case.slowness())) * 0.3).min(1_000.0)
}

impl Bed {
    fn forget(&self) -> Result<()> {
        self.server
            .connect()?
            .batch_execute("select pg_stat_statements_reset()")?;
        Ok(())
    }

    fn served(&self) -> Result<Served> {
        let row = self.server.connect()?.query_one(
            "select coalesce(sum(calls), 0)::float8, coalesce(sum(total_exec_time) / sum(calls), 0)::float8 * 1000,
                 (select xact_commit from pg_stat_database where datname = current_database())::float8
             from pg_stat_statements where query like 'select abalance, pg_sleep%'",
            &[],
        )?;
        Ok(Served {
            calls: row.get(0),
            mean_us: row.get(1),
            commits: row.get(2),
        })
    }

    /// Bytes of the server's largest table.
    fn table_bytes(&self) -> Result<f64> {
        let query = "select pg_table_size('public.pgbench_accounts')::float8";
        Ok(self.server.connect()?.query_one(query, &[])?.get(0))
    }

    fn command(&self, program: &File, tcp: bool) -> Command {
        let mut command = Command::new(program);
        server_environment(&mut command, &self.server, tcp);
        command
    }
}

pub fn check(bed: &Bed, case: &Case) -> Result<Vec<Check>> {
    match case.path {
        Path::Run { tcp } => run(bed, case, tcp),
        Path::Embedded => embedded(bed, case),
        Path::Pgbench { tcp } => pgbench(bed, case, tcp),
        Path::Engine => Err("the engine has no process of its own".into()),
    }
}

/// CPU time that a process had used at instants.
type CpuTimes = Vec<(Timestamp, Duration)>;

/// Runs a command to its end. Gives what it printed, and the CPU time it had used every 10 ms, as the system accounts it.
fn watched(command: &mut Command) -> Result<(String, CpuTimes)> {
    let mut output = tempfile::tempfile()?;
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    let mut child = command.spawn()?;
    let process = Process::new(i32::try_from(child.id())?)?;
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let mut times = Vec::new();
    let status = loop {
        if let Ok(stat) = process.stat() {
            let used_s = (stat.utime + stat.stime) as f64 / ticks_per_s;
            times.push((Timestamp::now(), Duration::from_secs_f64(used_s)));
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    std::io::Seek::rewind(&mut output)?;
    let mut text = String::new();
    std::io::Read::read_to_string(&mut output, &mut text)?;
    if status.success() {
        Ok((text, times))
    } else {
        Err(format!("{status}: {}", text.lines().last().unwrap_or_default()).into())
    }
}

/// What was used up to an instant.
fn used_by(times: &CpuTimes, at: Timestamp) -> f64 {
    let before = times.iter().take_while(|(time, _)| *time <= at).last();
    before.map_or(0.0, |(_, used)| used.as_secs_f64())
}

/// The folder of an archive's only run.
fn only_run(archive: &File) -> Result<PathBuf> {
    let campaign = std::fs::read_dir(archive)?.next().ok_or("dyno archived nothing")??;
    Ok(campaign.path().join("001-rep1"))
}

fn number(value: &Value, pointer: &str) -> Result<f64> {
    let number = value.pointer(pointer).and_then(Value::as_f64);
    number.ok_or_else(|| format!("there is no {pointer}").into())
}

fn read_json(file: &File) -> Result<Value> {
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}

/// The numbers in a column of a CSV file, empty cells left out.
fn column(file: &File, name: &str) -> Result<Vec<f64>> {
    let mut reader = csv::Reader::from_path(file)?;
    let place = reader.headers()?.iter().position(|other| other == name);
    let place = place.ok_or_else(|| format!("{} has no column {name}", file.display()))?;
    let mut numbers = Vec::new();
    for row in reader.records() {
        numbers.extend(row?.get(place).and_then(|cell| cell.parse::<f64>().ok()));
    }
    Ok(numbers)
}

/// Runs an experiment and gives its folder, its record, what it printed, and its CPU times.
fn run_experiment(
    bed: &Bed,
    case: &Case,
    data: &str,
    script: &str,
    target: Option<bool>,
) -> Result<(TempDir, Value, String, CpuTimes)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("truth.toml");
    let mut text = "title = \"Truth\"\nquestion = \"Is what is printed true?\"\n".to_owned();
    write!(
        text,
        "{data}\n[[workload]]\nname = \"main\"\nclients = {}\nthreads = {}\n",
        case.clients, case.threads
    )?;
    if case.open {
        writeln!(text, "rate = {}", rate_per_s(case))?;
    }
    write!(
        text,
        "script = '''\n{script}'''\n[phases]\nwarmup = \"0s\"\nmeasure = \"{}s\"\ninterval = \"{}ms\"\n",
        bed.seconds, case.interval_ms
    )?;
    std::fs::write(&file, text)?;
    let mut command = match target {
        Some(tcp) => bed.command(&bed.dyno, tcp),
        None => Command::new(&bed.dyno),
    };
    command
        .arg("run")
        .arg(&file)
        .arg("--archive")
        .arg(folder.path().join("archive"));
    command.args(["--transport", case.transport]);
    if target.is_some() {
        command.args(["--target", "postgres://"]);
    }
    if !case.sampled {
        command.arg("--no-sampling");
    }
    let (printed, times) = watched(&mut command)?;
    let record = read_json(&only_run(&folder.path().join("archive"))?.join("run.json"))?;
    Ok((folder, record, printed, times))
}

/// What is so wherever the load ran.
fn of_any_run(
    bed: &Bed,
    case: &Case,
    name: &str,
    folder: &TempDir,
    record: &Value,
    printed: &str,
) -> Result<Vec<Check>> {
    let run = only_run(&folder.path().join("archive"))?;
    let seconds = bed.seconds as f64;
    let summary = &record["summary"];
    let main = &summary["workloads"][0];
    let done = number(main, "/transactions")?;
    let mut own = Checks::of(name, "the other figures");
    own.near("time measured s", number(summary, "/measured_s")?, seconds, 0.0, 1e-6);
    own.near("TPS", number(main, "/tps")?, done / seconds, 1e-6, 0.0);
    own.equal("statements", number(main, "/statements")?, done);
    own.near(
        "statements/s",
        number(main, "/statements_per_s")?,
        done / seconds,
        1e-6,
        0.0,
    );
    own.equal("errors", number(main, "/errors")?, 0.0);
    let of_intervals = column(&run.join("intervals.csv"), "transactions")?;
    own.equal("transactions of intervals", of_intervals.iter().sum(), done);
    own.equal(
        "intervals",
        of_intervals.len() as f64,
        (bed.seconds * 1000).div_ceil(case.interval_ms) as f64,
    );
    if !case.open {
        // What each client has not finished at the end is not counted.
        let latency_s = number(main, "/latency/mean_us")? / 1e6;
        let (clients, busy) = (case.clients as f64, latency_s * done / seconds);
        own.within(
            "clients = TPS × latency",
            busy,
            clients * (0.95 - latency_s / seconds),
            clients * 1.03,
        );
    }
    let line = printed
        .lines()
        .find_map(|line| line.strip_prefix("main: "))
        .ok_or("no summary was printed")?;
    let count: String = line.split(' ').next().unwrap_or_default().replace(',', "");
    own.equal("transactions printed", count.parse()?, done);
    Ok(own.list)
}

fn run(bed: &Bed, case: &Case, tcp: bool) -> Result<Vec<Check>> {
    let name = case.to_string();
    let (clients, seconds) = (case.clients as f64, bed.seconds as f64);
    let before = bed.served()?;
    bed.forget()?;
    let (folder, record, printed, times) = run_experiment(bed, case, "", &script(case.slowness()), Some(tcp))?;
    // Sessions hand their counts over when they end.
    std::thread::sleep(Duration::from_millis(300));
    let after = bed.served()?;
    let mut list = of_any_run(bed, case, &name, &folder, &record, &printed)?;
    let summary = &record["summary"];
    let main = &summary["workloads"][0];
    let done = number(main, "/transactions")?;
    let mean_us = number(main, "/latency/mean_us")?;
    let lag_us = if case.open { number(main, "/lag/mean_us")? } else { 0.0 };

    let mut server = Checks::of(&name, "pg_stat_statements");
    server.within("transactions", done, after.calls - clients, after.calls);
    // Network and waiting for a CPU come on top of what the server takes for execution.
    server.within(
        "latency mean − lag µs",
        mean_us - lag_us,
        after.mean_us * 0.99,
        after.mean_us * 1.5 + 3_000.0,
    );
    if case.sampled {
        let calls = column(
            &only_run(&folder.path().join("archive"))?.join("statements.csv"),
            "calls",
        )?;
        server.near(
            "calls in statements.csv",
            calls.iter().copied().fold(0.0, f64::max),
            after.calls,
            0.0,
            clients,
        );
        let commits = column(
            &only_run(&folder.path().join("archive"))?.join("server.csv"),
            "pg_stat_database.xact_commit",
        )?;
        let seen = commits
            .last()
            .zip(commits.first())
            .map_or(f64::NAN, |(last, first)| last - first);
        let mut counters = Checks::of(&name, "pg_stat_database");
        // Its sessions tell it every second, and the first and the last look lie within the load.
        counters.within("commits in server.csv", seen, 0.0, after.commits - before.commits);
        server.list.extend(counters.list);
    }
    list.extend(server.list);

    let mut system = Checks::of(&name, "/proc");
    let begin: Timestamp = record["load_started"].as_str().ok_or("no load_started")?.parse()?;
    let end = begin + jiff::SignedDuration::from_secs(bed.seconds as i64);
    let cpu_s = used_by(&times, end) - used_by(&times, begin);
    let own_us = number(summary, "/client_cpu/user_us")? + number(summary, "/client_cpu/system_us")?;
    system.near("CPU time s", own_us * done / 1e6, cpu_s, 0.05, 0.05);
    list.extend(system.list);

    if case.open {
        let due = rate_per_s(case) * seconds;
        let mut schedule = Checks::of(&name, "the rate");
        schedule.near("transactions", done, due, 0.02, 4.0 * due.sqrt() + clients);
        list.extend(schedule.list);
    }
    let tables = record["tables"]["after"]["tables"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if let Some(accounts) = tables.iter().find(|table| table["name"] == "pgbench_accounts") {
        let mut sizes = Checks::of(&name, "pg_table_size");
        sizes.equal("table bytes", number(accounts, "/table_bytes")?, bed.table_bytes()?);
        list.extend(sizes.list);
    }
    Ok(list)
}

/// A server of dyno's own is gone when dyno is: what it counted of the rows tells what was done.
fn embedded(bed: &Bed, case: &Case) -> Result<Vec<Check>> {
    const DATA: &str = "[data]
setup = \"create table counter (id int, n int)\"
fill.counter = { rows = 10000, columns = { id = \"row\", n = \"0\" } }
finish = \"alter table counter add primary key (id)\"
[server.settings]
synchronous_commit = \"off\"
max_connections = 400
";
    let script = format!(
        "\\set id random(1, 10000)\nupdate counter set n = n + 1 where id = :id;\nselect pg_sleep({});\n",
        SLEEP_S * f64::from(case.slowness())
    );
    let name = case.to_string();
    let (folder, record, printed, _) = run_experiment(bed, case, DATA, &script, None)?;
    let mut list = of_any_run(bed, case, &name, &folder, &record, &printed)?;
    // Its scripts have two statements.
    let done = number(&record, "/summary/workloads/0/transactions")?;
    list.retain(|check| !matches!(check.figure, "statements" | "statements/s"));
    let updates = |when: &str| {
        let tables = record["tables"][when]["tables"].as_array().cloned().unwrap_or_default();
        let counter = tables
            .into_iter()
            .find(|table| table["name"] == "counter")
            .unwrap_or_default();
        number(&counter, "/statistics/n_tup_upd")
    };
    let mut server = Checks::of(&name, "pg_stat_all_tables");
    let updated = updates("after")? - updates("before")?;
    server.within("transactions", done, updated - case.clients as f64, updated);
    list.extend(server.list);
    Ok(list)
}

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

fn pgbench(bed: &Bed, case: &Case, tcp: bool) -> Result<Vec<Check>> {
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
        let peer = run_peer(bed, tcp, &script, &common)?;
        let mut checks = Checks::of(&name, "pgbench with the same seed");
        // The clock runs while connections are made, which takes each its own time.
        let tps = number_after(&peer, "tps = ")?;
        checks.near(
            "TPS",
            number(&run.report, "/tps")?,
            tps,
            0.03,
            clients / bed.seconds as f64,
        );
        checks.near(
            "lag mean ms",
            lag_ms,
            number_after(&peer, "rate limit schedule lag: avg")?,
            0.1,
            0.1,
        );
        checks.near(
            "latency mean ms",
            ms("/total/latency_ms/mean")?,
            number_after(&peer, "latency average =")?,
            0.05,
            0.2,
        );
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
