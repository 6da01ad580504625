//! Client CPU and wall time of loading sysbench's table into MariaDB, by dyno over four connections beside
//! `sysbench oltp_read_write prepare`, the two in turn on the same server over the unix socket. The secondary index is
//! made after the rows by both.
//!
//!     cargo bench --bench load_cost -- [--pairs 5] [--rows 2000000]

use dyno_bench::{BenchMariadb, Loaded, Result, Spread, archive, in_turn, load_sbtest, option, prepare_sbtest};
use serde_json::json;
use std::process::Command;

/// Connections of dyno; sysbench fills a table over one.
const CONNECTIONS: usize = 4;

/// With room for the table and its log: what is loaded is the server's work, not its disk's.
const MARIADB: [(&str, &str); 2] = [("innodb_buffer_pool_size", "1G"), ("innodb_log_file_size", "1G")];

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 5)?;
    let rows: u64 = option("--rows", 2_000_000)?;
    let Ok(version) = Command::new("sysbench").arg("--version").output() else {
        println!("Skipped: there is no sysbench on the PATH. Debian's package is called sysbench.");
        return Ok(());
    };
    let sysbench = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let server = BenchMariadb::start_with(&MARIADB)?;
    let ours = || load_sbtest(&server, rows, CONNECTIONS);
    let theirs = || prepare_sbtest(&server, rows);
    let measured: Vec<(Loaded, Loaded)> = in_turn(pairs, ours, theirs)?;
    let spread = |figure: &dyn Fn(&(Loaded, Loaded)) -> f64| Spread::of(measured.iter().map(figure));
    let our_cpu = spread(&|(dyno, _)| dyno.cpu_s);
    let their_cpu = spread(&|(_, sysbench)| sysbench.cpu_s);
    let cpu = spread(&|(dyno, sysbench)| dyno.cpu_s / sysbench.cpu_s);
    let our_wall = spread(&|(dyno, _)| dyno.wall_s);
    let their_wall = spread(&|(_, sysbench)| sysbench.wall_s);
    let wall = spread(&|(dyno, sysbench)| dyno.wall_s / sysbench.wall_s);
    let table = format!(
        "| rows | dyno CPU s | sysbench CPU s | CPU ratio | dyno wall s | sysbench wall s | wall ratio |\n\
         |---|---|---|---|---|---|---|\n\
         | {rows} | {our_cpu} | {their_cpu} | {cpu} | {our_wall} | {their_wall} | {wall} |\n"
    );
    print!("{table}");
    let results = json!({
        "rows": rows, "dyno_cpu_s": our_cpu, "sysbench_cpu_s": their_cpu, "cpu_ratio": cpu, "dyno_wall_s": our_wall,
        "sysbench_wall_s": their_wall, "wall_ratio": wall,
        "pairs": measured.iter().map(|(dyno, sysbench)| json!({ "dyno": dyno, "sysbench": sysbench }))
            .collect::<Vec<_>>(),
    });
    let facts = json!({
        "summary": format!(
            "Server MariaDB {}, {sysbench}; oltp_read_write prepare beside dyno's loading of the same table over \
             {CONNECTIONS} connections, unix socket; a pool of 1 GB and as much log; {pairs} pairs in turn. CPU is \
             that of the client process. Each cell is the median (minimum–maximum); ratios are dyno / sysbench, pair \
             by pair.",
            server.version()?
        ),
    });
    let path = archive("load-cost", facts, results, &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
