//! A campaign's folder and `campaign.json`.

use crate::plan::{
    Cell, ErrorLimit, Factor, Levels, OnFailure, Order, Plan, PlannedRun, Publication, Resolved, SharedDefaults,
    harmless,
};
use crate::{
    ArchiveError, CAMPAIGN_JSON, CapacitySearch, EARLIER, FORMAT, Run, RunRecord, RunState, RunWriter, Screening,
    Turns, open_regular, replace_json,
};
use jiff::Zoned;
use nix::unistd::AccessFlags;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// What one invocation set out to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignRecord {
    /// The format of the folder, see [`FORMAT`].
    pub format: u32,
    /// The version of dyno that wrote it.
    pub dyno_version: String,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The command line, without passwords; as a shell would read it.
    pub command: String,
    /// When it began, with the local time zone.
    pub started: Zoned,
    /// From which all random numbers of the campaign follow.
    pub seed: u64,
    /// The experiment with nothing left open: that of the first cell.
    pub experiment: Resolved,
    /// The runs in the order in which they are made.
    pub runs: Vec<PlannedRun>,
    /// What is varied; empty if nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// Cells with these levels are what the others are compared with; empty: none are.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub baseline: Levels,
    /// The different things to measure; empty for a load that dyno did not plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
    /// What the experiment's source published.
    #[serde(default, skip_serializing_if = "Publication::is_empty")]
    pub published: Publication,
    /// What the experiment has from the file that its folder shares.
    #[serde(default, skip_serializing_if = "SharedDefaults::is_empty")]
    pub defaults: SharedDefaults,
    /// The series that it is a part of, by the folder that this had when it began; absent if of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// How the order of the runs came about.
    #[serde(default)]
    pub order: Order,
    /// That cells are measured in turn; absent if runs are made one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// That cells are measured in pairs, to find out which factors matter; absent if that was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<Screening>,
    /// That its only run seeks the highest load that holds limits; absent if that was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacitySearch>,
    /// What is done after a run that failed.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// The share of errors, in percent, with which a run still counts. Earlier dynos had none, and their runs are
    /// judged by the usual one.
    #[serde(default)]
    pub max_errors_percent: ErrorLimit,
    /// The databases as they were asked for, without passwords.
    #[serde(default)]
    pub target: String,
    /// Whether counters are read while the load runs.
    #[serde(default = "yes")]
    pub sampling: bool,
    /// Whether servers that are not dyno's own keep their settings.
    #[serde(default)]
    pub leave_settings: bool,
    /// Whether other dynos may measure on the same server at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_server: bool,
    /// The command that restarts a server that is not dyno's own, without passwords.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_command: Option<String>,
    /// How the load's threads are to move bytes, as it was asked for.
    #[serde(default = "auto")]
    pub transport: String,
    /// The CPUs that they are bound to; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cpus: String,
}

/// What is taken if nothing else is asked for.
fn auto() -> String {
    "auto".to_owned()
}

/// What the campaigns of earlier dynos did.
fn yes() -> bool {
    true
}

/// Makes a campaign's folder and the folders of its runs. While there is one, `campaign.json` is locked: two dynos
/// never work on one campaign.
#[derive(Debug)]
pub struct CampaignWriter {
    path: PathBuf,
    lock: File,
    /// The archive's folder, if it was made for this campaign.
    new_archive: Option<PathBuf>,
}

impl CampaignWriter {
    /// Makes a new folder in `archive` (which is made if need be), named by time and label or experiment, and writes
    /// `campaign.json` into it.
    ///
    /// # Errors
    ///
    /// If folder or file cannot be written.
    pub fn create(archive: &Path, record: &CampaignRecord) -> Result<Self, ArchiveError> {
        let new_archive = (!archive.exists()).then(|| archive.to_owned());
        fs::create_dir_all(archive).map_err(ArchiveError::write(archive))?;
        let called = record.label.as_ref().unwrap_or(&record.experiment.name);
        let called: String = called.chars().map(harmless).take(100).collect();
        let name = format!("{}-{called}", record.started.strftime("%Y-%m-%dT%H-%M-%S"));
        let path = unique_folder(archive, &name)?;
        let written = replace_json(&path.join(CAMPAIGN_JSON), record).and_then(|()| lock(&path));
        let lock = written.inspect_err(|_| {
            // A folder without the record is no campaign.
            let _ = fs::remove_dir_all(&path);
        })?;
        Ok(Self {
            path,
            lock,
            new_archive,
        })
    }

    /// Takes up the campaign in the folder `path` again, to make the runs that it lacks.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::InUse`], or the folder is no campaign.
    pub fn resume(path: PathBuf) -> Result<Self, ArchiveError> {
        let lock = lock(&path)?;
        Ok(Self {
            path,
            lock,
            new_archive: None,
        })
    }

    /// Removes the folder with everything in it: a campaign that measured nothing is nothing to keep.
    pub fn discard(self) {
        // What cannot be removed reads as a campaign without figures, which it is.
        let _ = fs::remove_dir_all(&self.path);
        if let Some(archive) = &self.new_archive {
            // Another campaign may have come to it.
            let _ = fs::remove_dir(archive);
        }
    }

    /// Writes `campaign.json` anew: less is to be done than was planned.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn replan(&mut self, record: &CampaignRecord) -> Result<(), ArchiveError> {
        replace_json(&self.path.join(CAMPAIGN_JSON), record)?;
        // The lock was that of the file before.
        self.lock = lock(&self.path)?;
        Ok(())
    }

    /// The campaign's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder of a run and begins to write it.
    ///
    /// # Errors
    ///
    /// If folder or files cannot be written, or the run was made before.
    pub fn run(&self, run: &PlannedRun, record: RunRecord) -> Result<RunWriter, ArchiveError> {
        RunWriter::create(self.folder(run)?, record)
    }

    /// Keeps a run that could not begin: its folder gets `record`, unless it says already why it failed. Gives back
    /// the folder.
    ///
    /// # Errors
    ///
    /// If folder or file cannot be written.
    pub fn failed(&self, run: &PlannedRun, record: &RunRecord) -> Result<PathBuf, ArchiveError> {
        let path = self.path.join(run.folder());
        // Where the load was about to begin there is a folder, and it may say so itself.
        let left = Run::read(path.clone());
        if left.is_none() {
            self.folder(run)?;
        }
        if left.is_none_or(|left| left.state != RunState::Failed) {
            record.write(&path)?;
        }
        Ok(path)
    }

    fn folder(&self, run: &PlannedRun) -> Result<PathBuf, ArchiveError> {
        let path = self.path.join(run.folder());
        fs::create_dir(&path).map_err(ArchiveError::write(&path))?;
        Ok(path)
    }

    /// Makes way for another attempt at a run: what an earlier one left is kept in the folder `earlier`, where it
    /// counts for nothing.
    ///
    /// # Errors
    ///
    /// If it cannot be moved.
    pub fn set_aside(&self, run: &PlannedRun) -> Result<(), ArchiveError> {
        let name = run.folder();
        let path = self.path.join(&name);
        // A kill may leave a folder that is still empty: nothing to keep.
        if !path.exists() || fs::remove_dir(&path).is_ok() {
            return Ok(());
        }
        let earlier = self.path.join(EARLIER);
        fs::create_dir_all(&earlier).map_err(ArchiveError::write(&earlier))?;
        let free = |number: usize| Some(earlier.join(format!("{name}-attempt{number}"))).filter(|path| !path.exists());
        let kept = (1..).find_map(free).unwrap_or_else(|| earlier.join(&name));
        fs::rename(&path, &kept).map_err(ArchiveError::write(&kept))
    }
}

impl Drop for CampaignWriter {
    /// Releases the lock at once: closing alone would leave it to a child process that is just being started and
    /// still holds a copy of the file.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Locks the campaign in the folder `path`. A file system without locks is no reason to fail.
fn lock(path: &Path) -> Result<File, ArchiveError> {
    let plan = path.join(CAMPAIGN_JSON);
    let file = open_regular(&plan).map_err(ArchiveError::read(&plan))?;
    // Whoever looks whether it is locked holds it for an instant.
    for _ in 0..5 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
    Err(ArchiveError::InUse { path: path.to_owned() })
}

impl CampaignRecord {
    /// A record with the format and version of this program.
    #[must_use]
    pub fn new(experiment: Resolved, command: String, started: Zoned, seed: u64, runs: Vec<PlannedRun>) -> Self {
        let dyno_version = env!("CARGO_PKG_VERSION").to_owned();
        Self {
            format: FORMAT,
            dyno_version,
            label: None,
            command,
            started,
            seed,
            target: String::new(),
            experiment,
            runs,
            factors: Vec::new(),
            baseline: Levels::new(),
            cells: Vec::new(),
            published: Publication::default(),
            defaults: SharedDefaults::default(),
            series: None,
            order: Order::default(),
            turns: None,
            screen: None,
            capacity: None,
            on_failure: OnFailure::default(),
            max_errors_percent: ErrorLimit::default(),
            sampling: true,
            leave_settings: false,
            share_server: false,
            restart_command: None,
            transport: auto(),
            cpus: String::new(),
        }
    }

    /// A record of `plan`; `None` if it has no cell.
    #[must_use]
    pub fn of(plan: &Plan, command: String, started: Zoned) -> Option<Self> {
        let first = plan.cells.first()?;
        let record = Self::new(first.experiment.clone(), command, started, plan.seed, plan.runs.clone());
        Some(Self {
            factors: plan.factors.clone(),
            baseline: plan.baseline.clone(),
            cells: plan.cells.clone(),
            published: plan.published.clone(),
            defaults: plan.defaults.clone(),
            order: plan.order,
            turns: plan.turns.clone(),
            screen: plan.screen,
            capacity: plan.capacity.clone(),
            on_failure: plan.on_failure,
            max_errors_percent: plan.max_errors,
            ..record
        })
    }

    /// What it set out to do. Passwords are not in it; it has no cells if dyno did not plan it.
    #[must_use]
    pub fn plan(&self) -> Plan {
        Plan {
            factors: self.factors.clone(),
            cells: self.cells.clone(),
            runs: self.runs.clone(),
            order: self.order,
            on_failure: self.on_failure,
            max_errors: self.max_errors_percent,
            baseline: self.baseline.clone(),
            seed: self.seed,
            published: self.published.clone(),
            defaults: self.defaults.clone(),
            turns: self.turns.clone(),
            screen: self.screen,
            capacity: self.capacity.clone(),
        }
    }
}

/// Makes sure that `archive` can be written, or be made where it is to be, before hours are spent on what it is to
/// hold. Nothing is made yet.
///
/// # Errors
///
/// If it is no folder, or lies in one that may not be written.
pub fn check_writable(archive: &Path) -> Result<(), ArchiveError> {
    let existing = archive.ancestors().find(|path| path.exists());
    let existing = existing.unwrap_or(Path::new("."));
    if !existing.is_dir() {
        let cause = "it is a file, not a folder; choose another folder with --archive";
        return Err(ArchiveError::write(existing)(io::Error::new(
            ErrorKind::NotADirectory,
            cause,
        )));
    }
    nix::unistd::access(existing, AccessFlags::W_OK | AccessFlags::X_OK)
        .map_err(|errno| ArchiveError::write(existing)(errno.into()))
}

/// Makes the folder `name`, or `name-2` and so on if it exists: two campaigns may begin in the same second.
pub(crate) fn unique_folder(archive: &Path, name: &str) -> Result<PathBuf, ArchiveError> {
    let mut path = archive.join(name);
    let mut number = 1;
    loop {
        match fs::create_dir(&path) {
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists && number < 10_000 => {
                number += 1;
                path = archive.join(format!("{name}-{number}"));
            }
            result => return result.map_err(ArchiveError::write(&path)).map(|()| path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Campaign;
    use std::time::Duration;
    use tempfile::TempDir;

    fn record() -> CampaignRecord {
        let experiment = Resolved::of_load("pk-update".to_owned(), "Updates".to_owned(), Vec::new());
        let plan = Plan {
            factors: Vec::new(),
            cells: vec![Cell {
                levels: Levels::new(),
                experiment,
            }],
            runs: vec![PlannedRun::repetition(1), PlannedRun::repetition(2)],
            order: Order::default(),
            on_failure: OnFailure::default(),
            max_errors: ErrorLimit::default(),
            baseline: Levels::new(),
            seed: 7,
            published: Publication::default(),
            defaults: SharedDefaults::default(),
            turns: None,
            screen: None,
            capacity: None,
        };
        CampaignRecord::of(&plan, "dyno run pk-update".to_owned(), Zoned::now()).unwrap()
    }

    fn failed(reason: &str) -> RunRecord {
        let record = RunRecord::new(String::new(), String::new(), Vec::new(), &[], Duration::from_secs(1));
        RunRecord {
            state: RunState::Failed,
            failure: Some(reason.to_owned()),
            ..record
        }
    }

    #[test]
    fn what_was_planned_is_read_back_whole() {
        let archive = TempDir::new().unwrap();
        let written = record();
        let campaign = CampaignWriter::create(archive.path(), &written).unwrap();
        let read = Campaign::read(campaign.path().to_owned()).unwrap().record.unwrap();
        assert_eq!(read, written);
        assert_eq!(read.plan().runs.len(), 2);
        assert_eq!(read.plan().cells, written.cells);
    }

    #[test]
    fn one_dyno_at_a_time() {
        let archive = TempDir::new().unwrap();
        let campaign = CampaignWriter::create(archive.path(), &record()).unwrap();
        let path = campaign.path().to_owned();
        assert!(Campaign::read(path.clone()).unwrap().is_under_way());
        assert!(matches!(
            CampaignWriter::resume(path.clone()),
            Err(ArchiveError::InUse { .. })
        ));
        drop(campaign);
        assert!(!Campaign::read(path.clone()).unwrap().is_under_way());
        CampaignWriter::resume(path).unwrap();
    }

    #[test]
    fn earlier_attempts_are_kept_and_never_counted() {
        let archive = TempDir::new().unwrap();
        let record = record();
        let campaign = CampaignWriter::create(archive.path(), &record).unwrap();
        let run = &record.runs[0];
        // Nothing is there yet, or nothing in it.
        campaign.set_aside(run).unwrap();
        fs::create_dir(campaign.path().join(run.folder())).unwrap();
        campaign.set_aside(run).unwrap();
        assert!(!campaign.path().join(EARLIER).exists());
        for attempt in ["first", "second"] {
            campaign.failed(run, &failed(attempt)).unwrap();
            campaign.set_aside(run).unwrap();
        }
        campaign.failed(run, &failed("third")).unwrap();
        let mut kept: Vec<_> = fs::read_dir(campaign.path().join(EARLIER))
            .unwrap()
            .map(|folder| folder.unwrap().file_name().into_string().unwrap())
            .collect();
        kept.sort();
        assert_eq!(kept, ["001-rep1-attempt1", "001-rep1-attempt2"]);
        let read = Campaign::read(campaign.path().to_owned()).unwrap();
        assert_eq!(read.runs.len(), 1);
        assert_eq!(read.runs[0].record.as_ref().unwrap().failure.as_deref(), Some("third"));
        assert!(!read.has(run));
    }

    #[test]
    fn a_run_that_has_said_why_it_failed_is_left_at_that() {
        let archive = TempDir::new().unwrap();
        let record = record();
        let campaign = CampaignWriter::create(archive.path(), &record).unwrap();
        let folder = campaign.failed(&record.runs[0], &failed("itself")).unwrap();
        assert_eq!(campaign.failed(&record.runs[0], &failed("another")).unwrap(), folder);
        let read = Campaign::read(campaign.path().to_owned()).unwrap();
        assert_eq!(read.runs[0].record.as_ref().unwrap().failure.as_deref(), Some("itself"));
        assert_eq!(read.runs[0].state, RunState::Failed);
        // One that was about to begin has yet to say it.
        let running = RunRecord {
            state: RunState::Running,
            ..failed("")
        };
        drop(campaign.run(&record.runs[1], running).unwrap());
        campaign.failed(&record.runs[1], &failed("late")).unwrap();
        let read = Campaign::read(campaign.path().to_owned()).unwrap();
        assert_eq!(read.runs[1].record.as_ref().unwrap().failure.as_deref(), Some("late"));
        assert_eq!(read.runs[1].state, RunState::Failed);
    }

    #[test]
    fn a_campaign_that_is_discarded_leaves_the_archive_as_it_was() {
        let folder = TempDir::new().unwrap();
        let archive = folder.path().join("archive");
        CampaignWriter::create(&archive, &record()).unwrap().discard();
        assert!(!archive.exists());
        fs::create_dir(&archive).unwrap();
        CampaignWriter::create(&archive, &record()).unwrap().discard();
        assert!(archive.exists());
    }
}
