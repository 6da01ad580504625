//! Where the database is and who asks: `mysql://user:password@host:port/database?ssl-mode=…&socket=…`, or the same with
//! `mariadb://`; of several hosts, `host:port,host:port`, the first that takes us.
//!
//! What the address leaves open is as for the command-line client `mysql`: it comes from the option files, then from
//! the variables `MYSQL_HOST`, `MYSQL_TCP_PORT`, `MYSQL_UNIX_PORT` and `MYSQL_PWD`; the user is that of the system, the
//! port 3306, and there is TLS where the server offers it. Unlike there, `localhost` is TCP if it is given with a port,
//! or if nothing says where the socket is.

mod option_files;
mod resolve;
mod whereabouts;

use crate::unencoded::SPECIAL;
use dyno_wire::Secret;
use dyno_wire::tls::SslMode;
use percent_encoding::utf8_percent_encode;
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
const PARAMETERS: [&str; 5] = ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "socket"];

/// The usual spelling of a parameter's name.
fn spelt(name: &str) -> String {
    name.replace('_', "-")
}

/// Whether there is a parameter of this name. None of them is a secret.
pub(super) fn is_parameter(name: &str) -> bool {
    PARAMETERS.contains(&spelt(name).as_str())
}

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
    #[error(
        "the target's address has an unknown parameter after \"?\"; there are ssl-mode, ssl-ca, ssl-cert, ssl-key and \
         socket"
    )]
    UnknownParameter,
    /// A port outside 1–65535, of an option or a variable.
    #[error("{origin} is not a number from 1 to 65535")]
    OtherPort {
        /// What gives it.
        origin: String,
    },
    /// An option file that clients cannot read either. Its text is not repeated: it may be a password.
    #[error("the option file {place}, cannot be read: {what}")]
    OptionFile {
        /// The file and the line.
        place: String,
        /// What is wrong there.
        what: &'static str,
    },
    /// A TLS mode that there is not.
    #[error("\"{value}\" is not an ssl-mode; give disabled, preferred, required, verify_ca or verify_identity")]
    SslMode {
        /// As written.
        value: String,
    },
    /// Nobody is known to log in as.
    #[error(
        "the target's address names no user, and neither do option files or USER; give mysql://user@host/database{}",
        ignored.iter().map(|file| format!(" ({file})")).collect::<String>()
    )]
    NoUser {
        /// Which files were not read, and why.
        ignored: Vec<String>,
    },
    /// A database that data is loaded into is needed.
    #[error(
        "the target's address names no database; give mysql://user@host/database, one that there is and the role \
         may use, if only information_schema: dyno makes one of its own for its data"
    )]
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

impl Host {
    fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { name, .. } => match name.parse::<IpAddr>() {
                Ok(address) => address.is_loopback(),
                Err(_) => name.eq_ignore_ascii_case("localhost"),
            },
        }
    }
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
    /// Where others do, which are tried in this order if that one does not take us.
    pub others: Vec<Host>,
    /// Who connects.
    pub user: String,
    /// Shown by nothing.
    pub password: Option<Secret>,
    /// The database.
    pub database: String,
    /// How much TLS is asked for; a unix socket has none.
    pub ssl_mode: SslMode,
    /// Certificates (PEM) of whom to trust; without them, whom the system trusts. Looked at by the modes that verify.
    pub root_certificate: Option<PathBuf>,
    /// Our own certificate and its key (PEM), for a server that asks.
    pub identity: Option<Identity>,
    /// How long connecting and logging in may take.
    pub connect_timeout: Duration,
    /// What is odd about the address or about what fills it, as sentences.
    pub warnings: Vec<String>,
}

/// A certificate of our own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The file with the certificate (PEM).
    pub certificate: PathBuf,
    /// The file with its key (PEM).
    pub key: PathBuf,
}

impl ConnectionInfo {
    /// Understands an address, filling what it leaves open from the option files and from `env`, which looks a variable
    /// up.
    ///
    /// # Errors
    /// [`AddressError`] when it, an option or a variable cannot be understood.
    pub fn resolve(address: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, AddressError> {
        resolve::resolve(address, &option_files::SYSTEM_FILES, env)
    }

    /// A server of our own on a unix socket or on TCP, without TLS.
    pub(crate) fn local(host: Host, user: &str, password: &str, database: &str) -> Self {
        Self {
            host,
            others: Vec::new(),
            user: user.to_owned(),
            password: Some(Secret::from(password)),
            database: database.to_owned(),
            ssl_mode: SslMode::Disable,
            root_certificate: None,
            identity: None,
            connect_timeout: CONNECT_TIMEOUT,
            warnings: Vec::new(),
        }
    }

    /// The servers to try, in order; never empty.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        std::iter::once(&self.host).chain(&self.others)
    }

    /// The same with this host alone.
    #[must_use]
    pub(super) fn narrowed(&self, host: &Host) -> Self {
        Self {
            host: host.clone(),
            others: Vec::new(),
            ..self.clone()
        }
    }

    /// The same for another database of the same server.
    #[must_use]
    pub fn with_database(&self, name: &str) -> Self {
        let mut other = self.clone();
        name.clone_into(&mut other.database);
        other
    }

    /// Whether all servers to try are on this machine as far as the address tells: a unix socket or the loopback
    /// interface. (A tunnel looks like it, too.)
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.hosts().all(Host::is_local)
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
            Host::Tcp { .. } => {
                let hosts: Vec<_> = self.hosts().map(ToString::to_string).collect();
                write!(f, "mysql://{user}@{}/{database}", hosts.join(","))
            }
        }
    }
}
