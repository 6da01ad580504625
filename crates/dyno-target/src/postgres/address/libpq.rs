//! Failures to connect in the words of libpq, for programs that stand in for one of PostgreSQL's.

use super::connect::socket_addresses;
use super::{ConnectionInfo, Host};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

/// What libpq says of a connection that ends without a word.
pub const LIBPQ_LOST: &str = "server closed the connection unexpectedly\n\
    \tThis probably means the server terminated abnormally\n\
    \tbefore or while processing the request.";

impl Host {
    /// That a connection to it failed, and why.
    #[must_use]
    pub fn libpq_failure(&self, reason: &str) -> String {
        match self {
            Self::Unix { .. } => format!("connection to server on socket \"{self}\" failed: {reason}"),
            Self::Tcp { name, port, address } => {
                // A name is told with the address that was tried last.
                let found = match (address, name.parse::<IpAddr>()) {
                    (None, Err(_)) => socket_addresses(self).ok().and_then(|found| found.last().copied()),
                    _ => None,
                };
                let found = found.map(|found| format!(" ({})", found.ip())).unwrap_or_default();
                let name = address.map_or_else(|| name.clone(), |address| address.to_string());
                format!("connection to server at \"{name}\"{found}, port {port} failed: {reason}")
            }
        }
    }

    /// Why a connection to it failed, for [`Host::libpq_failure`].
    #[must_use]
    pub fn libpq_reason(&self, error: &io::Error) -> String {
        let text = error.to_string();
        let system = match text.find(" (os error ") {
            Some(at) => &text[..at],
            None => {
                return match error.kind() {
                    ErrorKind::TimedOut => "timeout expired".to_owned(),
                    ErrorKind::UnexpectedEof => LIBPQ_LOST.to_owned(),
                    _ => text,
                };
            }
        };
        match self {
            _ if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => LIBPQ_LOST.to_owned(),
            Self::Unix { .. } => {
                format!("{system}\n\tIs the server running locally and accepting connections on that socket?")
            }
            Self::Tcp { .. } => {
                format!("{system}\n\tIs the server running on that host and accepting TCP/IP connections?")
            }
        }
    }
}

impl ConnectionInfo {
    /// The host that has this address: the path of a socket, or a numeric address with its port.
    #[must_use]
    pub fn host_at(&self, address: &str) -> Option<&Host> {
        self.hosts().find(|host| match (host, address.parse::<SocketAddr>()) {
            (Host::Unix { .. }, _) => host.to_string() == address,
            (Host::Tcp { .. }, Ok(address)) => {
                socket_addresses(host).is_ok_and(|addresses| addresses.contains(&address))
            }
            (Host::Tcp { .. }, Err(_)) => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_as_by_libpq() {
        let info = ConnectionInfo::resolve(Some("host=/tmp/x,127.0.0.1 port=5,6 user=u"), &|_| None).unwrap();
        let unix = info.host_at("/tmp/x/.s.PGSQL.5").unwrap();
        let refused = io::Error::from_raw_os_error(rustix::io::Errno::CONNREFUSED.raw_os_error());
        assert_eq!(
            unix.libpq_failure(&unix.libpq_reason(&refused)),
            "connection to server on socket \"/tmp/x/.s.PGSQL.5\" failed: Connection refused\n\
             \tIs the server running locally and accepting connections on that socket?"
        );
        let tcp = info.host_at("127.0.0.1:6").unwrap();
        let reason = |kind: ErrorKind| tcp.libpq_reason(&kind.into());
        assert_eq!(
            tcp.libpq_failure(&reason(ErrorKind::TimedOut)),
            "connection to server at \"127.0.0.1\", port 6 failed: timeout expired"
        );
        assert_eq!(reason(ErrorKind::UnexpectedEof), LIBPQ_LOST);
        assert!(info.host_at("127.0.0.1:7").is_none());
    }
}
