//! The errors of MariaDB and MySQL as those of a target.

use super::ClientError;
use super::load::LoadError;
use crate::target::TargetError;

/// No connection for what is asked beside the load.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ConnectError(pub ClientError);

impl From<ConnectError> for TargetError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(Box::new(error))
    }
}

impl From<ClientError> for TargetError {
    fn from(error: ClientError) -> Self {
        Self::other(error)
    }
}

impl From<LoadError> for TargetError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Stopped => Self::Stopped(Box::new(error)),
            error => Self::other(error),
        }
    }
}
