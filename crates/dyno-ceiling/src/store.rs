//! Where ceilings are kept: one small file for all machines that share the folder.

use crate::machine::this_machine;
use dyno_record::{Ceiling, Machine, Point, Shape};
use dyno_target::embedded::home_folder;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The version of the file's form.
const FORMAT: u32 = 1;

/// The file `ceiling.json` in dyno's home folder.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
}

/// The file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refuses.
    #[error("cannot {what} {}: {cause}", path.display())]
    File {
        /// Read or write.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Its content is not a ceiling's.
    #[error("{} is not what dyno ceiling writes: {why}; remove it and measure again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// The point of this machine's ceiling that is most like a load of this shape with this transport; `None` if none was
/// measured here by this user.
///
/// # Errors
/// What is kept cannot be read.
pub fn nearest_here(shape: Shape, transport: &str) -> Result<Option<Point>, StoreError> {
    // Without a home folder none can have been kept.
    let Ok(home) = home_folder(&|name| std::env::var(name).ok()) else {
        return Ok(None);
    };
    let ceiling = Store::in_home(&home).read(&this_machine())?;
    Ok(ceiling.and_then(|ceiling| ceiling.nearest(shape, transport).cloned()))
}

#[derive(Serialize, Deserialize)]
struct Content {
    format: u32,
    ceilings: Vec<Ceiling>,
}

impl Store {
    /// The store in this home folder.
    #[must_use]
    pub fn in_home(home: &Path) -> Self {
        Self {
            path: home.join("ceiling.json"),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ceiling of a machine, if it is known.
    ///
    /// # Errors
    /// There is a file, but it cannot be read.
    pub fn read(&self, machine: &Machine) -> Result<Option<Ceiling>, StoreError> {
        let known = self.all()?.into_iter().find(|ceiling| ceiling.machine == *machine);
        Ok(known)
    }

    /// Keeps points of a machine, in place of earlier ones of the same shape. What is known of other machines
    /// stays; what an earlier dyno or another kernel did on this one goes.
    ///
    /// # Errors
    /// The file can be neither read nor written.
    pub fn keep(&self, machine: &Machine, points: &[Point]) -> Result<(), StoreError> {
        let mut ceilings = self.all()?;
        let position = ceilings.iter().position(|ceiling| ceiling.machine == *machine);
        let mut ceiling = position.map_or_else(
            || Ceiling {
                machine: machine.clone(),
                points: Vec::new(),
            },
            |position| ceilings.swap_remove(position),
        );
        points.iter().for_each(|point| ceiling.take(point.clone()));
        ceilings.retain(|other| other.machine.hostname != machine.hostname);
        ceilings.push(ceiling);
        self.write(&Content {
            format: FORMAT,
            ceilings,
        })
        .map_err(|cause| self.file("write", cause))
    }

    fn all(&self) -> Result<Vec<Ceiling>, StoreError> {
        let text = match std::fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(self.file("read", cause)),
        };
        let content = |why: String| StoreError::Content {
            path: self.path.clone(),
            why,
        };
        let read: Content = serde_json::from_slice(&text).map_err(|error| content(error.to_string()))?;
        if read.format != FORMAT {
            return Err(content(format!(
                "its format is {}, this dyno knows {FORMAT}",
                read.format
            )));
        }
        Ok(read.ceilings)
    }

    /// Whole or not at all.
    fn write(&self, content: &Content) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, content)?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn file(&self, what: &'static str, cause: io::Error) -> StoreError {
        StoreError::File {
            what,
            path: self.path.clone(),
            cause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_machine;
    use dyno_record::{Route, Shape};

    fn point(route: Route, clients: usize, threads: usize) -> Point {
        Point {
            shape: Shape {
                route,
                clients,
                threads,
            },
            transport: "epoll".to_owned(),
            measured: jiff::Timestamp::UNIX_EPOCH,
            measured_s: 2.0,
            tps: 200_000.0,
            tps_per_core: 250_000.0,
            client_user_us: 0.5,
            client_system_us: 3.5,
            responder_us: 4.0,
            p50_us: 60.0,
            p99_us: 120.0,
        }
    }

    fn machine(hostname: &str, kernel: &str) -> Machine {
        Machine {
            hostname: Some(hostname.to_owned()),
            kernel: Some(kernel.to_owned()),
            ..this_machine()
        }
    }

    #[test]
    fn what_is_kept_is_found_again_on_the_same_machine_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_home(&folder.path().join("new"));
        let (here, there) = (machine("a", "1"), machine("b", "1"));
        assert_eq!(store.read(&here).unwrap(), None);
        store.keep(&here, &[point(Route::Unix, 16, 1)]).unwrap();
        store.keep(&there, &[point(Route::Tcp, 64, 2)]).unwrap();
        store.keep(&here, &[point(Route::Tcp, 16, 1)]).unwrap();
        assert_eq!(
            store.read(&here).unwrap().unwrap().points,
            [point(Route::Unix, 16, 1), point(Route::Tcp, 16, 1)]
        );
        assert_eq!(store.read(&there).unwrap().unwrap().points, [point(Route::Tcp, 64, 2)]);
        // Another kernel: what was measured with the old one is of no use any more.
        let updated = machine("a", "2");
        assert_eq!(store.read(&updated).unwrap(), None);
        store.keep(&updated, &[point(Route::Unix, 1, 1)]).unwrap();
        assert_eq!(store.read(&here).unwrap(), None);
        assert_eq!(store.read(&updated).unwrap().unwrap().points.len(), 1);
    }

    #[test]
    fn another_file_in_its_place_is_said_and_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_home(folder.path());
        for text in ["not JSON", r#"{ "format": 2, "ceilings": [] }"#] {
            std::fs::write(store.path(), text).unwrap();
            let error = store.keep(&machine("a", "1"), &[]).unwrap_err();
            assert!(error.to_string().contains("remove it and measure again"), "{error}");
            assert_eq!(std::fs::read_to_string(store.path()).unwrap(), text);
        }
    }
}
