//! Why there is no connection, for a person to read.

use dyno_wire::tls::{TlsError, Words};
use dyno_wire::{ErrorClass, ErrorCode, OtherDatabase, ServerError, Unreached, WireError};
use std::io;

/// Why a client could not be brought up.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No socket to the server.
    #[error(
        "could not connect to the server at {address}: {cause}; check that it is running and accepts connections there"
    )]
    Unreachable {
        /// Where.
        address: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The connection broke, or nothing came in time, while logging in.
    #[error("the connection to {address} broke while {doing}: {cause}{}", of_silence(.cause))]
    Broken {
        /// Where.
        address: String,
        /// Log-in, TLS handshake or preparation.
        doing: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// Nothing came of what a server says first.
    #[error(
        "the server at {address} did not greet: {cause}; a {database} server speaks first, so another one, such as \
         PostgreSQL, may be listening there"
    )]
    NoGreeting {
        /// Where.
        address: String,
        /// What came instead.
        cause: io::Error,
        /// Whose protocol we speak.
        database: &'static str,
    },
    /// Not all of what a server says first came.
    #[error(
        "the server at {address} did not greet: {cause} before its greeting was whole; it may be stopping, or \
         something in between may cut connections, so look into its log and try again"
    )]
    HalfGreeting {
        /// Where.
        address: String,
        /// What came instead of the rest.
        cause: io::Error,
    },
    /// TLS could not be agreed on.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// TLS was agreed on, but its handshake failed: usually the certificate is not accepted.
    #[error(
        "no TLS connection to {address}: {cause}; check {} and the host's name, or choose another {}",
        .words.roots_setting(),
        .words.mode_setting()
    )]
    Handshake {
        /// Where.
        address: String,
        /// What TLS said.
        cause: rustls::Error,
        /// What settings are called.
        words: Words,
    },
    /// The server sent something that is not its protocol.
    #[error("the server at {address} does not follow the protocol: {cause}")]
    Protocol {
        /// Where.
        address: String,
        /// What was wrong.
        cause: WireError,
    },
    /// We refuse what the server asks for, or whose process it is.
    #[error("the server at {address} is not trusted with a password: {why}")]
    Distrusted {
        /// Where.
        address: String,
        /// Why, in libpq's words.
        why: String,
    },
    /// Another database's server answers.
    #[error("cannot connect to {address}: {other}")]
    OtherDatabase {
        /// Where.
        address: String,
        /// Which, and what to do.
        other: &'static OtherDatabase,
    },
    /// The server refused the log-in.
    #[error("the server at {address} refused the connection: {error}")]
    Refused {
        /// Where.
        address: String,
        /// What the server said.
        error: Box<ServerError>,
    },
    /// The server ended the session that it had begun.
    #[error("the server at {address} ended the session while {doing}: {error}")]
    Ended {
        /// Where.
        address: String,
        /// What was asked of it.
        doing: &'static str,
        /// What the server said.
        error: Box<ServerError>,
    },
    /// A statement cannot be prepared.
    #[error("the server refused statement {number} of workload \"{workload}\":\n  {text}\n{error}")]
    Statement {
        /// The workload's name.
        workload: String,
        /// Counting from 1.
        number: usize,
        /// The statement.
        text: String,
        /// What the server said.
        error: Box<ServerError>,
    },
    /// The server lets us in, but its sessions are not of the kind that is wanted.
    #[error("the server at {address} is not the requested one: {why}")]
    Unwanted {
        /// Where.
        address: String,
        /// What it is, in libpq's words.
        why: &'static str,
    },
    /// No endpoint would do, or one neither with TLS nor without; in the order in which they were tried.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Everywhere(Vec<ConnectError>),
    /// The workload names no endpoint.
    #[error("there is no server to connect to")]
    NoEndpoint,
    /// The user asked to stop.
    #[error("stopped while connecting")]
    Stopped,
}

/// What to do about a server that takes what it is sent and does not answer.
fn of_silence(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::TimedOut => {
            "; the server, its machine or its disk may be standing still, or something in between, such as a firewall, \
             may drop what is sent: look at the server's log and load"
        }
        _ => "",
    }
}

impl ConnectError {
    /// All that went wrong, in order, as one error: the only one, or, if somebody asked to stop, that.
    #[must_use]
    pub fn of_all(mut errors: Vec<Self>) -> Self {
        match errors.pop() {
            None => Self::NoEndpoint,
            Some(last) if errors.is_empty() || matches!(last, Self::Stopped) => last,
            Some(last) => {
                errors.push(last);
                Self::Everywhere(errors)
            }
        }
    }

    /// The same if it happened while the server was to speak first, and had begun to or not.
    pub(crate) fn of_greeting(self, database: &'static str, begun: bool) -> Self {
        match self {
            Self::Broken { address, cause, .. } if begun => Self::HalfGreeting { address, cause },
            Self::Broken { address, cause, .. } => Self::NoGreeting {
                address,
                cause,
                database,
            },
            error => error,
        }
    }

    /// Whether another endpoint may do better.
    #[must_use]
    pub fn is_elsewhere_better(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Broken { .. }
            | Self::NoGreeting { .. }
            | Self::HalfGreeting { .. }
            | Self::Tls(_)
            | Self::Handshake { .. }
            | Self::Unwanted { .. }
            | Self::OtherDatabase { .. }
            | Self::Protocol { .. }
            | Self::Ended { .. } => true,
            Self::Refused { error, .. } => error.class == ErrorClass::Unavailable,
            Self::Everywhere(errors) => errors.last().is_some_and(Self::is_elsewhere_better),
            Self::Distrusted { .. } | Self::Statement { .. } | Self::NoEndpoint | Self::Stopped => false,
        }
    }

    /// The same as the error that a transaction fails with.
    #[must_use]
    pub fn into_server_error(self) -> ServerError {
        let unreached = self.unreached();
        let error = match self {
            Self::Refused { error, .. } | Self::Ended { error, .. } => *error,
            Self::Everywhere(mut errors) => return errors.pop().map(Self::into_server_error).unwrap_or_default(),
            error => ServerError {
                class: ErrorClass::Refused,
                code: ErrorCode::UNABLE_TO_CONNECT,
                message: error.to_string(),
                ..ServerError::default()
            },
        };
        ServerError {
            unreached: unreached.map(Box::new),
            ..error
        }
    }

    /// Where no connection was made, and the system's number of why.
    fn unreached(&self) -> Option<Unreached> {
        let (address, cause) = match self {
            Self::Unreachable { address, cause } => (address, Some(cause)),
            Self::Broken { address, .. }
            | Self::NoGreeting { address, .. }
            | Self::HalfGreeting { address, .. }
            | Self::Handshake { address, .. }
            | Self::Protocol { address, .. }
            | Self::Distrusted { address, .. }
            | Self::OtherDatabase { address, .. }
            | Self::Refused { address, .. }
            | Self::Ended { address, .. }
            | Self::Unwanted { address, .. } => (address, None),
            Self::Tls(_) | Self::Statement { .. } | Self::Everywhere(_) | Self::NoEndpoint | Self::Stopped => {
                return None;
            }
        };
        let os_error = cause.and_then(|cause| match cause.kind() {
            // Our own patience has ended.
            io::ErrorKind::TimedOut => Some(rustix::io::Errno::TIMEDOUT.raw_os_error()),
            _ => cause.raw_os_error(),
        });
        Some(Unreached {
            address: address.clone(),
            os_error,
        })
    }
}
