//! What the load engine needs to open its own connections.

use super::connect::{ConnectError, socket_addresses};
use super::{ConnectionInfo, Host, Server};
use dyno_wire::tls::SslMode;
use dyno_wire::{PgConfig, RequiredPeer, SessionKind};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where to connect a socket to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    /// The path of a unix socket.
    Unix(PathBuf),
    /// TCP addresses of one host, looked up, to try in order; never empty.
    Tcp(Vec<SocketAddr>),
}

/// One server, ready to be connected to any number of times without another look-up or file read.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Where the socket goes.
    pub socket: Socket,
    /// How TLS is negotiated; `disable` on a unix socket.
    pub ssl_mode: SslMode,
    /// TLS configuration, unless the mode is `disable`.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    /// The host's name as given, for TLS.
    pub server_name: String,
    /// Whose process the server must be; on a unix socket only.
    pub required_peer: Option<RequiredPeer>,
    /// Start-up parameters and credentials.
    pub config: Arc<PgConfig>,
    /// How long connecting and logging in may take; none: as long as the system waits.
    pub connect_timeout: Option<Duration>,
}

impl ConnectionInfo {
    /// The first host as an endpoint. With several hosts, take [`ConnectionInfo::first_reachable`] first.
    ///
    /// # Errors
    /// The host's name is unknown, or TLS cannot be set up.
    pub fn endpoint(&self) -> Result<Endpoint, ConnectError> {
        match self.servers.first() {
            Some(server) => self.endpoint_of(server, self.session_kind),
            None => Err(ConnectError::no_host()),
        }
    }

    /// All hosts as endpoints, in the order in which they are to be tried; twice if sessions of one kind are
    /// preferred to others. A host that cannot be looked up is left out, unless it is the last hope.
    ///
    /// # Errors
    /// No host's name is known, or TLS cannot be set up.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, ConnectError> {
        let mut failed = ConnectError::no_host();
        let mut endpoints = Vec::with_capacity(self.servers.len());
        for (kind, server) in self.choices() {
            match self.endpoint_of(server, kind) {
                Ok(endpoint) => endpoints.push(endpoint),
                Err(error) => failed = error,
            }
        }
        if endpoints.is_empty() {
            Err(failed)
        } else {
            Ok(endpoints)
        }
    }

    pub(super) fn endpoint_of(&self, server: &Server, session_kind: SessionKind) -> Result<Endpoint, ConnectError> {
        let (socket, server_name, ssl_mode, tls) = match &server.host {
            Host::Unix { directory, port } => {
                let path = directory.join(format!(".s.PGSQL.{port}"));
                (Socket::Unix(path), String::new(), SslMode::Disable, None)
            }
            tcp @ Host::Tcp { name, .. } => {
                let addresses = socket_addresses(tcp)?;
                let tls = self
                    .tls
                    .client_config()
                    .map_err(|error| ConnectError::tls_setup(tcp, &error))?;
                (Socket::Tcp(addresses), name.clone(), self.tls.mode, tls)
            }
        };
        let config = PgConfig {
            user: self.user.clone(),
            password: server.password.clone(),
            database: self.database.clone(),
            application_name: self.application_name.clone(),
            runtime_parameters: self
                .options
                .iter()
                .map(|options| ("options".to_owned(), options.clone()))
                .chain(self.parameters.iter().cloned())
                .collect(),
            client_encoding: self.client_encoding.clone(),
            session_kind,
            authentication: self.authentication.clone(),
        };
        let required_peer = match &socket {
            Socket::Unix(_) => self.required_peer.clone(),
            Socket::Tcp(_) => None,
        };
        Ok(Endpoint {
            socket,
            ssl_mode,
            tls,
            server_name,
            required_peer,
            config: Arc::new(config),
            connect_timeout: self.connect_timeout,
        })
    }
}
