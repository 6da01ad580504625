//! Campaigns and runs in a few words, for lists of many: of each file only what a list shows is read, which takes a
//! small part of the time that all of it would take.

use crate::append::AppendFile;
use crate::plan::{ErrorLimit, Size};
use crate::reader::{folders, name_of, read_json};
use crate::summary::StageWorkload;
use crate::{ArchiveError, CAMPAIGN_JSON, INTERVALS_CSV, RUN_JSON, RunState};
use indexmap::IndexMap;
use jiff::Zoned;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};

/// What the names of records of changed settings begin with and end with.
const RESTORE: (&str, &str) = ("restore", ".json");

/// What a list shows of a campaign: some of `campaign.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignOutline {
    /// When it began.
    pub started: Zoned,
    /// What the user calls it.
    pub label: Option<String>,
    /// The experiment's name.
    pub experiment: String,
    /// The experiment's title.
    pub title: String,
    /// How much of the experiment is done.
    pub size: Option<Size>,
    /// The databases as they were asked for.
    pub target: String,
    /// The names of what is varied.
    pub factors: Vec<String>,
    /// How many runs are planned.
    pub planned: usize,
}

/// What a list shows of a run: some of `run.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutline {
    /// How far it came, according to the file; see [`RunOutline::state_in`].
    pub recorded_state: RunState,
    /// Transactions per second of all workloads together; `None` without a summary.
    pub tps: Option<f64>,
    /// The 99th percentile of the latency of each workload that completed any transaction, in microseconds; of
    /// several stages that of each.
    pub p99_us: IndexMap<String, Vec<f64>>,
    /// Transactions that ended with an error, of all workloads together.
    pub errors: u64,
}

/// The folders of campaigns in the archive `path`, the oldest first; none if there is no archive. A folder without
/// `campaign.json` and without runs is no campaign.
///
/// # Errors
///
/// If the folder cannot be read.
pub fn campaign_folders(path: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let is_campaign = |path: &PathBuf| path.join(CAMPAIGN_JSON).is_file() || !run_folders(path).is_empty();
    Ok(folders(path)?.into_iter().filter(is_campaign).collect())
}

/// The folders of runs in the folder of a campaign, in order; none if it cannot be read.
#[must_use]
pub fn run_folders(campaign: &Path) -> Vec<PathBuf> {
    let is_run = |path: &PathBuf| path.join(RUN_JSON).is_file() || path.join(INTERVALS_CSV).is_file();
    folders(campaign)
        .unwrap_or_default()
        .into_iter()
        .filter(is_run)
        .collect()
}

/// The records of settings that the campaign in this folder changed on servers that are not dyno's own; each is there
/// until they were put back.
#[must_use]
pub fn restore_records(campaign: &Path) -> Vec<PathBuf> {
    let is_record = |path: &PathBuf| {
        let name = name_of(path);
        name.starts_with(RESTORE.0) && name.ends_with(RESTORE.1)
    };
    let files = std::fs::read_dir(campaign).into_iter().flatten().flatten();
    let mut records: Vec<_> = files.map(|file| file.path()).filter(is_record).collect();
    records.sort();
    records
}

/// Whether a living dyno works on the campaign in this folder.
#[must_use]
pub fn is_under_way(campaign: &Path) -> bool {
    AppendFile::is_locked(&campaign.join(CAMPAIGN_JSON))
}

/// Whether a load runs whose run has this folder.
#[must_use]
pub fn is_running(run: &Path) -> bool {
    AppendFile::is_locked(&run.join(INTERVALS_CSV))
}

impl CampaignOutline {
    /// The file that it is read from.
    #[must_use]
    pub fn file(campaign: &Path) -> PathBuf {
        campaign.join(CAMPAIGN_JSON)
    }

    /// Reads `campaign.json` of the campaign in this folder.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn read(campaign: &Path) -> Result<Self, ArchiveError> {
        #[derive(Deserialize)]
        struct Record {
            started: Zoned,
            label: Option<String>,
            experiment: Experiment,
            runs: Vec<IgnoredAny>,
            #[serde(default)]
            target: String,
            #[serde(default)]
            factors: Vec<Factor>,
        }
        #[derive(Deserialize)]
        struct Experiment {
            name: String,
            #[serde(default)]
            title: String,
            size: Option<Size>,
        }
        #[derive(Deserialize)]
        struct Factor {
            name: String,
        }
        let record: Record = read_json(&Self::file(campaign))?;
        Ok(Self {
            started: record.started,
            label: record.label,
            experiment: record.experiment.name,
            title: record.experiment.title,
            size: record.experiment.size,
            target: record.target,
            factors: record.factors.into_iter().map(|factor| factor.name).collect(),
            planned: record.runs.len(),
        })
    }
}

impl RunOutline {
    /// The file that it is read from.
    #[must_use]
    pub fn file(run: &Path) -> PathBuf {
        run.join(RUN_JSON)
    }

    /// Reads `run.json` of the run in this folder.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn read(run: &Path) -> Result<Self, ArchiveError> {
        #[derive(Deserialize)]
        struct Record {
            state: RunState,
            #[serde(default)]
            max_errors_percent: ErrorLimit,
            summary: Option<Summary>,
        }
        #[derive(Deserialize)]
        struct Summary {
            workloads: Vec<Workload>,
            #[serde(default)]
            stages: Vec<Stage>,
        }
        #[derive(Deserialize)]
        struct Stage {
            workloads: Vec<StageWorkload>,
        }
        #[derive(Deserialize)]
        struct Workload {
            name: String,
            transactions: u64,
            tps: f64,
            errors: u64,
            latency: Option<Latency>,
        }
        #[derive(Deserialize)]
        struct Latency {
            p99_us: f64,
        }
        let record: Record = read_json(&Self::file(run))?;
        let workloads = || record.summary.iter().flat_map(|summary| &summary.workloads);
        let allowed = |workload: &Workload| record.max_errors_percent.allows(workload.transactions, workload.errors);
        let recorded_state = match record.state {
            // As it is judged where all of it is read.
            RunState::Complete if !workloads().all(allowed) => RunState::Faulty,
            recorded => recorded,
        };
        let mut p99_us: IndexMap<String, Vec<f64>> = IndexMap::new();
        let of_stages = || {
            let summary = record.summary.iter();
            summary
                .flat_map(|summary| &summary.stages)
                .flat_map(|stage| &stage.workloads)
        };
        let staged = of_stages().next().is_some();
        let whole = workloads().filter(|_| !staged);
        let whole = whole.filter_map(|workload| Some((&workload.name, workload.latency.as_ref()?.p99_us)));
        let of_stages = of_stages().filter_map(|workload| Some((&workload.name, workload.p99_us?)));
        for (name, us) in whole.chain(of_stages) {
            p99_us.entry(name.clone()).or_default().push(us);
        }
        Ok(Self {
            recorded_state,
            tps: record
                .summary
                .as_ref()
                .map(|_| workloads().map(|workload| workload.tps).sum()),
            p99_us,
            errors: workloads().map(|workload| workload.errors).sum(),
        })
    }

    /// How far the run in the folder `run` came, of which this was read. A run whose dyno was killed is incomplete,
    /// whatever its file says.
    #[must_use]
    pub fn state_in(&self, run: &Path) -> RunState {
        match self.recorded_state {
            RunState::Running if is_running(run) => RunState::Running,
            RunState::Running => RunState::Incomplete,
            recorded => recorded,
        }
    }
}

/// The name of a campaign's or run's folder.
#[must_use]
pub fn folder_name(path: &Path) -> String {
    name_of(path)
}
