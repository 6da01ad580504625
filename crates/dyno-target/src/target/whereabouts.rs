//! Where a server is, for another server that is to reach it.

use super::Reach;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;

/// What stands in a part of a URL as another letter.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');

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

    /// As a URL for the tools of a kind of database, such as `postgres` or `mysql`: by TCP if it is reached so.
    #[must_use]
    pub fn url(&self, scheme: &str) -> String {
        let part = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
        let (user, password, database) = (part(&self.user), part(&self.password), part(&self.database));
        let password = match password.as_str() {
            "" => password,
            _ => format!(":{password}"),
        };
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match host.as_str() {
            "" => format!("{scheme}://{user}{password}@/{database}?host={}", part(&self.socket)),
            host => format!("{scheme}://{user}{password}@{host}:{}/{database}", self.port),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_what_other_tools_take() {
        let own = |text: &str| text.to_owned();
        let tcp = Whereabouts {
            host: own("127.0.0.1"),
            port: own("5433"),
            user: own("postgres"),
            password: own("a/b:c"),
            database: own("dyno_run"),
            socket: String::new(),
        };
        assert_eq!(
            tcp.url("postgres"),
            "postgres://postgres:a%2Fb%3Ac@127.0.0.1:5433/dyno_run"
        );
        let unix = Whereabouts {
            host: String::new(),
            password: String::new(),
            socket: own("/tmp/s"),
            ..tcp
        };
        assert_eq!(unix.url("postgres"), "postgres://postgres@/dyno_run?host=%2Ftmp%2Fs");
    }
}
