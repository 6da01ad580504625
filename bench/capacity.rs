//! Whether `dyno capacity` finds the same capacity again: several tries on a private PostgreSQL, one after the other.
//!
//!     cargo bench --bench capacity -- [--tries 10] [--experiment pk-select] [--limit "p99 < 5ms"] [--at-most 5m]
//!                                     [--over rate] [--clients 8]
//!
//! Each try prepares the server anew. How much the machine itself wanders meanwhile is in the throughput of the closed
//! loop that each try begins with. SIGTERM has the try under way be the last.

use dyno_bench::{Result, Spread, archive, dyno_binary, option};
use serde::Serialize;
use serde_json::{Value, json};
use signal_hook::consts::SIGTERM;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Tries are alike if they are within this share of their median.
const ALIKE: f64 = 0.05;

/// One try.
#[derive(Clone, Debug, Serialize)]
struct Try {
    answer: String,
    holds: f64,
    fails: f64,
    closed_loop_tps: f64,
    steps: usize,
    /// The time that all steps took, and that which the whole command took.
    measured_s: f64,
    wall_s: f64,
    gave_way: Value,
}

fn capacity(dyno: &Path, words: &[&str]) -> Result<Try> {
    let folder = tempfile::tempdir()?;
    let begun = Instant::now();
    let output = Command::new(dyno)
        .arg("capacity")
        .args(words)
        .arg("--archive")
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(format!("a try failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let kept = std::fs::read_dir(folder.path())?
        .filter_map(|entry| Some(entry.ok()?.path().join("capacity.json")))
        .find(|path| path.is_file())
        .ok_or("a try kept no capacity.json")?;
    let kept: Value = serde_json::from_slice(&std::fs::read(kept)?)?;
    let number = |name: &str| kept[name].as_f64().unwrap_or(f64::NAN);
    Ok(Try {
        answer: kept["answer"].as_str().unwrap_or_default().to_owned(),
        holds: number("holds"),
        fails: number("fails"),
        closed_loop_tps: number("closed_loop_tps"),
        steps: kept["steps"].as_array().map_or(0, Vec::len),
        measured_s: number("measured_s"),
        wall_s: begun.elapsed().as_secs_f64(),
        gave_way: kept["gave_way"].clone(),
    })
}

/// How many are within [`ALIKE`] of their median.
fn alike(values: &[f64]) -> usize {
    let median = Spread::of(values.iter().copied()).median;
    let near = values.iter().filter(|value| (*value / median - 1.0).abs() <= ALIKE);
    near.count()
}

fn main() -> Result<()> {
    let tries: usize = option("--tries", 10)?;
    let experiment: String = option("--experiment", "pk-select".to_owned())?;
    let limit: String = option("--limit", "p99 < 5ms".to_owned())?;
    let at_most: String = option("--at-most", "5m".to_owned())?;
    let over: String = option("--over", "rate".to_owned())?;
    let clients: usize = option("--clients", 8)?;
    let clients = format!("clients={clients}");
    let words = [
        experiment.as_str(),
        "--limit",
        &limit,
        "--at-most",
        &at_most,
        "--over",
        &over,
        "--set",
        &clients,
    ];
    let dyno = dyno_binary()?;
    let ended = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, Arc::clone(&ended))?;
    let mut all = Vec::new();
    for number in (1..=tries).take_while(|_| !ended.load(Ordering::Relaxed)) {
        let made = capacity(&dyno, &words)?;
        println!("{number}/{tries}: {made:?}");
        all.push(made);
    }
    // A try may know no rate that holds.
    let holds = all.iter().map(|made| made.holds).filter(|holds| holds.is_finite());
    let holds: Vec<f64> = holds.collect();
    let closed: Vec<f64> = all.iter().map(|made| made.closed_loop_tps).collect();
    let mut text = "| | median (minimum–maximum) | within 5 % of the median |\n|---|---|---|\n".to_owned();
    for (what, values) in [("capacity", &holds), ("closed loop, TPS", &closed)] {
        writeln!(
            text,
            "| {what} | {:.0} | {} of {} |",
            Spread::of(values.iter().copied()),
            alike(values),
            all.len()
        )?;
    }
    for (what, values) in [
        ("steps", all.iter().map(|made| made.steps as f64).collect::<Vec<_>>()),
        ("measured, s", all.iter().map(|made| made.measured_s).collect()),
        ("whole command, s", all.iter().map(|made| made.wall_s).collect()),
    ] {
        writeln!(text, "| {what} | {:.0} | |", Spread::of(values.iter().copied()))?;
    }
    print!("{text}");
    let facts = json!({
        "summary": format!("`dyno capacity {}`, again and again, on a private PostgreSQL.", words.join(" ")),
    });
    let path = archive("capacity", facts, json!({ "tries": all }), &text)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
