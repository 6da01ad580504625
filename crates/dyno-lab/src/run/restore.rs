//! `restore.json`: what a campaign has changed on a server that is not ours, and has to put back.
//!
//! It stands in the campaign's folder and, where the server tells its identity, also in the home folder: whoever
//! measures the server next finds it there, by whatever address and with whatever archive. A campaign over several
//! servers that could not be put back has one for each, from the second on with a number.

use dyno_archive::{ArchiveError, FORMAT, is_under_way, read_json, replace_json, restore_records};
use dyno_target::target::Saved;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const RESTORE_JSON: &str = "restore.json";

/// The content of `restore.json`, which is there from before a change until it was put back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restore {
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

/// The first name in the folder `campaign` that no record has.
fn free_in(campaign: &Path) -> PathBuf {
    let mut path = campaign.join(RESTORE_JSON);
    let mut number = 1;
    while path.exists() {
        number += 1;
        path = campaign.join(format!("restore-{number}.json"));
    }
    path
}

impl Restore {
    /// What the campaign in the folder `campaign` has to put back on the server `target`, of this identity. If this
    /// folder or the folder `kept` knows of an earlier change that was not put back, it is what was there before
    /// that one.
    pub fn new(campaign: &Path, target: String, server: Option<String>, saved: Saved, kept: Option<&Path>) -> Self {
        let campaign = campaign.canonicalize().unwrap_or_else(|_| campaign.to_owned());
        let here = Self::left_by(&campaign)
            .into_iter()
            .find(|left| left.is_of(&target, server.as_deref()));
        let mut paths = vec![
            here.as_ref()
                .map_or_else(|| free_in(&campaign), |left| left.path().to_owned()),
        ];
        let mut earlier = None;
        if let (Some(kept), Some(server)) = (kept, &server) {
            earlier = Self::kept(kept, server);
            paths.push(kept_in(kept, server));
        }
        let earlier = earlier.or(here);
        Self {
            format: FORMAT,
            target,
            server,
            campaign,
            saved: match &earlier {
                Some(earlier) => earlier.saved.clone().before(&saved),
                None => saved,
            },
            paths,
            earlier: earlier.map(Box::new),
        }
    }

    /// What the campaign in the folder `campaign` left undone, on one server or several.
    pub fn left_by(campaign: &Path) -> Vec<Self> {
        let read = |path: PathBuf| {
            let restore = read_json::<Self>(&path).ok()?;
            Some(Self {
                paths: vec![path],
                campaign: campaign.to_owned(),
                ..restore
            })
        };
        restore_records(campaign).into_iter().filter_map(read).collect()
    }

    /// What is left undone on the server of this identity, as the folder `kept` knows; `None` if there is nothing.
    pub fn kept(kept: &Path, server: &str) -> Option<Self> {
        let path = kept_in(kept, server);
        let restore = read_json::<Self>(&path).ok()?;
        let there = Self::left_by(&restore.campaign).into_iter();
        let there = there.filter(|left| left.is_of(&restore.target, Some(server)));
        let paths = there.flat_map(|left| left.paths).chain([path]).collect();
        Some(Self { paths, ..restore })
    }

    /// Whether it is of the server `target`, which says that it is `server`.
    pub fn is_of(&self, target: &str, server: Option<&str>) -> bool {
        match &self.server {
            Some(identity) => server == Some(identity),
            None => self.target == target,
        }
    }

    /// Whether one of its copies stands there.
    pub fn is_in(&self, path: &Path) -> bool {
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.paths.iter().any(|own| whole(own) == whole(path))
    }

    /// All that the folder `kept` knows of, but for what a dyno that is alive will put back itself.
    pub fn all_kept(kept: &Path) -> Vec<Self> {
        let files = fs::read_dir(kept).into_iter().flatten().flatten();
        let mut paths: Vec<_> = files.map(|file| file.path()).collect();
        paths.sort();
        let records = paths.iter().filter_map(|path| read_json::<Self>(path).ok());
        records.filter(|restore| !is_under_way(&restore.campaign)).collect()
    }

    /// What is to be said of it where nothing is put back, as a sentence.
    pub fn is_pending(&self) -> String {
        let names: Vec<_> = self
            .saved
            .settings
            .iter()
            .map(|setting| setting.name.as_str())
            .collect();
        format!(
            "Settings of {} are still to be restored: {}, changed by the campaign in {}. The next dyno run on this \
             server does it.",
            self.target,
            names.join(", "),
            self.campaign.display()
        )
    }

    /// Where it stands.
    pub fn path(&self) -> &Path {
        self.paths.last().map_or(Path::new(RESTORE_JSON), PathBuf::as_path)
    }

    /// Writes it, so that it outlives this process.
    pub fn write(&self) -> Result<(), ArchiveError> {
        for path in &self.paths {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(ArchiveError::write(folder))?;
            }
            replace_json(path, self)?;
        }
        Ok(())
    }

    /// The change was not made: what is left to be put back is what an earlier one left.
    pub fn withdraw(mut self) -> Result<(), ArchiveError> {
        match self.earlier.take() {
            Some(earlier) => {
                let paths = self.paths;
                Self { paths, ..*earlier }.write()
            }
            None => self.remove(),
        }
    }

    /// It is done.
    pub fn remove(self) -> Result<(), ArchiveError> {
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
    use dyno_target::target::SavedSetting;

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

    /// Servers before 9.6 do not say who they are: they are known by their address, in the campaign's folder alone.
    #[test]
    fn what_could_not_be_put_back_is_not_forgotten_for_the_next_change() {
        let folder = tempfile::tempdir().unwrap();
        let change = |target: &str, saved: Saved| Restore::new(folder.path(), target.to_owned(), None, saved, None);
        let left = |target: &str| {
            let left = Restore::left_by(folder.path()).into_iter();
            left.filter(|left| left.is_of(target, None))
                .map(|left| left.saved)
                .collect::<Vec<_>>()
        };
        change("a", saved("1GB", "2GB")).write().unwrap();
        change("b", saved("5GB", "6GB")).write().unwrap();
        change("a", saved("2GB", "3GB")).write().unwrap();
        change("b", saved("6GB", "7GB")).write().unwrap();
        assert_eq!(left("a"), [saved("1GB", "3GB")]);
        assert_eq!(left("b"), [saved("5GB", "7GB")]);
        change("a", saved("3GB", "4GB")).remove().unwrap();
        assert_eq!((left("a"), left("b")), (vec![], vec![saved("5GB", "7GB")]));
    }

    #[test]
    fn what_waits_to_be_put_back_is_known_once_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        assert_eq!(Restore::all_kept(&kept), []);
        change(folder.path(), "first", saved("1GB", "2GB")).write().unwrap();
        let all = Restore::all_kept(&kept);
        let [one] = &all[..] else { unreachable!("{all:?}") };
        let said = one.is_pending();
        assert!(
            said.contains("Settings of db are still to be restored: shared_buffers"),
            "{said}"
        );
        // The copy in the campaign's folder is the same record, however the folder is named.
        let known = Restore::kept(&kept, "7").unwrap();
        let copy = folder.path().join("first").join(".").join(RESTORE_JSON);
        assert!(known.is_in(&copy) && !known.is_in(&folder.path().join("second").join(RESTORE_JSON)));
    }

    #[test]
    fn a_change_that_was_not_made_leaves_what_an_earlier_one_left() {
        let folder = tempfile::tempdir().unwrap();
        let kept = || Restore::kept(&folder.path().join("kept"), "7").map(|restore| restore.saved);
        let first = change(folder.path(), "first", saved("1GB", "2GB"));
        first.write().unwrap();
        first.withdraw().unwrap();
        assert_eq!(kept(), None);
        assert_eq!(Restore::left_by(&folder.path().join("first")), []);

        change(folder.path(), "first", saved("1GB", "2GB")).write().unwrap();
        let second = change(folder.path(), "second", saved("2GB", "3GB"));
        assert_eq!(second.saved, saved("1GB", "3GB"));
        second.write().unwrap();
        second.withdraw().unwrap();
        assert_eq!(kept(), Some(saved("1GB", "2GB")));
    }
}
