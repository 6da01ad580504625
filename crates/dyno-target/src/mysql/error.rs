//! The errors of MariaDB and MySQL as those of a target.

use super::ClientError;
use super::load::LoadError;
use crate::target::{MakeError, TargetError};

/// Something that the server was asked for failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {error}")]
struct AskError {
    what: String,
    error: ClientError,
}

/// Makes of what went wrong the target's error that says what was to be done.
pub(super) fn cannot(what: impl Into<String>) -> impl FnOnce(ClientError) -> TargetError {
    let what = what.into();
    move |error| TargetError::other(AskError { what, error })
}

impl From<ClientError> for TargetError {
    fn from(error: ClientError) -> Self {
        Self::other(error)
    }
}

impl From<LoadError> for TargetError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Stopped | LoadError::Make(MakeError::Stopped) => Self::Stopped(Box::new(error)),
            error => Self::other(error),
        }
    }
}
