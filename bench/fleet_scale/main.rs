//! What the controller of a load costs that many hosts drive: its CPU time, memory, threads and open files, what goes
//! over the wire, and how soon after its end an interval is told.
//!
//!     cargo bench --bench fleet_scale -- [--hosts 10,100,300] [--seconds 60] [--interval-ms 1000] [--recorded 40]
//!         [--dyno target/release/dyno] [--earlier ../before/target/release/dyno]
//!
//! The controller is the real `dyno run --hosts`, with its archive and samplers. In place of ssh it finds this bench,
//! each start of which is one load host. What a host says was said before by a real agent: it is recorded first, from
//! 16 workloads on a real server, and each simulated host says it again, beginning at another place. So all that is
//! left out is the load. `--dyno` names a program that is built already, `--earlier` another one to measure in turn
//! with it.

mod controller;
mod host;
mod recorded;

use controller::{Measured, measure, record};
use dyno_bench::{BenchServer, Result, archive, dyno_binary, option};
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Workloads of the load.
const WORKLOADS: usize = 16;

/// What the workloads do, in turn: one statement, several, rows that are many, and a rate.
const WORK: [&str; 4] = [
    "script = '''\n\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n'''",
    "script = '''\n\\set aid random(1, 100000)\nBEGIN;\nUPDATE pgbench_accounts SET abalance = abalance + 1 \
     WHERE aid = :aid;\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\nEND;\n'''",
    "script = '''\n\\set aid random(1, 99000)\nSELECT sum(abalance) FROM pgbench_accounts \
     WHERE aid BETWEEN :aid AND :aid + 500;\n'''",
    "rate = 200\nscript = '''\n\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts \
     WHERE aid = :aid;\n'''",
];

fn main() -> Result<()> {
    if host::is_asked_for() {
        return host::main();
    }
    let hosts: String = option("--hosts", "10,100,300".to_owned())?;
    let hosts = hosts
        .split(',')
        .map(str::parse)
        .collect::<std::result::Result<Vec<usize>, _>>()?;
    let seconds: u64 = option("--seconds", 60)?;
    let interval_ms: u64 = option("--interval-ms", 1000)?;
    let recorded: u64 = option("--recorded", 40)?;
    let earlier: PathBuf = option("--earlier", PathBuf::new())?;
    let built: PathBuf = option("--dyno", PathBuf::new())?;
    let built = match built.as_os_str().is_empty() {
        true => dyno_binary()?,
        false => built.canonicalize()?,
    };
    let mut dynos = vec![("dyno", built)];
    if !earlier.as_os_str().is_empty() {
        dynos.push(("earlier", earlier.canonicalize()?));
    }
    let most = hosts.iter().max().copied().unwrap_or(1);
    let connections = (WORKLOADS * most + 100).to_string();
    let server = BenchServer::start_with(&[("max_connections", &connections), ("synchronous_commit", "off")])?;
    let folder = tempfile::tempdir()?;
    let experiment = folder.path().join("fleet-scale.toml");
    std::fs::write(&experiment, experiment_text(interval_ms))?;
    let said = folder.path().join("said");
    let of_one = record(&dynos[0].1, &server, &experiment, &said, recorded)?;
    println!("Recorded: {of_one}\n");
    let mut table = HEAD.to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for &hosts in &hosts {
        for (name, dyno) in &dynos {
            let measured = measure(dyno, &server, &experiment, &said, hosts, seconds)?;
            let row = row(name, &measured);
            print!("{row}");
            table.push_str(&row);
            results.push(json!({ "program": name, "measured": measured }));
        }
    }
    let facts = json!({
        "summary": format!(
            "{WORKLOADS} workloads, intervals of {interval_ms} ms, {seconds} s each; what hosts say was recorded from \
             one agent on PostgreSQL {}: {of_one}. CPU is that of the controller's process alone, in per cent of a \
             core, from the first interval told to the last. Told: from an interval's end to its row in the archive, \
             and of that from when the last host had sent its part, median (largest).",
            server.version()?
        ),
        "recorded": of_one,
    });
    let path = archive("fleet-scale", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}

fn experiment_text(interval_ms: u64) -> String {
    let mut text = format!("title = \"Many hosts\"\n\n[phases]\nwarmup = \"0s\"\ninterval = \"{interval_ms}ms\"\n");
    for number in 0..WORKLOADS {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n[[workload]]\nname = \"work-{number}\"\n{}\n",
            WORK[number % WORK.len()]
        );
    }
    text
}

const HEAD: &str = "| program | hosts | CPU % | of it hearing hosts | merging | peak memory MB | after a fifth | at \
                    the end | threads | files | to controller, bytes/s a host | to host | told ms | since sent | \
                    started s | archive MB/h |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

fn row(name: &str, measured: &Measured) -> String {
    let Measured {
        hosts,
        cpu_percent,
        hearing_percent,
        merging_percent,
        peak_kb,
        early_kb,
        late_kb,
        threads,
        files,
        ..
    } = measured;
    let mb = |kb: u64| kb as f64 / 1024.0;
    format!(
        "| {name} | {hosts} | {cpu_percent:.1} | {hearing_percent:.1} | {merging_percent:.1} | {:.0} | {:.1} | {:.1} | \
         {threads} | {files} | {:.0} | {:.0} | {} | {} | {:.1} | {:.0} |\n",
        mb(*peak_kb),
        mb(*early_kb),
        mb(*late_kb),
        measured.said_bytes_per_s,
        measured.heard_bytes_per_s,
        measured.told_ms,
        measured.since_sent_ms,
        measured.started_s,
        measured.archive_mb_per_h,
    )
}

/// The folder in which a program is found as `ssh`.
fn as_ssh(folder: &Path) -> Result<std::ffi::OsString> {
    let path = folder.join("ssh");
    if !path.exists() {
        std::os::unix::fs::symlink(std::env::current_exe()?, &path)?;
    }
    let before = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&before));
    Ok(std::env::join_paths(folders)?)
}
