//! `restore.json`: what a campaign has changed on a server that is not ours, and has to put back.
//!
//! It stands in the campaign's folder and, where the server tells its identity, also in the home folder: whoever measures the server next finds it there, by
//! whatever address and with whatever archive.

use super::reader::json;
use super::{ArchiveError, FORMAT, replace_json};
use dyno_target::settings::Saved;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const RESTORE_JSON: &str = "restore.json";

/// The content of `restore.json`, which is there from before a change until it was put back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Restore {
    /// The format of the folder, see [`FORMAT`].
    format: u32,
    /// The server, without passwords.
    pub target: String,
    /// What the server says who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The campaign's folder; earlier dynos left it out.
    #[serde(default)]
    pub campaign: PathBuf,
    /// What was there before.
    pub saved: Saved,
    /// Where it stands.
    #[serde(skip)]
    paths: Vec<PathBuf>,
    /// What an earlier change left to be put back, which this one goes on from.
    #[serde(skip)]
    earlier: Option<Box<Self>>,
}

/// The file in the folder `kept` for the server of this identity.
fn kept_in(kept: &Path, server: &str) -> PathBuf {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    kept.join(format!("{}.json", server.chars().map(harmless).collect::<String>()))
}

impl Restore {
    /// What the campaign in the folder `campaign` has to put back on the server `target`, of this identity. If the folder `kept` knows of an earlier change that
    /// was not put back, it is what was there before that one.
    pub(crate) fn new(
        campaign: &Path,
        target: String,
        server: Option<String>,
        saved: Saved,
        kept: Option<&Path>,
    ) -> Self {
        let campaign = campaign.canonicalize().unwrap_or_else(|_| campaign.to_owned());
        let mut paths = vec![campaign.join(RESTORE_JSON)];
        let mut restore = Self {
            format: FORMAT,
            target,
            campaign,
            saved,
            server,
            paths: Vec::new(),
            earlier: None,
        };
        if let (Some(kept), Some(server)) = (kept, &restore.server) {
            if let Some(earlier) = Self::kept(kept, server) {
                restore.saved = earlier.saved.clone().before(&restore.saved);
                restore.earlier = Some(Box::new(earlier));
            }
            paths.push(kept_in(kept, server));
        }
        Self { paths, ..restore }
    }

    /// What the campaign in the folder `campaign` left undone; `None` if there is nothing.
    pub(crate) fn read(campaign: &Path) -> Option<Self> {
        let path = campaign.join(RESTORE_JSON);
        let restore = json::<Self>(&path).ok()?;
        Some(Self {
            paths: vec![path],
            campaign: campaign.to_owned(),
            ..restore
        })
    }

    /// What is left undone on the server of this identity, as the folder `kept` knows; `None` if there is nothing.
    pub(crate) fn kept(kept: &Path, server: &str) -> Option<Self> {
        let path = kept_in(kept, server);
        let restore = json::<Self>(&path).ok()?;
        let paths = vec![restore.campaign.join(RESTORE_JSON), path];
        Some(Self { paths, ..restore })
    }

    /// Where it stands.
    pub(crate) fn path(&self) -> &Path {
        self.paths.last().map_or(Path::new(RESTORE_JSON), PathBuf::as_path)
    }

    /// Writes it, so that it outlives this process.
    pub(crate) fn write(&self) -> Result<(), ArchiveError> {
        for path in &self.paths {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(ArchiveError::write(folder))?;
            }
            replace_json(path, self)?;
        }
        Ok(())
    }

    /// The change was not made: what is left to be put back is what an earlier one left.
    pub(crate) fn withdraw(mut self) -> Result<(), ArchiveError> {
        match self.earlier.take() {
            Some(earlier) => {
                let paths = self.paths;
                Self { paths, ..*earlier }.write()
            }
            None => self.remove(),
        }
    }

    /// It is done.
    pub(crate) fn remove(self) -> Result<(), ArchiveError> {
        for path in &self.paths {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(ArchiveError::write(path)(error)),
                // The campaign may have been removed.
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_target::settings::SavedSetting;

    fn saved(value: &str, set_to: &str) -> Saved {
        let setting = SavedSetting {
            name: "shared_buffers".to_owned(),
            value: Some(value.to_owned()),
            needs_restart: true,
            set_to: Some(set_to.to_owned()),
        };
        Saved {
            settings: vec![setting],
        }
    }

    /// The record of a change on a server that tells its identity.
    fn change(folder: &Path, campaign: &str, saved: Saved) -> Restore {
        let campaign = folder.join(campaign);
        fs::create_dir_all(&campaign).unwrap();
        let server = Some("7".to_owned());
        Restore::new(&campaign, "db".to_owned(), server, saved, Some(&folder.join("kept")))
    }

    #[test]
    fn a_change_that_was_not_made_leaves_what_an_earlier_one_left() {
        let folder = tempfile::tempdir().unwrap();
        let kept = || Restore::kept(&folder.path().join("kept"), "7").map(|restore| restore.saved);
        let first = change(folder.path(), "first", saved("1GB", "2GB"));
        first.write().unwrap();
        first.withdraw().unwrap();
        assert_eq!(kept(), None);
        assert_eq!(Restore::read(&folder.path().join("first")), None);

        change(folder.path(), "first", saved("1GB", "2GB")).write().unwrap();
        let second = change(folder.path(), "second", saved("2GB", "3GB"));
        assert_eq!(second.saved, saved("1GB", "3GB"));
        second.write().unwrap();
        second.withdraw().unwrap();
        assert_eq!(kept(), Some(saved("1GB", "2GB")));
    }
}
