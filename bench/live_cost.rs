//! What watching costs a run: the same run with its live page and viewers, and without, in turn on the same server.
//!
//!     cargo bench --bench live_cost -- [--pairs 10] [--seconds 20] [--clients 16] [--viewers 5]
//!
//! The viewers read the events and draw nothing: drawing costs whatever machine the browser runs on.

use dyno_bench::{
    BenchServer, Client, Cost, Result, Spread, archive, dyno_binary, in_turn, option, run_experiment, run_watched,
};
use serde_json::json;
use std::cell::Cell;

const EXPERIMENT: &str = "select-only.toml";

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 10)?;
    let seconds: u64 = option("--seconds", 20)?;
    let clients: usize = option("--clients", 16)?;
    let viewers: usize = option("--viewers", 5)?;
    let dyno = dyno_binary()?;
    let server = BenchServer::start()?;
    let client = Client {
        clients,
        threads: 1,
        tcp: false,
        seconds,
    };
    let sent_bytes = Cell::new(0);
    let watched = || {
        let (cost, sent) = run_watched(&dyno, &server, client, EXPERIMENT, viewers)?;
        sent_bytes.set(sent);
        Ok(cost)
    };
    let alone = || run_experiment(&dyno, &server, client, EXPERIMENT, &[]);
    let measured: Vec<(Cost, Cost)> = in_turn(pairs, watched, alone)?;
    let spread = |figure: &dyn Fn(&(Cost, Cost)) -> f64| Spread::of(measured.iter().map(figure));
    let watched = spread(&|(watched, _)| watched.tps);
    let alone = spread(&|(_, alone)| alone.tps);
    let tps = spread(&|(watched, alone)| watched.tps / alone.tps);
    let cpu = spread(&|(watched, alone)| watched.cpu_us() / alone.cpu_us());
    let table = format!(
        "| viewers | watched TPS | unwatched TPS | TPS ratio | dyno CPU ratio, page included |\n|---|---|---|---|---|\n\
         | {viewers} | {watched} | {alone} | {tps:.3} | {cpu:.3} |\n"
    );
    print!("{table}");
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}; {pairs} pairs of {seconds} s runs in turn, {clients} clients, prepared over the \
             unix socket. \
             Each cell is the median (minimum–maximum); ratios are watched / unwatched, pair by pair. A viewer was \
             sent {} bytes.",
            server.version()?,
            sent_bytes.get()
        ),
    });
    let results = json!({
        "viewers": viewers, "watched_tps": watched, "unwatched_tps": alone, "tps_ratio": tps, "cpu_ratio": cpu,
        "pairs": measured.iter().map(|(watched, alone)| json!({ "watched": watched, "unwatched": alone }))
            .collect::<Vec<_>>(),
    });
    println!("\nKept in {}", archive("live-cost", facts, results, &table)?.display());
    Ok(())
}
