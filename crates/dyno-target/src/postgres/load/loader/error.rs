//! Why a loading connection could not do what was asked.

use crate::postgres::address::ConnectError;
use dyno_wire::tls::TlsError;
use dyno_wire::{ServerError, WireError};
use std::io;

/// Why a loading connection could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum LoaderError {
    /// No connection to any server.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// No agreement on encryption.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The server refused a statement; the connection is still of use.
    #[error("{0}")]
    Refused(Box<ServerError>),
    /// The server ended the connection and said why.
    #[error("{0}")]
    Ended(Box<ServerError>),
    /// The connection broke.
    #[error("the connection to the server was lost: {0}")]
    Lost(io::Error),
    /// What came is not PostgreSQL's protocol.
    #[error("{0}")]
    Protocol(WireError),
    /// It was to stop; a statement under way has been cancelled.
    #[error("stopped on request")]
    Stopped,
}

impl From<io::Error> for LoaderError {
    fn from(error: io::Error) -> Self {
        TlsError::from_io(&error).map_or(Self::Lost(error), Self::Tls)
    }
}
