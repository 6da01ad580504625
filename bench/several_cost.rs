//! What it costs a run that further servers are watched beside its own: throughput of the same run with three private
//! servers that nobody uses, and without them, in turn on the same server.
//!
//!     cargo bench --bench several_cost -- [--pairs 10] [--seconds 20] [--clients 16]
//!
//! Where the machine's noise hides the difference, the CPU time that dyno and the further servers took bounds it: a
//! load that keeps all cores busy can lose no larger share of its throughput than of the CPU.

use dyno_archive::{Archive, Run};
use dyno_bench::{
    BenchServer, Client, Cost, Result, Spread, archive, archived_cost, dyno_binary, experiment_command, in_turn,
    option, timed,
};
use dyno_record::Meaning;
use serde::Serialize;
use serde_json::json;
use std::path::Path;

/// What a run did, and the cores that were busy with it while it was measured.
#[derive(Serialize)]
struct Measured {
    cost: Cost,
    dyno_cores: f64,
    /// Those of the further servers.
    idle_cores: f64,
}

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
    let run = |experiment| measured(&dyno, &server, client, experiment);
    let pairs: Vec<(Measured, Measured)> = in_turn(pairs, || run("several.toml"), || run("select-only.toml"))?;
    let spread = |figure: &dyn Fn(&(Measured, Measured)) -> f64| Spread::of(pairs.iter().map(figure));
    let several = spread(&|(several, _)| several.cost.tps);
    let one = spread(&|(_, one)| one.cost.tps);
    let tps = spread(&|(several, one)| several.cost.tps / one.cost.tps);
    // Per transaction, as a run with more transactions keeps dyno busier.
    let dyno_us = |measured: &Measured| measured.dyno_cores / measured.cost.tps * 1e6;
    let cores = std::thread::available_parallelism()?.get() as f64;
    let dyno_share = spread(&|(several, one)| (dyno_us(several) - dyno_us(one)) * several.cost.tps / 1e4 / cores);
    let idle_share = spread(&|(several, _)| several.idle_cores * 100.0 / cores);
    let table = format!(
        "| further servers | TPS | TPS without them | TPS ratio | more CPU of dyno (% of all) | CPU of the further \
         servers \
         (% of all) |\n|---|---|---|---|---|---|\n| 3 | {several} | {one} | {tps:.3} | {dyno_share:.2} | \
         {idle_share:.2} |\n"
    );
    print!("{table}");
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}; {} pairs of {seconds} s runs in turn, {clients} clients, prepared over the unix \
             socket. Each cell is the median (minimum–maximum), pair by pair.",
            server.version()?,
            pairs.len(),
        ),
    });
    let results = json!({
        "several_tps": several, "one_tps": one, "tps_ratio": tps, "dyno_share_percent": dyno_share,
        "idle_share_percent": idle_share,
        "pairs": pairs.iter().map(|(several, one)| json!({ "several": several, "one": one })).collect::<Vec<_>>(),
    });
    println!(
        "\nKept in {}",
        archive("several-cost", facts, results, &table)?.display()
    );
    Ok(())
}

fn measured(dyno: &Path, server: &BenchServer, client: Client, experiment: &str) -> Result<Measured> {
    let folder = tempfile::tempdir()?;
    let mut command = experiment_command(dyno, server, client, folder.path(), experiment);
    let (_, cpu_us) = timed(&mut command)?;
    let campaigns = Archive::new(folder.path()).campaigns()?;
    let run = campaigns.first().and_then(|campaign| campaign.runs.first());
    let run = run.ok_or("dyno archived no run")?;
    Ok(Measured {
        cost: archived_cost(folder.path(), cpu_us)?,
        dyno_cores: busy_cores(run, Meaning::DynoCpuS).ok_or("there are no samples of the host")?,
        idle_cores: run
            .servers()
            .iter()
            .filter_map(|server| busy_cores(&server.run, Meaning::ServerCpuS))
            .sum(),
    })
}

/// How many cores were busy with what the samples of `run` have under this meaning.
fn busy_cores(run: &Run, meaning: Meaning) -> Option<f64> {
    let samples = run.host_samples(|asked| asked == meaning);
    let used_s = samples.column(meaning)?;
    let (first_s, last_s) = (samples.at_s.first()?, samples.at_s.last()?);
    Some((used_s.last()? - used_s.first()?) / (last_s - first_s))
}
