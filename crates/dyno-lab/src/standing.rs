//! Which private servers stand for other tools. Each is kept by a process of its own, which says in a file in dyno's
//! home that the server is there, and holds a lock on that: so one that was killed is not taken for one that runs.

use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What is kept of a server that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What its user calls it.
    pub name: String,
    /// What it is, such as `PostgreSQL 18.6.0`.
    pub server: String,
    /// With its password: the file is for its owner alone.
    pub url: String,
    /// The process that keeps it.
    pub pid: i32,
    /// When it was ready.
    pub since: jiff::Timestamp,
    /// The experiment whose data it has.
    pub with: Option<String>,
}

/// What is wrong with servers that stand, or with what is asked of them.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum StandingError {
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: std::io::Error },
    #[error("{name} is running already; stop it with dyno server stop {name}, or give another --name")]
    Running { name: String },
    #[error("no server is running; start one with dyno server start")]
    None,
    #[error("which one? There are: {}", names.join(", "))]
    Several { names: Vec<String> },
    #[error("no server of that name is running; there are: {}", names.join(", "))]
    Other { names: Vec<String> },
}

/// The file that says that a server runs, locked as long as it does. Dropped, it is removed.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    _file: File,
}

impl Held {
    /// Says in the folder `folder`, which is made if need be, that this server runs.
    ///
    /// # Errors
    /// Another process keeps one of this name, or the file cannot be written.
    pub fn write(folder: &Path, record: &Record) -> Result<Self, StandingError> {
        let path = path(folder, &record.name);
        let failed = |error: std::io::Error| StandingError::Write {
            path: path.clone(),
            error,
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let text = serde_json::to_string(record).map_err(|error| failed(error.into()))?;
        // Whole and locked before it has a name by which others find it.
        let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes())
            .and_then(|()| Ok(file.as_file().try_lock()?))
            .map_err(failed)?;
        // What one that was killed has left is gone after this.
        let _ = standing(folder);
        match file.persist_noclobber(&path) {
            Ok(file) => Ok(Self { path, _file: file }),
            Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => Err(StandingError::Running {
                name: record.name.clone(),
            }),
            Err(refused) => Err(failed(refused.error)),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}

/// The servers that run, by name. What one that was killed has left is removed.
#[must_use]
pub fn standing(folder: &Path) -> Vec<Record> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut records = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let Ok(file) = File::open(&path) else { continue };
        match file.try_lock_shared() {
            Ok(()) => {
                let _ = fs::remove_file(&path);
            }
            Err(TryLockError::WouldBlock) => {
                let text = fs::read_to_string(&path).unwrap_or_default();
                records.extend(serde_json::from_str::<Record>(&text));
            }
            Err(TryLockError::Error(_)) => {}
        }
    }
    records.sort_by(|one, other| one.name.cmp(&other.name));
    records
}

/// The server that runs and is called so; without a name, the only one.
///
/// # Errors
/// There is none, or there are several.
pub fn find(folder: &Path, name: Option<&str>) -> Result<Record, StandingError> {
    let mut all = standing(folder);
    let names = || all.iter().map(|record| record.name.clone()).collect();
    let place = match (name, all.len()) {
        (_, 0) => return Err(StandingError::None),
        (None, 1) => 0,
        (None, _) => return Err(StandingError::Several { names: names() }),
        (Some(name), _) => match all.iter().position(|record| record.name == name) {
            Some(place) => place,
            None => return Err(StandingError::Other { names: names() }),
        },
    };
    Ok(all.swap_remove(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str) -> Record {
        Record {
            name: name.to_owned(),
            server: "PostgreSQL 18".to_owned(),
            url: "postgres://ann:secret@127.0.0.1/shop".to_owned(),
            pid: 1,
            since: jiff::Timestamp::UNIX_EPOCH,
            with: None,
        }
    }

    #[test]
    fn a_server_is_found_as_long_as_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("servers");
        assert!(matches!(find(&place, None), Err(StandingError::None)));
        let one = Held::write(&place, &record("one")).unwrap();
        assert_eq!(find(&place, None).unwrap(), record("one"));
        assert!(matches!(
            Held::write(&place, &record("one")),
            Err(StandingError::Running { .. })
        ));
        let two = Held::write(&place, &record("two")).unwrap();
        assert!(matches!(find(&place, None), Err(StandingError::Several { .. })));
        assert_eq!(find(&place, Some("two")).unwrap(), record("two"));
        assert!(matches!(find(&place, Some("x")), Err(StandingError::Other { .. })));
        drop((one, two));
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn what_one_that_was_killed_has_left_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let text = serde_json::to_string(&record("one")).unwrap();
        fs::write(path(folder.path(), "one"), text).unwrap();
        let held = Held::write(folder.path(), &record("one")).unwrap();
        assert_eq!(standing(folder.path()), [record("one")]);
        drop(held);
    }
}
