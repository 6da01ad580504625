//! What can go wrong with a database under test.

use super::{MakeError, SqlError};
use crate::host::{DiskError, PageCacheError, SizeError};
use std::error::Error;

/// Something about a target went wrong. The text is that of the database's own error; what is told apart here is what
/// those who use a target do differently.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// No connection.
    #[error(transparent)]
    Connect(Box<dyn Error + Send + Sync>),
    /// A request to stop ended it; the text says how far it had come.
    #[error(transparent)]
    Stopped(Box<dyn Error + Send + Sync>),
    /// A change of settings failed, and the server may not be as it was.
    #[error(transparent)]
    HalfChanged(Box<dyn Error + Send + Sync>),
    /// Anything else.
    #[error(transparent)]
    Other(Box<dyn Error + Send + Sync>),
    /// A kind of database that is not built in.
    #[error("{kind} is not supported; use one of {known}")]
    UnknownKind {
        /// As written, such as `db2://`.
        kind: String,
        /// Those that are built in, with how their addresses begin.
        known: String,
    },
    /// An address without its slashes. What follows is not repeated: it may hold a password.
    #[error("an address begins with {scheme}://, not with {scheme}: alone; give {scheme}://user@host:port/database")]
    NoSlashes {
        /// What it begins with.
        scheme: &'static str,
    },
}

impl TargetError {
    /// No connection, for a reason in the database's own words.
    pub(crate) fn connect(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Connect(Box::new(error))
    }

    /// Any error of a database that nobody tells from others.
    pub fn other(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Other(error.into())
    }

    /// Whether nothing stayed changed.
    #[must_use]
    pub fn is_undone(&self) -> bool {
        !matches!(self, Self::HalfChanged(_))
    }
}

impl From<MakeError> for TargetError {
    fn from(error: MakeError) -> Self {
        match error {
            MakeError::Stopped => Self::Stopped(Box::new(error)),
            MakeError::Failed(_) => Self::other(error),
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

others!(DiskError, PageCacheError, SizeError, SqlError);
