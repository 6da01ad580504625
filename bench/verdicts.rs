//! Whether the verdicts of `dyno versus` are right: duels of two equal servers, and of two of which one is slowed down
//! on purpose by a known part, each until the question is answered or its time is over.
//!
//!     cargo bench --bench verdicts -- [--slowdowns 0,3,5,10] [--duels 10] [--at-most 1m,8m,3m,1m]
//!                                     [--beside noise] [--fixed 0] [--cpu 0] [--pool yes]
//!                                     [--minutes 0]
//!
//! `--fixed 10` adds as many comparisons of two equal servers that are measured one after the other, each for 20 s, in
//! turn with duels: how much their ratios scatter says how long it would take to know as much in that way. `--cpu 0`
//! binds all of it to one core, where the others have other work.
//!
//! A slow-down is made by the server: each statement counts rows for nothing, as many as a first, long duel found to
//! take the time. `--beside noise` has a process work now and then beside the duels. Duels take long, so they may be
//! made in several sittings: `--minutes 60` begins no round after that time, SIGTERM has the duel under way be the
//! last, and `--pool yes` counts those of earlier results of this bench in the table, too.

use dyno_bench::{Result, Spread, archive, dyno_binary, option};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use signal_hook::consts::SIGTERM;
use statrs::distribution::{Beta, ContinuousCDF};
use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How many rows each statement counts that is not slowed down. The first one costs more than those after it.
const USUAL_ROWS: u32 = 1;
/// A slow-down that is easily measured, in rows that each statement counts beside those.
const PROBE_ROWS: u32 = 400;
/// For how long that is done.
const PROBE: &str = "60s";

/// How long each server is measured that is measured after or before the other, in seconds.
const FIXED_S: u32 = 20;

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

/// Two equal servers, measured one after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fixed {
    noise: bool,
    /// The second's throughput / the first's.
    ratio: f64,
    /// How long both were measured together, and what the whole command took.
    measured_s: f64,
    wall_s: f64,
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

/// Has dyno make a campaign in this archive. Gives how long that took.
fn campaign(dyno: &Path, command: &str, words: &[&str], archive: &Path) -> Result<f64> {
    let begun = Instant::now();
    let output = Command::new(dyno)
        .arg(command)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("duel.toml"))
        .args(words)
        .arg("--archive")
        .arg(archive)
        .stdin(Stdio::null())
        .output()?;
    match output.status.success() {
        true => Ok(begun.elapsed().as_secs_f64()),
        false => Err(format!("a duel failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Has two equal servers measured one after the other.
fn fixed(dyno: &Path, noise: bool) -> Result<Fixed> {
    let folder = tempfile::tempdir()?;
    let measure = format!("measure={FIXED_S}s");
    let wall_s = campaign(dyno, "run", &["--set", "side=1,2", "--set", &measure], folder.path())?;
    let mut tps = [f64::NAN; 2];
    for run in records(folder.path())? {
        let record: Value = serde_json::from_slice(&std::fs::read(run)?)?;
        let side = usize::from(record["cell"]["side"] == "2");
        tps[side] = record["summary"]["workloads"][0]["tps"].as_f64().unwrap_or(f64::NAN);
    }
    Ok(Fixed {
        noise,
        ratio: tps[1] / tps[0],
        measured_s: 2.0 * f64::from(FIXED_S),
        wall_s,
    })
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

/// The variants of which the second counts so many rows more.
fn slower_by(rows: u32) -> String {
    format!("extra={USUAL_ROWS},{}", USUAL_ROWS + rows)
}

/// How many rows more each statement has to count to take `percent` of throughput away, with the duel that says so.
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
fn earlier() -> Result<(Vec<Duel>, Vec<Fixed>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let (mut duels, mut all_fixed) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.to_string_lossy().ends_with("-verdicts.json") {
            let mut kept: Value = serde_json::from_slice(&std::fs::read(path)?)?;
            duels.extend(serde_json::from_value::<Vec<Duel>>(kept["results"]["duels"].take())?);
            all_fixed.extend(serde_json::from_value::<Vec<Fixed>>(kept["results"]["fixed"].take())?);
        }
    }
    Ok((duels, all_fixed))
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
fn beside_fixed(duels: &[Duel], all_fixed: &[Fixed]) -> Result<String> {
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
            "\nBeside {}: one after the other, {FIXED_S} s each, the ratios of {rounds} pairs of equal servers scatter \
             by {:.1} % around 1; {} duels of {paired_s:.0} s by {:.1} %. For the same certainty that takes {times:.1} \
             times as long.",
            if noise { "noise" } else { "nothing" },
            100.0 * apart,
            equal.len(),
            100.0 * paired,
        )?;
    }
    Ok(text)
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
    let fixed_rounds: usize = option("--fixed", 0)?;
    let cpu: String = option("--cpu", String::new())?;
    let minutes: u64 = option("--minutes", 0)?;
    let pool = option("--pool", String::new())? == "yes";
    if !cpu.is_empty() {
        let mut set = CpuSet::new();
        set.set(cpu.parse()?)?;
        // All that it starts is bound as well.
        sched_setaffinity(Pid::from_raw(0), &set)?;
    }
    let slowdowns = slowdowns
        .split(',')
        .map(str::parse)
        .collect::<std::result::Result<Vec<u32>, _>>()?;
    let times: Vec<&str> = times.split(',').collect();
    let dyno = dyno_binary()?;
    let probed = match slowdowns.iter().any(|percent| *percent > 0) {
        true => Some(number(&duel(&dyno, &slower_by(PROBE_ROWS), "0.1%", PROBE)?.0, "ratio")?),
        false => None,
    };
    let _noise = noise.then(Noise::start).transpose()?;
    let (mut duels, mut all_fixed) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    let ended = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, Arc::clone(&ended))?;
    let is_ended = || ended.load(Ordering::Relaxed);
    let is_over = || is_ended() || minutes > 0 && begun.elapsed().as_secs() >= 60 * minutes;
    // One of each kind in turn, so that no kind has the better hours.
    for number_of in (1..=each).take_while(|_| !is_over()) {
        if number_of <= fixed_rounds {
            let made = fixed(&dyno, noise)?;
            println!("{number_of}/{each}: {made:?}");
            all_fixed.push(made);
        }
        for (at, percent) in slowdowns.iter().enumerate().take_while(|_| !is_ended()) {
            let at_most = times.get(at).or(times.last()).copied().unwrap_or("1m");
            let variants = match probed {
                Some(ratio) if *percent > 0 => slower_by(rows_for(*percent, ratio)),
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
    let (mut counted, mut counted_fixed) = (duels.clone(), all_fixed.clone());
    if pool {
        let (duels, all_fixed) = earlier()?;
        counted.extend(duels);
        counted_fixed.extend(all_fixed);
    }
    let text = table(&counted)? + &beside_fixed(&counted, &counted_fixed)?;
    print!("{text}");
    let facts = json!({
        "summary": format!(
            "Duels of two PostgreSQL servers by `dyno versus --detect 3%`, two clients, slices of half a second. A \
             wrong verdict is a difference between equals, or the slower one called faster. {}{} Ratios and times are \
             the median (minimum–maximum).",
            match cpu.is_empty() {
                true => String::new(),
                false => format!("Servers and load were bound to core {cpu}; other cores had other work. "),
            },
            match pool {
                true => "The table has the duels of this and of earlier results; the file beside it those of this one.",
                false => "",
            }
        ),
        "probe": { "rows": PROBE_ROWS, "ratio": probed },
    });
    let path = archive("verdicts", facts, json!({ "duels": duels, "fixed": all_fixed }), &text)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
