//! What goes wrong in Oracle's crate, in the words and classes of dyno's own sessions.

use dyno_engine::ConnectError;
use dyno_text::one_line;
use dyno_wire::{ErrorClass, ServerError};
use oracledb::{Error, ErrorKind};
use std::io;

/// How many characters of a message are kept: the crate's may repeat packets.
const LONGEST: usize = 1_000;

/// What listeners say of a service, and of an instance, that they do not know.
const NO_SERVICE: u32 = 12_514;
const NO_INSTANCE: u32 = 12_505;

/// Why something was not executed.
pub enum Failure {
    /// The server refuses it, or it cannot be asked for.
    Refused(Box<ServerError>),
    /// The connection is gone.
    Lost(io::Error),
}

impl Failure {
    /// Something that the crate cannot send.
    pub fn not_utf8(what: &str) -> Self {
        Self::of_ours(
            format!("{what} is not UTF-8, which is all that Oracle's crate sends"),
            "use the driver dyno",
        )
    }

    /// A column whose values have no text.
    pub fn not_shown(name: &str, kind: &str) -> Self {
        Self::of_ours(
            format!("the column \"{name}\" is of type {kind}, which is not fetched"),
            "select something of it that is, such as to_char of it, or its length",
        )
    }

    fn of_ours(message: String, hint: &str) -> Self {
        Self::Refused(Box::new(ServerError {
            severity: "ERROR".to_owned(),
            class: ErrorClass::Statement,
            message,
            hint: Some(hint.to_owned()),
            ..ServerError::default()
        }))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::DbError(said) => {
                let code = u32::try_from(said.code()).unwrap_or_default();
                let said = ServerError::of_oracle(code, said.message());
                match said.fatal {
                    true => Self::Lost(io::Error::other(said)),
                    false => Self::Refused(Box::new(said)),
                }
            }
            // Found before anything is sent.
            ErrorKind::ParseError(..)
            | ErrorKind::WrongNumPositionalBinds(..)
            | ErrorKind::UnsupportedConversion(..)
            | ErrorKind::NotImplemented(_) => Self::of_ours(
                one_line(&format!("Oracle's crate refuses it: {error}"), LONGEST),
                "use the driver dyno",
            ),
            // Whatever else it is, the crate may have lost its place in what the server sends.
            _ => Self::Lost(of_system(&error)),
        }
    }
}

/// An error of the crate as one of the system, whose own it does not give away.
fn of_system(error: &Error) -> io::Error {
    let kind = match error.kind() {
        ErrorKind::CallTimeoutExceeded => io::ErrorKind::TimedOut,
        ErrorKind::DeadConnection => io::ErrorKind::ConnectionReset,
        ErrorKind::NotConnected => io::ErrorKind::NotConnected,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, one_line(&format!("Oracle's crate says: {error}"), LONGEST))
}

/// Why the crate did not connect to the server at `address`.
pub fn unconnected(address: &str, error: &Error) -> ConnectError {
    let address = address.to_owned();
    let refused = |code, text: &str| ConnectError::Refused {
        address: address.clone(),
        error: Box::new(ServerError::of_oracle_refusal(code, text)),
    };
    match error.kind() {
        ErrorKind::DbError(said) => refused(u32::try_from(said.code()).unwrap_or_default(), said.message()),
        ErrorKind::InvalidServiceName(..) => refused(NO_SERVICE, &listener(NO_SERVICE)),
        ErrorKind::InvalidSid(..) => refused(NO_INSTANCE, &listener(NO_INSTANCE)),
        ErrorKind::ListenerRefusedConnection(.., code) => {
            let code = u32::try_from(*code).unwrap_or_default();
            refused(code, &listener(code))
        }
        ErrorKind::StreamOperation => ConnectError::Unreachable {
            address,
            cause: of_system(error),
        },
        ErrorKind::CallTimeoutExceeded | ErrorKind::DeadConnection => broken(&address, of_system(error)),
        _ => ConnectError::Refused {
            address,
            error: Box::new(ServerError {
                severity: "ERROR".to_owned(),
                class: ErrorClass::Refused,
                message: one_line(&format!("Oracle's crate says: {error}"), LONGEST),
                ..ServerError::default()
            }),
        },
    }
}

/// What the crate leaves of a listener's refusal.
fn listener(code: u32) -> String {
    format!("ORA-{code:05}: the listener refuses the connection")
}

/// A connection that broke before the server has let us in.
pub fn broken(address: &str, cause: io::Error) -> ConnectError {
    ConnectError::Broken {
        address: address.to_owned(),
        doing: "logging in",
        cause,
    }
}

/// A connection without a thread to live on.
pub fn unstarted(address: &str, cause: &io::Error) -> ConnectError {
    let message = format!(
        "no thread for it can be started: {cause}; raise the limit on processes (ulimit -u), or use fewer clients"
    );
    ConnectError::Unreachable {
        address: address.to_owned(),
        cause: io::Error::new(cause.kind(), message),
    }
}
