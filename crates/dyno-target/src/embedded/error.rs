//! Why there is no embedded server.

use crate::nearest::hint;
use std::path::{Path, PathBuf};

/// Why there is no embedded server.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// No home folder is known.
    #[error(
        "there is no folder to keep servers in: neither DYNO_HOME nor HOME is set; set DYNO_HOME to a folder that you \
         can write to"
    )]
    NoHome,
    /// A name that cannot be a folder name.
    #[error(
        "\"{name}\" cannot be the {what}: only letters, digits, \"-\", \"_\" and \".\" are allowed, with a letter or \
         digit first"
    )]
    Name {
        /// What it was to be.
        what: &'static str,
        /// As given.
        name: String,
    },
    /// Root, and nobody to run the server as.
    #[error(
        "a server does not run as root, and none of the users {tried} exists to run it as; create one, for example \
         with: useradd --system dyno"
    )]
    NoServiceUser {
        /// Users looked for.
        tried: String,
    },
    /// The server's user cannot reach its folders.
    #[error("the server runs as user {user}, who may not enter {}; set DYNO_HOME to a folder that others can enter, \
             such as /var/cache/dyno", folder.display())]
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
        "there is no {product} {version} for this system among the packaged binaries, which are {packaged}; ask for \
         one of these, for an installed one with {installed}, or give the address of a running server with --target"
    )]
    NoSuchVersion {
        /// Of which database.
        product: &'static str,
        /// The versions there are.
        packaged: &'static str,
        /// The target that asks for an installed one.
        installed: String,
        /// As asked for.
        version: String,
    },
    /// There are no binaries of it at all.
    #[error(
        "{product} is not packaged for dyno: install it and ask for it with {installed}, take embedded:mariadb, or \
         give the address of a running server with --target"
    )]
    NotPackaged {
        /// Which database.
        product: &'static str,
        /// The target that asks for an installed one.
        installed: String,
    },
    /// The version asked for cannot be read.
    #[error("\"{version}\" is not a {product} version; give one such as {examples}")]
    BadVersion {
        /// Of which database.
        product: &'static str,
        /// Some that are.
        examples: &'static str,
        /// As asked for.
        version: String,
    },
    /// The system has no such server.
    #[error("no {product}{version} is installed {places}{found}; install one, or {remedy}")]
    NotInstalled {
        /// Of which database.
        product: &'static str,
        /// Where one was looked for.
        places: &'static str,
        /// What else can be done.
        remedy: &'static str,
        /// The version asked for after a space, if one was.
        version: String,
        /// What there is, in brackets.
        found: String,
    },
    /// The programs could not be fetched.
    #[error("{product} {version} is not in {} and could not be fetched: {reason}. Connect to the network and try \
             again, or copy that folder from a machine that has it, or use your own server with --target",
        folder.display())]
    Download {
        /// Of which database.
        product: &'static str,
        /// As asked for.
        version: String,
        /// Where it would be installed.
        folder: PathBuf,
        /// Why it could not be fetched.
        reason: String,
    },
    /// The fetched archive is not sound.
    #[error("the fetched archive of {product} {version} cannot be used: {reason}; try again")]
    Archive {
        /// Of which database.
        product: &'static str,
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
    /// There is no room for the server's files.
    #[error(
        "{product} cannot start: the disk of {} is full ({:.0} MB are left); make room there and try again{}",
        folder.display(), *left_bytes as f64 / 1e6, last_words(said)
    )]
    NoRoom {
        /// Which database.
        product: &'static str,
        /// The folder of its cluster.
        folder: PathBuf,
        /// What is left, in bytes.
        left_bytes: u64,
        /// The last lines that it or the program that makes its data said.
        said: String,
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
    /// A setting that the server does not have.
    #[error("{product} {version} has no setting {name}{}",
        hint(nearest.as_deref(), "; leave it out, or give it by the name that it has there"))]
    UnknownSetting {
        /// The database.
        product: &'static str,
        /// Its release.
        version: String,
        /// The setting.
        name: String,
        /// The one that may be meant.
        nearest: Option<String>,
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
    /// A stale server does not end.
    #[error("an earlier server (process {pid}) is still using {} and does not end; end it manually, then try again",
        data.display())]
    Stale {
        /// Its process.
        pid: u32,
        /// Its data folder.
        data: PathBuf,
    },
}

/// What a server said last, as the end of a message.
fn last_words(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(". What it said last:\n{said}"),
    }
}

impl EmbeddedError {
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { what, path, error }
    }
}

/// Checks a name that becomes a folder.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), EmbeddedError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(allowed) {
        return Ok(());
    }
    Err(EmbeddedError::Name {
        what,
        name: name.to_owned(),
    })
}
