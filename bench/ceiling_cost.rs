//! Transactions per second and core of `dyno pgbench` beside pgbench when the server costs next to nothing: the
//! same script, prepared, against dyno's instant responder in turn.
//!
//!     cargo bench --bench ceiling_cost -- [--pairs 10] [--seconds 5] [--only unix-16-1]

use dyno_bench::{Client, Cost, Result, Spread, archive, dyno_binary, in_turn, option, run_pgbench};
use dyno_ceiling::Responder;
use serde_json::json;
use std::fmt::Write;
use std::process::Command;

/// What `pgbench -S` does. The built-in script would ask for the size of tables that the responder does not have.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/select-only.sql");

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 10)?;
    let seconds: u64 = option("--seconds", 5)?;
    let only: String = option("--only", String::new())?;
    let dyno = dyno_binary()?;
    let pgbench = Command::new("pgbench").arg("--version").output()?;
    let pgbench = String::from_utf8_lossy(&pgbench.stdout).trim().to_owned();
    let mut table = "| path | clients | threads | dyno tps per core | pgbench tps per core | ratio | dyno CPU \
                     µs/tx | pgbench CPU µs/tx | TPS ratio |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for tcp in [false, true] {
        for (clients, threads) in [(1, 1), (16, 1), (64, 2)] {
            let path = if tcp { "tcp" } else { "unix" };
            if !format!("{path}-{clients}-{threads}").starts_with(&only) {
                continue;
            }
            let client = Client {
                clients,
                threads,
                tcp,
                seconds,
            };
            let words = ["-M", "prepared", "-f", SCRIPT];
            let responder = Responder::start(&dyno, &["responder".to_owned(), format!("--threads={threads}")])?;
            let ours = || {
                let mut command = Command::new(&dyno);
                command.arg("pgbench");
                run_pgbench(command, &responder, client, &words)
            };
            let theirs = || run_pgbench(Command::new("pgbench"), &responder, client, &words);
            let measured: Vec<(Cost, Cost)> = in_turn(pairs, ours, theirs)?;
            let spread = |figure: &dyn Fn(&(Cost, Cost)) -> f64| Spread::of(measured.iter().map(figure));
            let our_rate = spread(&|(dyno, _)| 1e6 / dyno.cpu_us());
            let their_rate = spread(&|(_, pgbench)| 1e6 / pgbench.cpu_us());
            let ratio = spread(&|(dyno, pgbench)| pgbench.cpu_us() / dyno.cpu_us());
            let our_cpu = spread(&|(dyno, _)| dyno.cpu_us());
            let their_cpu = spread(&|(_, pgbench)| pgbench.cpu_us());
            let tps = spread(&|(dyno, pgbench)| dyno.tps / pgbench.tps);
            let row = format!(
                "| {path} | {clients} | {threads} | {our_rate} | {their_rate} | {ratio} | {our_cpu} | {their_cpu} \
                 | {tps} |\n"
            );
            print!("{row}");
            write!(table, "{row}")?;
            results.push(json!({
                "path": path, "clients": clients, "threads": threads,
                "dyno_tps_per_core": our_rate, "pgbench_tps_per_core": their_rate, "ratio": ratio,
                "dyno_cpu_us": our_cpu, "pgbench_cpu_us": their_cpu, "tps_ratio": tps,
                "pairs": measured.iter().map(|(dyno, pgbench)| json!({ "dyno": dyno, "pgbench": pgbench }))
                    .collect::<Vec<_>>(),
            }));
        }
    }
    let facts = json!({
        "summary": format!(
            "Instant responder with as many threads as the clients have, {pgbench}; one look-up per transaction, \
             prepared; {pairs} pairs of {seconds} s runs in \
             turn, start and end of the process included. Each cell is the median (minimum–maximum); ratios are \
             dyno / pgbench, pair by pair, of \
             transactions for each second of the client's CPU time, and of transactions per second."
        ),
    });
    let path = archive("ceiling-cost", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
