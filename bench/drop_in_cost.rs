//! Client CPU per transaction and throughput of `dyno pgbench` beside pgbench, with the same options on the same
//! server in turn.
//!
//!     cargo bench --bench drop_in_cost -- [--pairs 10] [--seconds 5] [--only "rw simple unix 16"]

use dyno_bench::{
    BenchServer, Client, Cost, Initialization, Result, Spread, archive, dyno_binary, in_turn, option,
    run_initialization, run_pgbench,
};
use serde_json::json;
use std::fmt::Write;
use std::process::Command;

/// The size of the data: enough branches that 64 clients do not queue for them.
const SCALE: u32 = 64;

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 10)?;
    let seconds: u64 = option("--seconds", 5)?;
    let only: String = option("--only", String::new())?;
    let dyno = dyno_binary()?;
    let server = BenchServer::start()?;
    let pgbench = Command::new("pgbench").arg("--version").output()?;
    let pgbench = String::from_utf8_lossy(&pgbench.stdout).trim().to_owned();
    let data = Initialization {
        scale: SCALE,
        unlogged: false,
    };
    run_initialization(&mut Command::new("pgbench"), &server, data)?;
    let mut table = "| work | protocol | path | clients | dyno CPU µs/tx | pgbench CPU µs/tx | CPU ratio | user \
                     ratio | TPS ratio |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    print!("{table}");
    let mut results = Vec::new();
    let works = ["ro", "rw"]
        .into_iter()
        .flat_map(|work| ["simple", "prepared"].map(|protocol| (work, protocol)));
    for (work, protocol) in works {
        for (tcp, clients) in [(false, 16), (false, 64), (true, 16), (true, 64)] {
            let path = if tcp { "tcp" } else { "unix" };
            let name = format!("{work} {protocol} {path} {clients}");
            if !name.contains(&only) {
                continue;
            }
            let client = Client {
                clients,
                threads: 1,
                tcp,
                seconds,
            };
            let words: &[&str] = match work {
                "ro" => &["-S", "-M", protocol],
                _ => &["-M", protocol],
            };
            let ours = || {
                let mut command = Command::new(&dyno);
                command.arg("pgbench");
                run_pgbench(command, &server, client, words)
            };
            let theirs = || run_pgbench(Command::new("pgbench"), &server, client, words);
            let measured: Vec<(Cost, Cost)> = in_turn(pairs, ours, theirs)?;
            let spread = |figure: &dyn Fn(&(Cost, Cost)) -> f64| Spread::of(measured.iter().map(figure));
            let our_cpu = spread(&|(dyno, _)| dyno.cpu_us());
            let their_cpu = spread(&|(_, pgbench)| pgbench.cpu_us());
            let cpu = spread(&|(dyno, pgbench)| dyno.cpu_us() / pgbench.cpu_us());
            let user = spread(&|(dyno, pgbench)| dyno.user_us / pgbench.user_us);
            let tps = spread(&|(dyno, pgbench)| dyno.tps / pgbench.tps);
            let row = format!(
                "| {work} | {protocol} | {path} | {clients} | {our_cpu} | {their_cpu} | {cpu} | {user} | {tps} |\n"
            );
            print!("{row}");
            write!(table, "{row}")?;
            results.push(json!({
                "work": work, "protocol": protocol, "path": path, "clients": clients,
                "dyno_cpu_us": our_cpu, "pgbench_cpu_us": their_cpu, "cpu_ratio": cpu, "user_ratio": user,
                    "tps_ratio": tps,
                "pairs": measured.iter().map(|(dyno, pgbench)| json!({ "dyno": dyno, "pgbench": pgbench }))
                    .collect::<Vec<_>>(),
            }));
        }
    }
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}, {pgbench}; scale {SCALE}, ro is -S and rw the default script, 1 thread; {pairs} \
             pairs of {seconds} s runs in \
             turn, start and end of the process included. Each cell is the median (minimum–maximum); ratios are \
             dyno pgbench / pgbench, pair by pair.",
            server.version()?
        ),
    });
    let path = archive("drop-in-cost", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
