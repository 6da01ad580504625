//! What differs between the databases whose servers dyno brings.

use super::EmbeddedError;
use rustix::process::Signal;
use std::time::Duration;

/// How long a harder way to stop than the kindest may take.
const HARD_LIMIT: Duration = Duration::from_secs(20);

/// A database whose servers can be fetched, started and stopped.
#[derive(Debug)]
pub struct Product {
    /// As its makers write it.
    pub(crate) name: &'static str,
    /// The versions that are packaged, for people.
    pub(crate) packaged: &'static str,
    /// Versions that could be asked for, for people.
    pub(crate) examples: &'static str,
    /// The target that asks for an installed server of a version.
    pub(crate) installed: fn(&str) -> String,
    /// Folder of its programs below the home folder.
    pub(crate) folder: &'static str,
    /// Folder of its clusters below the home folder, with a folder for each release in it.
    pub(crate) clusters: &'static str,
    /// Where the fetching library finds its archives.
    pub(crate) source: fn() -> String,
    /// File name of the server's program.
    pub(crate) server: &'static str,
    /// The file in the data folder whose first line is the server's process id.
    pub(crate) pid_file: &'static str,
    /// Signals that stop a server, from kind to hard.
    pub(crate) signals: &'static [Signal],
}

impl Product {
    /// There are no binaries of this version.
    pub(crate) fn no_such_version(&self, version: &str) -> EmbeddedError {
        EmbeddedError::NoSuchVersion {
            product: self.name,
            packaged: self.packaged,
            installed: (self.installed)(version),
            version: version.to_owned(),
        }
    }

    /// The signal that shuts a server down in good order.
    pub(crate) fn shutdown(&self) -> Signal {
        self.signals.first().copied().unwrap_or(Signal::KILL)
    }

    /// The signal after which the next start recovers from the log.
    pub(crate) fn immediate(&self) -> Signal {
        self.signals.get(1).copied().unwrap_or(Signal::KILL)
    }

    /// Signals from kind to hard and how long each may take; the kindest may take `patience`.
    pub(crate) fn measures(&self, patience: Duration) -> impl Iterator<Item = (Signal, Duration)> + use<> {
        let hard = std::iter::repeat(HARD_LIMIT);
        self.signals.iter().copied().zip(std::iter::once(patience).chain(hard))
    }

    /// The harder ways to stop only.
    pub(crate) fn hard_measures(&self) -> impl Iterator<Item = (Signal, Duration)> + use<> {
        self.measures(HARD_LIMIT).skip(1)
    }
}
