//! Where the time of a load thread goes: a profile of `dyno run` by perf over each transport, select-only, prepared, 16 clients on one thread.
//!
//! perf says what runs 4,999 times a second of CPU time, in the kernel too, so it has to be allowed that (root, or kernel.perf_event_paranoid = 1).
//!
//!     cargo bench --bench hot_path -- [--seconds 10] [--lines 40]

use dyno_bench::{BenchServer, Client, Result, archive, archived_cost, dyno_binary, dyno_command, option};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Samples per second of CPU time.
const FREQUENCY: f64 = 4999.0;

/// What perf calls the load's only thread: workload and number.
const THREAD: &str = "select-only-0";

fn main() -> Result<()> {
    let seconds: u64 = option("--seconds", 10)?;
    let lines: usize = option("--lines", 40)?;
    let dyno = dyno_binary()?;
    let server = BenchServer::start()?;
    let mut table = String::new();
    let mut results = Vec::new();
    for tcp in [false, true] {
        for transport in ["io_uring", "epoll"] {
            let client = Client {
                clients: 16,
                threads: 1,
                tcp,
                seconds,
            };
            let folder = tempfile::tempdir()?;
            let kept = folder.path().join("archive");
            let mut load = dyno_command(&dyno, &server, client, &kept);
            load.args(["--no-sampling", "--transport", transport]);
            let recorded = folder.path().join("perf.data");
            record(&load, &recorded)?;
            let transactions = archived_cost(&kept, (0.0, 0.0))?.transactions;
            let symbols = report(&recorded)?;
            let (mut user, mut kernel) = (0.0, 0.0);
            for line in &symbols {
                let samples: f64 = line.split_ascii_whitespace().nth(1).unwrap_or_default().parse()?;
                *if line.contains("[k]") { &mut kernel } else { &mut user } += samples;
            }
            let us = |samples: f64| samples / FREQUENCY / transactions * 1e6;
            let path = if tcp { "tcp" } else { "unix" };
            let head = format!(
                "## {transport}, {path}\n\n{:.2} µs of CPU per transaction in user space, {:.2} µs in the kernel, over {transactions} transactions\n",
                us(user),
                us(kernel)
            );
            print!("{head}");
            let symbols = &symbols[..lines.min(symbols.len())];
            write!(table, "{head}\n```\n{}\n```\n\n", symbols.join("\n"))?;
            results.push(json!({
                "path": path, "transport": transport, "transactions": transactions,
                "user_us": us(user), "kernel_us": us(kernel), "symbols": symbols,
            }));
        }
    }
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}; select-only, prepared, 16 clients on one thread for {seconds} s; what the load's thread did, by perf.",
            server.version()?
        ),
    });
    let path = archive("hot-path", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}

/// Runs `load` under perf.
fn record(load: &Command, file: &Path) -> Result<()> {
    let mut perf = Command::new("perf");
    perf.args(["record", "-e", "cpu-clock", "-F", &FREQUENCY.to_string(), "-o"]);
    perf.arg(file).arg("--").arg(load.get_program()).args(load.get_args());
    perf.envs(load.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(&mut perf).map(drop)
}

/// What the load's thread did, most first: its share, the number of samples, program or library, and function.
fn report(file: &Path) -> Result<Vec<String>> {
    let mut perf = Command::new("perf");
    perf.args([
        "report",
        "--stdio",
        "--no-children",
        "--comm",
        THREAD,
        "-F",
        "overhead,sample,dso,sym",
        "-i",
    ]);
    let text = run(perf.arg(file))?;
    let rows = text.lines().map(str::trim_end);
    let rows = rows.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(rows.map(str::to_owned).collect())
}

fn run(perf: &mut Command) -> Result<String> {
    let output = perf.output().map_err(|error| format!("perf cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("{perf:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
