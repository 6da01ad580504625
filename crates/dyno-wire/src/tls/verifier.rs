//! Deciding whether a server's certificate will do, as libpq decides.

use std::cmp::Ordering;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::certificate;

/// Verifies nothing about who the server is, only that it holds the key of the certificate it shows: what channel
/// binding rests on.
#[derive(Debug)]
pub(super) struct AnyServer {
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_signature_by_key(message, cert, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// What to tell who verifies a certificate that cannot be verified.
const OLD_VERSION: &str = "the server's certificate is not of X.509 version 3 and cannot be verified; have it issued \
    with extensions (openssl x509 -req needs -extfile), or use sslmode=require without sslrootcert";

/// Verifies a handshake's signature by the certificate's bare key, because webpki takes no certificate of X.509
/// version 1, such as `openssl x509 -req` makes.
fn verify_signature_by_key(
    message: &[u8],
    cert: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let key = certificate::parse(cert)
        .and_then(|certificate| certificate::public_key(&certificate))
        .ok_or(CertificateError::BadEncoding)?;
    verify_tls13_signature_with_raw_key(message, &key, signed, algorithms)
}

/// Verifies the chain of certificates with webpki, and where that is stricter than libpq, follows libpq.
#[derive(Debug)]
pub(super) struct TrustedServer {
    /// Verifies chain and name.
    pub(super) inner: Arc<WebPkiServerVerifier>,
    /// The given roots: a server may show one of them itself, as with a self-signed certificate.
    pub(super) roots: Vec<CertificateDer<'static>>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
    /// Whether the certificate must be for the host.
    pub(super) verify_name: bool,
}

impl TrustedServer {
    /// Whether the certificate is for the host, by its alternative names (as already tried) or its common name.
    fn check_name(
        &self,
        end_entity: &CertificateDer<'_>,
        server_name: &ServerName<'_>,
        by_alternative_names: Result<(), Error>,
    ) -> Result<ServerCertVerified, Error> {
        let by_common_name = || {
            certificate::parse(end_entity)
                .is_some_and(|certificate| certificate::common_name_matches(&certificate, server_name))
        };
        match by_alternative_names {
            Err(error) if self.verify_name && !by_common_name() => Err(error),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    /// Checks a certificate that is itself one of the roots.
    fn check_root(
        &self,
        end_entity: &CertificateDer<'_>,
        server_name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = certificate::parse(end_entity).ok_or(CertificateError::BadEncoding)?;
        match certificate::validity(&certificate, now) {
            Ordering::Less => Err(CertificateError::NotValidYet.into()),
            Ordering::Greater => Err(CertificateError::Expired.into()),
            Ordering::Equal => {
                let name =
                    ParsedCertificate::try_from(end_entity).and_then(|parsed| verify_server_name(&parsed, server_name));
                self.check_name(end_entity, server_name, name)
            }
        }
    }
}

impl ServerCertVerifier for TrustedServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = self
            .inner
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verdict {
            Ok(verified) => Ok(verified),
            // The name is verified last: the chain is good.
            Err(
                error @ Error::InvalidCertificate(
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
                ),
            ) => self.check_name(end_entity, server_name, Err(error)),
            Err(_) if self.roots.iter().any(|root| root == end_entity) => self.check_root(end_entity, server_name, now),
            Err(error) => match certificate::parse(end_entity) {
                Some(certificate) if !certificate::is_version_3(&certificate) => {
                    Err(Error::General(OLD_VERSION.into()))
                }
                _ => Err(error),
            },
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_signature_by_key(message, cert, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
