//! `restore.json`: what a campaign has changed on a server that is not ours, and has to put back.

use super::reader::json;
use super::{ArchiveError, FORMAT, replace_json};
use dyno_target::settings::Saved;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const RESTORE_JSON: &str = "restore.json";

/// The content of `restore.json`, which is there from before a change until it was put back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Restore {
    /// The format of the folder, see [`FORMAT`].
    format: u32,
    /// The server, without passwords.
    pub target: String,
    /// What was there before.
    pub saved: Saved,
    #[serde(skip)]
    path: PathBuf,
}

impl Restore {
    /// What the campaign in the folder `campaign` has to put back on the server `target`.
    pub(crate) fn new(campaign: &Path, target: String, saved: Saved) -> Self {
        Self {
            format: FORMAT,
            target,
            saved,
            path: campaign.join(RESTORE_JSON),
        }
    }

    /// What the campaign in the folder `campaign` left undone; `None` if there is nothing.
    pub(crate) fn read(campaign: &Path) -> Option<Self> {
        let path = campaign.join(RESTORE_JSON);
        let restore = json::<Self>(&path).ok()?;
        Some(Self { path, ..restore })
    }

    /// Where it stands.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it, so that it outlives this process.
    pub(crate) fn write(&self) -> Result<(), ArchiveError> {
        replace_json(&self.path, self)
    }

    /// It is done.
    pub(crate) fn remove(self) -> Result<(), ArchiveError> {
        fs::remove_file(&self.path).map_err(ArchiveError::write(&self.path))
    }
}
