//! From an address to connections: who is looked up and how much TLS there is, for the clients of a load and for what
//! is asked beside it alike.

use super::address::{ConnectionInfo, Host};
use dyno_connect::{Address, Endpoint, Tls};
use dyno_wire::tls::{ClientOptions, Roots, SslMode, TlsError, Words, client_config};
use dyno_wire::{MyConfig, MySession};
use std::io;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
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
    /// Whom to trust cannot be read.
    #[error("the certificates in {} cannot be read: {error}", path.display())]
    Certificates {
        /// The file of `ssl-ca`.
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
    /// Looks the server up.
    ///
    /// # Errors
    /// Nobody knows the host, or the certificates that are to be trusted cannot be read.
    pub fn endpoint(&self) -> Result<Endpoint, EndpointError> {
        let (address, tls) = match &self.host {
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

    /// Makes the sessions of connections: encrypted this strictly, or not.
    pub fn sessions(&self) -> impl Fn(Option<SslMode>) -> MySession + Send + Sync + use<> {
        let config = Arc::new(MyConfig {
            user: self.user.clone(),
            password: self.password.clone(),
            database: self.database.clone(),
            program_name: PROGRAM_NAME.to_owned(),
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
        if self.ssl_mode == SslMode::Disable {
            return Ok(None);
        }
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| EndpointError::Certificates {
                path: path.clone(),
                error,
            })
        };
        let pem = self.root_certificate.as_ref().map(read).transpose()?;
        let roots = match &pem {
            Some(pem) => Some(Roots::Pem(pem)),
            None if self.ssl_mode == SslMode::VerifyCa => return Err(EndpointError::NoAuthority),
            None if self.ssl_mode > SslMode::VerifyCa => Some(Roots::System),
            None => None,
        };
        Ok(Some(Tls {
            mode: self.ssl_mode,
            config: client_config(&ClientOptions {
                mode: self.ssl_mode,
                roots,
                words: Words::Mysql,
                ..ClientOptions::default()
            })?,
            server_name: host.to_owned(),
        }))
    }
}
