//! From an address to the connections of a load: who is looked up and how they are encrypted.

use super::address::{ConnectionInfo, Host, Service, Tls};
use dyno_connect::{Address, Endpoint};
use dyno_wire::tls::{ClientIdentity, ClientOptions, Roots, SslMode, TlsError, Words, client_config};
use dyno_wire::{OraConfig, OraSession};
use std::io;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the server's list of sessions shows.
const PROGRAM_NAME: &str = "dyno";

/// The file of a wallet that others than Oracle can read.
const WALLET: &str = "ewallet.pem";

/// It is not known where to connect to, or how.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Nobody knows the host.
    #[error("the host {host} cannot be looked up: {error}")]
    Host {
        /// Its name.
        host: String,
        /// What the system said.
        error: io::Error,
    },
    /// Whom to trust, or who we are, cannot be read.
    #[error("the wallet's file {} cannot be read: {error}; of a wallet, dyno reads {WALLET} alone", path.display())]
    Wallet {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A key that nobody can read without its password.
    #[error(
        "the key in {} is encrypted, which the load's own sessions do not read; write it unencrypted (openssl pkcs8)",
        path.display()
    )]
    EncryptedKey {
        /// The file.
        path: PathBuf,
    },
    /// A name that a certificate is to be for.
    #[error(
        "ssl_server_cert_dn is not looked at by the load's own sessions; leave it out, so that the certificate has to \
         be for the host, or give ssl_server_dn_match=off"
    )]
    ServerName,
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl ConnectionInfo {
    /// Looks the hosts up, in the order in which they are tried. One that nobody knows is left out if another is known.
    ///
    /// # Errors
    /// Nobody knows any, or certificates cannot be read.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, EndpointError> {
        let mut unknown = None;
        let mut endpoints = Vec::new();
        for host in self.hosts() {
            match self.endpoint_of(host) {
                Ok(endpoint) => endpoints.push(endpoint),
                Err(error @ EndpointError::Host { .. }) => unknown = Some(error),
                Err(error) => return Err(error),
            }
        }
        match unknown {
            Some(error) if endpoints.is_empty() => Err(error),
            _ => Ok(endpoints),
        }
    }

    fn endpoint_of(&self, host: &Host) -> Result<Endpoint, EndpointError> {
        let found = (host.name.as_str(), host.port).to_socket_addrs();
        let found = found.map_err(|error| EndpointError::Host {
            host: host.name.clone(),
            error,
        })?;
        Ok(Endpoint {
            address: Address::Tcp(found.collect()),
            tls: self.tls.as_ref().map(|tls| encryption(tls, &host.name)).transpose()?,
            required_peer: None,
            connect_timeout: self.connect_timeout,
        })
    }

    /// Makes the sessions of connections: encrypted this strictly, or not.
    pub fn sessions(&self) -> impl Fn(Option<SslMode>) -> OraSession + Send + Sync + use<> {
        let service = match &self.service {
            Service::Name(name) => OraConfig::service(name),
            Service::Sid(sid) => format!("(SID={sid})"),
        };
        let server = self.server.as_ref().map(|server| format!("(SERVER={server})"));
        let config = Arc::new(OraConfig {
            user: self.user.clone(),
            password: self.password.clone(),
            host: self.host.name.clone(),
            port: self.host.port,
            connect_data: service + &server.unwrap_or_default(),
            machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            program_name: PROGRAM_NAME.to_owned(),
            ..OraConfig::default()
        });
        move |tls| {
            let session = OraSession::new(Arc::clone(&config));
            match tls {
                Some(mode) => session.asking_for_tls(mode),
                None => session,
            }
        }
    }
}

fn encryption(tls: &Tls, host: &str) -> Result<dyno_connect::Tls, EndpointError> {
    if tls.matches_host && tls.server_name.is_some() {
        return Err(EndpointError::ServerName);
    }
    let mode = match tls.matches_host {
        true => SslMode::VerifyFull,
        false => SslMode::VerifyCa,
    };
    let wallet = tls
        .wallet
        .as_ref()
        .map(|folder| read(&folder.join(WALLET)))
        .transpose()?;
    let has = |what: &str| wallet.as_ref().is_some_and(|(_, text)| text.contains(what));
    if has("BEGIN ENCRYPTED PRIVATE KEY") {
        let path = wallet.as_ref().map(|(path, _)| path.clone()).unwrap_or_default();
        return Err(EndpointError::EncryptedKey { path });
    }
    let pem = wallet.as_ref().map(|(_, text)| text.as_bytes());
    let identity = pem.filter(|_| has("PRIVATE KEY-----"));
    Ok(dyno_connect::Tls {
        mode,
        config: client_config(&ClientOptions {
            mode,
            roots: Some(pem.map_or(Roots::System, Roots::Pem)),
            identity: identity.map(|pem| ClientIdentity {
                certificates: pem,
                key: pem,
            }),
            words: Words::Oracle,
            ..ClientOptions::default()
        })?,
        server_name: host.to_owned(),
    })
}

fn read(path: &Path) -> Result<(PathBuf, String), EndpointError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((path.to_owned(), text)),
        Err(error) => Err(EndpointError::Wallet {
            path: path.to_owned(),
            error,
        }),
    }
}
