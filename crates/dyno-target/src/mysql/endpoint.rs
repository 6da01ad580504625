//! From an address to connections: who is looked up and how much TLS there is, for the clients of a load and for what
//! is asked beside it alike.

use super::address::{ConnectionInfo, Host, Identity};
use dyno_connect::{Address, Endpoint, Tls};
use dyno_wire::tls::{ClientIdentity, ClientOptions, Roots, SslMode, TlsError, Words, client_config};
use dyno_wire::{MyConfig, MySession};
use std::io;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the server's tables of connections show.
const PROGRAM_NAME: &str = "dyno";

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
    #[error("the file {} of {parameter} cannot be read: {error}", path.display())]
    Certificates {
        /// `ssl-ca`, `ssl-cert` or `ssl-key`.
        parameter: &'static str,
        /// Its file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Nobody is named whose certificates are to be trusted.
    #[error(
        "ssl-mode=verify_ca checks who signed the server's certificate but not whose it is; give ssl-ca, the \
         certificates to trust, or ssl-mode=verify_identity, which trusts those of the system"
    )]
    NoAuthority,
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl ConnectionInfo {
    /// Looks a host up.
    ///
    /// # Errors
    /// Nobody knows it, or certificates cannot be read.
    pub(super) fn endpoint_of(&self, host: &Host) -> Result<Endpoint, EndpointError> {
        let (address, tls) = match host {
            Host::Unix(path) => (Address::Unix(path.clone()), None),
            Host::Tcp { name, port } => {
                let found = (name.as_str(), *port).to_socket_addrs();
                let found = found.map_err(|error| EndpointError::Host {
                    host: name.clone(),
                    error,
                })?;
                (Address::Tcp(found.collect()), self.tls(name)?)
            }
        };
        Ok(Endpoint {
            address,
            tls,
            required_peer: None,
            connect_timeout: self.connect_timeout,
        })
    }

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

    /// Makes the sessions of connections: encrypted this strictly, or not.
    pub fn sessions(&self) -> impl Fn(Option<SslMode>) -> MySession + Send + Sync + use<> {
        let config = Arc::new(MyConfig {
            user: self.user.clone(),
            password: self.password.clone(),
            database: self.database.clone(),
            program_name: PROGRAM_NAME.to_owned(),
            // A unix socket has no hosts beside it.
            local: matches!(self.host, Host::Unix(_)),
        });
        move |tls| {
            let session = MySession::new(Arc::clone(&config));
            match tls {
                Some(mode) => session.asking_for_tls(mode),
                None => session,
            }
        }
    }

    fn tls(&self, host: &str) -> Result<Option<Tls>, EndpointError> {
        let mode = self.ssl_mode;
        if mode == SslMode::Disable {
            return Ok(None);
        }
        // Only where they are looked at: the modes that do not verify take any server.
        let trusted = self.root_certificate.as_ref().filter(|_| mode >= SslMode::VerifyCa);
        let pem = trusted
            .map(|path| read(Words::Mysql.roots_setting(), path))
            .transpose()?;
        let roots = match &pem {
            Some(pem) => Some(Roots::Pem(pem)),
            None if mode == SslMode::VerifyCa => return Err(EndpointError::NoAuthority),
            None if mode > SslMode::VerifyCa => Some(Roots::System),
            None => None,
        };
        let own = self.identity.as_ref().map(read_identity).transpose()?;
        let identity = own
            .as_ref()
            .map(|(certificates, key)| ClientIdentity { certificates, key });
        Ok(Some(Tls {
            mode,
            config: client_config(&ClientOptions {
                mode,
                roots,
                identity,
                words: Words::Mysql,
                ..ClientOptions::default()
            })?,
            server_name: host.to_owned(),
        }))
    }
}

/// The certificate and its key.
fn read_identity(identity: &Identity) -> Result<(Vec<u8>, Vec<u8>), EndpointError> {
    Ok((
        read(Words::Mysql.certificate_setting(), &identity.certificate)?,
        read(Words::Mysql.key_setting(), &identity.key)?,
    ))
}

fn read(parameter: &'static str, path: &Path) -> Result<Vec<u8>, EndpointError> {
    std::fs::read(path).map_err(|error| EndpointError::Certificates {
        parameter,
        path: path.to_owned(),
        error,
    })
}
