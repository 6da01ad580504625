//! Reading an archive: what is there, and how far each run came.
//!
//! An archive is a folder that people copy, tidy and add to, so whatever is not recognised is passed over, and a
//! damaged file costs only what was in it.

use crate::append::AppendFile;
use crate::plan::{PlannedRun, Resolved};
use crate::{
    ArchiveError, CAMPAIGN_JSON, CampaignRecord, EVENTS_JSONL, EventRecord, FORMAT, INTERVALS_CSV, IntervalRow,
    RUN_JSON, RunRecord, RunState, intervals, restore_records,
};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// A folder of campaigns.
#[derive(Clone, Debug)]
pub struct Archive {
    path: PathBuf,
}

/// A campaign found in an archive.
#[derive(Debug)]
pub struct Campaign {
    /// Its folder.
    pub path: PathBuf,
    /// The content of `campaign.json`, or why it cannot be read.
    pub record: Result<CampaignRecord, ArchiveError>,
    /// Its runs in order.
    pub runs: Vec<Run>,
}

/// A run found in a campaign.
#[derive(Debug)]
pub struct Run {
    /// Its folder.
    pub path: PathBuf,
    /// The content of `run.json`, or why it cannot be read.
    pub record: Result<RunRecord, ArchiveError>,
    /// How far it came. A run whose dyno was killed is incomplete, whatever `run.json` says.
    pub state: RunState,
}

impl Archive {
    /// The archive in the folder `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All campaigns, the oldest first. There are none in an archive that does not exist.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn campaigns(&self) -> Result<Vec<Campaign>, ArchiveError> {
        Ok(folders(&self.path)?.into_iter().filter_map(Campaign::read).collect())
    }

    /// The campaign in the folder `name` of the archive, or in the folder that `name` is the path of; else the newest
    /// with this label, or of which label or folder begins with it. `@1` is the newest of all, `@2` the one before.
    #[must_use]
    pub fn campaign(&self, name: &str) -> Option<Campaign> {
        self.find(name).map(|(campaign, _)| campaign)
    }

    /// The same, and how many other campaigns begin with `name` if that is only how this one begins.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(Campaign, usize)> {
        if let Some(number) = name.strip_prefix('@') {
            let number = number.parse::<usize>().ok()?.checked_sub(1)?;
            let mut paths = folders(&self.path).ok()?;
            paths.reverse();
            let found = paths.into_iter().filter_map(Campaign::read).nth(number);
            return found.map(|campaign| (campaign, 0));
        }
        let exact = [self.path.join(name), PathBuf::from(name)];
        if let Some(campaign) = exact.into_iter().find_map(Campaign::read) {
            return Some((campaign, 0));
        }
        let mut campaigns = self.campaigns().ok().filter(|_| !name.is_empty())?;
        if let Some(labelled) = campaigns.iter().rposition(|campaign| campaign.label() == Some(name)) {
            return Some((campaigns.swap_remove(labelled), 0));
        }
        campaigns.retain(|campaign| campaign.is_called(name));
        campaigns.pop().map(|newest| (newest, campaigns.len()))
    }
}

impl Campaign {
    /// The name of its folder.
    #[must_use]
    pub fn name(&self) -> String {
        name_of(&self.path)
    }

    /// What the user calls it.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.record.as_ref().ok()?.label.as_deref()
    }

    /// Whether its label or its folder begins with this.
    fn is_called(&self, begin: &str) -> bool {
        self.name().starts_with(begin) || self.label().is_some_and(|label| label.starts_with(begin))
    }

    /// Whether a living dyno works on it.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        AppendFile::is_locked(&self.path.join(CAMPAIGN_JSON))
    }

    /// The servers, without passwords, whose settings it changed and has not put back, although it is over. The next
    /// campaign there does.
    #[must_use]
    pub fn unrestored(&self) -> Vec<String> {
        #[derive(serde::Deserialize)]
        struct Changed {
            target: String,
        }
        if self.is_under_way() {
            return Vec::new();
        }
        let records = restore_records(&self.path).into_iter();
        records
            .filter_map(|record| Some(read_json::<Changed>(&record).ok()?.target))
            .collect()
    }

    /// Whether this run of its plan is over, so that it is not to be made: also if it does not count for its errors.
    #[must_use]
    pub fn has(&self, planned: &PlannedRun) -> bool {
        let folder = planned.folder();
        let mut made = self.runs.iter().filter(|run| run.state.is_over());
        made.any(|run| run.name() == folder)
    }

    /// Reads the folder `path`; `None` if it is no campaign.
    #[must_use]
    pub fn read(path: PathBuf) -> Option<Self> {
        let runs: Vec<Run> = folders(&path).ok()?.into_iter().filter_map(Run::read).collect();
        let record = read_json(&path.join(CAMPAIGN_JSON));
        let foreign = runs.is_empty() && is_absent(&record);
        (!foreign).then_some(Self { path, record, runs })
    }
}

impl Run {
    /// Reads the folder `path`; `None` if it is no run.
    #[must_use]
    pub fn read(path: PathBuf) -> Option<Self> {
        let mut record = read_json::<RunRecord>(&path.join(RUN_JSON));
        // Earlier dynos called every run complete that took its time.
        record.iter_mut().for_each(RunRecord::judge);
        let intervals = path.join(INTERVALS_CSV);
        if is_absent(&record) && !intervals.is_file() {
            return None;
        }
        let state = match &record {
            Ok(record) if record.state != RunState::Running => record.state,
            _ if AppendFile::is_locked(&intervals) => RunState::Running,
            _ => RunState::Incomplete,
        };
        Some(Self { path, record, state })
    }

    /// The name of its folder.
    #[must_use]
    pub fn name(&self) -> String {
        name_of(&self.path)
    }

    /// What the run measures, from the campaign's plan.
    ///
    /// # Errors
    ///
    /// If the plan cannot be read.
    pub fn experiment(&self) -> Result<Resolved, ArchiveError> {
        let campaign = self.path.parent().unwrap_or(&self.path).join(CAMPAIGN_JSON);
        let campaign = read_json::<CampaignRecord>(&campaign)?;
        let folder = self.name();
        let planned = campaign.runs.iter().find(|planned| planned.folder() == folder);
        let mut cells = campaign.cells.into_iter();
        let cell = planned.and_then(|planned| cells.find(|cell| cell.levels == planned.cell));
        Ok(cell.map_or(campaign.experiment, |cell| cell.experiment))
    }

    /// The rows of `intervals.csv`, up to one that was torn by a kill.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn intervals(&self) -> Result<impl Iterator<Item = IntervalRow> + use<>, ArchiveError> {
        let load_started = self.load_started();
        let rows = intervals::rows(open(&self.path.join(INTERVALS_CSV))?);
        Ok(rows.map(move |row| row.timed(load_started)))
    }

    /// When its load began, if it did.
    #[must_use]
    pub fn load_started(&self) -> Option<Timestamp> {
        self.record.as_ref().ok()?.load_started
    }

    /// The events; lines that are damaged or of an unknown kind are passed over.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn events(&self) -> Result<impl Iterator<Item = EventRecord> + use<>, ArchiveError> {
        let lines = open(&self.path.join(EVENTS_JSONL))?.split(b'\n').map_while(Result::ok);
        Ok(lines.filter_map(|line| serde_json::from_slice(&line).ok()))
    }
}

/// The most bytes that a JSON file of an archive has.
const MOST_JSON_BYTES: u64 = 1 << 28;

/// Opens a regular file for reading. A pipe in its place would be waited for, and a device might never end.
///
/// # Errors
///
/// If it is none, or cannot be read.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Looked at before it is opened: opening a pipe waits for its writer.
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> Result<BufReader<File>, ArchiveError> {
    open_regular(path).map(BufReader::new).map_err(ArchiveError::read(path))
}

/// Reads a JSON file, unless a newer dyno wrote it.
///
/// # Errors
///
/// If it cannot be read, is damaged, or is of a newer format.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, ArchiveError> {
    /// What every version of the formats has.
    #[derive(serde::Deserialize)]
    struct Versioned {
        format: u32,
    }
    let mut text = Vec::new();
    let file = open_regular(path).map_err(ArchiveError::read(path))?;
    let read = file.take(MOST_JSON_BYTES + 1).read_to_end(&mut text);
    read.map_err(ArchiveError::read(path))?;
    if text.len() as u64 > MOST_JSON_BYTES {
        return Err(ArchiveError::Damaged {
            path: path.to_owned(),
            reason: format!("it is larger than {} MB", MOST_JSON_BYTES >> 20),
        });
    }
    match serde_json::from_slice(&text) {
        Ok(Versioned { format: found }) if found > FORMAT => Err(ArchiveError::Newer {
            path: path.to_owned(),
            found,
        }),
        _ => serde_json::from_slice(&text).map_err(|error| ArchiveError::Damaged {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
    }
}

/// Whether a record is missing because there is no such file.
fn is_absent<T>(record: &Result<T, ArchiveError>) -> bool {
    matches!(record, Err(ArchiveError::Read { cause, .. }) if cause.kind() == ErrorKind::NotFound)
}

/// The folders in the folder `path` by name; none if it does not exist.
pub(crate) fn folders(path: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let entries = match fs::read_dir(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(ArchiveError::read(path))?,
    };
    let mut folders: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    Ok(folders)
}

/// The last part of a path.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn what_is_no_regular_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for (name, file) in [
            ("a", CAMPAIGN_JSON),
            ("b", RUN_JSON),
            ("c", INTERVALS_CSV),
            ("d", "series.json"),
        ] {
            for (source, kind) in [(pipe.as_path(), "pipe"), (Path::new("/dev/zero"), "zero")] {
                let path = folder.path().join(format!("{name}-{kind}"));
                let place = match file {
                    RUN_JSON | INTERVALS_CSV => path.join("1-run"),
                    _ => path,
                };
                fs::create_dir_all(&place).unwrap();
                symlink(source, place.join(file)).unwrap();
            }
        }
        let (sender, receiver) = mpsc::channel();
        let archive = Archive::new(folder.path());
        std::thread::spawn(move || {
            let campaigns = archive.campaigns().unwrap();
            let under_way = campaigns.iter().filter(|campaign| campaign.is_under_way()).count();
            let series = crate::Series::all(archive.path()).unwrap().len();
            let _ = sender.send((campaigns, under_way, series));
        });
        let (campaigns, under_way, series) = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        let names: Vec<String> = campaigns.iter().map(Campaign::name).collect();
        assert_eq!(
            (names.join(" "), under_way, series),
            ("a-pipe a-zero b-pipe b-zero".to_owned(), 0, 0)
        );
        let said = campaigns[1].record.as_ref().unwrap_err().to_string();
        assert!(said.ends_with("campaign.json: it is not a regular file"), "{said}");
    }

    #[test]
    fn a_record_of_endless_size_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CAMPAIGN_JSON);
        // What is not written takes no room on the disk.
        File::create(&path).unwrap().set_len(MOST_JSON_BYTES + 1).unwrap();
        let said = read_json::<CampaignRecord>(&path).unwrap_err().to_string();
        assert!(said.ends_with("is damaged: it is larger than 256 MB"), "{said}");
    }

    #[test]
    fn other_campaigns_of_a_begin_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["2026-01-01-a", "2026-01-02-a", "2026-02-01-b"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join(CAMPAIGN_JSON), "{}").unwrap();
        }
        let archive = Archive::new(folder.path());
        let others = |name: &str| archive.find(name).unwrap().1;
        assert_eq!(
            ["2026", "2026-01", "2026-02", "2026-01-01-a", "@1"].map(others),
            [2, 1, 0, 0, 0]
        );
    }
}
