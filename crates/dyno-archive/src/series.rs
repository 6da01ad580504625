//! A series: campaigns that are made one after the other and published as one.
//!
//! It has a folder beside theirs, with `series.json` and its report. What was measured is in the campaigns alone; each
//! says which series it is a part of, so that the folders of both may be renamed.

use crate::campaign::unique_folder;
use crate::plan::harmless;
use crate::reader::{folders, name_of, read_json};
use crate::{ArchiveError, CAMPAIGN_JSON, Campaign, CampaignRecord, FORMAT, SERIES_JSON, replace_json};
use jiff::Zoned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// What a series set out to do, and what is known of it beside its campaigns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// The format of the folder, see [`FORMAT`].
    pub format: u32,
    /// The version of dyno that wrote it.
    pub dyno_version: String,
    /// What its campaigns know it by: the name that its folder had when it began.
    #[serde(default)]
    pub id: String,
    /// What the user calls it; series of the same name are the same one at several times.
    pub name: String,
    /// The command line, without passwords; as a shell would read it.
    pub command: String,
    /// When it began, with the local time zone.
    pub started: Zoned,
    /// What the whole series is to be read with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its experiments in order.
    pub members: Vec<SeriesMember>,
}

/// An experiment of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesMember {
    /// Its name, which no other member has.
    pub experiment: String,
    /// What it is, in a few words.
    pub title: String,
    /// The heading that it stands under; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Why it is not measured at all; absent if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// What ended it before its time; absent if nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What is to be done, until its campaign has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Box<CampaignRecord>>,
}

/// A series found in an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its folder.
    pub path: PathBuf,
    /// The content of `series.json`.
    pub record: SeriesRecord,
}

/// The folders of the campaigns that are parts of series, by the series' id and the experiment's name.
#[derive(Debug, Default)]
pub struct SeriesParts(HashMap<(String, String), PathBuf>);

impl Series {
    /// Reads the folder `path`; `None` if it is no series, or `series.json` cannot be read.
    #[must_use]
    pub fn read(path: PathBuf) -> Option<Self> {
        let record = read_json(&path.join(SERIES_JSON)).ok()?;
        Some(Self { path, record })
    }

    /// All series of the archive in the folder `archive`, the oldest first.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn all(archive: &Path) -> Result<Vec<Self>, ArchiveError> {
        let mut all: Vec<_> = folders(archive)?.into_iter().filter_map(Self::read).collect();
        all.sort_by(|one, other| one.record.started.cmp(&other.record.started));
        Ok(all)
    }

    /// The series in the folder `name` of the archive in the folder `archive`, or in the folder that `name` is the
    /// path of; else the newest that is called so.
    #[must_use]
    pub fn find(archive: &Path, name: &str) -> Option<Self> {
        // The archive is around the folder, so the path has to name it: `.` does not.
        let given = PathBuf::from(name);
        let given = match given.file_name() {
            Some(_) => given,
            None => given.canonicalize().unwrap_or(given),
        };
        let exact = [archive.join(name), given];
        exact.into_iter().find_map(Self::read).or_else(|| {
            let all = Self::all(archive).ok()?;
            all.into_iter().rfind(|series| series.record.name == name)
        })
    }

    /// The name of its folder.
    #[must_use]
    pub fn folder(&self) -> String {
        name_of(&self.path)
    }

    /// The folder of the archive that it is in.
    #[must_use]
    pub fn archive(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        }
    }

    /// Its campaigns, one for each member in their order; `None` for one that has not begun.
    #[must_use]
    pub fn campaigns(&self, parts: &SeriesParts) -> Vec<Option<Campaign>> {
        let members = self.record.members.iter();
        let campaign = |member: &SeriesMember| Campaign::read(self.campaign_folder(parts, member)?.to_owned());
        members.map(campaign).collect()
    }

    /// The folder of the campaign of one of its members; `None` if it has not begun.
    #[must_use]
    pub fn campaign_folder<'a>(&self, parts: &'a SeriesParts, member: &SeriesMember) -> Option<&'a Path> {
        let key = (self.record.id.clone(), member.experiment.clone());
        parts.0.get(&key).map(PathBuf::as_path)
    }
}

impl SeriesParts {
    /// Looks at all campaigns of the archive in the folder `archive`. Of two that are the same part, the newer counts.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn read(archive: &Path) -> Result<Self, ArchiveError> {
        #[derive(Deserialize)]
        struct Part {
            series: Option<String>,
            experiment: Named,
        }
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let part = |path: PathBuf| {
            let part: Part = read_json(&path.join(CAMPAIGN_JSON)).ok()?;
            Some(((part.series?, part.experiment.name), path))
        };
        Ok(Self(folders(archive)?.into_iter().filter_map(part).collect()))
    }
}

/// Makes a series' folder and keeps `series.json`. While there is one, the folder is locked: two dynos never work on
/// one series.
#[derive(Debug)]
pub struct SeriesWriter {
    /// The series as it is written.
    series: Series,
    lock: Option<File>,
}

impl SeriesWriter {
    /// Makes a new folder in `archive` (which is made if need be), named by time and name, and gives the series its
    /// id.
    ///
    /// # Errors
    ///
    /// If folder or file cannot be written.
    pub fn create(archive: &Path, mut record: SeriesRecord) -> Result<Self, ArchiveError> {
        fs::create_dir_all(archive).map_err(ArchiveError::write(archive))?;
        let called: String = record.name.chars().map(harmless).take(100).collect();
        let name = format!("{}-{called}", record.started.strftime("%Y-%m-%dT%H-%M-%S"));
        let path = unique_folder(archive, &name)?;
        record.id = name_of(&path);
        let lock = lock(&path)?;
        let writer = Self {
            series: Series { path, record },
            lock,
        };
        writer.write()?;
        Ok(writer)
    }

    /// Takes up a series again.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::InUse`].
    pub fn resume(series: Series) -> Result<Self, ArchiveError> {
        let lock = lock(&series.path)?;
        Ok(Self { series, lock })
    }

    /// The series.
    #[must_use]
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Changes what is known of the member `number`, from 0.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn update(&mut self, number: usize, change: impl FnOnce(&mut SeriesMember)) -> Result<(), ArchiveError> {
        if let Some(member) = self.series.record.members.get_mut(number) {
            change(member);
        }
        self.write()
    }

    fn write(&self) -> Result<(), ArchiveError> {
        replace_json(&self.series.path.join(SERIES_JSON), &self.series.record)
    }
}

impl Drop for SeriesWriter {
    /// Releases the lock at once, as that of a campaign.
    fn drop(&mut self) {
        if let Some(lock) = &self.lock {
            let _ = lock.unlock();
        }
    }
}

/// Locks a series' folder itself, as its file is replaced again and again. A file system without locks is no reason to
/// fail.
fn lock(path: &Path) -> Result<Option<File>, ArchiveError> {
    let Ok(folder) = File::open(path) else {
        return Ok(None);
    };
    match folder.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ArchiveError::InUse { path: path.to_owned() }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(folder)),
    }
}

impl SeriesRecord {
    /// A record with the format and version of this program, of a series that begins now.
    #[must_use]
    pub fn new(name: String, command: String, started: Zoned, members: Vec<SeriesMember>) -> Self {
        Self {
            format: FORMAT,
            dyno_version: env!("CARGO_PKG_VERSION").to_owned(),
            id: String::new(),
            name,
            command,
            started,
            notes: Vec::new(),
            members,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CampaignWriter;
    use crate::plan::{PlannedRun, Resolved};
    use tempfile::TempDir;

    fn member(experiment: &str) -> SeriesMember {
        SeriesMember {
            experiment: experiment.to_owned(),
            title: String::new(),
            group: String::new(),
            left_out: None,
            failure: None,
            planned: None,
        }
    }

    fn begin(archive: &Path, name: &str, started: &str) -> SeriesWriter {
        let members = vec![member("a"), member("b")];
        let started = started.parse().unwrap();
        SeriesWriter::create(
            archive,
            SeriesRecord::new(name.to_owned(), String::new(), started, members),
        )
        .unwrap()
    }

    fn campaign(archive: &Path, series: &Series, experiment: &str) -> PathBuf {
        let experiment = Resolved::of_load(experiment.to_owned(), String::new(), Vec::new());
        let runs = vec![PlannedRun::repetition(1)];
        let mut record = CampaignRecord::new(experiment, String::new(), Zoned::now(), 1, runs);
        record.series = Some(series.record.id.clone());
        let writer = CampaignWriter::create(archive, &record).unwrap();
        writer.path().to_owned()
    }

    #[test]
    fn the_newest_of_a_name_is_found_and_any_by_its_folder() {
        let archive = TempDir::new().unwrap();
        let old = begin(archive.path(), "nightly", "2026-11-21T19:40:12[UTC]");
        let new = begin(archive.path(), "nightly", "2026-11-22T19:40:12[UTC]");
        let find = |name: &str| Series::find(archive.path(), name).map(|series| series.folder());
        assert_eq!(find("nightly"), Some(new.series().folder()));
        assert_eq!(find("2026-11-21T19-40-12-nightly"), Some(old.series().folder()));
        assert_eq!(find("night"), None);
        assert_eq!(Series::all(archive.path()).unwrap().len(), 2);
    }

    #[test]
    fn campaigns_are_parts_whatever_folders_are_called_now() {
        let archive = TempDir::new().unwrap();
        let writer = begin(archive.path(), "nightly", "2026-11-21T19:40:12[UTC]");
        let series = writer.series().clone();
        drop(writer);
        let folder = campaign(archive.path(), &series, "b");
        fs::rename(folder, archive.path().join("renamed")).unwrap();
        fs::rename(&series.path, archive.path().join("series")).unwrap();
        let series = Series::find(archive.path(), "nightly").unwrap();
        let campaigns = series.campaigns(&SeriesParts::read(archive.path()).unwrap());
        let names: Vec<_> = campaigns
            .iter()
            .map(|found| found.as_ref().map(Campaign::name))
            .collect();
        assert_eq!(names, [None, Some("renamed".to_owned())]);
        // It is no campaign itself.
        assert_eq!(crate::Archive::new(archive.path()).campaigns().unwrap().len(), 1);
    }

    #[test]
    fn two_dynos_never_work_on_one_series() {
        let archive = TempDir::new().unwrap();
        let mut writer = begin(archive.path(), "nightly", "2026-11-21T19:40:12[UTC]");
        let series = writer.series().clone();
        let second = SeriesWriter::resume(series.clone());
        assert!(matches!(second, Err(ArchiveError::InUse { .. })));
        writer
            .update(1, |member| member.failure = Some("no disk".to_owned()))
            .unwrap();
        drop(writer);
        SeriesWriter::resume(series).unwrap();
        let read = Series::find(archive.path(), "nightly").unwrap();
        assert_eq!(read.record.members[1].failure.as_deref(), Some("no disk"));
    }
}
