//! The archive: a folder of campaigns, each a folder of runs, made of plain files that need no dyno to be read.
//!
//! While a run goes on its files are only appended to, once per interval, so a run that is killed loses at most its
//! last interval. `docs/formats.md` describes the files for people who read them with other tools. Nothing that is
//! written here contains a password.

pub mod analysis;
mod answers;
mod append;
mod campaign;
mod capacity;
mod clock;
pub mod earlier;
mod events;
pub mod figures;
mod intervals;
mod latencies;
mod load_hosts;
mod meanings;
mod outline;
pub mod plan;
mod plans;
mod reader;
mod run;
mod samples;
mod screen;
mod series;
mod servers;
mod steps;
pub mod summary;
mod tables;
mod versus;

pub use answers::{CheckResult, OutputResult, OutputTable, write_output};
pub use campaign::{CampaignRecord, CampaignWriter, check_writable};
pub use capacity::{
    Capacity, CapacityAnswer, CapacitySearch, CapacityStep, LimitedMeasure, LoadDimension, LoadLimit, StepVerdict,
};
pub use events::{EventKind, EventRecord};
pub use intervals::IntervalRow;
pub use latencies::{LOG_TOLERANCE_S, LatencyCounts, LatencyLine, LatencyParser, is_measured};
pub use load_hosts::{ClockComparison, HostGap, LoadHost, LoadHostWriter, LoadShare};
pub use meanings::columns_by_meaning;
pub use outline::{
    CampaignOutline, RunOutline, campaign_folders, folder_name, is_running, is_under_way, restore_records, run_folders,
};
pub use plans::{RemotePlan, StatementPlans, write_plans};
pub use reader::{Archive, Campaign, Run, open_regular, read_json};
pub use run::{PhaseRecord, RunRecord, RunState, RunWriter};
pub use samples::SampleWriter;
pub use screen::{Effect, PairRatio, Screen, ScreenedFactor, ScreenedPair, Screening};
pub use series::{Series, SeriesMember, SeriesParts, SeriesRecord, SeriesWriter};
pub use servers::{ServerOfRun, ServerRecord, ServerWriter};
pub use steps::{Preparation, PreparationStep};
pub use tables::{ProcessRow, Samples, StatementRow, WaitRow};
pub use versus::{Block, Measure, Ratio, Turns, Verdict, Versus, Way};

use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The version of all formats in a campaign folder, raised when an older dyno could misread a newer folder.
pub const FORMAT: u32 = 1;

const CAMPAIGN_JSON: &str = "campaign.json";
/// The folder in a campaign that keeps earlier attempts at runs that were made again.
const EARLIER: &str = "earlier";
const SERIES_JSON: &str = "series.json";
const RUN_JSON: &str = "run.json";
const INTERVALS_CSV: &str = "intervals.csv";
const LATENCY_HLOG: &str = "latency.hlog";
const EVENTS_JSONL: &str = "events.jsonl";
const PLANS_JSON: &str = "plans.json";

/// What went wrong with a file or folder of the archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// It cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// Its content is not what it should be.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It was written by a newer dyno.
    #[error("{} has format {found}, but this dyno only reads formats up to {FORMAT}: use a newer dyno", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Another dyno works on the campaign.
    #[error("another dyno is working on {}; wait until it has ended, or end it", path.display())]
    InUse {
        /// The campaign's folder.
        path: PathBuf,
    },
}

impl ArchiveError {
    /// That the file or folder `path` cannot be written, given the system's reason.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Write { path, cause }
    }

    /// That the file or folder `path` cannot be read, given the system's reason.
    pub fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Read { path, cause }
    }
}

/// Writes a JSON file so that at any moment either the old or the new content is there, whole.
///
/// # Errors
///
/// If it cannot be written.
pub fn replace_json(path: &Path, content: &impl Serialize) -> Result<(), ArchiveError> {
    let mut text = serde_json::to_vec_pretty(content).map_err(|error| ArchiveError::write(path)(error.into()))?;
    text.push(b'\n');
    replace(path, &text)
}

/// Rows as CSV, after the line of column names if `header`.
fn to_csv(rows: &[impl Serialize], header: bool) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().has_headers(header).from_writer(Vec::new());
    for row in rows {
        // Into memory, and of plain fields: there is nothing that could fail.
        let _ = writer.serialize(row);
    }
    writer.into_inner().unwrap_or_default()
}

/// The same with any content.
///
/// # Errors
///
/// If it cannot be written; then what was there is there still.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), ArchiveError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(content)?;
        // Else the rename could reach the disk before the content.
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|cause| {
        let _ = fs::remove_file(&temporary);
        ArchiveError::write(path)(cause)
    })
}

/// A number rounded to three decimals: nanoseconds in a figure of microseconds, and as exact as any count per second.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
