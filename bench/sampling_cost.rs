//! What watching a run costs: throughput of the same run with the samplers and without them, in turn on the same
//! server, reading and writing.
//!
//!     cargo bench --bench sampling_cost -- [--pairs 10] [--seconds 20] [--clients 16]

use dyno_bench::{BenchServer, Client, Cost, Result, Spread, archive, dyno_binary, in_turn, option, run_experiment};
use serde_json::json;
use std::fmt::Write;

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 10)?;
    let seconds: u64 = option("--seconds", 20)?;
    let clients: usize = option("--clients", 16)?;
    let dyno = dyno_binary()?;
    let server = BenchServer::start()?;
    let client = Client {
        clients,
        threads: 1,
        tcp: false,
        seconds,
    };
    let mut table =
        "| work | clients | sampled TPS | unsampled TPS | TPS ratio | dyno CPU ratio |\n|---|---|---|---|---|---|\n"
            .to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for (work, experiment) in [("read", "select-only.toml"), ("write", "update.toml")] {
        let run = |words: &[&str]| run_experiment(&dyno, &server, client, experiment, words);
        let measured: Vec<(Cost, Cost)> = in_turn(pairs, || run(&[]), || run(&["--no-sampling"]))?;
        let spread = |figure: &dyn Fn(&(Cost, Cost)) -> f64| Spread::of(measured.iter().map(figure));
        let sampled = spread(&|(sampled, _)| sampled.tps);
        let unsampled = spread(&|(_, unsampled)| unsampled.tps);
        let tps = spread(&|(sampled, unsampled)| sampled.tps / unsampled.tps);
        let cpu = spread(&|(sampled, unsampled)| sampled.cpu_us() / unsampled.cpu_us());
        let row = format!("| {work} | {clients} | {sampled} | {unsampled} | {tps:.3} | {cpu} |\n");
        print!("{row}");
        write!(table, "{row}")?;
        results.push(json!({
            "work": work, "clients": clients, "sampled_tps": sampled, "unsampled_tps": unsampled, "tps_ratio": tps,
                "cpu_ratio": cpu,
            "pairs": measured.iter().map(|(sampled, unsampled)| json!({ "sampled": sampled,
                "unsampled": unsampled })).collect::<Vec<_>>(),
        }));
    }
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}; {pairs} pairs of {seconds} s runs in turn, prepared over the unix socket. \
             Each cell is the median (minimum–maximum); ratios are sampled / unsampled, pair by pair.",
            server.version()?
        ),
    });
    let path = archive("sampling-cost", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
