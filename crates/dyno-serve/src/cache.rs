//! What is in the archive, as a list needs it. A file is read again only when it has changed, so that listing a
//! thousand runs costs little more than looking at their folders.

use dyno_archive::{
    ArchiveError, CampaignOutline, RunOutline, RunState, campaign_folders, folder_name, is_under_way, run_folders,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A campaign of the archive.
#[derive(Clone, Debug)]
pub(crate) struct Campaign {
    /// The name of its folder.
    pub name: String,
    /// Whether a living dyno works on it.
    pub under_way: bool,
    /// `None`: its `campaign.json` cannot be read.
    pub outline: Option<CampaignOutline>,
    /// Its runs in order.
    pub runs: Vec<Run>,
}

/// A run of a campaign.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The name of its folder.
    pub name: String,
    /// How far it came.
    pub state: RunState,
    /// `None`: its `run.json` cannot be read.
    pub outline: Option<RunOutline>,
}

impl Campaign {
    /// How many runs it is to have.
    pub(crate) fn planned(&self) -> usize {
        let planned = self.outline.as_ref().map_or(0, |outline| outline.planned);
        planned.max(self.runs.len())
    }

    /// How many of its runs came that far.
    pub(crate) fn count(&self, state: RunState) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }

    /// How far it came as a whole: failed if all its runs did, and faulty if all are over, but some do not count.
    pub(crate) fn state(&self) -> RunState {
        if self.under_way {
            RunState::Running
        } else if self.runs.is_empty() || self.over() < self.planned() {
            match self.count(RunState::Failed) {
                failed if failed > 0 && failed == self.runs.len() => RunState::Failed,
                _ => RunState::Incomplete,
            }
        } else if self.count(RunState::Faulty) > 0 {
            RunState::Faulty
        } else {
            RunState::Complete
        }
    }

    /// How many of its runs are not to be made any more.
    fn over(&self) -> usize {
        self.runs.iter().filter(|run| run.state.is_over()).count()
    }
}

/// The archive with what is known of it.
#[derive(Debug)]
pub(crate) struct ArchiveCache {
    archive: PathBuf,
    campaigns: Known<CampaignOutline>,
    runs: Known<RunOutline>,
}

impl ArchiveCache {
    pub(crate) fn new(archive: PathBuf) -> Self {
        Self {
            archive,
            campaigns: Known::default(),
            runs: Known::default(),
        }
    }

    /// All campaigns, the oldest first.
    pub(crate) fn all(&mut self) -> Result<Vec<Campaign>, ArchiveError> {
        let folders = campaign_folders(&self.archive)?;
        let campaigns = folders.into_iter().map(|path| self.look(path)).collect();
        self.campaigns.forget_unasked();
        self.runs.forget_unasked();
        Ok(campaigns)
    }

    /// The campaign whose folder has this name; else the newest that is called so. A name never leads out of the
    /// archive, because it is looked for among those that are there.
    pub(crate) fn campaign(&mut self, name: &str) -> Result<Option<Campaign>, ArchiveError> {
        let folders = campaign_folders(&self.archive)?;
        if let Some(path) = folders.iter().find(|path| folder_name(path) == name) {
            return Ok(Some(self.look(path.clone())));
        }
        let is_called = |campaign: &Campaign| {
            let outline = campaign.outline.as_ref();
            outline.is_some_and(|outline| outline.label.as_deref() == Some(name))
        };
        Ok(folders.into_iter().rev().map(|path| self.look(path)).find(is_called))
    }

    /// The names of all campaigns, the oldest first.
    pub(crate) fn names(&self) -> Result<Vec<String>, ArchiveError> {
        let folders = campaign_folders(&self.archive)?;
        Ok(folders.iter().map(|path| folder_name(path)).collect())
    }

    fn look(&mut self, path: PathBuf) -> Campaign {
        let file = CampaignOutline::file(&path);
        let outline = self.campaigns.get(file, || CampaignOutline::read(&path).ok());
        let runs = run_folders(&path)
            .into_iter()
            .map(|run| self.look_at_run(&run))
            .collect();
        Campaign {
            name: folder_name(&path),
            under_way: is_under_way(&path),
            outline,
            runs,
        }
    }

    fn look_at_run(&mut self, path: &Path) -> Run {
        let outline = self.runs.get(RunOutline::file(path), || RunOutline::read(path).ok());
        Run {
            name: folder_name(path),
            state: outline
                .as_ref()
                .map_or(RunState::Incomplete, |outline| outline.state_in(path)),
            outline,
        }
    }
}

/// What was read from files, and when they were written.
#[derive(Debug)]
struct Known<T> {
    files: HashMap<PathBuf, Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    stamp: Option<(SystemTime, u64)>,
    content: Option<T>,
    asked: bool,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { files: HashMap::new() }
    }
}

impl<T: Clone> Known<T> {
    /// The content of `file`, read if it has changed.
    fn get(&mut self, file: PathBuf, read: impl FnOnce() -> Option<T>) -> Option<T> {
        // Looked at before it is read: what changes in between is noticed next time.
        let metadata = file.metadata().ok();
        let stamp = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.len())));
        let entry = self.files.entry(file).or_insert_with(|| Entry {
            stamp: None,
            content: None,
            asked: true,
        });
        entry.asked = true;
        if entry.stamp.is_none() || entry.stamp != stamp {
            entry.stamp = stamp;
            entry.content = read();
        }
        entry.content.clone()
    }

    /// Forgets the files that were not asked for since this was called last: they are gone.
    fn forget_unasked(&mut self) {
        self.files.retain(|_, entry| std::mem::take(&mut entry.asked));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;

    #[test]
    fn a_file_is_read_again_when_it_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.json");
        let (mut known, reads) = (Known::default(), Cell::new(0));
        let mut get = || {
            known.get(file.clone(), || {
                reads.set(reads.get() + 1);
                fs::read_to_string(&file).ok()
            })
        };
        assert_eq!(get(), None);
        fs::write(&file, "one").unwrap();
        assert_eq!(
            (get().as_deref(), get().as_deref(), reads.get()),
            (Some("one"), Some("one"), 2)
        );
        fs::write(&file, "three").unwrap();
        assert_eq!((get().as_deref(), reads.get()), (Some("three"), 3));
    }

    #[test]
    fn files_that_are_gone_are_forgotten() {
        let mut known = Known::default();
        let file = |name: &str| PathBuf::from(name);
        known.get(file("a"), || Some(1));
        known.get(file("b"), || Some(2));
        known.forget_unasked();
        known.get(file("b"), || Some(3));
        known.forget_unasked();
        assert_eq!(known.files.keys().collect::<Vec<_>>(), [&file("b")]);
    }
}
