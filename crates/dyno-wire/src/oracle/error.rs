//! What can go wrong with an Oracle server that no error of its own describes.

/// Why a conversation with an Oracle server cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OraError {
    /// What answered is no Oracle server.
    #[error("the server's first bytes (\"{0}\") are no answer of an Oracle listener; check the host and the port")]
    NoListener(String),

    /// The server speaks an older version of the protocol.
    #[error(
        "the server speaks version {0} of Oracle's protocol; Oracle 12.1, which speaks version 315, is the oldest that \
         is supported"
    )]
    TooOld(u16),

    /// The server demands its own encryption.
    #[error(
        "the server demands Oracle's native network encryption, which is not supported; let it take TLS (an address \
         with tcps://), set SQLNET.ENCRYPTION_SERVER and SQLNET.CRYPTO_CHECKSUM_SERVER to \"accepted\" or \
         \"requested\" in its sqlnet.ora, or use another driver"
    )]
    NativeEncryption,

    /// The server did not prove that it knows the password.
    #[error(
        "the server failed to prove that it knows the password; it may not be the server it claims to be, so nothing \
         was asked of it"
    )]
    Proof,

    /// The password's verifier is too old.
    #[error(
        "the server knows the password of this account by a verifier of type {0:#x} only, which is not supported; have \
         the password set anew (ALTER USER … IDENTIFIED BY …) with SQLNET.ALLOWED_LOGON_VERSION_SERVER at 11 or more"
    )]
    Verifier(u64),

    /// A listener sends us to another again and again.
    #[error("the listener sent us on more than {0} times; check the LOCAL_LISTENER and REMOTE_LISTENER of the server")]
    Redirects(usize),

    /// A listener sends us elsewhere without saying where.
    #[error(
        "the listener sends us on to \"{0}\", which names no host and port; check the LOCAL_LISTENER of the server, or \
         connect to the server's own listener"
    )]
    Redirect(String),

    /// A listener sends us to an address that speaks TLS, which was not asked for.
    #[error(
        "the listener sends us on to \"{0}\", which speaks TLS; use an address that begins with oracles:// (or \
         ?protocol=tcps) and the port of the listener that speaks TLS"
    )]
    RedirectToTls(String),

    /// A listener that speaks TLS sends us to an address that does not.
    #[error(
        "the listener sends us on to \"{0}\", without TLS, which the address asks for; have LOCAL_LISTENER and \
         REMOTE_LISTENER of the server name addresses with PROTOCOL=tcps, or use an address without TLS"
    )]
    RedirectFromTls(String),

    /// Values come of a type of which nobody knows where they end.
    #[error(
        "the server sent rows with the column \"{name}\", whose type ({kind}) is not known here; select something of \
         it that is text or a number, or leave it out"
    )]
    NotFetched {
        /// The column's name.
        name: String,
        /// Its type's name.
        kind: String,
    },

    /// A message is longer than is kept.
    #[error("the server sent a row of more than {0} MiB, which is more than is kept; select fewer or smaller columns")]
    TooLong(usize),
}
