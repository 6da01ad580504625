//! The same question without slices: variants whose runs follow each other, each on a server that is made for it.

use crate::campaign;
use crate::duels::{Duel, beside};
use dyno_bench::{Result, Spread};
use dyno_stats::{Outcome, judge};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// How long each run is, in seconds.
const RUN_S: u32 = 20;
/// After so many runs of each without an answer nobody goes on.
const MOST_RUNS: usize = 12;

/// Two equal servers, measured one after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fixed {
    noise: bool,
    /// The second's throughput / the first's.
    ratio: f64,
    /// How long both were measured together, and what the whole command took.
    measured_s: f64,
    wall_s: f64,
}

/// Runs of a server and of a slower one, in pairs of mixed order, until the test for runs of campaigns has an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repeated {
    /// By how many percent the candidate was slowed down.
    slowdown_percent: u32,
    noise: bool,
    /// Whether it was found to be slower, the other way round, or neither in [`MOST_RUNS`].
    answer: String,
    /// Throughput of each run.
    baseline_tps: Vec<f64>,
    candidate_tps: Vec<f64>,
    /// What the commands took.
    wall_s: f64,
}

/// Has two variants measured one after the other. Gives the throughput of both, and how long the command took.
fn both(dyno: &Path, variants: &str) -> Result<([f64; 2], f64)> {
    let folder = tempfile::tempdir()?;
    let measure = format!("measure={RUN_S}s");
    let wall_s = campaign(dyno, "run", &["--set", variants, "--set", &measure], folder.path())?;
    let (factor, levels) = variants.split_once('=').unwrap_or_default();
    let second = levels.split_once(',').unwrap_or_default().1;
    let mut tps = [f64::NAN; 2];
    for run in records(folder.path())? {
        let record: Value = serde_json::from_slice(&std::fs::read(run)?)?;
        let side = usize::from(record["cell"][factor] == second);
        tps[side] = record["summary"]["workloads"][0]["tps"].as_f64().unwrap_or(f64::NAN);
    }
    Ok((tps, wall_s))
}

/// Has two equal servers measured one after the other.
pub fn fixed(dyno: &Path, noise: bool) -> Result<Fixed> {
    let (tps, wall_s) = both(dyno, "side=1,2")?;
    Ok(Fixed {
        noise,
        ratio: tps[1] / tps[0],
        measured_s: 2.0 * f64::from(RUN_S),
        wall_s,
    })
}

/// Has runs of two variants made until they tell which does more. Looking after each pair is in favour of this way: an
/// answer by chance comes early.
pub fn repeated(dyno: &Path, variants: &str, slowdown_percent: u32, noise: bool) -> Result<Repeated> {
    let mut made = Repeated {
        slowdown_percent,
        noise,
        answer: "unknown".to_owned(),
        baseline_tps: Vec::new(),
        candidate_tps: Vec::new(),
        wall_s: 0.0,
    };
    while made.answer == "unknown" && made.baseline_tps.len() < MOST_RUNS {
        let ([baseline, candidate], wall_s) = both(dyno, variants)?;
        made.baseline_tps.push(baseline);
        made.candidate_tps.push(candidate);
        made.wall_s += wall_s;
        let judged = judge(&made.candidate_tps, &made.baseline_tps).ok_or("runs without a transaction")?;
        made.answer = match judged.outcome {
            Outcome::Higher => "higher",
            Outcome::Lower => "lower",
            Outcome::Unknown { .. } => "unknown",
        }
        .to_owned();
    }
    Ok(made)
}

/// How long it took to find slow-downs by runs, beside the duels that found them.
pub fn beside_repeated(duels: &[Duel], all_repeated: &[Repeated]) -> Result<String> {
    let mut kinds: Vec<_> = all_repeated
        .iter()
        .map(|made| (made.slowdown_percent, made.noise))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut text = String::new();
    for kind in kinds {
        let these: Vec<&Repeated> = all_repeated
            .iter()
            .filter(|made| (made.slowdown_percent, made.noise) == kind)
            .collect();
        let wall_s = Spread::of(these.iter().map(|made| made.wall_s));
        let duels = duels
            .iter()
            .filter(|duel| (duel.slowdown_percent, duel.noise) == kind && duel.answer != "unknown");
        let duel_s = Spread::of(duels.map(|duel| duel.wall_s));
        writeln!(
            text,
            "\nSlowed down by {} %, beside {}: repeated runs of {RUN_S} s each told in {} of {} tries, after {:.0} of \
             each and {:.0} s with all that is done between them; a duel that told took {:.0} s: by the medians, {:.1} \
             times.",
            kind.0,
            beside(kind.1),
            these.iter().filter(|made| made.answer == "lower").count(),
            these.len(),
            Spread::of(these.iter().map(|made| made.baseline_tps.len() as f64)),
            wall_s,
            duel_s,
            wall_s.median / duel_s.median,
        )?;
    }
    Ok(text)
}

/// The records of the runs of all campaigns of an archive.
fn records(archive: &Path) -> Result<Vec<PathBuf>> {
    let mut records = Vec::new();
    for campaign in std::fs::read_dir(archive)? {
        for run in std::fs::read_dir(campaign?.path())? {
            records.extend(Some(run?.path().join("run.json")).filter(|record| record.is_file()));
        }
    }
    Ok(records)
}

/// How much logarithms of ratios scatter around 0, which is that of equal servers; with so many of them.
fn scatter(ratios: impl Iterator<Item = f64>) -> (f64, usize) {
    let squares: Vec<f64> = ratios.map(|ratio| ratio.ln().powi(2)).collect();
    (
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt(),
        squares.len(),
    )
}

/// What measuring one after the other would take, where both were done.
pub fn beside_fixed(duels: &[Duel], all_fixed: &[Fixed]) -> Result<String> {
    let mut text = String::new();
    for noise in [false, true] {
        let fixed: Vec<&Fixed> = all_fixed.iter().filter(|fixed| fixed.noise == noise).collect();
        let equal = duels
            .iter()
            .filter(|duel| duel.noise == noise && duel.slowdown_percent == 0);
        let equal: Vec<&Duel> = equal.collect();
        if fixed.len() < 2 || equal.len() < 2 {
            continue;
        }
        let (apart, rounds) = scatter(fixed.iter().map(|fixed| fixed.ratio));
        let (paired, _) = scatter(equal.iter().map(|duel| duel.ratio));
        let mean = |all: Vec<f64>| all.iter().sum::<f64>() / all.len() as f64;
        let apart_s = mean(fixed.iter().map(|fixed| fixed.measured_s).collect());
        let paired_s = mean(equal.iter().map(|duel| duel.measured_s).collect());
        // Variance falls as time grows.
        let times = (apart / paired).powi(2) * apart_s / paired_s;
        writeln!(
            text,
            "\nBeside {}: one after the other, {RUN_S} s each, the ratios of {rounds} pairs of equal servers scatter \
             by {:.1} % around 1; {} duels of {paired_s:.0} s by {:.1} %. For the same certainty that takes {times:.1} \
             times as long.",
            beside(noise),
            100.0 * apart,
            equal.len(),
            100.0 * paired,
        )?;
    }
    Ok(text)
}
