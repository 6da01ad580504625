//! Where a connection could not be made, for those who say that in the words of a database's own client.

/// Where a connection could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreached {
    /// The address: `unix socket PATH` or `HOST:PORT`.
    pub address: String,
    /// The system's number of the error, if it was the system that refused it.
    pub os_error: Option<i32>,
}

/// A place where a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// The path of a unix socket.
    Socket(&'a str),
    /// A host, by name or number, and a port.
    Host(&'a str, &'a str),
}

/// What the address of a unix socket begins with.
pub const SOCKET: &str = "unix socket ";

impl Unreached {
    /// The parts of the address.
    #[must_use]
    pub fn place(&self) -> Place<'_> {
        if let Some(path) = self.address.strip_prefix(SOCKET) {
            return Place::Socket(path);
        }
        let (host, port) = self.address.rsplit_once(':').unwrap_or((&self.address, ""));
        Place::Host(host.trim_start_matches('[').trim_end_matches(']'), port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_parts() {
        let unreached = |address: &str| Unreached {
            address: address.to_owned(),
            os_error: None,
        };
        assert_eq!(unreached("unix socket /a:1").place(), Place::Socket("/a:1"));
        assert_eq!(unreached("127.0.0.1:5").place(), Place::Host("127.0.0.1", "5"));
        assert_eq!(unreached("[::1]:5").place(), Place::Host("::1", "5"));
        assert_eq!(unreached("nowhere").place(), Place::Host("nowhere", ""));
    }
}
