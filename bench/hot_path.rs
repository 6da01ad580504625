//! Where the time of a load thread goes: a profile of `dyno run` by perf over each transport, select-only,
//! prepared, 16 clients on one thread.
//!
//! perf says what runs 999 times a second of CPU time, in the kernel too, so it has to be allowed that (root, or
//! kernel.perf_event_paranoid = 1).
//!
//!     cargo bench --bench hot_path -- [--seconds 10] [--lines 40]

use dyno_bench::{BenchServer, Client, Result, archive, archived_cost, dyno_binary, dyno_command, option};
use serde::Serialize;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Samples per second of CPU time.
const FREQUENCY: f64 = 999.0;

/// A function, and how often the thread was found in it.
#[derive(Serialize)]
struct Symbol {
    samples: u32,
    kernel: bool,
    name: String,
    library: String,
}

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
            let total_us = |of_kernel: bool| {
                let samples = symbols.iter().filter(|symbol| symbol.kernel == of_kernel);
                let samples: u32 = samples.map(|symbol| symbol.samples).sum();
                us(samples, transactions)
            };
            let (user_us, kernel_us) = (total_us(false), total_us(true));
            let path = if tcp { "tcp" } else { "unix" };
            let head = format!(
                "## {transport}, {path}\n\n{:.2} µs of CPU per transaction in user space, {:.2} µs in the kernel, \
                 over {transactions} transactions\n",
                user_us, kernel_us
            );
            print!("{head}");
            let most = &symbols[..lines.min(symbols.len())];
            write!(table, "{head}\n| µs/tx | function | of |\n|---|---|---|\n")?;
            for symbol in most {
                let each_us = us(symbol.samples, transactions);
                writeln!(table, "| {each_us:.3} | `{}` | {} |", symbol.name, symbol.library)?;
            }
            table.push('\n');
            results.push(json!({
                "path": path, "transport": transport, "transactions": transactions,
                "user_us": user_us, "kernel_us": kernel_us, "symbols": most,
            }));
        }
    }
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}; select-only, prepared, 16 clients on one thread for {seconds} s; what the \
             load's thread did, by perf.",
            server.version()?
        ),
    });
    let path = archive("hot-path", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}

/// The CPU time per transaction of as many samples.
fn us(samples: u32, transactions: f64) -> f64 {
    f64::from(samples) / FREQUENCY / transactions * 1e6
}

/// Runs `load` under perf.
fn record(load: &Command, file: &Path) -> Result<()> {
    let mut perf = Command::new("perf");
    perf.args(["record", "-e", "cpu-clock", "-F", &FREQUENCY.to_string(), "-o"]);
    perf.arg(file).arg("--").arg(load.get_program()).args(load.get_args());
    perf.envs(load.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(&mut perf).map(drop)
}

/// What the load's thread did, most first.
fn report(file: &Path) -> Result<Vec<Symbol>> {
    let mut perf = Command::new("perf");
    // perf's own choice of a thread leaves out what other threads did as well.
    perf.args(["report", "--stdio", "--no-children", "-F", "sample,comm,dso,sym"]);
    let text = run(perf.args(["--field-separator", "|", "-i"]).arg(file))?;
    let mut symbols = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.splitn(4, '|').map(str::trim);
        let mut field = || fields.next().unwrap_or_default();
        let (samples, thread, library, symbol) = (field(), field(), field(), field());
        if thread == THREAD {
            symbols.push(Symbol {
                samples: samples.parse()?,
                kernel: symbol.starts_with("[k]"),
                name: symbol.get(4..).unwrap_or_default().to_owned(),
                library: library.to_owned(),
            });
        }
    }
    Ok(symbols)
}

fn run(perf: &mut Command) -> Result<String> {
    let output = perf.output().map_err(|error| format!("perf cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("{perf:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
