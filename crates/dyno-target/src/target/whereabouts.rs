//! Where a server is, for another server that is to reach it.

use super::Reach;
use std::fmt;

/// What another server needs to know to connect. It is not to be shown: it may hold a password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// Name or address of its host; empty if it is reached over its socket alone.
    pub host: String,
    /// Its port, also where that is only part of the socket's name.
    pub port: String,
    /// Who connects.
    pub user: String,
    /// With which password; empty: without one.
    pub password: String,
    /// The database.
    pub database: String,
    /// Its unix socket, as its clients name that: a folder or a file. Empty if it is reached over TCP.
    pub socket: String,
}

impl Whereabouts {
    /// The part of this name; `None` if there is no such part, or nothing in it but a password.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&str> {
        let part = match name {
            "host" => &self.host,
            "port" => &self.port,
            "user" => &self.user,
            // There may be none.
            "password" => return Some(&self.password),
            "database" => &self.database,
            "socket" => &self.socket,
            _ => return None,
        };
        (!part.is_empty()).then_some(part)
    }

    /// The same with what only `other`, another way to the same server, says.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        let parts = [
            (&mut self.host, other.host),
            (&mut self.port, other.port),
            (&mut self.socket, other.socket),
        ];
        for (part, other) in parts {
            if part.is_empty() {
                *part = other;
            }
        }
        self
    }
}

impl fmt::Debug for Whereabouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Whereabouts")
    }
}

impl Reach<'_> {
    /// Where the first of its hosts is.
    #[must_use]
    pub fn whereabouts(self) -> Whereabouts {
        match self {
            Self::Postgres(info) => info.whereabouts(),
            Self::Mysql(info) => info.whereabouts(),
            Self::Oracle(info) => info.whereabouts(),
        }
    }

    /// The passwords with which its hosts are logged in to. They are not to be shown.
    #[must_use]
    pub fn passwords(self) -> Vec<String> {
        match self {
            Self::Postgres(info) => info.passwords(),
            Self::Mysql(_) | Self::Oracle(_) => {
                let Whereabouts { password, .. } = self.whereabouts();
                Some(password)
                    .filter(|password| !password.is_empty())
                    .into_iter()
                    .collect()
            }
        }
    }
}
