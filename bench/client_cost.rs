//! Client CPU per transaction and throughput of dyno beside pgbench: select-only, prepared, the two in turn on the
//! same server.
//!
//! Nothing is sampled, as pgbench does not either; `sampling_cost` tells what that costs. Each transport over each
//! path with 16 clients on one thread and 64 on two, and a single client, for which blocking calls are what `auto`
//! takes.
//!
//!     cargo bench --bench client_cost -- [--pairs 10] [--seconds 5] [--only unix-16-1-io_uring]

use dyno_bench::{
    BenchServer, Cost, Result, Spread, archive, dyno_binary, in_turn, loads, option, run_dyno, run_pgbench,
};
use serde_json::json;
use std::fmt::Write;
use std::process::Command;

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 10)?;
    let seconds: u64 = option("--seconds", 5)?;
    let only: String = option("--only", String::new())?;
    let dyno = dyno_binary()?;
    let server = BenchServer::start()?;
    let pgbench = Command::new("pgbench").arg("--version").output()?;
    let pgbench = String::from_utf8_lossy(&pgbench.stdout).trim().to_owned();
    let mut table = "| path | clients | threads | transport | dyno CPU µs/tx | pgbench CPU µs/tx | CPU ratio | \
                     user ratio | dyno user µs | pgbench user µs | TPS ratio |\n\
                     |---|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for (client, transport) in loads(seconds) {
        if !client.case(transport).starts_with(&only) {
            continue;
        }
        let (path, clients, threads) = (client.path(), client.clients, client.threads);
        let theirs = || run_pgbench(Command::new("pgbench"), &server, client, &["-S", "-M", "prepared"]);
        let ours = || run_dyno(&dyno, &server, client, &["--no-sampling", "--transport", transport]);
        let measured: Vec<(Cost, Cost)> = in_turn(pairs, ours, theirs)?;
        let spread = |figure: &dyn Fn(&(Cost, Cost)) -> f64| Spread::of(measured.iter().map(figure));
        let ours = spread(&|(dyno, _)| dyno.cpu_us());
        let theirs = spread(&|(_, pgbench)| pgbench.cpu_us());
        let cpu = spread(&|(dyno, pgbench)| dyno.cpu_us() / pgbench.cpu_us());
        let user = spread(&|(dyno, pgbench)| dyno.user_us / pgbench.user_us);
        let our_user = spread(&|(dyno, _)| dyno.user_us);
        let their_user = spread(&|(_, pgbench)| pgbench.user_us);
        let tps = spread(&|(dyno, pgbench)| dyno.tps / pgbench.tps);
        let row = format!(
            "| {path} | {clients} | {threads} | {transport} | {ours} | {theirs} | {cpu} | {user} | {our_user} \
             | {their_user} | {tps} |\n"
        );
        print!("{row}");
        write!(table, "{row}")?;
        results.push(json!({
            "path": path, "clients": clients, "threads": threads, "transport": transport,
            "dyno_cpu_us": ours, "pgbench_cpu_us": theirs, "cpu_ratio": cpu, "user_ratio": user,
            "dyno_user_us": our_user, "pgbench_user_us": their_user, "tps_ratio": tps,
            "pairs": measured.iter().map(|(dyno, pgbench)| json!({ "dyno": dyno, "pgbench": pgbench }))
                .collect::<Vec<_>>(),
        }));
    }
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}, {pgbench}; select-only, prepared; {pairs} pairs of {seconds} s runs in turn. \
             Each cell is the median (minimum–maximum); ratios are dyno / pgbench, pair by pair.",
            server.version()?
        ),
    });
    let path = archive("client-cost", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
