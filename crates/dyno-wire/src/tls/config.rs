//! What rustls must know for a mode and the files given.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier as PlatformVerifier;

use super::verifier::{AnyServer, TrustedServer};
use super::{SslMode, TlsError};

/// Who vouches for the server.
#[derive(Debug, Clone, Copy)]
pub enum Roots<'a> {
    /// These certificates, in PEM: the content of `sslrootcert`.
    Pem(&'a [u8]),
    /// Whom the platform trusts: `sslrootcert=system`.
    System,
}

/// Who we are, to a server that asks for a certificate.
#[derive(Clone, Copy)]
pub struct ClientIdentity<'a> {
    /// Our certificate and the intermediate ones, in PEM: the content of `sslcert`.
    pub certificates: &'a [u8],
    /// Its private key, in PEM and not encrypted: the content of `sslkey`.
    pub key: &'a [u8],
}

/// The configuration for all TLS connections with these settings. Make it once and share it: so sessions resume, and the
/// roots are in memory once.
///
/// As in libpq, root certificates that are given are used whatever the mode: then even `require` is `verify-ca`. In
/// addition to a chain to a root, a server may show one of the roots itself. TLS 1.2 and 1.3.
///
/// # Errors
/// A mode that verifies without roots, system roots with less than verify-full, PEM that holds no certificate or key,
/// a key that does not fit the certificate.
pub fn client_config(
    mode: SslMode,
    roots: Option<Roots<'_>>,
    identity: Option<ClientIdentity<'_>>,
) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = verifier(mode, roots, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let certificates = certificates("client certificate (sslcert)", identity.certificates)?;
            let what = "client key (sslkey)";
            let key = PrivateKeyDer::from_pem_slice(identity.key).map_err(|error| TlsError::Pem {
                what,
                reason: format!("{error}; it must be an unencrypted private key in PEM"),
            })?;
            builder
                .with_client_auth_cert(certificates, key)
                .map_err(|error| TlsError::Pem {
                    what,
                    reason: error.to_string(),
                })?
        }
    };
    Ok(Arc::new(config))
}

/// The name to give to rustls for a host.
///
/// # Errors
/// [`TlsError::ServerName`] if the host cannot be in a certificate and `mode` wants to find it there.
pub fn server_name(mode: SslMode, host: &str) -> Result<ServerName<'static>, TlsError> {
    match ServerName::try_from(host.to_owned()) {
        Ok(name) => Ok(name),
        Err(_) if mode == SslMode::VerifyFull => Err(TlsError::ServerName(host.to_owned())),
        // Nobody looks at it then; an address is not even told to the server.
        Err(_) => Ok(ServerName::IpAddress(IpAddr::V4(Ipv4Addr::UNSPECIFIED).into())),
    }
}

fn verifier(
    mode: SslMode,
    roots: Option<Roots<'_>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let algorithms = provider.signature_verification_algorithms;
    let verify_name = mode == SslMode::VerifyFull;
    match roots {
        None if mode >= SslMode::VerifyCa => Err(TlsError::RootsMissing(mode)),
        None => Ok(Arc::new(AnyServer { algorithms })),
        Some(Roots::System) if !verify_name => Err(TlsError::WeakModeForSystemRoots(mode)),
        Some(Roots::System) => Ok(Arc::new(PlatformVerifier::new(Arc::clone(provider))?)),
        Some(Roots::Pem(pem)) => {
            let what = "root certificate (sslrootcert)";
            let roots = certificates(what, pem)?;
            let unusable = |error: &dyn std::error::Error| TlsError::Pem {
                what,
                reason: error.to_string(),
            };
            let mut store = RootCertStore::empty();
            for root in &roots {
                store.add(root.clone()).map_err(|error| unusable(&error))?;
            }
            let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
                .build()
                .map_err(|error| unusable(&error))?;
            Ok(Arc::new(TrustedServer {
                inner,
                roots,
                algorithms,
                verify_name,
            }))
        }
    }
}

/// The certificates in PEM text, at least one.
fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError::Pem {
            what,
            reason: error.to_string(),
        })?;
    if certificates.is_empty() {
        return Err(TlsError::Pem {
            what,
            reason: "it holds no certificate in PEM".into(),
        });
    }
    Ok(certificates)
}
