//! A private MariaDB: fetched once, initialised once, started on demand, never left behind. Or a private MySQL, whose
//! programs the system has to have.
//!
//! They are brought by the same means as a private PostgreSQL (see [`crate::embedded`]); what is their own is here.
//!
//! Layout of the home folder:
//!
//! ```text
//! mariadb/11.4.5/                       programs, with a manifest of sizes and hashes written last
//! mariadb-clusters/11.4.5/NAME/         lock, data/, password (of root), server.log
//! mariadb-clusters/system-10.11.6/NAME/ the same of a MariaDB that the system has installed
//! mysql-clusters/system-8.4.6/NAME/     the same of its MySQL
//! ```

mod archive;
mod brand;
mod cluster;
mod installation;
mod replica;
mod server;

use crate::embedded::cluster::MAIN;
use crate::embedded::home::Home;
use crate::embedded::install;
pub(super) use brand::{Brand, Mysql};
pub(crate) use brand::{MARIADB, MYSQL};
pub(super) use installation::Installation;
pub(super) use replica::{Copied, copy};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use crate::embedded::{EmbeddedError, Progress};
pub use server::{Server, ServerHandle};

/// The MariaDB release used unless another is asked for: the newest with long-term support among the packaged ones.
pub const MARIADB_VERSION: &str = "11.4.5";

/// The version that asks for the MariaDB that the system has installed.
pub const SYSTEM: &str = "system";

/// The superuser of embedded servers.
pub const SUPERUSER: &str = "root";

/// Whose server to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// MariaDB's.
    Mariadb,
    /// MySQL's, which is not fetched.
    Mysql,
}

/// Which server to bring, and where to keep it.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// Whose server.
    pub maker: Maker,
    /// Home folder; see [`home_folder`](crate::embedded::home_folder) for the usual one.
    pub home: PathBuf,
    /// A release such as `11.4.5`, or a version such as `10.11`: its newest release in the home folder, else its newest
    /// release. [`SYSTEM`] means the one that the system has installed, as it has to be for MySQL.
    pub version: String,
    /// Name of the cluster, one folder below the version: letters, digits, `-`, `_`, `.`.
    pub cluster: String,
    /// Set by another thread to give up waiting and downloading.
    pub stop: Arc<AtomicBool>,
}

impl EmbeddedOptions {
    /// MariaDB's pinned release and the cluster `main` in `home`.
    #[must_use]
    pub fn new(home: PathBuf) -> Self {
        Self {
            maker: Maker::Mariadb,
            home,
            version: MARIADB_VERSION.to_owned(),
            cluster: MAIN.to_owned(),
            stop: Arc::default(),
        }
    }

    /// Looks at the version asked for. Whether the system has one installed is not looked at.
    ///
    /// # Errors
    /// [`EmbeddedError::BadVersion`], [`EmbeddedError::NoSuchVersion`], [`EmbeddedError::NotPackaged`].
    pub fn check(&self) -> Result<(), EmbeddedError> {
        if self.version == SYSTEM {
            return Ok(());
        }
        if self.maker == Maker::Mysql {
            return Err(EmbeddedError::NotPackaged {
                product: MYSQL.name,
                installed: (MYSQL.installed)(SYSTEM),
            });
        }
        install::requirement(&MARIADB, &self.version)?;
        if is_packaged(&self.version) {
            Ok(())
        } else {
            Err(MARIADB.no_such_version(&self.version))
        }
    }

    /// Which programs are there for it, in words; nothing is fetched.
    ///
    /// # Errors
    /// [`EmbeddedError::NotInstalled`] if the system is to have it and has not, or as for [`check`](Self::check).
    pub(super) fn look(&self) -> Result<String, EmbeddedError> {
        self.check()?;
        match (self.version == SYSTEM, self.maker) {
            (false, _) => install::look(&MARIADB, &self.home, &self.version),
            (true, Maker::Mariadb) => Ok(Installation::<brand::Mariadb>::of_system()?.to_string()),
            (true, Maker::Mysql) => Ok(Installation::<Mysql>::of_system()?.to_string()),
        }
    }
}

/// Whether there are binaries of this version, as far as its first two numbers tell. Older ones than 10.11 were
/// packaged, too, but with other programs.
fn is_packaged(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let (major, minor) = (parts.next().flatten(), parts.next().flatten());
    matches!((major, minor), (Some(10), None | Some(11)) | (Some(11), None | Some(4)))
}

/// An installed MariaDB and one initialised cluster, held for this process alone.
pub type Embedded = crate::embedded::cluster::Embedded<Installation>;

impl Embedded {
    /// Installs the programs unless they are there, takes the cluster (waiting for another dyno that uses it) and
    /// initialises it unless that was done.
    ///
    /// # Errors
    /// See [`EmbeddedError`]; each says what to do.
    pub fn prepare(options: &EmbeddedOptions, progress: &mut dyn FnMut(Progress)) -> Result<Self, EmbeddedError> {
        options.check()?;
        let home = Home::open(&options.home)?;
        let installation = if options.version == SYSTEM {
            Installation::of_system()?
        } else {
            let (folder, version) = install::install(&MARIADB, &home, &options.version, &options.stop, progress)?;
            Installation::fetched(&folder, &version)
        };
        held(&home, installation, options, progress)
    }
}

/// The MySQL that the system has installed and one initialised cluster, held for this process alone.
pub type EmbeddedMysql = crate::embedded::cluster::Embedded<Installation<Mysql>>;

impl EmbeddedMysql {
    /// As [`Embedded::prepare`], but nothing is installed.
    ///
    /// # Errors
    /// See [`EmbeddedError`]; each says what to do.
    pub fn prepare(options: &EmbeddedOptions, progress: &mut dyn FnMut(Progress)) -> Result<Self, EmbeddedError> {
        options.check()?;
        let home = Home::open(&options.home)?;
        held(&home, Installation::of_system()?, options, progress)
    }
}

fn held<B: Brand>(
    home: &Home,
    installation: Installation<B>,
    options: &EmbeddedOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<crate::embedded::cluster::Embedded<Installation<B>>, EmbeddedError> {
    crate::embedded::check_name("name of the cluster", &options.cluster)?;
    let cluster = cluster::open(home, installation, &options.cluster, &options.stop, progress)?;
    Ok(crate::embedded::cluster::Embedded::of(cluster))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_which_versions_there_are() {
        let check = |version: &str| {
            let mut options = EmbeddedOptions::new(PathBuf::from("/nowhere"));
            version.clone_into(&mut options.version);
            options.check().map_err(|error| error.to_string())
        };
        for version in ["11.4.5", "11.4", "11", "10.11", "10.11.5", "system"] {
            assert_eq!(check(version), Ok(()), "{version}");
        }
        let error = check("10.2.11").unwrap_err();
        assert!(
            error.contains("no MariaDB 10.2.11") && error.contains("10.11 and 11.4"),
            "{error}"
        );
        assert!(error.contains("embedded:mariadb:system"), "{error}");
        let error = check("newest").unwrap_err();
        assert_eq!(
            error,
            "\"newest\" is not a MariaDB version; give one such as 11.4 or 11.4.5"
        );
    }
}
