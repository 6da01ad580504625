//! Client CPU and wall time of `dyno pgbench -i` beside `pgbench -i`, the two in turn on the same server over the
//! unix socket.
//!
//!     cargo bench --bench init_cost -- [--pairs 5] [--scale 50]

use dyno_bench::{
    BenchServer, Initialization, Result, Spread, archive, dyno_binary, in_turn, option, run_initialization,
};
use serde_json::json;
use std::fmt::Write;
use std::process::Command;

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 5)?;
    let only: u32 = option("--scale", 0)?;
    let dyno = dyno_binary()?;
    let server = BenchServer::start()?;
    let pgbench = Command::new("pgbench").arg("--version").output()?;
    let pgbench = String::from_utf8_lossy(&pgbench.stdout).trim().to_owned();
    let mut table = "| scale | tables | dyno CPU s | pgbench CPU s | CPU ratio | dyno wall s | pgbench wall s | \
                     wall ratio | generating ratio |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for scale in [50, 100].into_iter().filter(|scale| only == 0 || only == *scale) {
        for unlogged in [false, true] {
            let what = Initialization { scale, unlogged };
            let ours = || run_initialization(Command::new(&dyno).arg("pgbench"), &server, what);
            let theirs = || run_initialization(&mut Command::new("pgbench"), &server, what);
            let measured = in_turn(pairs, ours, theirs)?;
            let our_cpu = Spread::of(measured.iter().map(|(dyno, _)| dyno.cpu_s()));
            let their_cpu = Spread::of(measured.iter().map(|(_, pgbench)| pgbench.cpu_s()));
            let cpu = Spread::of(measured.iter().map(|(dyno, pgbench)| dyno.cpu_s() / pgbench.cpu_s()));
            let our_wall = Spread::of(measured.iter().map(|(dyno, _)| dyno.wall_s));
            let their_wall = Spread::of(measured.iter().map(|(_, pgbench)| pgbench.wall_s));
            let wall = Spread::of(measured.iter().map(|(dyno, pgbench)| dyno.wall_s / pgbench.wall_s));
            let generate = Spread::of(
                measured
                    .iter()
                    .map(|(dyno, pgbench)| dyno.generate_s / pgbench.generate_s),
            );
            let tables = if unlogged { "unlogged" } else { "logged" };
            let row = format!(
                "| {scale} | {tables} | {our_cpu} | {their_cpu} | {cpu} | {our_wall} | {their_wall} | {wall} | \
                 {generate} |\n"
            );
            print!("{row}");
            write!(table, "{row}")?;
            results.push(json!({
                "scale": scale, "unlogged": unlogged, "dyno_cpu_s": our_cpu, "pgbench_cpu_s": their_cpu,
                    "cpu_ratio": cpu,
                "dyno_wall_s": our_wall, "pgbench_wall_s": their_wall, "wall_ratio": wall, "generate_ratio": generate,
                "pairs": measured.iter().map(|(dyno, pgbench)| json!({ "dyno": dyno, "pgbench": pgbench }))
                    .collect::<Vec<_>>(),
            }));
        }
    }
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}, {pgbench}; -i -q, unix socket; {pairs} pairs in turn. CPU is that of the client \
             process. \
             Each cell is the median (minimum–maximum); ratios are dyno / pgbench, pair by pair.",
            server.version()?
        ),
    });
    let path = archive("init-cost", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
