//! What can go wrong between a session and its server.

use crate::ServerError;

/// Why a session cannot go on (or, for statements, cannot be made).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The server refused the start-up or ended the connection, and said why.
    #[error("{0}")]
    Server(Box<ServerError>),

    /// The session is not of the kind that was asked for.
    #[error("{0}")]
    SessionKind(&'static str),

    /// A message breaks the protocol's own rules.
    #[error(
        "the server sent a malformed message: {0}; is this really a PostgreSQL server, and is nothing between it and us altering the stream?"
    )]
    Malformed(&'static str),

    /// A message that may not come at this point.
    #[error(
        "the server sent an unexpected message ('{}') {when}; is this really a PostgreSQL server?",
        .tag.escape_ascii()
    )]
    Unexpected {
        /// The message's type byte.
        tag: u8,
        /// The point of the conversation.
        when: &'static str,
    },

    /// A reply, or a part of one, to nothing that was sent.
    #[error(
        "the server sent a reply though nothing was asked; is this really a PostgreSQL server, and is nothing between it and us altering the stream?"
    )]
    Unasked,

    /// A message announces a length beyond anything a server sends.
    #[error(
        "the server announced a message ('{}') of {length} bytes, more than any PostgreSQL server sends; is this really a PostgreSQL server?",
        .tag.escape_ascii()
    )]
    TooLong {
        /// The message's type byte.
        tag: u8,
        /// The announced length in bytes.
        length: u32,
    },

    /// The server wants a password and none was given.
    #[error(
        "the server asks for a password and none was given; put it into the address, PGPASSWORD or the password file"
    )]
    PasswordMissing,

    /// The server wants a way of authentication this program does not know.
    #[error(
        "the server asks for authentication by {0}, which is not supported; allow scram-sha-256, md5, password or trust for this user in pg_hba.conf"
    )]
    UnsupportedAuthentication(String),

    /// The server asks for what [`AuthenticationPolicy`](crate::AuthenticationPolicy) does not allow, or does not do what it demands. In libpq's words.
    #[error("{0}")]
    AuthenticationRefused(String),

    /// The SCRAM exchange failed on the server's side: it could not prove that it knows the password.
    #[error(
        "the server failed to prove its identity in the SCRAM exchange: {0}; it may not be the server it claims to be"
    )]
    Scram(String),

    /// The server speaks another major version of the protocol.
    #[error(
        "the server offers protocol version {major}.{minor} where 3.0 was asked for; PostgreSQL 9.3 and later are supported"
    )]
    ProtocolVersion {
        /// Major version offered.
        major: u16,
        /// Minor version offered.
        minor: u16,
    },

    /// Something we were asked to send cannot be carried by the protocol.
    #[error("{0}")]
    Unsendable(String),
}
