//! Where a server is, for another server.

use super::{ConnectionInfo, Host};
use crate::target::Whereabouts;

impl ConnectionInfo {
    /// Where the first of the hosts is, and as whom to connect.
    #[must_use]
    pub(crate) fn whereabouts(&self) -> Whereabouts {
        let mut found = Whereabouts {
            user: self.user.clone(),
            database: self.database.clone(),
            ..Whereabouts::default()
        };
        let Some(server) = self.servers.first() else {
            return found;
        };
        match &server.host {
            Host::Unix { directory, port } => {
                (found.socket, found.port) = (directory.display().to_string(), port.to_string());
            }
            Host::Tcp { name, address, port } => {
                let address = address.map(|address| address.to_string());
                (found.host, found.port) = (address.unwrap_or_else(|| name.clone()), port.to_string());
            }
        }
        if let Some(password) = &server.password {
            found.password = String::from_utf8_lossy(password.reveal()).into_owned();
        }
        found
    }

    /// The passwords of all hosts.
    pub(crate) fn passwords(&self) -> Vec<String> {
        let known = self.servers.iter().filter_map(|server| server.password.as_ref());
        known
            .map(|password| String::from_utf8_lossy(password.reveal()).into_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_server_needs_is_told_and_never_shown() {
        let info = ConnectionInfo::resolve(Some("postgres://ann:s3cret@db:5433/x"), &|_| None).unwrap();
        let found = info.whereabouts();
        let parts = ["host", "port", "user", "password", "database", "socket"].map(|name| found.part(name));
        let expected = [Some("db"), Some("5433"), Some("ann"), Some("s3cret"), Some("x"), None];
        assert_eq!(parts, expected);
        assert!(!format!("{found:?}").contains("s3cret"));
        let socket = ConnectionInfo::resolve(Some("host=/run/x user=ann dbname=x"), &|_| None).unwrap();
        let both = found.or(socket.whereabouts());
        assert_eq!((both.part("host"), both.part("socket")), (Some("db"), Some("/run/x")));
    }
}
