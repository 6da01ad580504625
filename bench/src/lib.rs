//! What the benches share: a server to measure on, the processes that are measured, figures and where they are kept.
//!
//! Every claim about speed or memory is measured here beside its peer in one run, because machines differ and
//! drift: only ratios carry over.

mod bare;
mod ceiling;
mod client;
pub mod dips;
mod figures;
mod initialization;
mod loading;
mod mariadb;
mod night;
mod peers;
mod server;
mod slap;
mod sysbench;

pub use bare::{BareConnection, BareLoop};
pub use ceiling::{Taken, run_ceiling};
pub use client::{
    Client, Cost, archived_cost, cargo, dyno_binary, dyno_command, experiment_command, get, loads, number_after,
    run_dyno, run_experiment, run_pgbench, run_watched, server_environment, timed,
};
pub use figures::Spread;
pub use initialization::{Initialization, InitializationCost, run_initialization};
pub use loading::{Loaded, load_sbtest, prepare_sbtest};
pub use mariadb::{BUSY_MARIADB, BenchMariadb};
pub use night::{begin_night, night_pace, report_wall_s};
pub use peers::{Case, Peer, PointStatement};
pub use server::{BENCH, BUSY_POSTGRES, BenchServer, Server};
pub use slap::Slap;
pub use sysbench::{
    prepare_sysbench_table, run_sysbench, run_sysbench_line, sysbench_command, sysbench_line_memory_kb,
};

use jiff::Zoned;
use serde_json::{Value, json};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Any error ends a bench: it is printed, and nothing is archived.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The value after `name` on the command line, or `default`.
///
/// # Errors
/// The value cannot be read.
pub fn option<T: std::str::FromStr>(name: &str, default: T) -> Result<T> {
    let mut words = std::env::args().skip_while(|word| word != name).skip(1);
    match words.next() {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| format!("{name} {text} is not valid").into()),
    }
}

/// Runs both sides `pairs` times in turn. Who goes first changes, so that a drift of the machine favours neither.
///
/// # Errors
/// The first that a run reports.
pub fn in_turn<T>(pairs: usize, ours: impl Fn() -> Result<T>, theirs: impl Fn() -> Result<T>) -> Result<Vec<(T, T)>> {
    let pair = |number: usize| {
        Ok(if number.is_multiple_of(2) {
            let ours = ours()?;
            (ours, theirs()?)
        } else {
            let theirs = theirs()?;
            (ours()?, theirs)
        })
    };
    (0..pairs).map(pair).collect()
}

/// Runs all of `sides` programs once a round, one after the other, and gives what each measured, round by round. Who
/// goes first changes, so that a drift of the machine favours none.
///
/// # Errors
/// The first that a run reports.
pub fn in_rotation<T>(rounds: usize, sides: usize, mut run: impl FnMut(usize) -> Result<T>) -> Result<Vec<Vec<T>>> {
    let mut measured: Vec<Vec<T>> = (0..sides).map(|_| Vec::with_capacity(rounds)).collect();
    for round in 0..rounds {
        for turn in 0..sides {
            let side = (round + turn) % sides;
            measured[side].push(run(side)?);
        }
    }
    Ok(measured)
}

/// A word of the command line; of a file somewhere on this machine its name alone, as the rest says nothing elsewhere.
fn without_folders(word: &str) -> String {
    let path = Path::new(word);
    match path.file_name() {
        Some(name) if path.is_absolute() => name.to_string_lossy().into_owned(),
        _ => word.to_owned(),
    }
}

/// Keeps a result in `bench/results` under today's date, with what is needed to read it: host, versions and the
/// command line.
///
/// # Errors
/// The file cannot be written.
pub fn archive(name: &str, facts: Value, results: Value, table: &str) -> Result<PathBuf> {
    let now = Zoned::now();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    std::fs::create_dir_all(&folder)?;
    let stem = folder.join(format!("{}-{name}", now.strftime("%Y-%m-%dT%H-%M-%S")));
    let mut host = serde_json::to_value(dyno_target::host::host_facts(None))?;
    // A machine's name says nothing about its speed.
    if let Some(host) = host.as_object_mut() {
        host.remove("hostname");
    }
    let command: Vec<String> = std::env::args().skip(1).map(|word| without_folders(&word)).collect();
    let content = json!({
        "bench": name, "date": now.to_string(), "arguments": command, "host": host, "facts": facts, "results": results,
    });
    std::fs::write(
        stem.with_extension("json"),
        serde_json::to_string_pretty(&content)? + "\n",
    )?;
    let text = format!(
        "# {name}, {}\n\nHost: {} cores, {}. {}\n\n{table}",
        now.strftime("%Y-%m-%d"),
        content["host"]["cores"],
        content["host"]["cpu_model"].as_str().unwrap_or("unknown processor"),
        content["facts"]["summary"].as_str().unwrap_or_default()
    );
    let path = stem.with_extension("md");
    std::fs::write(&path, text)?;
    Ok(path)
}
