//! Client CPU per transaction and throughput of dyno beside sysbench 1.0: point selects, prepared, the two in turn
//! on the same server, PostgreSQL and MariaDB.
//!
//!     cargo bench --bench sysbench_cost -- [--pairs 10] [--seconds 5] [--only mariadb-unix-256]

use dyno_bench::{
    BenchMariadb, BenchServer, Client, Cost, Result, Server, Spread, archive, dyno_binary, in_turn, option,
    run_experiment, run_sysbench, sysbench_command,
};
use serde_json::json;
use std::fmt::Write;
use std::process::Command;

/// Rows of sysbench's table.
const ROWS: u64 = 100_000;

/// Connections.
const CLIENTS: [usize; 2] = [16, 256];

/// The experiment that does what sysbench's `oltp_point_select` does.
const POINT_SELECT: &str = "point-select.toml";

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 10)?;
    let seconds: u64 = option("--seconds", 5)?;
    let only: String = option("--only", String::new())?;
    let Ok(version) = Command::new("sysbench").arg("--version").output() else {
        println!("Skipped: there is no sysbench on the PATH. Debian's package is called sysbench.");
        return Ok(());
    };
    let sysbench = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let dyno = dyno_binary()?;
    let postgres = BenchServer::start()?;
    let mariadb = BenchMariadb::start()?;
    let servers: [(&str, &dyn Server); 2] = [("postgres", &postgres), ("mariadb", &mariadb)];
    let mut table = "| server | path | connections | dyno threads | dyno CPU µs/tx | sysbench CPU µs/tx | CPU ratio | \
                     user ratio | TPS ratio |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for (name, server) in servers {
        if !name.starts_with(only.split('-').next().unwrap_or_default()) {
            continue;
        }
        let prepared = sysbench_command(server, false, ROWS).arg("prepare").output()?;
        if !prepared.status.success() {
            return Err(format!("sysbench prepare: {}", String::from_utf8_lossy(&prepared.stdout)).into());
        }
        for (tcp, clients) in [false, true]
            .into_iter()
            .flat_map(|tcp| CLIENTS.map(|clients| (tcp, clients)))
        {
            let path = if tcp { "tcp" } else { "unix" };
            if !format!("{name}-{path}-{clients}").starts_with(&only) {
                continue;
            }
            let threads = 1;
            let client = Client {
                clients,
                threads,
                tcp,
                seconds,
            };
            let ours = || run_experiment(&dyno, server, client, POINT_SELECT, &["--no-sampling"]);
            let theirs = || run_sysbench(server, client, ROWS);
            let measured: Vec<(Cost, Cost)> = in_turn(pairs, ours, theirs)?;
            let spread = |figure: &dyn Fn(&(Cost, Cost)) -> f64| Spread::of(measured.iter().map(figure));
            let our_cpu = spread(&|(dyno, _)| dyno.cpu_us());
            let their_cpu = spread(&|(_, sysbench)| sysbench.cpu_us());
            let cpu = spread(&|(dyno, sysbench)| dyno.cpu_us() / sysbench.cpu_us());
            let user = spread(&|(dyno, sysbench)| dyno.user_us / sysbench.user_us);
            let tps = spread(&|(dyno, sysbench)| dyno.tps / sysbench.tps);
            let row = format!(
                "| {name} | {path} | {clients} | {threads} | {our_cpu} | {their_cpu} | {cpu} | {user} | {tps} |\n"
            );
            print!("{row}");
            write!(table, "{row}")?;
            results.push(json!({
                "server": name, "path": path, "clients": clients, "dyno_threads": threads,
                "dyno_cpu_us": our_cpu, "sysbench_cpu_us": their_cpu, "cpu_ratio": cpu, "user_ratio": user,
                "tps_ratio": tps,
                "pairs": measured.iter().map(|(dyno, sysbench)| json!({ "dyno": dyno, "sysbench": sysbench }))
                    .collect::<Vec<_>>(),
            }));
        }
    }
    let facts = json!({
        "summary": format!(
            "Servers PostgreSQL {} and MariaDB {}, {sysbench}; oltp_point_select with evenly drawn ids on {ROWS} \
             rows, prepared; {pairs} pairs of {seconds} s runs in turn, start and end of the process included. \
             sysbench has a thread for each connection. Each cell is the median (minimum–maximum); ratios are dyno / \
             sysbench, pair by pair.",
            postgres.version()?,
            mariadb.version()?
        ),
    });
    let path = archive("sysbench-cost", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
