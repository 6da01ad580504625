//! Which private servers stand for other tools. Each is kept by a process of its own, which says in a file in dyno's
//! home that the server is there, and holds a lock on that: so one that was killed is not taken for one that runs.

use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What is kept of a server that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What its user calls it.
    pub name: String,
    /// Which it is, such as `embedded:18`.
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
    #[error(
        "{name} is running already, or is being started; stop it with dyno server stop {name}, or give another --name"
    )]
    Running { name: String },
    #[error("no server is running; start one with dyno server start")]
    None,
    #[error("which one? There are: {}", names.join(", "))]
    Several { names: Vec<String> },
    #[error("no server of that name is running; there are: {}", names.join(", "))]
    Other { names: Vec<String> },
}

/// That a process keeps the server of a name, or is about to: a file that is locked as long as it does. What is known
/// of the server stands in another beside it, which is removed when this is dropped.
#[derive(Debug)]
pub struct Claim {
    record: PathBuf,
    _lock: File,
}

impl Claim {
    /// Claims a name in the folder `folder`, which is made if need be.
    ///
    /// # Errors
    /// Another process keeps the server of this name, or the file cannot be written.
    pub fn new(folder: &Path, name: &str) -> Result<Self, StandingError> {
        let record = folder.join(format!("{name}.json"));
        let path = lock_of(&record);
        let failed = |error: std::io::Error| StandingError::Write {
            path: path.clone(),
            error,
        };
        fs::create_dir_all(folder).map_err(failed)?;
        // It stays when the server has stopped: one that is removed could be locked by two.
        let lock = File::options().append(true).create(true).open(&path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { record, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(StandingError::Running { name: name.to_owned() }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Says that the server runs.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tell(&self, record: &Record) -> Result<(), StandingError> {
        let failed = |error: std::io::Error| StandingError::Write {
            path: self.record.clone(),
            error,
        };
        let text = serde_json::to_string(record).map_err(|error| failed(error.into()))?;
        let folder = self.record.parent().unwrap_or(Path::new("."));
        // For its owner alone, and whole when it has its name.
        let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.persist(&self.record).map_err(|refused| failed(refused.error))?;
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.record);
    }
}

fn lock_of(record: &Path) -> PathBuf {
    record.with_extension("lock")
}

/// The servers that run, by name. What one that was killed has left is none.
#[must_use]
pub fn standing(folder: &Path) -> Vec<Record> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let known = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let runs = |record: &PathBuf| {
        let lock = File::open(lock_of(record)).map(|file| file.try_lock_shared());
        matches!(lock, Ok(Err(TryLockError::WouldBlock)))
    };
    let mut records: Vec<Record> = known
        .filter(runs)
        .filter_map(|path| serde_json::from_str(&fs::read_to_string(path).ok()?).ok())
        .collect();
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

    /// A server that is kept and runs.
    fn kept(folder: &Path, name: &str) -> Claim {
        let claim = Claim::new(folder, name).unwrap();
        claim.tell(&record(name)).unwrap();
        claim
    }

    #[test]
    fn a_server_is_found_as_long_as_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("servers");
        assert!(matches!(find(&place, None), Err(StandingError::None)));
        let starting = Claim::new(&place, "zero").unwrap();
        let one = kept(&place, "one");
        assert_eq!(
            find(&place, None).unwrap(),
            record("one"),
            "one that starts does not run"
        );
        for name in ["zero", "one"] {
            assert!(matches!(Claim::new(&place, name), Err(StandingError::Running { .. })));
        }
        let two = kept(&place, "two");
        assert!(matches!(find(&place, None), Err(StandingError::Several { .. })));
        assert_eq!(find(&place, Some("two")).unwrap(), record("two"));
        assert!(matches!(find(&place, Some("x")), Err(StandingError::Other { .. })));
        drop((starting, one, two));
        assert_eq!(standing(&place), []);
        drop(kept(&place, "one"));
    }

    #[test]
    fn what_one_that_was_killed_has_left_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let text = serde_json::to_string(&record("one")).unwrap();
        fs::write(folder.path().join("one.json"), text).unwrap();
        fs::write(folder.path().join("one.lock"), "").unwrap();
        assert_eq!(standing(folder.path()), []);
        let claim = kept(folder.path(), "one");
        assert_eq!(standing(folder.path()), [record("one")]);
        drop(claim);
    }
}
