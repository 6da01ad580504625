//! Where the database is and who asks: resolved as psql would, so that what works with psql works here.
//!
//! A target is a URI, a `keyword=value` string or a bare database name; what it leaves open comes from a service
//! file, the `PG…` variables, the password file and libpq's defaults, in this order. Source: PostgreSQL 18
//! documentation, chapter "libpq", sections "Database Connection Control Functions", "Environment Variables", "The
//! Password File", "The Connection Service File".

mod connect;
mod conninfo;
pub(crate) mod dial;
mod endpoint;
mod guard;
mod interruptible;
mod keyword;
mod libpq;
mod passfile;
mod resolve;
mod safety;
mod service;
mod tls;
mod uri;
mod whereabouts;

use dyno_wire::{AuthenticationPolicy, RequiredPeer, Secret, SessionKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use connect::ConnectError;
pub use endpoint::{Endpoint, Socket};
pub use interruptible::Interruptible;
pub(super) use keyword::meaning as keyword;
pub use libpq::LIBPQ_LOST;
pub use tls::{RootCertificate, TlsError, TlsSettings};

/// Why a target could not be understood. Texts never contain a password.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The string does not follow the URI or the `keyword=value` form.
    #[error(
        "the target's address cannot be read: {what}. Give postgres://user@host:port/database or \"host=… dbname=…\""
    )]
    Syntax {
        /// What was found, where.
        what: String,
        /// What libpq says of it; `None`: it takes it.
        libpq: Option<String>,
    },
    /// A keyword that libpq does not know. It is repeated only if it is like one that is known: it may be a piece
    /// of a password with a space in it.
    #[error("the target's address has an unknown keyword{}", suggestion.as_ref()
        .map(|(keyword, nearest)| format!(" \"{keyword}\"; did you mean \"{nearest}\"?"))
        .unwrap_or_else(|| "; a value with spaces needs quotes ('…')".to_owned()))]
    UnknownKeyword {
        /// As written, and the nearest known keyword.
        suggestion: Option<(String, &'static str)>,
        /// What libpq says of it.
        libpq: String,
    },
    /// A keyword that libpq knows and dyno cannot honour.
    #[error("{origin} asks for {keyword}={value}, which dyno does not support; leave it out")]
    Unsupported {
        /// The target, a service or an environment variable.
        origin: String,
        /// libpq's name for it.
        keyword: &'static str,
        /// As written.
        value: String,
    },
    /// A value outside what its keyword allows.
    #[error("the value \"{value}\" of {keyword} is not valid: {expected}")]
    Value {
        /// Keyword or environment variable.
        keyword: String,
        /// As written.
        value: String,
        /// What would be accepted.
        expected: String,
    },
    /// An address in the place of a part of one. It is not repeated: it may have a password.
    #[error(
        "{origin} is an address itself; give it as the whole address, in the form postgres://user@host:port/database"
    )]
    Misplaced {
        /// Keyword or environment variable.
        origin: String,
    },
    /// A port outside 1–65535. Its text is not repeated: in a URI without "@" it may be a password.
    #[error(
        "the port given in {origin} is not a number from 1 to 65535; give host:port, and write a password as \
         user:password@host"
    )]
    Port {
        /// Keyword or environment variable.
        origin: String,
        /// What libpq says of it.
        libpq: String,
    },
    /// A time to connect that is no whole number.
    #[error("the value \"{value}\" of {origin} is not valid: a whole number of seconds, 0 to wait without limit")]
    ConnectTimeout {
        /// Keyword or environment variable.
        origin: String,
        /// As written.
        value: String,
        /// The server that it was to be used for.
        host: Host,
    },
    /// A named service is in no service file.
    #[error("the service \"{name}\" is not defined in {}; define it there as [{name}] or leave the service out",
        files.join(" or "))]
    UnknownService {
        /// Service asked for.
        name: String,
        /// Files looked at.
        files: Vec<String>,
    },
    /// A service file could not be read.
    #[error("the service file {file}, line {line}, cannot be read: {what}")]
    ServiceFile {
        /// The file.
        file: PathBuf,
        /// Line, from 1; 0 for the file as a whole.
        line: usize,
        /// What is wrong.
        what: String,
        /// What libpq calls that.
        libpq: &'static str,
    },
    /// Neither the target nor the system says who connects.
    #[error("no user name is known for user id {uid}; give one as user=… or in PGUSER")]
    NoUser {
        /// The id without a name.
        uid: u32,
    },
}

impl AddressError {
    /// What libpq says of it, where it has words of its own for just this; else the same as `Display`. What may be
    /// a password is `***`.
    #[must_use]
    pub fn libpq(&self) -> String {
        match self {
            Self::Syntax { libpq: Some(text), .. }
            | Self::UnknownKeyword { libpq: text, .. }
            | Self::Port { libpq: text, .. } => text.clone(),
            Self::ConnectTimeout { value, host, .. } => {
                let option = "connection option \"connect_timeout\"";
                host.libpq_failure(&format!("invalid integer value \"{value}\" for {option}"))
            }
            Self::ServiceFile {
                file,
                line: line @ 1..,
                libpq,
                ..
            } => {
                format!("{libpq} in service file \"{}\", line {line}", file.display())
            }
            Self::NoUser { uid } => format!("local user with ID {uid} does not exist"),
            Self::UnknownService { name, .. } => format!("definition of service \"{name}\" not found"),
            Self::Value {
                keyword: origin, value, ..
            } => match keyword::keyword_of(origin) {
                "hostaddr" => format!("could not parse network address \"{value}\": Name or service not known"),
                keyword => format!("invalid {keyword} value: \"{value}\""),
            },
            other => other.to_string(),
        }
    }
}

/// One server that may be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Host {
    /// A unix socket `.s.PGSQL.<port>` in a folder. An abstract socket starts with `@`.
    Unix {
        /// Folder of the socket.
        directory: PathBuf,
        /// Port, part of the socket's name.
        port: u16,
    },
    /// TCP.
    Tcp {
        /// Name or numeric address; also what a certificate is checked against.
        name: String,
        /// Numeric address to use in place of looking `name` up.
        address: Option<IpAddr>,
        /// Port.
        port: u16,
    },
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix { directory, port } => {
                write!(f, "{}/.s.PGSQL.{port}", directory.display())
            }
            Self::Tcp { name, port, .. } if name.contains(':') => write!(f, "[{name}]:{port}"),
            Self::Tcp { name, port, .. } => write!(f, "{name}:{port}"),
        }
    }
}

/// A host with the password that fits it (the password file may have one for each).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Server {
    host: Host,
    password: Option<Secret>,
}

/// Everything needed to connect.
///
/// `Display` gives the address without the password, fit for an archive: `postgres://user@host:port/database`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionInfo {
    servers: Vec<Server>,
    user: String,
    database: String,
    application_name: String,
    options: Option<String>,
    /// Settings of the load's sessions, name and value.
    parameters: Vec<(String, String)>,
    /// Of the load's connections; `None`: the database's own.
    client_encoding: Option<String>,
    /// What `client_encoding` or its variable says.
    asked_encoding: Option<String>,
    connect_timeout: Option<Duration>,
    /// Which sessions are wanted.
    session_kind: SessionKind,
    /// Which are taken if there are none of these.
    second_kind: Option<SessionKind>,
    tls: TlsSettings,
    /// What servers may ask for when we log in.
    authentication: AuthenticationPolicy,
    /// Whose process a server on a unix socket must be.
    required_peer: Option<RequiredPeer>,
    warnings: Vec<String>,
}

impl ConnectionInfo {
    /// Understands `target` (nothing given: everything from the environment), filling what it leaves open from
    /// `env`, which looks a variable up (so that tests need no process environment).
    ///
    /// # Errors
    /// [`AddressError`] when the target, a variable or a service file cannot be understood.
    pub fn resolve(target: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, AddressError> {
        resolve::resolve(target, env)
    }

    /// A server of our own on a unix socket or on TCP, without TLS.
    #[must_use]
    pub fn local(host: Host, user: &str, password: Option<&str>, database: &str) -> Self {
        Self {
            servers: vec![Server {
                host,
                password: password.map(Secret::from),
            }],
            user: user.to_owned(),
            database: database.to_owned(),
            application_name: resolve::APPLICATION_NAME.to_owned(),
            options: None,
            parameters: Vec::new(),
            client_encoding: Some(resolve::UTF8.to_owned()),
            asked_encoding: None,
            connect_timeout: Some(resolve::CONNECT_TIMEOUT),
            session_kind: SessionKind::Any,
            second_kind: None,
            tls: TlsSettings::disabled(),
            authentication: AuthenticationPolicy::default(),
            required_peer: None,
            warnings: Vec::new(),
        }
    }

    /// The same for another database of the same server.
    #[must_use]
    pub fn with_database(&self, name: &str) -> Self {
        let mut other = self.clone();
        name.clone_into(&mut other.database);
        other
    }

    /// The same with sessions in which these settings hold. Names are made of letters, digits, `_` and `.`.
    #[must_use]
    pub fn with_settings(&self, settings: &[(String, String)]) -> Self {
        let mut other = self.clone();
        let mut options = other.options.take().unwrap_or_default();
        for (name, value) in settings {
            // The server splits at spaces that no backslash precedes (libpq, "options").
            let value = value.replace('\\', "\\\\").replace(' ', "\\ ");
            options.push_str(&format!(" -c {name}={value}"));
        }
        other.options = Some(options.trim_start().to_owned()).filter(|options| !options.is_empty());
        other
    }

    /// The same with [endpoints](Self::endpoints) whose sessions ask for these settings, name and value, when they
    /// start.
    #[must_use]
    pub fn with_parameters(mut self, parameters: Vec<(String, String)>) -> Self {
        self.parameters = parameters;
        self
    }

    /// The same with [endpoints](Self::endpoints) whose text is in the encoding that `client_encoding` or
    /// `PGCLIENTENCODING` names, and in the database's own if none is named, as in libpq. Otherwise text is UTF-8.
    /// `auto` is SQL_ASCII, that is, any bytes: what libpq makes of it in a program that, like pgbench, never asked
    /// for its locale.
    #[must_use]
    pub fn in_client_encoding(mut self) -> Self {
        let asked = self.asked_encoding.take().filter(|name| !name.is_empty());
        self.client_encoding = asked.map(|name| match name.as_str() {
            "auto" => "SQL_ASCII".to_owned(),
            _ => name,
        });
        self.warnings.retain(|warning| warning != resolve::ENCODING_IGNORED);
        self
    }

    /// The servers to try, in order; never empty.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.servers.iter().map(|server| &server.host)
    }

    /// Whether all servers to try are on this machine as far as an address tells: a unix socket or the loopback
    /// interface. (A tunnel looks like it, too.)
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.hosts().all(|host| match host {
            Host::Unix { .. } => true,
            Host::Tcp { name, address, .. } => match address.or_else(|| name.parse().ok()) {
                Some(address) => address.is_loopback(),
                None => name.eq_ignore_ascii_case("localhost"),
            },
        })
    }

    /// Who connects.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The database connected to.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The password for the first server.
    pub(in crate::postgres) fn password(&self) -> Option<&Secret> {
        self.servers.first()?.password.as_ref()
    }

    /// The name shown in `pg_stat_activity`; "dyno" unless asked otherwise.
    #[must_use]
    pub fn application_name(&self) -> &str {
        &self.application_name
    }

    /// How long one host may take to answer; none: as long as the system waits.
    #[must_use]
    pub fn connect_timeout(&self) -> Option<Duration> {
        self.connect_timeout
    }

    /// Whether and how TLS is used (on TCP only).
    #[must_use]
    pub fn tls(&self) -> &TlsSettings {
        &self.tls
    }

    /// What was ignored while resolving, as sentences for the user: a password file with loose permissions, a
    /// keyword without effect.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl fmt::Display for ConnectionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@", uri::encode(&self.user))?;
        for (index, server) in self.servers.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            match &server.host {
                Host::Unix { directory, port } => {
                    write!(f, "{}:{port}", uri::encode(&directory.to_string_lossy()))?;
                }
                tcp @ Host::Tcp { .. } => write!(f, "{tcp}")?,
            }
        }
        write!(f, "/{}", uri::encode(&self.database))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(target: &str) -> ConnectionInfo {
        ConnectionInfo::resolve(Some(target), &|_| None).unwrap()
    }

    #[test]
    fn tells_what_is_here() {
        for here in [
            "host=/tmp user=u",
            "postgres://u@localhost/d",
            "postgres://u@127.0.0.1,[::1]/d",
        ] {
            assert!(info(here).is_local(), "{here}");
        }
        for elsewhere in ["postgres://u@db.example.org/d", "postgres://u@localhost,10.0.0.7/d"] {
            assert!(!info(elsewhere).is_local(), "{elsewhere}");
        }
    }

    #[test]
    fn settings_become_options() {
        let plain = info("host=/tmp user=u");
        assert_eq!(plain.with_settings(&[]).options, None);
        let settings = [("work_mem", "1GB"), ("search_path", r#""a b", c\d"#)];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(
            plain.with_settings(&settings).options.unwrap(),
            r#"-c work_mem=1GB -c search_path="a\ b",\ c\\d"#
        );
    }
}
