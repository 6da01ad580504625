//! What can go wrong between a session and its server.

use crate::tls::TlsError;
use crate::{MyError, OraError, OtherDatabase, ServerError};

/// Why a session cannot go on (or, for statements, cannot be made).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The server refused the start-up or ended the connection, and said why.
    #[error("{0}")]
    Server(Box<ServerError>),

    /// The session is not of the kind that was asked for.
    #[error("{0}")]
    SessionKind(&'static str),

    /// The two sides cannot agree on encryption.
    #[error("{0}")]
    Tls(Box<TlsError>),

    /// Another database's server answers.
    #[error("{0}")]
    OtherDatabase(&'static OtherDatabase),

    /// A message breaks the protocol's own rules.
    #[error(
        "the server sent a malformed message: {what}; check that this is a {database} server and that \
         nothing in between alters the data"
    )]
    Malformed {
        /// Whose protocol we speak: [`Session::DATABASE`](crate::Session::DATABASE).
        database: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },

    /// A message that may not come at this point.
    #[error(
        "the server sent an unexpected message ('{}') {when}; is this really a {database} server?",
        .tag.escape_ascii()
    )]
    Unexpected {
        /// Whose protocol we speak.
        database: &'static str,
        /// The message's type byte.
        tag: u8,
        /// The point of the conversation.
        when: &'static str,
    },

    /// A reply, or a part of one, to nothing that was sent.
    #[error(
        "the server sent a reply though nothing was asked; check that this is a {database} server and \
         that nothing in between alters the data"
    )]
    Unasked {
        /// Whose protocol we speak.
        database: &'static str,
    },

    /// A message announces a length beyond anything a server sends.
    #[error(
        "the server announced a message ('{}') of {length} bytes, more than any {database} server sends; \
         is this really a {database} server?",
        .tag.escape_ascii()
    )]
    TooLong {
        /// Whose protocol we speak.
        database: &'static str,
        /// The message's type byte.
        tag: u8,
        /// The announced length in bytes.
        length: u32,
    },

    /// The server wants a password and none was given.
    #[error("the server asks for a password and none was given; put it into {0}")]
    PasswordMissing(
        /// Where a password is looked for.
        &'static str,
    ),

    /// The server wants a way of authentication this program does not know.
    #[error("the server asks for authentication by {method}, which is not supported; {advice}")]
    UnsupportedAuthentication {
        /// The way.
        method: String,
        /// What the server may be told to ask for instead, and how.
        advice: &'static str,
    },

    /// The server asks for what [`AuthenticationPolicy`](crate::AuthenticationPolicy) does not allow, or does not
    /// do what it demands. In libpq's words.
    #[error("{0}")]
    AuthenticationRefused(String),

    /// The SCRAM exchange failed on the server's side: it could not prove that it knows the password.
    #[error(
        "the server failed to prove its identity in the SCRAM exchange: {0}; it may not be the server it claims to be"
    )]
    Scram(String),

    /// The server speaks another major version of the protocol.
    #[error(
        "the server offers protocol version {major}.{minor} where 3.0 was asked for; PostgreSQL 9.3 and later are \
         supported"
    )]
    ProtocolVersion {
        /// Major version offered.
        major: u16,
        /// Minor version offered.
        minor: u16,
    },

    /// The conversation with a MySQL or MariaDB server cannot go on.
    #[error("{0}")]
    MySql(#[from] MyError),

    /// The conversation with an Oracle server cannot go on.
    #[error("{0}")]
    Oracle(#[from] OraError),

    /// Something we were asked to send cannot be carried by the protocol.
    #[error("{0}")]
    Unsendable(String),
}

impl From<TlsError> for WireError {
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::OtherDatabase(other) => Self::OtherDatabase(other),
            error => Self::Tls(Box::new(error)),
        }
    }
}
