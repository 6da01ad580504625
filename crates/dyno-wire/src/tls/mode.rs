//! How much encryption is asked for, and how a server answers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{TlsError, Words};
use crate::postgres::{MYSQL, is_mysql};

/// libpq's `sslmode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SslMode {
    /// Never encrypted.
    Disable,
    /// Not encrypted, unless the server insists.
    Allow,
    /// Encrypted if the server can.
    #[default]
    Prefer,
    /// Encrypted; the server's certificate is verified only if root certificates are given.
    Require,
    /// Encrypted, by a server whose certificate a given root certificate vouches for.
    VerifyCa,
    /// The same, and the certificate is for the host connected to.
    VerifyFull,
}

/// Whether a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// As it is.
    Plain,
    /// By TLS.
    Tls,
}

impl SslMode {
    /// All of them, from least to most secure.
    pub const ALL: [Self; 6] = [
        Self::Disable,
        Self::Allow,
        Self::Prefer,
        Self::Require,
        Self::VerifyCa,
        Self::VerifyFull,
    ];

    /// The name as typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Allow => "allow",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    /// What to try, in order, each on a new connection: the next one when TLS was not to be had, or the server refused
    /// the start-up and may [let us in](crate::Session::LETS_IN_BY_ENCRYPTION) the other way. Over a unix socket only
    /// [`Encryption::Plain`] makes sense, whatever the mode.
    pub const fn attempts(self) -> &'static [Encryption] {
        match self {
            Self::Disable => &[Encryption::Plain],
            Self::Allow => &[Encryption::Plain, Encryption::Tls],
            Self::Prefer => &[Encryption::Tls, Encryption::Plain],
            Self::Require | Self::VerifyCa | Self::VerifyFull => &[Encryption::Tls],
        }
    }
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SslMode {
    type Err = TlsError;

    fn from_str(text: &str) -> Result<Self, TlsError> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| TlsError::UnknownMode(text.to_owned()))
    }
}

/// The request code of an SSLRequest: 1234 in the high half, 5679 in the low one.
const SSL_CODE: i32 = 80_877_103;

/// The first message on a connection that is to be encrypted. The server answers with a single byte.
pub fn ssl_request() -> [u8; 8] {
    let mut message = [0, 0, 0, 8, 0, 0, 0, 0];
    message[4..].copy_from_slice(&SSL_CODE.to_be_bytes());
    message
}

/// What to do after the server's answer to [`ssl_request`]; `received` is all that was received so far, at least
/// one byte.
///
/// # Errors
/// [`TlsError::Refused`] if the server does not encrypt and `mode` demands it; [`TlsError::UnencryptedBytes`] if more
/// than the answer came, which must not be taken for the first bytes of the encrypted stream; [`TlsError::Answer`] if
/// it is not an answer. That includes an error message: so early nobody vouches for its text, so it is not shown.
/// [`TlsError::OtherDatabase`] if a MySQL or MariaDB server answers.
pub fn interpret_answer(mode: SslMode, received: &[u8]) -> Result<Encryption, TlsError> {
    if is_mysql(received) == Some(true) {
        return Err(TlsError::OtherDatabase(&MYSQL));
    }
    match received {
        [_, rest @ ..] if !rest.is_empty() && matches!(received[0], b'S' | b'N') => {
            Err(TlsError::UnencryptedBytes(rest.len()))
        }
        [b'S'] => Ok(Encryption::Tls),
        [b'N'] if mode < SslMode::Require => Ok(Encryption::Plain),
        [b'N'] => Err(TlsError::Refused(Words::Libpq, mode)),
        [b'E', ..] => Err(TlsError::Answer("an error".into())),
        [other, ..] => Err(TlsError::Answer(format!("'{}'", other.escape_ascii()))),
        [] => Err(TlsError::Answer("nothing".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use postgres_protocol::message::frontend;

    #[test]
    fn names_round_trip() {
        for mode in SslMode::ALL {
            assert_eq!(mode.to_string().parse::<SslMode>().unwrap(), mode);
        }
        let error = "verify".parse::<SslMode>().unwrap_err();
        assert!(error.to_string().contains("unknown sslmode \"verify\""));
    }

    #[test]
    fn the_request_agrees_with_postgres_protocol() {
        let mut expected = BytesMut::new();
        frontend::ssl_request(&mut expected);
        assert_eq!(ssl_request()[..], expected[..]);
    }

    #[test]
    fn answers_depend_on_the_mode() {
        for mode in SslMode::ALL {
            assert_eq!(interpret_answer(mode, b"S").unwrap(), Encryption::Tls);
            let refused = interpret_answer(mode, b"N");
            match mode {
                SslMode::Disable | SslMode::Allow | SslMode::Prefer => {
                    assert_eq!(refused.unwrap(), Encryption::Plain);
                }
                _ => assert!(refused.unwrap_err().to_string().contains(mode.name())),
            }
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for (received, part) in [
            (&b"S\x16\x03"[..], "2 bytes between"),
            (b"NE", "1 bytes between"),
            (b"ESFATAL", "with an error"),
            (b"H", "with 'H'"),
            (b"\0", "with '\\x00'"),
            (b"", "with nothing"),
        ] {
            let error = interpret_answer(SslMode::Prefer, received).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn another_database_is_named() {
        let error = interpret_answer(SslMode::Require, b"\x53\0\0\0\x0a11.4.2-MariaDB\0").unwrap_err();
        assert_eq!(
            error.to_string(),
            "a MySQL or MariaDB server answers there, not PostgreSQL; use an address that begins with mysql://"
        );
    }
}
