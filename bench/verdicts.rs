//! Whether the verdicts of `dyno versus` are right: duels of two equal servers, and of two of which one is slowed down
//! on purpose by a known part, each until the question is answered or its time is over.
//!
//!     cargo bench --bench verdicts -- [--slowdowns 0,3,5,10] [--duels 10] [--at-most 1m,8m,3m,1m]
//!                                     [--beside noise] [--pool yes]
//!
//! A slow-down is made by the server: each statement counts rows for nothing, as many as a first, long duel found to
//! take the time. `--beside noise` has a process work now and then beside the duels. Duels take long, so they may be
//! made in several sittings; `--pool yes` counts those of earlier results of this bench in the table, too.

use dyno_bench::{Result, Spread, archive, dyno_binary, option};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use statrs::distribution::{Beta, ContinuousCDF};
use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A slow-down that is easily measured, in rows that each statement counts.
const PROBE_ROWS: u32 = 400;
/// For how long that is done.
const PROBE: &str = "60s";

/// A load that works and rests in turn, for lengths of time that follow no clock of a duel's.
const NOISE: &str = "while :; do timeout --foreground 1.3 sh -c 'while :; do :; done'; sleep 2.9; done";

/// One duel.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Duel {
    /// By how many percent the candidate was slowed down; 0: not at all.
    slowdown_percent: u32,
    /// Whether something worked beside it.
    noise: bool,
    /// `higher`, `lower`, `same` or `unknown`.
    answer: String,
    /// The candidate's throughput / the baseline's, and its interval.
    ratio: f64,
    low: f64,
    high: f64,
    /// The time that was measured, and that which the whole command took.
    measured_s: f64,
    wall_s: f64,
    at_most: String,
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
            _ => self.answer == "higher",
        }
    }
}

/// A group of processes that works beside the duels.
struct Noise(Child);

impl Noise {
    fn start() -> Result<Self> {
        Ok(Self(Command::new("sh").args(["-c", NOISE]).process_group(0).spawn()?))
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

/// Has two variants measured in turn.
fn duel(dyno: &Path, variants: &str, detect: &str, at_most: &str) -> Result<(Value, f64)> {
    let folder = tempfile::tempdir()?;
    let begun = Instant::now();
    let output = Command::new(dyno)
        .arg("versus")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("duel.toml"))
        .args(["--set", variants, "--detect", detect, "--at-most", at_most, "--archive"])
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(format!("a duel failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let campaign = std::fs::read_dir(folder.path())?
        .filter_map(|entry| Some(entry.ok()?.path().join("versus.json")))
        .find(|path| path.is_file())
        .ok_or("a duel kept no versus.json")?;
    let kept = serde_json::from_slice(&std::fs::read(campaign)?)?;
    Ok((kept, begun.elapsed().as_secs_f64()))
}

/// A number of what decides in `versus.json`.
fn number(kept: &Value, name: &str) -> Result<f64> {
    let ratio = kept["ratios"].as_array().into_iter().flatten();
    let ratio = ratio.into_iter().find(|ratio| ratio["measure"] == kept["measure"]);
    let value = ratio.and_then(|ratio| ratio[name].as_f64());
    value.ok_or_else(|| format!("versus.json has no {name}: {kept}").into())
}

/// How many rows each statement has to count to take `percent` of throughput away, with the duel that says so.
fn rows_for(percent: u32, probed_ratio: f64) -> u32 {
    // Time per transaction grows with the rows.
    let longer = 1.0 / probed_ratio - 1.0;
    let wanted = 1.0 / (1.0 - f64::from(percent) / 100.0) - 1.0;
    (f64::from(PROBE_ROWS) * wanted / longer).round() as u32
}

/// The end of an interval for a share of which `hits` of `all` were seen, with 95 % on this side (Clopper and Pearson).
fn at_most(hits: usize, all: usize) -> f64 {
    if hits == all {
        return 1.0;
    }
    let beta = Beta::new(hits as f64 + 1.0, (all - hits) as f64);
    beta.map_or(f64::NAN, |beta| beta.inverse_cdf(0.95))
}

/// Those of earlier results of this bench.
fn earlier() -> Result<Vec<Duel>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.to_string_lossy().ends_with("-verdicts.json") {
            let mut kept: Value = serde_json::from_slice(&std::fs::read(path)?)?;
            all.extend(serde_json::from_value::<Vec<Duel>>(kept["results"]["duels"].take())?);
        }
    }
    Ok(all)
}

/// A row of the table for each kind of duel.
fn table(duels: &[Duel]) -> Result<String> {
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
            if noise { "noise" } else { "nothing" },
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

fn main() -> Result<()> {
    let slowdowns: String = option("--slowdowns", "0,3,5,10".to_owned())?;
    let times: String = option("--at-most", "1m,8m,3m,1m".to_owned())?;
    let each: usize = option("--duels", 10)?;
    let noise = option("--beside", String::new())? == "noise";
    let pool = option("--pool", String::new())? == "yes";
    let slowdowns = slowdowns
        .split(',')
        .map(str::parse)
        .collect::<std::result::Result<Vec<u32>, _>>()?;
    let times: Vec<&str> = times.split(',').collect();
    let dyno = dyno_binary()?;
    let probed = match slowdowns.iter().any(|percent| *percent > 0) {
        true => Some(number(
            &duel(&dyno, &format!("extra=0,{PROBE_ROWS}"), "0.1%", PROBE)?.0,
            "ratio",
        )?),
        false => None,
    };
    let _noise = noise.then(Noise::start).transpose()?;
    let mut duels = Vec::new();
    // One of each kind in turn, so that no kind has the better hours.
    for number_of in 1..=each {
        for (at, percent) in slowdowns.iter().enumerate() {
            let at_most = times.get(at).or(times.last()).copied().unwrap_or("1m");
            let variants = match probed {
                Some(ratio) if *percent > 0 => format!("extra=0,{}", rows_for(*percent, ratio)),
                _ => "side=1,2".to_owned(),
            };
            let (kept, wall_s) = duel(&dyno, &variants, "3%", at_most)?;
            let made = Duel {
                slowdown_percent: *percent,
                noise,
                answer: kept["answer"].as_str().unwrap_or_default().to_owned(),
                ratio: number(&kept, "ratio")?,
                low: number(&kept, "low")?,
                high: number(&kept, "high")?,
                measured_s: kept["measured_s"].as_f64().unwrap_or(f64::NAN),
                wall_s,
                at_most: at_most.to_owned(),
            };
            println!("{number_of}/{each}: {made:?}");
            duels.push(made);
        }
    }
    let mut counted = duels.clone();
    if pool {
        counted.extend(earlier()?);
    }
    let text = table(&counted)?;
    print!("{text}");
    let facts = json!({
        "summary": format!(
            "Duels of two PostgreSQL servers by `dyno versus --detect 3%`, two clients, slices of half a second. A \
             wrong verdict is a difference between equals, or the slower one called faster. {} Ratios and times are \
             the median (minimum–maximum).",
            match pool {
                true => "The table has the duels of this and of earlier results; the file beside it those of this one.",
                false => "",
            }
        ),
        "probe": { "rows": PROBE_ROWS, "ratio": probed },
    });
    let path = archive("verdicts", facts, json!({ "duels": duels }), &text)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
