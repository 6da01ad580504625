//! A private PostgreSQL: fetched once, initialised once, started on demand, never left behind.
//!
//! A newcomer must get numbers from a real, durable server with one command, as root in a container or as anybody on a laptop. So the
//! server's programs are fetched and verified here, run as an unprivileged user, and die with the process that started them.
//!
//! Layout of the home folder (see [`home_folder`]):
//!
//! ```text
//! postgresql/18.6.0/            programs, with a manifest of sizes and hashes written last
//! clusters/18.6.0/NAME/         lock, data/, tablespaces/, password (superuser's), server.log
//! clusters/system-15.19/NAME/   the same of a PostgreSQL that the system has installed
//! ```

mod cluster;
mod database;
mod home;
mod install;
mod installed;
mod keeper;
mod kept;
mod leftover;
mod locale;
mod lock;
mod manifest;
mod received;
mod server;
mod tablespace;

use cluster::Cluster;
use home::Home;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use database::{DatabaseError, create_from_template, database_exists, drop_database};
pub use home::home_folder;
pub use kept::{Kept, KeptKind, kept, remove_kept};
pub use locale::{DatabaseLocale, Locale, create_database};
pub use server::{Server, ServerHandle};

/// The PostgreSQL release used unless another is asked for.
pub const POSTGRESQL_VERSION: &str = "18.6.0";

/// The versions that are packaged.
const PACKAGED: &str = "9.6 and 10 to 18";

/// The superuser of embedded clusters.
pub const SUPERUSER: &str = "postgres";

/// Which server to bring, and where to keep it.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// Home folder; see [`home_folder`] for the usual one.
    pub home: PathBuf,
    /// A release such as `18.6.0`, or a major version such as `16`: its newest release in the home folder, else its newest release. `system` means
    /// the newest PostgreSQL that the system has installed, `system:15` the newest 15 of these.
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
            cluster: "main".to_owned(),
            stop: Arc::default(),
        }
    }

    /// The release or major version asked for, such as `16`; `None` for any that the system has installed. Whether there is one is not looked at.
    ///
    /// # Errors
    /// [`EmbeddedError::BadVersion`].
    pub fn release(&self) -> Result<Option<&str>, EmbeddedError> {
        let release = installed::asked(&self.version).unwrap_or(Some(&self.version));
        release.map(install::requirement).transpose()?;
        if installed::asked(&self.version).is_none() && !is_packaged(&self.version) {
            return Err(EmbeddedError::NoSuchVersion {
                version: self.version.clone(),
            });
        }
        Ok(release)
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

/// What is going on, for a progress display. Steps that take no time are not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The programs are being fetched; told again every tenth of a second.
    Downloading {
        /// Release or major version asked for.
        version: String,
        /// Bytes of the archive that have arrived.
        received_bytes: u64,
        /// Bytes of the whole archive, once that is known.
        total_bytes: Option<u64>,
    },
    /// The fetched archive, whose checksum was right, is being unpacked.
    Unpacking {
        /// Release.
        version: String,
        /// Size of the archive.
        archive_bytes: usize,
    },
    /// The installed programs are not what was installed; they are fetched again.
    DamagedCache {
        /// What differs.
        what: String,
    },
    /// The data folder is being initialised.
    Initialising,
    /// An initialisation that did not finish is done again.
    HalfInitialised {
        /// The folder removed.
        data: PathBuf,
    },
    /// Another dyno works with this folder; it is waited for.
    Waiting {
        /// Its process id, if it is known.
        pid: Option<u32>,
        /// What it holds.
        folder: PathBuf,
    },
    /// A server that an earlier dyno left is being stopped.
    StoppingLeftover {
        /// Its process id.
        pid: u32,
    },
    /// The server is starting.
    Starting,
}

/// Why there is no embedded server.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// No home folder is known.
    #[error(
        "no folder is known to keep PostgreSQL in: neither DYNO_HOME nor HOME is set; set DYNO_HOME to a folder you can write"
    )]
    NoHome,
    /// A name that cannot be a folder name.
    #[error(
        "\"{name}\" cannot be the {what}: only letters, digits, \"-\", \"_\" and \".\" are allowed, with a letter or digit first"
    )]
    Name {
        /// What it was to be.
        what: &'static str,
        /// As given.
        name: String,
    },
    /// Root, and nobody to run the server as.
    #[error(
        "PostgreSQL does not run as root, and none of the users {tried} exists to run it as; create one, for example with: useradd --system dyno"
    )]
    NoServiceUser {
        /// Users looked for.
        tried: String,
    },
    /// The server's user cannot reach its folders.
    #[error("the server runs as user {user}, who may not enter {}; set DYNO_HOME to a folder that others can enter, such as /var/cache/dyno", folder.display())]
    Unreachable {
        /// The server's user.
        user: String,
        /// The folder that stops it.
        folder: PathBuf,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// What was tried, such as "create".
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The version asked for does not exist.
    #[error(
        "there is no PostgreSQL {version} for this system among the packaged binaries, which are {PACKAGED}; ask for one of these, for an installed one with embedded:system:{version}, or give the address of a running server with --target"
    )]
    NoSuchVersion {
        /// As asked for.
        version: String,
    },
    /// The version asked for cannot be read.
    #[error("\"{version}\" is not a PostgreSQL version; give one such as 18 or {POSTGRESQL_VERSION}")]
    BadVersion {
        /// As asked for.
        version: String,
    },
    /// The system has no such PostgreSQL.
    #[error(
        "no PostgreSQL{version} is installed where pg_config says or in /usr/lib/postgresql{found}; install one, or leave \":system\" out to have it fetched"
    )]
    NotInstalled {
        /// The version asked for after a space, if one was.
        version: String,
        /// What there is, in brackets.
        found: String,
    },
    /// The programs could not be fetched.
    #[error("PostgreSQL {version} is not in {} and could not be fetched: {reason}. Connect to the network and try again, or copy that folder from a machine that has it, or use a server of yours with --target", folder.display())]
    Download {
        /// As asked for.
        version: String,
        /// Where it would be installed.
        folder: PathBuf,
        /// Why it could not be fetched.
        reason: String,
    },
    /// The fetched archive is not sound.
    #[error("the fetched archive of PostgreSQL {version} cannot be used: {reason}; try again")]
    Archive {
        /// As asked for.
        version: String,
        /// What is wrong.
        reason: String,
    },
    /// Given up because the caller asked to stop.
    #[error("stopped before the server was ready")]
    Stopped,
    /// A server program failed.
    #[error("{program} failed ({status}):\n{output}")]
    Program {
        /// Which program.
        program: &'static str,
        /// How it ended.
        status: String,
        /// What it said.
        output: String,
    },
    /// The server ended while starting.
    #[error("the server did not start ({status}). The end of its log {}:\n{tail}", log.display())]
    Start {
        /// How it ended, or that it took too long.
        status: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// A setting that dyno needs for itself.
    #[error("the setting {name} cannot be given: dyno chooses it for the embedded server")]
    ReservedSetting {
        /// Its name.
        name: String,
    },
    /// A setting whose name cannot be one.
    #[error("\"{name}\" is not the name of a server setting")]
    BadSetting {
        /// As given.
        name: String,
    },
    /// The cluster's server runs already.
    #[error("the server of {} is running already; stop it first", cluster.display())]
    Running {
        /// Folder of the cluster.
        cluster: PathBuf,
    },
    /// A leftover server does not end.
    #[error("an earlier server (process {pid}) still uses {} and does not end; end it by hand, then try again", data.display())]
    Leftover {
        /// Its process.
        pid: u32,
        /// Its data folder.
        data: PathBuf,
    },
}

impl EmbeddedError {
    fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { what, path, error }
    }
}

/// An installed PostgreSQL and one initialised cluster, held for this process alone.
#[derive(Debug)]
pub struct Embedded {
    cluster: Arc<Cluster>,
}

impl Embedded {
    /// Installs the programs unless they are there, takes the cluster (waiting for another dyno that uses it) and initialises it unless
    /// that was done.
    ///
    /// # Errors
    /// See [`EmbeddedError`]; each says what to do.
    pub fn prepare(options: &EmbeddedOptions, progress: &mut dyn FnMut(Progress)) -> Result<Self, EmbeddedError> {
        check_name("name of the cluster", &options.cluster)?;
        let home = Home::open(&options.home)?;
        let installation = match installed::asked(&options.version) {
            Some(version) => installed::find(version)?,
            None => install::install(&home, &options.version, &options.stop, progress)?,
        };
        let cluster = Cluster::open(&home, installation, &options.cluster, &options.stop, progress)?;
        Ok(Self {
            cluster: Arc::new(cluster),
        })
    }

    /// Starts the server with these settings on top of PostgreSQL's defaults, in which `fsync`, `synchronous_commit` and
    /// `full_page_writes` are on. Checkpoints and autovacuums are written to its log unless the settings say otherwise. A server that an earlier process left on this cluster is stopped first. May be called from any thread.
    ///
    /// # Errors
    /// The server is running already, a setting is not accepted (the end of the server's log is in the text), or it does not start.
    pub fn start(
        &self,
        settings: &[(String, String)],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Server, EmbeddedError> {
        Server::start(&self.cluster, settings, progress)
    }

    /// The release of the programs, such as `18.6.0`, or `15.19` of an installed one.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.cluster.installation.version
    }

    /// The data folder.
    #[must_use]
    pub fn data_folder(&self) -> &Path {
        &self.cluster.data
    }
}

/// Checks a name that becomes a folder.
fn check_name(what: &'static str, name: &str) -> Result<(), EmbeddedError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(allowed) {
        return Ok(());
    }
    Err(EmbeddedError::Name {
        what,
        name: name.to_owned(),
    })
}
