//! What rustls must know for a mode and the files given.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use rustls_platform_verifier::Verifier as PlatformVerifier;
use serde::{Deserialize, Serialize};

use super::verifier::{AnyServer, TrustedServer};
use super::{SslMode, TlsError, Words};

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

/// The versions of TLS that are spoken; the older ones are broken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Versions {
    /// 1.2 and 1.3.
    #[default]
    Both,
    /// 1.2 alone.
    Tls12,
    /// 1.3 alone.
    Tls13,
}

impl Versions {
    fn supported(self) -> Vec<&'static SupportedProtocolVersion> {
        match self {
            Self::Both => vec![&TLS13, &TLS12],
            Self::Tls12 => vec![&TLS12],
            Self::Tls13 => vec![&TLS13],
        }
    }
}

/// All that a TLS connection depends on.
#[derive(Clone, Copy, Default)]
pub struct ClientOptions<'a> {
    /// How much is asked for.
    pub mode: SslMode,
    /// Who vouches for the server, if anybody needs to.
    pub roots: Option<Roots<'a>>,
    /// Lists of certificates that were taken back, in PEM: the content of `sslcrl`, or of the files in `sslcrldir`.
    pub revocations: &'a [Vec<u8>],
    /// Who we are, if the server asks.
    pub identity: Option<ClientIdentity<'a>>,
    /// Versions of TLS.
    pub versions: Versions,
    /// Keeps the host's name out of the handshake: `sslsni=0`.
    pub hide_server_name: bool,
    /// What the settings are called in messages.
    pub words: Words,
}

/// The configuration for all TLS connections with these options. Make it once and share it: so sessions resume, and the
/// roots are in memory once.
///
/// As in libpq, root certificates that are given are used whatever the mode: then even `require` is `verify-ca`. In
/// addition to a chain to a root, a server may show one of the roots itself. With lists of revocations every
/// certificate of the chain must be covered by a list that has not expired; as in libpq they matter only where
/// there are roots.
///
/// # Errors
/// A mode that verifies without roots, system roots with less than verify-full or with revocations, PEM that holds
/// no certificate, list or key, a key that does not fit the certificate.
pub fn client_config(options: &ClientOptions<'_>) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = verifier(options, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&options.versions.supported())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match options.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let certificates = certificates(
                Pem("client certificate", options.words.certificate_setting()),
                identity.certificates,
            )?;
            let pem = Pem("client key", options.words.key_setting());
            let key = PrivateKeyDer::from_pem_slice(identity.key)
                .map_err(|error| pem.unusable(format!("{error}; it must be an unencrypted private key in PEM")))?;
            builder
                .with_client_auth_cert(certificates, key)
                .map_err(|error| pem.unusable(error))?
        }
    };
    config.enable_sni = !options.hide_server_name;
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
    options: &ClientOptions<'_>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let mode = options.mode;
    let algorithms = provider.signature_verification_algorithms;
    let verify_name = mode == SslMode::VerifyFull;
    match options.roots {
        None if mode >= SslMode::VerifyCa => Err(TlsError::RootsMissing(mode)),
        None => Ok(Arc::new(AnyServer { algorithms })),
        Some(Roots::System) if !verify_name => Err(TlsError::WeakModeForSystemRoots(mode)),
        Some(Roots::System) if !options.revocations.is_empty() => Err(TlsError::RevocationsOfSystemRoots),
        Some(Roots::System) => Ok(Arc::new(PlatformVerifier::new(Arc::clone(provider))?)),
        Some(Roots::Pem(pem)) => {
            let file = Pem("root certificate", options.words.roots_setting());
            let roots = certificates(file, pem)?;
            let mut store = RootCertStore::empty();
            for root in &roots {
                store.add(root.clone()).map_err(|error| file.unusable(error))?;
            }
            let lists = revocations(options.revocations)?;
            let accepts_roots = lists.is_empty();
            let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
                .with_crls(lists)
                .enforce_revocation_expiration()
                .build()
                .map_err(|error| file.unusable(error))?;
            Ok(Arc::new(TrustedServer {
                inner,
                // webpki takes no authority's certificate for a server's, so it could not tell whether it was revoked.
                roots: if accepts_roots { roots } else { Vec::new() },
                algorithms,
                verify_name,
            }))
        }
    }
}

/// A text in PEM: what it is, and the setting that names its file.
#[derive(Clone, Copy)]
struct Pem(&'static str, &'static str);

impl Pem {
    fn unusable(self, reason: impl ToString) -> TlsError {
        TlsError::Pem {
            what: self.0,
            setting: self.1,
            reason: reason.to_string(),
        }
    }
}

/// The certificates in PEM text, at least one.
fn certificates(file: Pem, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| file.unusable(error))?;
    if certificates.is_empty() {
        return Err(file.unusable("it holds no certificate in PEM"));
    }
    Ok(certificates)
}

/// The lists of revoked certificates in PEM texts, at least one in each.
fn revocations(texts: &[Vec<u8>]) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let file = Pem("list of revoked certificates", "sslcrl");
    let mut lists = Vec::new();
    for pem in texts {
        let before = lists.len();
        for list in CertificateRevocationListDer::pem_slice_iter(pem) {
            lists.push(list.map_err(|error| file.unusable(error))?);
        }
        if lists.len() == before {
            return Err(file.unusable("it holds no X509 CRL in PEM"));
        }
    }
    Ok(lists)
}
