//! Whether the verdicts of `dyno versus` are right: duels of two equal servers, and of two of which one is slowed down
//! on purpose by a known part, each until the question is answered or its time is over.
//!
//!     cargo bench --bench verdicts -- [--slowdowns 0,3,5,10] [--duels 10] [--at-most 1m,8m,3m,1m]
//!                                     [--beside noise] [--fixed 0] [--repeated 0] [--cpu 0]
//!                                     [--pool 2026-11,...] [--minutes 0]
//!
//! `--fixed 10` adds as many comparisons of two equal servers that are measured one after the other, each for 20 s, in
//! turn with duels: how much their ratios scatter says how long it would take to know as much in that way.
//! `--repeated 5` answers the question about as many of each slow-down by runs of 20 s, as many as it takes. `--cpu 0`
//! binds all of it to one core, where the others have other work.
//!
//! A slow-down is made by the server: each statement counts rows for nothing, as many as a first, long duel found to
//! take the time. `--beside noise` has a process work now and then beside the duels. Duels take long, so they may be
//! made in several sittings: `--minutes 60` begins no round after that time, SIGTERM has what is under way be the last,
//! and `--pool 2026-11` counts earlier results in the table, too, those whose names begin so. `--duels 0` with it makes
//! none.

mod apart;
mod duels;

use apart::{Fixed, Repeated, beside_fixed, beside_repeated, fixed, repeated};
use duels::{Duel, judged, probe, table};
use dyno_bench::{Result, archive, dyno_binary, option};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use signal_hook::consts::SIGTERM;
use std::os::unix::process::CommandExt;
use std::path::Path;
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

/// A load that works and rests in turn, for lengths of time that follow no clock of a duel's.
const NOISE: &str = "while :; do timeout --foreground 1.3 sh -c 'while :; do :; done'; sleep 2.9; done";

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

/// What was made, as it is kept.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Made {
    duels: Vec<Duel>,
    fixed: Vec<Fixed>,
    repeated: Vec<Repeated>,
}

impl Made {
    /// Adds what earlier results of this bench have whose names begin with one of these.
    fn add_earlier(&mut self, begins: &[&str]) -> Result<()> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with("-verdicts.json") && begins.iter().any(|begin| name.starts_with(begin)) {
                let mut kept: Value = serde_json::from_slice(&std::fs::read(entry.path())?)?;
                let earlier: Self = serde_json::from_value(kept["results"].take())?;
                self.duels.extend(earlier.duels);
                self.fixed.extend(earlier.fixed);
                self.repeated.extend(earlier.repeated);
            }
        }
        Ok(())
    }

    fn text(&self) -> Result<String> {
        Ok(table(&self.duels)?
            + &beside_fixed(&self.duels, &self.fixed)?
            + &beside_repeated(&self.duels, &self.repeated)?)
    }
}

fn main() -> Result<()> {
    let slowdowns: String = option("--slowdowns", "0,3,5,10".to_owned())?;
    let times: String = option("--at-most", "1m,8m,3m,1m".to_owned())?;
    let each: usize = option("--duels", 10)?;
    let noise = option("--beside", String::new())? == "noise";
    let fixed_rounds: usize = option("--fixed", 0)?;
    let repeated_rounds: usize = option("--repeated", 0)?;
    let cpu: String = option("--cpu", String::new())?;
    let minutes: u64 = option("--minutes", 0)?;
    let pool: String = option("--pool", String::new())?;
    let pooled: Vec<&str> = pool.split(',').filter(|begin| !begin.is_empty()).collect();
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
    let probed = match each > 0 && slowdowns.iter().any(|percent| *percent > 0) {
        true => Some(probe(&dyno, &slower_by(PROBE_ROWS), PROBE)?),
        false => None,
    };
    let _noise = noise.then(Noise::start).transpose()?;
    let mut made = Made::default();
    let begun = Instant::now();
    let ended = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, Arc::clone(&ended))?;
    let is_ended = || ended.load(Ordering::Relaxed);
    let is_over = || is_ended() || minutes > 0 && begun.elapsed().as_secs() >= 60 * minutes;
    // One of each kind in turn, so that no kind has the better hours.
    for number_of in (1..=each).take_while(|_| !is_over()) {
        if number_of <= fixed_rounds {
            made.fixed.push(fixed(&dyno, noise)?);
            println!("{number_of}/{each}: {:?}", made.fixed.last());
        }
        for (at, percent) in slowdowns.iter().enumerate().take_while(|_| !is_ended()) {
            let at_most = times.get(at).or(times.last()).copied().unwrap_or("1m");
            let variants = match probed {
                Some(ratio) if *percent > 0 => slower_by(rows_for(*percent, ratio)),
                _ => "side=1,2".to_owned(),
            };
            made.duels.push(judged(&dyno, &variants, *percent, noise, at_most)?);
            println!("{number_of}/{each}: {:?}", made.duels.last());
            if number_of <= repeated_rounds && *percent > 0 && !is_ended() {
                made.repeated.push(repeated(&dyno, &variants, *percent, noise)?);
                println!("{number_of}/{each}: {:?}", made.repeated.last());
            }
        }
    }
    let mut counted = made.clone();
    counted.add_earlier(&pooled)?;
    let text = counted.text()?;
    print!("{text}");
    let facts = json!({
        "summary": format!(
            "Duels of two PostgreSQL servers by `dyno versus --detect 3%`, two clients, slices of half a second. A \
             wrong verdict is a difference between equals, or the slower one called faster or the same. {}{} Ratios \
             and times are the median (minimum–maximum).",
            match cpu.is_empty() {
                true => String::new(),
                false => format!("Servers and load were bound to core {cpu}; other cores had other work. "),
            },
            match pooled.is_empty() {
                true => String::new(),
                false => format!(
                    "The table has these duels and those of earlier results ({}); the file beside it these alone.",
                    pooled.join(", ")
                ),
            }
        ),
        "probe": { "rows": PROBE_ROWS, "ratio": probed },
    });
    let path = archive("verdicts", facts, serde_json::to_value(&made)?, &text)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
