//! `dyno run` at a real server: what its archive and its summary say beside what the server counted and what the
//! system accounted.

use crate::check::{Check, Checks};
use crate::design::Case;
use crate::process::{Bed, CpuTimes, SLEEP_S, number, rate_per_s, read_json, script, watched};
use dyno_bench::Result;
use jiff::Timestamp;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path as File, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

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

/// At a server by its address.
pub fn by_address(bed: &Bed, case: &Case, tcp: bool) -> Result<Vec<Check>> {
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
pub fn embedded(bed: &Bed, case: &Case) -> Result<Vec<Check>> {
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
