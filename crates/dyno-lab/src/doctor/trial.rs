//! A trial of a server: what its own kind of database has to try, then the experiments of the shelf for it, each for a
//! few seconds, and in the end nothing of it is left. Everything is told line by line, so that an account of it is as
//! long as the trial got.

use crate::experiment;
use crate::run::{self, Emergency, Progress};
use dyno_analysis::progress::FinishedRun;
use dyno_archive::RunState;
use dyno_archive::plan::Size;
use dyno_engine::{Stop, ThreadOptions};
use dyno_record::{Examination, Mark, Topic};
use dyno_target::target::{
    Chosen, Environment, Target, TargetError, Trial, Tried, Verdict, text_without_secrets, without_secrets,
};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// What is set in all experiments of a trial, beside what their small size says.
const SET: [(&str, &str); 2] = [("warmup", "1s"), ("measure", "5s")];

/// The seed of all of them, so that two trials do the same.
const SEED: u64 = 1;

/// The parameter for the number of rows, which not all experiments have.
const ROWS: &str = "rows";

/// How the names of the folders of trials begin; the number of the process follows.
const FOLDER: &str = "dyno-trial-";

/// What is to be tried.
pub struct TrialRequest<'a> {
    /// The database, as it is named for a run.
    pub target: &'a str,
    /// What is set in its experiments, in place of what a trial sets.
    pub set: &'a [(String, String)],
    /// Looks up variables that addresses and folders depend on.
    pub environment: Environment<'a>,
}

/// There is nothing to try.
#[derive(Debug, thiserror::Error)]
#[error(
    "{target} cannot be tried: a trial is for Oracle servers that are not dyno's own, because only they could never be \
     tried where dyno is made; to see whether a load can run, leave out --trial"
)]
struct NoTrial {
    target: String,
}

/// How many things came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// As they should.
    pub good: usize,
    /// Not as they should.
    pub different: usize,
    /// Not at all.
    pub failed: usize,
}

impl Tally {
    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Good => self.good += 1,
            Verdict::Different => self.different += 1,
            Verdict::Failed => self.failed += 1,
        }
    }

    /// Whether all came out as it should.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.different + self.failed == 0
    }
}

/// Whether a trial is worth beginning: one of a server that lets nobody in would only fail to log in again and again,
/// for which servers lock accounts.
#[must_use]
pub fn is_worth_a_trial(examination: &Examination) -> bool {
    let mut findings = examination.findings.iter();
    findings.all(|finding| finding.topic != Topic::Server || finding.mark < Mark::Problem)
}

/// Makes a trial, telling of it line by line without any secret. The server is as it was before when this returns,
/// unless the last lines say otherwise.
///
/// # Errors
/// The database's name cannot be understood, or there is no trial of such.
pub fn trial(
    request: &TrialRequest<'_>,
    stop: &Stop,
    emergency: &Emergency,
    tell: &mut dyn FnMut(&str),
) -> Result<Tally, TargetError> {
    let trial = of(request, stop)?;
    let typed = [request.target.to_owned()];
    let mut tell = |line: &str| tell(&text_without_secrets(&trial.without_secrets(line), &typed));
    Ok(all(request, &*trial, stop, emergency, &mut tell))
}

/// Makes sure that there is something to try.
///
/// # Errors
/// As for [`trial`].
pub fn can_be_tried(request: &TrialRequest<'_>, stop: &Stop) -> Result<(), TargetError> {
    of(request, stop).map(drop)
}

fn of(request: &TrialRequest<'_>, stop: &Stop) -> Result<Box<dyn Trial>, TargetError> {
    let own = match Target::named(request.target, request.environment, &stop.flag())? {
        Target::External(server) => server.trial(),
        Target::Embedded(_) => None,
    };
    own.ok_or_else(|| {
        TargetError::other(NoTrial {
            target: without_secrets(request.target),
        })
    })
}

fn all(
    request: &TrialRequest<'_>,
    trial: &dyn Trial,
    stop: &Stop,
    emergency: &Emergency,
    tell: &mut dyn FnMut(&str),
) -> Tally {
    let mut tally = Tally::default();
    let mut told = |tried: &Tried, tell: &mut dyn FnMut(&str)| {
        tally.count(tried.verdict);
        lines(tried, tell);
    };
    let lock = match trial.reserve() {
        Ok(lock) => lock,
        Err(error) => {
            told(
                &Tried::new("reserving the server", Verdict::Failed, error.to_string()),
                tell,
            );
            return tally;
        }
    };
    tell("\nStatements, by dyno's own session and by Oracle's crate");
    trial.statements(&stop.flag(), &mut |tried| told(&tried, tell));
    tell("\nExperiments, at their small size, for some seconds each; settings are left as they are");
    match folder() {
        Ok(archive) => {
            for chosen in trial.experiments() {
                if stop.requested() {
                    break;
                }
                told(&experiment(chosen, request, archive.path(), stop, emergency), tell);
            }
        }
        Err(error) => {
            let error = format!("cannot make a folder in {}: {error}", std::env::temp_dir().display());
            told(
                &Tried::new("a folder for what they measure", Verdict::Failed, error),
                tell,
            );
        }
    }
    tell("\nTidying up");
    drop(lock);
    if stop.requested() {
        tell("  The trial was ended before its time; what was not tried by then is not above.");
    }
    let what = "tables of the trial";
    let removed = match trial.clean_up() {
        Ok(()) => Tried::new(what, Verdict::Good, "removed: nothing of it is left on the server"),
        Err(error) => Tried::new(
            what,
            Verdict::Failed,
            format!(
                "NOT removed: {error}; when the server answers, the next trial removes them, and so does dyno clean \
                 --target {} --yes",
                without_secrets(request.target)
            ),
        ),
    };
    told(&removed, tell);
    tally
}

/// A thing that was tried, in lines.
fn lines(tried: &Tried, tell: &mut dyn FnMut(&str)) {
    let mark = match tried.verdict {
        Verdict::Good => "ok",
        Verdict::Different => "DIFFERS",
        Verdict::Failed => "FAILED",
    };
    let found: Vec<&str> = tried.found.lines().map(str::trim).collect();
    tell(&format!("  {mark:<7}  {}: {}", tried.what, found.join(" ")));
    for detail in &tried.details {
        tell(&format!("             {detail}"));
    }
}

/// Runs an experiment as `dyno run` does.
fn experiment(
    chosen: &Chosen,
    request: &TrialRequest<'_>,
    archive: &Path,
    stop: &Stop,
    emergency: &Emergency,
) -> Tried {
    let failed = |error: &dyn std::fmt::Display| Tried::new(chosen.name, Verdict::Failed, error.to_string());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = match experiment::find(chosen.name) {
        Ok(experiment) => experiment.plan(Size::Small, &settings(chosen, request), Some(1), SEED, cores),
        Err(error) => return failed(&error),
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => return failed(&error),
    };
    let request = run::Request {
        label: None,
        series: None,
        plan,
        target: Some(request.target.to_owned()),
        archive: archive.to_owned(),
        command: "dyno doctor --trial".to_owned(),
        restart_command: None,
        leave_settings: true,
        share_server: false,
        sampling: true,
        threads: ThreadOptions::default(),
        environment: request.environment,
    };
    let mut heard = Heard::default();
    let done = run::run(&request, &mut heard, stop, emergency);
    let tried = match (done, heard.finished) {
        (Err(error), None) => failed(&error),
        (Ok(finished), None) => failed(&finished.failure.unwrap_or_else(|| "it did not begin".to_owned())),
        (_, Some((verdict, found))) => Tried::new(chosen.name, verdict, found),
    };
    tried.with(heard.notes)
}

/// What is set in an experiment, what stands later taking the place of what stands before it.
fn settings(chosen: &Chosen, request: &TrialRequest<'_>) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut all: Vec<(String, String)> = SET.iter().chain(chosen.set).map(owned).collect();
    for (name, value) in request.set {
        if name == ROWS && !chosen.has_rows {
            continue;
        }
        all.retain(|(known, _)| known != name);
        all.push((name.clone(), value.clone()));
    }
    // A comma in it separates hosts, not levels.
    all.push(("target".to_owned(), request.target.replace(',', "\\,")));
    all
}

/// What is heard of a run.
#[derive(Default)]
struct Heard {
    notes: Vec<String>,
    /// How it came out, in a line.
    finished: Option<(Verdict, String)>,
}

impl Progress for Heard {
    fn note(&mut self, text: &str) {
        self.notes
            .extend(text.lines().map(|line| format!("note: {}", line.trim())));
    }

    fn finished(&mut self, run: &FinishedRun) {
        let figures = run.summary.as_ref().and_then(|summary| summary.workloads.first());
        let mut found = figures.map_or_else(
            || "no figures".to_owned(),
            |figures| {
                let latency = figures.latency.as_ref().map_or_else(String::new, |latency| {
                    format!(
                        ", p50 {:.3} ms, p99 {:.3} ms",
                        latency.p50_us / 1e3,
                        latency.p99_us / 1e3
                    )
                });
                format!("{:.0} TPS{latency}, {} errors", figures.tps, figures.errors)
            },
        );
        let errors = figures.map_or(0, |figures| figures.errors);
        for error in figures.iter().flat_map(|figures| &figures.errors_by_state) {
            self.notes
                .push(format!("{} × {}: {}", error.count, error.sqlstate, error.example));
        }
        if let Some(failure) = &run.failure {
            found = format!("{found}; {failure}");
        }
        let verdict = match (run.state, errors) {
            (RunState::Complete, 0) => Verdict::Good,
            (RunState::Complete | RunState::Faulty, _) => Verdict::Different,
            _ => Verdict::Failed,
        };
        self.finished = Some((verdict, found));
    }
}

/// A new folder for the campaigns of a trial, which goes with it. What killed trials left is removed.
fn folder() -> std::io::Result<TempDir> {
    let beside = std::env::temp_dir();
    for entry in fs::read_dir(&beside)?.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(FOLDER)?.split('-').next());
        if owner.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()) {
            // Another user's cannot be removed, and need not be.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let prefix = format!("{FOLDER}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_sets_takes_the_place_of_what_a_trial_sets() {
        let set = [("measure", "1s"), ("rows", "10")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = TrialRequest {
            target: "oracle://bench@one,two/shop",
            set: &set,
            environment: &|_| None,
        };
        let shown = |has_rows| {
            let chosen = Chosen {
                name: "x",
                has_rows,
                set: &[("from", "network")],
            };
            let all = settings(&chosen, &request);
            let each = all.iter().map(|(name, value)| format!("{name}={value}"));
            each.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            shown(true),
            "warmup=1s from=network measure=1s rows=10 target=oracle://bench@one\\,two/shop"
        );
        assert!(!shown(false).contains("rows"));
    }

    #[test]
    fn things_are_counted_by_how_they_came_out() {
        let mut tally = Tally::default();
        tally.count(Verdict::Good);
        tally.count(Verdict::Good);
        assert!(tally.is_good());
        tally.count(Verdict::Different);
        assert_eq!((tally.good, tally.different, tally.failed), (2, 1, 0));
        assert!(!tally.is_good());
    }
}
