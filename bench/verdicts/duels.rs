//! Duels: two variants measured in turn by `dyno versus`, and whether what it said is right.

use crate::campaign;
use dyno_bench::{Result, Spread};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use statrs::distribution::{Beta, ContinuousCDF};
use std::fmt::Write;
use std::path::Path;

/// One duel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Duel {
    /// By how many percent the candidate was slowed down; 0: not at all.
    pub slowdown_percent: u32,
    /// Whether something worked beside it.
    pub noise: bool,
    /// `higher`, `lower`, `same` or `unknown`.
    pub answer: String,
    /// The candidate's throughput / the baseline's, and its interval.
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// The time that was measured, and that which the whole command took.
    pub measured_s: f64,
    pub wall_s: f64,
    pub at_most: String,
}

impl Duel {
    fn is_right(&self) -> bool {
        match self.slowdown_percent {
            0 => ["same", "unknown"].contains(&self.answer.as_str()),
            _ => self.answer == "lower",
        }
    }

    fn is_wrong(&self) -> bool {
        match self.slowdown_percent {
            0 => !self.is_right(),
            _ => ["higher", "same"].contains(&self.answer.as_str()),
        }
    }
}

/// Has two variants measured in turn.
fn duel(dyno: &Path, variants: &str, detect: &str, at_most: &str) -> Result<(Value, f64)> {
    let folder = tempfile::tempdir()?;
    let words = ["--set", variants, "--detect", detect, "--at-most", at_most];
    let wall_s = campaign(dyno, "versus", &words, folder.path())?;
    let campaign = std::fs::read_dir(folder.path())?
        .filter_map(|entry| Some(entry.ok()?.path().join("versus.json")))
        .find(|path| path.is_file())
        .ok_or("a duel kept no versus.json")?;
    let kept = serde_json::from_slice(&std::fs::read(campaign)?)?;
    Ok((kept, wall_s))
}

/// A number of what decides in `versus.json`.
fn number(kept: &Value, name: &str) -> Result<f64> {
    let ratio = kept["ratios"].as_array().into_iter().flatten();
    let ratio = ratio.into_iter().find(|ratio| ratio["measure"] == kept["measure"]);
    let value = ratio.and_then(|ratio| ratio[name].as_f64());
    value.ok_or_else(|| format!("versus.json has no {name}: {kept}").into())
}

/// The throughput of the second of two variants / the first's, as exactly as this much time tells it.
pub fn probe(dyno: &Path, variants: &str, time: &str) -> Result<f64> {
    number(&duel(dyno, variants, "0.1%", time)?.0, "ratio")
}

/// A duel that asks for 3 %.
pub fn judged(dyno: &Path, variants: &str, slowdown_percent: u32, noise: bool, at_most: &str) -> Result<Duel> {
    let (kept, wall_s) = duel(dyno, variants, "3%", at_most)?;
    Ok(Duel {
        slowdown_percent,
        noise,
        answer: kept["answer"].as_str().unwrap_or_default().to_owned(),
        ratio: number(&kept, "ratio")?,
        low: number(&kept, "low")?,
        high: number(&kept, "high")?,
        measured_s: kept["measured_s"].as_f64().unwrap_or(f64::NAN),
        wall_s,
        at_most: at_most.to_owned(),
    })
}

/// The end of an interval for a share of which `hits` of `all` were seen, with 95 % on this side (Clopper and Pearson).
fn at_most(hits: usize, all: usize) -> f64 {
    if hits == all {
        return 1.0;
    }
    let beta = Beta::new(hits as f64 + 1.0, (all - hits) as f64);
    beta.map_or(f64::NAN, |beta| beta.inverse_cdf(0.95))
}

/// What worked beside a duel.
pub fn beside(noise: bool) -> &'static str {
    if noise { "noise" } else { "nothing" }
}

/// A row of the table for each kind of duel.
pub fn table(duels: &[Duel]) -> Result<String> {
    let mut kinds: Vec<_> = duels.iter().map(|duel| (duel.slowdown_percent, duel.noise)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut text = "| slowed down by | beside | duels | right | wrong | wrong, at most (95 %) | undecided | ratio \
                    | interval has the truth | measured until the answer, s |\n\
                    |---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (slowdown, noise) in kinds {
        let of_kind = |duel: &&Duel| (duel.slowdown_percent, duel.noise) == (slowdown, noise);
        let these: Vec<&Duel> = duels.iter().filter(of_kind).collect();
        let count = |is: &dyn Fn(&Duel) -> bool| these.iter().filter(|duel| is(duel)).count();
        let wrong = count(&Duel::is_wrong);
        let truth = 1.0 - f64::from(slowdown) / 100.0;
        writeln!(
            text,
            "| {slowdown} % | {} | {} | {} | {wrong} | {:.1} % | {} | {:.3} | {} | {:.0} |",
            beside(noise),
            these.len(),
            count(&Duel::is_right),
            100.0 * at_most(wrong, these.len()),
            count(&|duel| duel.answer == "unknown"),
            Spread::of(these.iter().map(|duel| duel.ratio)),
            count(&|duel| duel.low <= truth && truth <= duel.high),
            Spread::of(these.iter().map(|duel| duel.measured_s)),
        )?;
    }
    Ok(text)
}
