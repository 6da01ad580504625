//! The database to measure, as it is named on the command line and in experiment files.

use crate::archive::{without_hidden, without_secrets};
use crate::experiment::Resolved;
use dyno_target::postgres::address::{AddressError, ConnectionInfo};
use dyno_target::postgres::embedded::{EmbeddedError, EmbeddedOptions, home_folder};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The word that asks for a private server, and the database that is measured unless another is named.
pub const EMBEDDED: &str = "embedded";

/// The factor that varies the database.
pub(super) const FACTOR: &str = "target";

/// Looks up variables of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The database to measure.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A private server, made on demand.
    Embedded(EmbeddedOptions),
    /// A server that is there already.
    Address(Box<ConnectionInfo>),
}

/// Why there is no database to measure.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Its address cannot be understood.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There can be no private server.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
}

impl Target {
    /// Understands `text`: `embedded`, `embedded:VERSION`, a URI or a conninfo string.
    pub(super) fn named(text: &str, environment: Environment, stop: &Arc<AtomicBool>) -> Result<Self, TargetError> {
        let version = match text.strip_prefix(EMBEDDED) {
            Some("") => None,
            Some(rest) if rest.starts_with(':') => Some(&rest[1..]),
            _ => {
                // What comes from an archive may have a hidden password in place of one.
                let info = ConnectionInfo::resolve(Some(&without_hidden(text)), environment)?;
                return Ok(Self::Address(Box::new(info)));
            }
        };
        let mut options = EmbeddedOptions::new(home_folder(environment)?);
        options.stop = Arc::clone(stop);
        if let Some(version) = version {
            version.clone_into(&mut options.version);
        }
        Ok(Self::Embedded(options))
    }

    /// Its address, if it is a server that is there already.
    pub(super) fn address(&self) -> Option<&ConnectionInfo> {
        match self {
            Self::Embedded(_) => None,
            Self::Address(info) => Some(info),
        }
    }
}

/// What `experiment` calls its database; it may hold a password.
pub(super) fn name_of(experiment: &Resolved) -> &str {
    experiment.target.as_deref().unwrap_or(EMBEDDED)
}

/// The databases of some experiments as they may be archived, each once.
pub(super) fn names<'a>(experiments: impl Iterator<Item = &'a Resolved>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in experiments.map(name_of).map(without_secrets) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

impl fmt::Display for Target {
    /// Without passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(options) => write!(f, "{EMBEDDED}:{}", options.version),
            Self::Address(info) => info.fmt(f),
        }
    }
}
