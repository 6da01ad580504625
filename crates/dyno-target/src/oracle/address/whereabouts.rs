//! Where a server is, for another server.

use super::{ConnectionInfo, Service};
use crate::target::Whereabouts;

impl ConnectionInfo {
    /// Where the first of the hosts is, and as whom to connect.
    #[must_use]
    pub(crate) fn whereabouts(&self) -> Whereabouts {
        let (Service::Name(database) | Service::Sid(database)) = &self.service;
        Whereabouts {
            host: self.host.name.clone(),
            port: self.host.port.to_string(),
            user: self.user.clone(),
            password: self
                .password
                .as_ref()
                .map(|password| String::from_utf8_lossy(password.reveal()).into_owned())
                .unwrap_or_default(),
            database: database.clone(),
            ..Whereabouts::default()
        }
    }

    /// What a listener is sent: one host, in Oracle's own words.
    #[must_use]
    pub(in crate::oracle) fn description(&self) -> String {
        let protocol = if self.tls.is_some() { "tcps" } else { "tcp" };
        let service = match &self.service {
            Service::Name(name) => format!("(SERVICE_NAME={name})"),
            Service::Sid(sid) => format!("(SID={sid})"),
        };
        let server = self.server.as_ref().map(|server| format!("(SERVER={server})"));
        format!(
            // Without the second that the crate otherwise sleeps behind every failure.
            "(DESCRIPTION=(RETRY_DELAY=0)(ADDRESS=(PROTOCOL={protocol})(HOST={})(PORT={}))(CONNECT_DATA={service}{}))",
            self.host.name,
            self.host.port,
            server.unwrap_or_default()
        )
    }
}
