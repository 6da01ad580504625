//! PostgreSQL's errors as those of a target.

use super::address::{AddressError, ConnectError};
use super::cache::CacheError;
use super::embedded::{DatabaseError, EmbeddedError};
use super::facts::FactsError;
use super::foreign::ForeignError;
use super::load::LoadError;
use super::lock::LockError;
use super::room::EstimateError;
use super::schema::SchemaError;
use super::server_message;
use super::settings::{ChangeError, MappingError, SettingsError, TooFewConnections};
use super::sizes::SizesError;
use super::tablespaces::TablespaceError;
use crate::target::TargetError;

/// Something that the server was asked for failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {message}")]
pub struct AskError {
    what: String,
    message: String,
}

impl AskError {
    pub(super) fn new(what: &str, error: &postgres::Error) -> Self {
        Self {
            what: what.to_owned(),
            message: server_message(error),
        }
    }
}

/// Errors that nobody tells from others.
macro_rules! others {
    ($($error:ty),+) => {
        $(impl From<$error> for TargetError {
            fn from(error: $error) -> Self {
                Self::other(error)
            }
        })+
    };
}

others!(
    AddressError,
    AskError,
    CacheError,
    DatabaseError,
    EmbeddedError,
    EstimateError,
    FactsError,
    ForeignError,
    MappingError,
    SchemaError,
    SettingsError,
    SizesError,
    TablespaceError,
    TooFewConnections
);

impl From<ConnectError> for TargetError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(Box::new(error))
    }
}

impl From<LoadError> for TargetError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Stopped { .. } => Self::Stopped(Box::new(error)),
            error => Self::other(error),
        }
    }
}

impl From<LockError> for TargetError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Stopped => Self::Stopped(Box::new(error)),
            LockError::Connect(error) => error.into(),
            error @ LockError::Server { .. } => Self::other(error),
        }
    }
}

impl From<ChangeError> for TargetError {
    fn from(error: ChangeError) -> Self {
        match error.is_undone() {
            true => Self::other(error),
            false => Self::HalfChanged(Box::new(error)),
        }
    }
}
