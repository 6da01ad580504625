//! What can go wrong with a MySQL server that no error of its own describes.

/// Why a conversation with a MySQL or MariaDB server cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MyError {
    /// What answered is no MySQL server.
    #[error(
        "the server's first bytes (\"{0}\") are no greeting of a MySQL or MariaDB server; check the host and the port"
    )]
    NoGreeting(String),

    /// The server greets in another version of the protocol.
    #[error(
        "the server greets with protocol version {0}; MySQL 5.7 and later and MariaDB 10.4 and later speak version 10 \
         on their classic port (3306, not the X protocol's 33060)"
    )]
    ProtocolVersion(u8),

    /// The server lacks what every supported one can do.
    #[error("the server ({version}) is too old: {lack}; MySQL 5.7 and MariaDB 10.4 are the oldest that are supported")]
    TooOld {
        /// Its version as it greets.
        version: String,
        /// What it lacks.
        lack: &'static str,
    },

    /// The password would travel readably.
    #[error(
        "the server asks for the password in clear text (mysql_clear_password), which is only sent to a server that \
         TLS has verified or over a Unix-domain socket; use ssl-mode=verify_identity or verify_ca"
    )]
    ClearPassword,

    /// The server's public key cannot encrypt the password.
    #[error("the server's public key cannot be used to send the password: {0}; use TLS (ssl-mode=required)")]
    PublicKey(&'static str),

    /// A packet has another number than the one that is due.
    #[error("the server sent packet {got} where packet {due} was due; check that nothing in between alters the data")]
    OutOfOrder {
        /// The number that was due.
        due: u8,
        /// The number it has.
        got: u8,
    },

    /// The server asks for a file, over and over.
    #[error(
        "the server asks again and again for a file of this machine, which it does not get; check that it is to be \
         trusted"
    )]
    AsksForFiles,

    /// A value or text is longer than a server can send.
    #[error("the server sent a row of more than 1 GiB, more than any MySQL or MariaDB server sends")]
    TooLong,
}
