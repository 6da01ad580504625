//! Where servers are, and how connections to them are made.

use dyno_wire::tls::SslMode;
use dyno_wire::{RequiredPeer, SOCKET};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where and how to connect.
#[derive(Clone)]
pub struct Endpoint {
    /// The address.
    pub address: Address,
    /// How to go about TLS; `None`: never.
    pub tls: Option<Tls>,
    /// Whose process a server on a unix socket must be; `None`: anybody's.
    pub required_peer: Option<RequiredPeer>,
    /// How long connecting and logging in may take; [`Duration::MAX`]: as long as the system waits.
    pub connect_timeout: Duration,
}

/// The address of a server, already resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Addresses of one host, tried in turn.
    Tcp(Vec<SocketAddr>),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{SOCKET}{}", path.display()),
            Self::Tcp(addresses) => match addresses.first() {
                Some(first) => write!(f, "{first}"),
                None => f.write_str("a host without address"),
            },
        }
    }
}

/// TLS for a connection.
#[derive(Clone)]
pub struct Tls {
    /// Whether the server may decline TLS, and how strictly it is verified.
    pub mode: SslMode,
    /// Roots, client certificate and verifier.
    pub config: Arc<rustls::ClientConfig>,
    /// The name that the server's certificate is checked against.
    pub server_name: String,
}
