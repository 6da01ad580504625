//! From the address of a MariaDB or MySQL server to what the engine's clients connect with.

use super::Connector;
use dyno_engine::{Address, Endpoint, Tls};
use dyno_target::mysql::address::{ConnectionInfo, Host};
use dyno_wire::tls::{ClientOptions, Roots, SslMode, TlsError, client_config};
use dyno_wire::{MyConfig, MySession};
use std::io;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::sync::Arc;

/// What the server's tables of connections show.
const PROGRAM_NAME: &str = "dyno";

/// Clients cannot connect to a server.
#[derive(Debug, thiserror::Error)]
pub enum MysqlError {
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
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Looks the server up.
///
/// # Errors
/// Its host's name is not known, or TLS cannot be set up.
pub(crate) fn connector(info: &ConnectionInfo) -> Result<Connector<MySession>, MysqlError> {
    let (address, tls) = match &info.host {
        Host::Unix(path) => (Address::Unix(path.clone()), None),
        Host::Tcp { name, port } => {
            let found = (name.as_str(), *port).to_socket_addrs();
            let found = found.map_err(|error| MysqlError::Host {
                host: name.clone(),
                error,
            })?;
            (Address::Tcp(found.collect()), tls(info, name)?)
        }
    };
    let config = Arc::new(MyConfig {
        user: info.user.clone(),
        password: info.password.clone(),
        database: info.database.clone(),
        program_name: PROGRAM_NAME.to_owned(),
        local: matches!(info.host, Host::Unix(_)),
    });
    Ok(Connector {
        endpoints: vec![Endpoint {
            address,
            tls,
            required_peer: None,
            connect_timeout: info.connect_timeout,
        }],
        session: Arc::new(move |_, tls| {
            let session = MySession::new(Arc::clone(&config));
            match tls {
                Some(mode) => session.asking_for_tls(mode),
                None => session,
            }
        }),
    })
}

fn tls(info: &ConnectionInfo, host: &str) -> Result<Option<Tls>, MysqlError> {
    if info.ssl_mode == SslMode::Disable {
        return Ok(None);
    }
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|error| MysqlError::Certificates {
            path: path.clone(),
            error,
        })
    };
    let pem = info.root_certificate.as_ref().map(read).transpose()?;
    let roots = match &pem {
        Some(pem) => Some(Roots::Pem(pem)),
        None if info.ssl_mode >= SslMode::VerifyCa => Some(Roots::System),
        None => None,
    };
    Ok(Some(Tls {
        mode: info.ssl_mode,
        config: client_config(&ClientOptions {
            mode: info.ssl_mode,
            roots,
            ..ClientOptions::default()
        })?,
        server_name: host.to_owned(),
    }))
}
