//! Where the database is and who asks: `mysql://user:password@host:port/database?ssl-mode=…&socket=…`, or the same with
//! `mariadb://`.
//!
//! What the address leaves open is as for the command-line client `mysql` without option files: the user of the system,
//! the variable `MYSQL_PWD`, port 3306, TLS where the server offers it. Unlike there, `localhost` is TCP, too: a unix
//! socket is asked for by its path.

use dyno_wire::Secret;
use dyno_wire::tls::{SslMode, Words};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The port of servers unless another is given.
pub const PORT: u16 = 3306;

/// What addresses begin with, before `://`.
pub const SCHEMES: [&str; 2] = ["mysql", "mariadb"];

/// How long connecting and logging in may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The TLS modes of `--ssl-mode` of MySQL's clients.
const SSL_MODES: [SslMode; 5] = [
    SslMode::Disable,
    SslMode::Prefer,
    SslMode::Require,
    SslMode::VerifyCa,
    SslMode::VerifyFull,
];

/// Parameters after `?`; each may be written with `_` as well, as the clients take both spellings of an option's name.
const PARAMETERS: [&str; 3] = ["ssl-mode", "ssl-ca", "socket"];

/// The usual spelling of a parameter's name.
fn spelt(name: &str) -> String {
    name.replace('_', "-")
}

/// Whether there is a parameter of this name. None of them is a secret.
pub(super) fn is_parameter(name: &str) -> bool {
    PARAMETERS.contains(&spelt(name).as_str())
}

/// Characters that have a meaning in an address.
const SPECIAL: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'/')
    .add(b':')
    .add(b'?')
    .add(b'@')
    .add(b'[')
    .add(b']');

/// Why an address could not be understood. Texts never contain a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It does not have the form of an address.
    #[error("the target's address cannot be read: {what}. Give mysql://user@host:port/database")]
    Syntax {
        /// What is wrong.
        what: &'static str,
    },
    /// A port outside 1–65535. Its text is not repeated: without "@" it may be a password.
    #[error(
        "the port in the target's address is not a number from 1 to 65535; give host:port, and write a password as \
         user:password@host"
    )]
    Port,
    /// A parameter that is not known. It is not repeated: it may be a piece of a password.
    #[error("the target's address has an unknown parameter after \"?\"; there are ssl-mode, ssl-ca and socket")]
    UnknownParameter,
    /// A TLS mode that there is not.
    #[error("\"{value}\" is not an ssl-mode; give disabled, preferred, required, verify_ca or verify_identity")]
    SslMode {
        /// As written.
        value: String,
    },
    /// Nobody is known to log in as.
    #[error("the target's address names no user, and neither does USER; give mysql://user@host/database")]
    NoUser,
    /// A database that data is loaded into is needed.
    #[error("the target's address names no database; give mysql://user@host/database")]
    NoDatabase,
}

const fn syntax(what: &'static str) -> AddressError {
    AddressError::Syntax { what }
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Host {
    /// The path of a unix socket.
    Unix(PathBuf),
    /// TCP.
    Tcp {
        /// Name or numeric address; also what a certificate is checked against.
        name: String,
        /// Port.
        port: u16,
    },
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp { name, port } if name.contains(':') => write!(f, "[{name}]:{port}"),
            Self::Tcp { name, port } => write!(f, "{name}:{port}"),
        }
    }
}

/// Everything needed to connect.
///
/// `Display` gives the address without the password, fit for an archive: `mysql://user@host:port/database`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionInfo {
    /// Where the server listens.
    pub host: Host,
    /// Who connects.
    pub user: String,
    /// Shown by nothing.
    pub password: Option<Secret>,
    /// The database.
    pub database: String,
    /// How much TLS is asked for; a unix socket has none.
    pub ssl_mode: SslMode,
    /// Certificates (PEM) of whom to trust; without them, whom the system trusts.
    pub root_certificate: Option<PathBuf>,
    /// How long connecting and logging in may take.
    pub connect_timeout: Duration,
}

impl ConnectionInfo {
    /// Understands an address, filling what it leaves open from `env`, which looks a variable up.
    ///
    /// # Errors
    /// [`AddressError`] when it cannot be understood.
    pub fn resolve(address: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, AddressError> {
        let (scheme, rest) = address.split_once("://").ok_or(syntax("it has no \"://\""))?;
        if !SCHEMES.contains(&scheme) {
            return Err(syntax("it does not begin with mysql:// or mariadb://"));
        }
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decode(password)?)),
            None => (login, None),
        };
        let variable = |name: &str| env(name).filter(|value| !value.is_empty());
        let user = match decode(user)? {
            user if user.is_empty() => variable("USER").ok_or(AddressError::NoUser)?,
            user => user,
        };
        if path.contains('/') {
            return Err(syntax("after the database only \"?\" and parameters can follow"));
        }
        let database = decode(path)?;
        if database.is_empty() {
            return Err(AddressError::NoDatabase);
        }
        let mut info = Self {
            host: tcp(place)?,
            user,
            password: password.or_else(|| variable("MYSQL_PWD")).map(Secret::from),
            database,
            ssl_mode: SslMode::Prefer,
            root_certificate: None,
            connect_timeout: CONNECT_TIMEOUT,
        };
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            info.set(parameter)?;
        }
        Ok(info)
    }

    fn set(&mut self, parameter: &str) -> Result<(), AddressError> {
        let (name, value) = parameter.split_once('=').ok_or(AddressError::UnknownParameter)?;
        let value = decode(value)?;
        match spelt(name).as_str() {
            "ssl-mode" => {
                let wanted = value.to_ascii_lowercase().replace('-', "_");
                let mut modes = SSL_MODES.into_iter();
                let found = modes.find(|mode| Words::Mysql.mode(*mode) == wanted);
                self.ssl_mode = found.ok_or(AddressError::SslMode { value })?;
            }
            "ssl-ca" => self.root_certificate = Some(PathBuf::from(value)),
            "socket" if value.is_empty() => return Err(syntax("the path of its socket is empty")),
            "socket" => self.host = Host::Unix(PathBuf::from(value)),
            _ => return Err(AddressError::UnknownParameter),
        }
        Ok(())
    }

    /// A server of our own on a unix socket or on TCP, without TLS.
    pub(crate) fn local(host: Host, user: &str, password: &str, database: &str) -> Self {
        Self {
            host,
            user: user.to_owned(),
            password: Some(Secret::from(password)),
            database: database.to_owned(),
            ssl_mode: SslMode::Disable,
            root_certificate: None,
            connect_timeout: CONNECT_TIMEOUT,
        }
    }

    /// The same for another database of the same server.
    #[must_use]
    pub fn with_database(&self, name: &str) -> Self {
        let mut other = self.clone();
        name.clone_into(&mut other.database);
        other
    }

    /// Whether the server is on this machine as far as the address tells: a unix socket or the loopback interface.
    /// (A tunnel looks like it, too.)
    #[must_use]
    pub fn is_local(&self) -> bool {
        match &self.host {
            Host::Unix(_) => true,
            Host::Tcp { name, .. } => match name.parse::<IpAddr>() {
                Ok(address) => address.is_loopback(),
                Err(_) => name.eq_ignore_ascii_case("localhost"),
            },
        }
    }
}

impl fmt::Display for ConnectionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encode = |text| utf8_percent_encode(text, SPECIAL);
        let (user, database) = (encode(&self.user), encode(&self.database));
        match &self.host {
            Host::Unix(path) => {
                let path = path.to_string_lossy();
                write!(
                    f,
                    "mysql://{user}@localhost/{database}?socket={}",
                    path.replace('&', "%26")
                )
            }
            tcp @ Host::Tcp { .. } => write!(f, "mysql://{user}@{tcp}/{database}"),
        }
    }
}

/// `host`, `host:port`, `[address]`, `[address]:port`, or nothing: this machine.
fn tcp(place: &str) -> Result<Host, AddressError> {
    let (name, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']').ok_or(syntax("\"[\" is not closed by \"]\""))?;
            match port.strip_prefix(':') {
                Some(port) => (name, Some(port)),
                None if port.is_empty() => (name, None),
                None => return Err(syntax("after \"]\" only \":\" and the port can follow")),
            }
        }
        None => match place.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (place, None),
        },
    };
    let port = match port {
        None => PORT,
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or(AddressError::Port)?,
    };
    let name = match decode(name)? {
        name if name.is_empty() => "localhost".to_owned(),
        name => name,
    };
    Ok(Host::Tcp { name, port })
}

fn decode(text: &str) -> Result<String, AddressError> {
    let decoded = percent_decode_str(text).decode_utf8().map(|text| text.into_owned());
    decoded.map_err(|_| syntax("what \"%\" stands for is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn resolve(address: &str) -> Result<ConnectionInfo, AddressError> {
        ConnectionInfo::resolve(address, &|_| None)
    }

    fn host(address: &str) -> String {
        resolve(address).unwrap().host.to_string()
    }

    #[test]
    fn reads_addresses() {
        let info =
            resolve("mariadb://ann:p%40ss%2Fw:rd@db.example:3307/sh%20op?ssl-mode=VERIFY_CA&ssl-ca=/ca.pem").unwrap();
        assert_eq!(info.user, "ann");
        assert_eq!(info.password, Some(Secret::from("p@ss/w:rd")));
        assert_eq!(info.database, "sh op");
        assert_eq!(info.ssl_mode, SslMode::VerifyCa);
        assert_eq!(info.root_certificate, Some(PathBuf::from("/ca.pem")));
        assert_eq!(info.to_string(), "mysql://ann@db.example:3307/sh%20op");
        assert!(!info.is_local());
        assert!(!format!("{info:?}").contains("p@ss"), "{info:?}");
        assert_eq!(host("mysql://u@h/d"), "h:3306");
        assert_eq!(host("mysql://u@/d"), "localhost:3306");
        assert_eq!(host("mysql://u@[::1]:1/d"), "[::1]:1");
        assert_eq!(host("mysql://u@[::1]/d"), "[::1]:3306");
        assert_eq!(host("mysql://u@h/d?socket=/run/my%26.sock"), "/run/my&.sock");
        let socket = resolve("mysql://u@h/d?socket=/run/m.sock").unwrap();
        assert_eq!(socket.to_string(), "mysql://u@localhost/d?socket=/run/m.sock");
        assert!(socket.is_local());
    }

    #[test]
    fn takes_the_rest_from_the_environment() {
        let env = |name: &str| match name {
            "USER" => Some("bob".to_owned()),
            "MYSQL_PWD" => Some("secret".to_owned()),
            _ => None,
        };
        let info = ConnectionInfo::resolve("mysql://h/d", &env).unwrap();
        assert_eq!(
            (info.user.as_str(), info.password),
            ("bob", Some(Secret::from("secret")))
        );
        let info = ConnectionInfo::resolve("mysql://ann:@h/d", &env).unwrap();
        assert_eq!((info.user.as_str(), info.password), ("ann", Some(Secret::from(""))));
        assert_eq!(resolve("mysql://h/d"), Err(AddressError::NoUser));
    }

    #[test]
    fn says_what_is_wrong_without_secrets() {
        assert_eq!(resolve("mysql://u@h:0/d"), Err(AddressError::Port));
        assert_eq!(resolve("mysql://ann:secret/d"), Err(AddressError::NoUser));
        assert_eq!(
            ConnectionInfo::resolve("mysql://ann:secret/d", &|_| Some("u".to_owned())),
            Err(AddressError::Port)
        );
        assert_eq!(resolve("mysql://u@h"), Err(AddressError::NoDatabase));
        assert_eq!(resolve("mysql://u@h/d?secret"), Err(AddressError::UnknownParameter));
        let mode = resolve("mysql://u@h/d?ssl-mode=on").unwrap_err().to_string();
        assert!(mode.starts_with("\"on\" is not an ssl-mode; give disabled"), "{mode}");
        for bad in [
            "postgres://u@h/d",
            "h",
            "mysql://u@[::1/d",
            "mysql://u@[::1]1/d",
            "mysql://u@h/a/b",
            "mysql://%ff@h/d",
        ] {
            assert!(matches!(resolve(bad), Err(AddressError::Syntax { .. })), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(
            user in "\\PC{1,12}",
            name in "[a-z0-9.]{1,12}",
            port in 1_u16..,
            database in "\\PC{1,12}",
        ) {
            let host = Host::Tcp { name, port };
            let shown = ConnectionInfo::local(host, &user, "secret", &database);
            let read = resolve(&shown.to_string()).unwrap();
            prop_assert_eq!((&read.host, &read.user, &read.database), (&shown.host, &shown.user, &shown.database));
            prop_assert_eq!(read.password, None);
        }

        #[test]
        fn nothing_makes_it_panic(text in "(mysql|mariadb)://\\PC{0,40}") {
            let _ = resolve(&text);
        }
    }
}
