//! What can go wrong on the way to an encrypted connection.

use std::io;

use rustls::{AlertDescription, CertificateError, Error as Handshake};

use super::{SslMode, Words};
use crate::OtherDatabase;

/// Why a connection was not encrypted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The text names no [`SslMode`].
    #[error("unknown sslmode \"{0}\": use disable, allow, prefer, require, verify-ca or verify-full")]
    UnknownMode(String),

    /// The server does not encrypt, and the mode demands it.
    #[error(
        "the server does not support TLS, but {setting}={} demands it; turn ssl on in the server, or use {setting}={}",
        .0.mode(*.1),
        .0.mode(SslMode::Prefer),
        setting = .0.mode_setting()
    )]
    Refused(Words, SslMode),

    /// The answer to the request for TLS is no answer.
    #[error(
        "the server answered the request for TLS with {0}; is this really a PostgreSQL server, and not overloaded?"
    )]
    Answer(String),

    /// The answer to the request for TLS is another database's greeting.
    #[error("{0}")]
    OtherDatabase(&'static OtherDatabase),

    /// Unencrypted bytes follow the answer: someone may be inserting them.
    #[error(
        "the server sent {0} bytes between agreeing on encryption and its start; someone may be tampering with the \
         connection"
    )]
    UnencryptedBytes(usize),

    /// A mode that verifies has nothing to verify with.
    #[error(
        "sslmode={0} verifies the server's certificate and needs root certificates: give sslrootcert=FILE, or \
         sslrootcert=system with sslmode=verify-full, or use sslmode=require"
    )]
    RootsMissing(SslMode),

    /// Anyone can get a certificate the platform trusts, so without its name it means nothing.
    #[error("sslmode={0} is too weak for sslrootcert=system: use sslmode=verify-full")]
    WeakModeForSystemRoots(SslMode),

    /// The platform's verifier takes no lists of ours.
    #[error(
        "sslrootcert=system cannot be combined with sslcrl or sslcrldir: give the authority's certificate as \
         sslrootcert"
    )]
    RevocationsOfSystemRoots,

    /// A PEM file could not be used.
    #[error("the {what} ({setting}) cannot be used: {reason}")]
    Pem {
        /// Which one.
        what: &'static str,
        /// The setting that names it.
        setting: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// The host cannot be the name in a certificate.
    #[error(
        "the host \"{0}\" is neither a DNS name nor an IP address, so no certificate can be for it; connect by a name, \
         or verify only who has signed the certificate"
    )]
    ServerName(String),

    /// The handshake failed, on either side.
    #[error("the TLS handshake failed: {}", explain(.0))]
    Handshake(#[from] Handshake),
}

impl TlsError {
    /// The handshake's failure inside an I/O error, as rustls' `complete_io` and streams report it.
    pub fn from_io(error: &io::Error) -> Option<Self> {
        let inner = error.get_ref()?.downcast_ref::<Handshake>()?;
        Some(Self::Handshake(inner.clone()))
    }
}

/// A rustls error in words that say what to do.
fn explain(error: &Handshake) -> String {
    let reason = match error {
        Handshake::InvalidCertificate(error) => match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "the server's certificate was not issued by any of the given root certificates; check sslrootcert"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the server's certificate is not valid yet; check both clocks"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the server's certificate is for another host; connect by the name in it, or use sslmode=verify-ca"
            }
            CertificateError::Revoked => {
                "the server's certificate, or that of its authority, has been revoked (sslcrl)"
            }
            CertificateError::UnknownRevocationStatus => {
                "no list of revoked certificates covers the server's certificate; check sslcrl and sslcrldir"
            }
            CertificateError::ExpiredRevocationList | CertificateError::ExpiredRevocationListContext { .. } => {
                "the list of revoked certificates has expired; get the authority's current one for sslcrl"
            }
            _ => return format!("the server's certificate is not acceptable: {error}"),
        },
        Handshake::AlertReceived(
            AlertDescription::CertificateRequired | AlertDescription::BadCertificate | AlertDescription::UnknownCA,
        ) => "the server did not accept our certificate (or its absence); check sslcert and sslkey",
        Handshake::General(reason) => reason,
        _ => return error.to_string(),
    };
    reason.to_owned()
}
