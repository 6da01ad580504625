//! Whether dips get their right causes: runs that are disturbed on purpose at random moments, a run that is left
//! alone, and runs with frequent checkpoints on storage that full page images are too much for, with full page
//! writes and without. Needs root.
//!
//!     cargo bench --bench dip_causes -- [--each 10] [--minutes 6] [--undisturbed 30] [--checkpoints 20]
//!                                       [--kinds lock,cpu] [--seed 1]
//!                                       [--database postgres] [--keep FOLDER] [--dyno PROGRAM]
//!     cargo bench --bench dip_causes -- --database mariadb --each 4   # four kinds of locks, a full log, …
//!     cargo bench --bench dip_causes -- --each 0 --undisturbed 0   # checkpoints alone, half a minute for each of both
//!     cargo bench --bench dip_causes -- --judge FOLDER        # what was kept there, by the rules of now
//!
//! A kind that a machine cannot do is left out, and that is said. A disturbance that makes no dip is made again, up
//! to as many times as was asked for.

use dyno_analysis::analyse;
use dyno_archive::analysis::{Analysis, Cause, Dip};
use dyno_archive::{EventKind, IntervalRow};
use dyno_bench::dips::{
    Database, DisturbedRun, Judged, Kind, Plan, Provocation, Provoked, Score, Verdict, archived, draw, is_open, judge,
};
use dyno_bench::{Result, archive, dyno_binary, option};
use serde::Serialize;
use serde_json::json;
use std::collections::VecDeque;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What was done to a run, beside what dyno archived.
const PROVOKED: &str = "provoked.json";

/// Long enough for the large tables to be filled with dead rows.
const WARMUP_S: u64 = 30;

/// The experiment that is disturbed.
const DISTURBED: &str = "dip-causes.toml";

/// How the folders of runs around checkpoints begin.
const CHECKPOINTS: &str = "checkpoints-full_page_writes=";

/// The time from one of their checkpoints to the next, in seconds.
const CYCLE_S: u64 = 30;

/// What their log may be written with: several times what the updates write, and a fraction of what the images add.
const SLOW_LOG_BYTES_PER_S: u64 = 2_000_000;

/// A dip that begins this soon after a checkpoint did, in seconds, comes after it.
const SOON_S: f64 = 10.0;

/// A run and what became of it.
#[derive(Serialize)]
struct Outcome {
    folder: String,
    measured_s: f64,
    judged: Vec<Judged>,
    /// Dips that nobody provoked.
    others: Vec<Dip>,
    findings: Vec<String>,
    /// When checkpoints began in the time measured.
    checkpoints_s: Vec<f64>,
}

fn main() -> Result<()> {
    let database: Database = option("--database", Database::default())?;
    let each: usize = option("--each", 10)?;
    let undisturbed_minutes: u64 = option("--undisturbed", 30)?;
    let checkpoints: u64 = match database {
        Database::Postgres => option("--checkpoints", 20)?,
        // It has no such images.
        Database::Mariadb => 0,
    };
    let seed: u64 = option("--seed", 1)?;
    let judge_only: String = option("--judge", String::new())?;
    let dyno: PathBuf = option("--dyno", PathBuf::new())?;
    let mut notes = Vec::new();
    let temporary = tempfile::tempdir()?;
    let keep: PathBuf = option("--keep", temporary.path().to_owned())?;
    let folders = if judge_only.is_empty() {
        let kinds = kinds(database)?;
        let mut run = Runs {
            database,
            dyno: if dyno.as_os_str().is_empty() {
                dyno_binary()?
            } else {
                dyno
            },
            keep,
            folders: Vec::new(),
        };
        run.disturbed(&kinds, each, fastrand::Rng::with_seed(seed), &mut notes)?;
        run.undisturbed("undisturbed", undisturbed_minutes)?;
        for full_page_writes in ["on", "off"] {
            run.checkpoints(checkpoints, full_page_writes)?;
        }
        run.folders
    } else {
        let entries = std::fs::read_dir(&judge_only)?.map(|entry| Ok(entry?.path()));
        let mut folders = entries.collect::<Result<Vec<PathBuf>>>()?;
        folders.retain(|folder| folder.join(PROVOKED).exists());
        folders.sort();
        folders
    };
    let outcomes = folders
        .iter()
        .map(|folder| outcome(folder))
        .collect::<Result<Vec<_>>>()?;
    let text = report(&outcomes, &notes);
    print!("{text}");
    if judge_only.is_empty() {
        let facts = json!({
            "summary": format!(
                "`dyno run` on the embedded server ({}), update by primary key, 8 clients, 1,000,000 rows, intervals \
                 of 1 s. Seed {seed}.",
                json!(database).as_str().unwrap_or_default()
            ),
        });
        println!(
            "\nKept in {}",
            archive("dip-causes", facts, json!(outcomes), &text)?.display()
        );
    }
    Ok(())
}

/// The kinds of disturbances asked for.
fn kinds(database: Database) -> Result<Vec<Kind>> {
    let names: String = option("--kinds", String::new())?;
    if names.is_empty() {
        return Ok(Kind::of(database));
    }
    let kinds = names.split(',').map(|name| Ok(serde_json::from_value(json!(name))?));
    let kinds: Vec<Kind> = kinds.collect::<Result<_>>()?;
    match kinds.iter().find(|kind| !Kind::of(database).contains(kind)) {
        Some(other) => Err(format!("this database has no such disturbance: {other}").into()),
        None => Ok(kinds),
    }
}

/// Runs, one after the other, each in a folder of its own.
struct Runs {
    database: Database,
    dyno: PathBuf,
    keep: PathBuf,
    folders: Vec<PathBuf>,
}

impl Runs {
    fn folder(&mut self, name: &str) -> Result<PathBuf> {
        let folder = self.keep.join(format!("{:02}-{name}", self.folders.len() + 1));
        std::fs::create_dir_all(&folder)?;
        self.folders.push(folder.clone());
        Ok(folder)
    }

    /// Disturbs runs until there have been `each` disturbances of every kind that made a dip.
    fn disturbed(
        &mut self,
        kinds: &[Kind],
        each: usize,
        mut random: fastrand::Rng,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let minutes: u64 = option("--minutes", 6)?;
        let mut waiting: VecDeque<Provocation> = draw(kinds, each, &mut random).into();
        // How often each kind may be made again.
        let mut spare = vec![each; Kind::ALL.len()];
        while !waiting.is_empty() {
            let archive = self.folder("disturbed")?;
            let needed_s = waiting.len() as u64 * Provocation::LONGEST_S as u64 + 60;
            let plan = Plan {
                dyno: &self.dyno,
                database: self.database,
                experiment: DISTURBED,
                archive: &archive,
                warmup_s: WARMUP_S,
                measure_s: (minutes * 60).min(needed_s),
                set: Vec::new(),
            };
            let mut run = DisturbedRun::start(&plan)?;
            if !run.has_slow_path() && waiting.iter().any(|one| one.kind.needs_slow_path()) {
                notes.push(
                    "Nothing was provoked that needs slow storage: it cannot be made slow here (control group blkio, \
                     version 1)."
                        .to_owned(),
                );
                waiting.retain(|one| !one.kind.needs_slow_path());
            }
            run.make_ready()?;
            let mut provoked = Vec::new();
            while let Some(at) = waiting.iter().position(|next| run.has_room_for(next)) {
                let next = waiting.remove(at).ok_or("no disturbance is left")?;
                provoked.push(run.provoke(&next)?);
                // After each, so that a bench that is ended leaves something to judge.
                std::fs::write(archive.join(PROVOKED), serde_json::to_vec_pretty(&provoked)?)?;
            }
            run.finish()?;
            for judged in outcome(&archive)?.judged {
                let kind = judged.provoked.kind;
                println!("{kind}: {}", answer(&judged));
                let spare = &mut spare[kind as usize];
                if judged.verdict == Verdict::NoDip && *spare > 0 {
                    *spare -= 1;
                    waiting.push_back(Provocation::draw(kind, &mut random));
                }
            }
        }
        Ok(())
    }

    /// Leaves a run alone.
    fn undisturbed(&mut self, name: &str, minutes: u64) -> Result<()> {
        if minutes == 0 {
            return Ok(());
        }
        let archive = self.folder(name)?;
        let plan = Plan {
            dyno: &self.dyno,
            database: self.database,
            experiment: DISTURBED,
            archive: &archive,
            warmup_s: WARMUP_S,
            measure_s: minutes * 60,
            set: Vec::new(),
        };
        DisturbedRun::start(&plan)?.finish()?;
        Ok(std::fs::write(archive.join(PROVOKED), "[]\n")?)
    }

    /// A run over so many timed checkpoints, with a log that is written slowly.
    fn checkpoints(&mut self, number: u64, full_page_writes: &str) -> Result<()> {
        if number == 0 {
            return Ok(());
        }
        let archive = self.folder(&format!("{CHECKPOINTS}{full_page_writes}"))?;
        let plan = Plan {
            dyno: &self.dyno,
            database: self.database,
            experiment: "full-page-images.toml",
            archive: &archive,
            warmup_s: WARMUP_S,
            measure_s: number * CYCLE_S,
            set: vec![format!("full_page_writes={full_page_writes}")],
        };
        let mut run = DisturbedRun::start(&plan)?;
        run.slow_log(SLOW_LOG_BYTES_PER_S)?;
        run.finish()?;
        Ok(std::fs::write(archive.join(PROVOKED), "[]\n")?)
    }
}

/// Judges a run by what dyno archived and what was done to it.
fn outcome(folder: &Path) -> Result<Outcome> {
    let provoked: Vec<Provoked> = serde_json::from_slice(&std::fs::read(folder.join(PROVOKED))?)?;
    let run = archived(folder)?;
    let Analysis { dips, findings, .. } = analyse(&run);
    let intervals: Vec<IntervalRow> = run.intervals()?.filter(|row| row.phase == "measure").collect();
    let (judged, others) = judge(&provoked, &dips, &intervals);
    let measured = |at_s: &f64| {
        let (first, last) = (intervals.first(), intervals.last());
        first.is_some_and(|row| *at_s >= row.interval_start_s) && last.is_some_and(|row| *at_s < row.interval_start_s)
    };
    let began_s = run.events()?.filter_map(|event| match event.kind {
        EventKind::Checkpoint(checkpoint) => Some(checkpoint.start_s),
        _ => None,
    });
    Ok(Outcome {
        folder: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        measured_s: intervals.iter().map(|row| row.interval_s).sum(),
        judged,
        others,
        findings,
        checkpoints_s: began_s.filter(measured).collect(),
    })
}

/// What was said of dips after checkpoints.
fn after_checkpoints(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let Some((_, full_page_writes)) = outcome.folder.split_once(CHECKPOINTS) else {
            continue;
        };
        if text.is_empty() {
            text.push_str(
                "\n| full_page_writes | checkpoints | dips soon after one | full page images | unknown \
                           or host noise | other causes | dips at other times | full page images |\n\
                           |---|---|---|---|---|---|---|---|\n",
            );
        }
        let soon = |dip: &&Dip| {
            let mut delays = outcome.checkpoints_s.iter().map(|began_s| dip.start_s - began_s);
            delays.any(|delay_s| (-2.0..SOON_S).contains(&delay_s))
        };
        let (after, others): (Vec<&Dip>, Vec<&Dip>) = outcome.others.iter().partition(soon);
        let images = |dips: &[&Dip]| dips.iter().filter(|dip| dip.cause == Cause::FullPageImages).count();
        let open = after.iter().filter(|dip| is_open(dip.cause)).count();
        let _ = writeln!(
            text,
            "| {full_page_writes} | {} | {} | {} | {open} | {} | {} | {} |",
            outcome.checkpoints_s.len(),
            after.len(),
            images(&after),
            after.len() - images(&after) - open,
            others.len(),
            images(&others)
        );
    }
    text
}

/// What was said of a disturbance, in a line.
fn answer(judged: &Judged) -> String {
    let Provoked { start_s, end_s, .. } = judged.provoked;
    let times = format!(
        "{start_s:.1}–{end_s:.1} s, {:.0} of {:.0} TPS",
        judged.mean_tps, judged.usual_tps
    );
    let dip = judged.dip.as_ref().map_or_else(String::new, said);
    format!("{times}: {:?}{dip}", judged.verdict)
}

/// A dip and its evidence, in a line.
fn said(dip: &Dip) -> String {
    let Dip {
        start_s,
        end_s,
        depth_percent,
        cause,
        evidence,
        workload: _,
    } = dip;
    format!(
        ", {start_s:.0}–{end_s:.0} s, {depth_percent:.0} % deep: {cause} ({})",
        evidence.join("; ")
    )
}

fn report(outcomes: &[Outcome], notes: &[String]) -> String {
    // Writing to a String cannot fail.
    let mut text = "| disturbance | made | dips | right | unknown or host noise | wrong | not found |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    let judged: Vec<&Judged> = outcomes.iter().flat_map(|outcome| &outcome.judged).collect();
    let mut all = Score::default();
    let row = |text: &mut String, name: &str, score: Score| {
        let Score {
            provoked,
            dipped,
            right,
            open,
            wrong,
            missed,
        } = score;
        let share = 100.0 * right as f64 / dipped.max(1) as f64;
        let _ = writeln!(
            text,
            "| {name} | {provoked} | {dipped} | {right} ({share:.0} %) | {open} | {wrong} | {missed} |"
        );
    };
    for kind in Kind::ALL {
        let score = Score::of(kind, judged.iter().copied());
        if score.provoked > 0 {
            row(&mut text, &kind.to_string(), score);
            all = all.and(score);
        }
    }
    row(&mut text, "all", all);
    for note in notes {
        let _ = write!(text, "\n{note}\n");
    }
    text.push_str(&after_checkpoints(outcomes));
    let _ = write!(text, "\nAnswers that were not right:\n\n");
    for outcome in outcomes {
        for judged in &outcome.judged {
            if !matches!(judged.verdict, Verdict::Right | Verdict::NoDip) {
                let _ = writeln!(
                    text,
                    "* run {}, {}: {}",
                    outcome.folder,
                    judged.provoked.kind,
                    answer(judged)
                );
            }
        }
    }
    for outcome in outcomes {
        let named = outcome.others.iter().filter(|dip| !is_open(dip.cause)).count();
        let _ = write!(
            text,
            "\nRun {}, {:.0} minutes, {} disturbances: {} other dips, {named} of them with a cause.\n\n",
            outcome.folder,
            outcome.measured_s / 60.0,
            outcome.judged.len(),
            outcome.others.len(),
        );
        for dip in &outcome.others {
            let _ = writeln!(text, "* {}", said(dip).trim_start_matches(", "));
        }
        for finding in &outcome.findings {
            let _ = writeln!(text, "* found for the whole run: {finding}");
        }
    }
    text
}
