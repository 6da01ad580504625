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
        match &self.host {
            Host::Unix(path) => found.socket = path.display().to_string(),
            Host::Tcp { name, port } => (found.host, found.port) = (name.clone(), port.to_string()),
        }
        if let Some(password) = &self.password {
            found.password = String::from_utf8_lossy(password.reveal()).into_owned();
        }
        found
    }
}
