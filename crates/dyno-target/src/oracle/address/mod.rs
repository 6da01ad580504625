//! Where the database is and who asks: `oracle://user:password@host:port/service`, the same with TLS as `oracles://` or
//! `tcps://`, or whatever Oracle's own clients take behind `oracle:`, such as `oracle:user@ALIAS`.
//!
//! The parameters are those of Oracle's Easy Connect Plus. A name is looked up in `tnsnames.ora`, where the variable
//! `TNS_ADMIN` says that it is; its description, or one given in full, is read by Oracle's own crate. What the address
//! leaves open of who asks comes from `DYNO_ORACLE_USER` and `DYNO_ORACLE_PASSWORD`, as Oracle's clients have no
//! variables for that.

mod descriptor;
mod resolve;
mod whereabouts;

use crate::unencoded::SPECIAL;
use dyno_wire::Secret;
use percent_encoding::utf8_percent_encode;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The ports of listeners unless another is given, without TLS and with it.
pub const PORT: u16 = 1521;
/// The port that Oracle's documentation gives to listeners with TLS.
pub const TLS_PORT: u16 = 2484;

/// What addresses begin with, before `://`.
pub const SCHEMES: [&str; 3] = ["oracle", "oracles", "tcps"];

/// The one of them that may do without slashes.
pub(super) const NAMED: &str = "oracle";

/// How long connecting and logging in may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Parameters after `?` that are no secrets, by the names of Easy Connect Plus; `sid` is for servers that have no
/// services yet.
const PARAMETERS: [&str; 6] = [
    "protocol",
    "sid",
    "ssl_server_cert_dn",
    "ssl_server_dn_match",
    "transport_connect_timeout",
    "wallet_location",
];

/// The parameter that is one.
pub(super) const WALLET_PASSWORD: &str = "wallet_password";

/// Whether there is a parameter of this name, that is no secret.
pub(super) fn is_parameter(name: &str) -> bool {
    PARAMETERS.contains(&name)
}

/// Why an address could not be understood. Texts never contain a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It does not have the form of an address.
    #[error("the target's address cannot be read: {what}. Give oracle://user@host:1521/service")]
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
        "the target's address has an unknown parameter after \"?\"; there are {}, and {WALLET_PASSWORD}",
        PARAMETERS.join(", ")
    )]
    UnknownParameter,
    /// A parameter with a value that it cannot have.
    #[error("{parameter} in the target's address has to be {known}")]
    Value {
        /// Its name.
        parameter: &'static str,
        /// What it can be.
        known: &'static str,
    },
    /// Nobody is known to log in as.
    #[error(
        "the target's address names no user, and neither does DYNO_ORACLE_USER; give oracle://user@host:1521/service, \
         or oracle:user@ALIAS"
    )]
    NoUser,
    /// A database may have many services, and a listener many databases.
    #[error(
        "the target's address names no service; give oracle://user@host:1521/service, such as FREEPDB1 or ORCLPDB1: \
         `lsnrctl services` on the server lists what there is"
    )]
    NoService,
    /// A name without a place to look it up in.
    #[error(
        "{name} is a name of tnsnames.ora, and TNS_ADMIN does not say in which folder that is; set it, or give \
         oracle://user@host:1521/service"
    )]
    NoFolder {
        /// The name.
        name: String,
    },
    /// A file of names that cannot be read, or one without this name.
    #[error("{name} cannot be looked up in {file}: {why}")]
    Name {
        /// The name.
        name: String,
        /// Where it was looked for.
        file: String,
        /// What went wrong.
        why: String,
    },
    /// What a name stands for, or what was given in its place, is not what is needed.
    #[error(
        "the description of the database cannot be used: {why}. What is needed has the form \
         (DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=…)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=…)))"
    )]
    Description {
        /// What is wrong with it.
        why: String,
    },
}

const fn syntax(what: &'static str) -> AddressError {
    AddressError::Syntax { what }
}

/// Where a listener is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Name or numeric address; also what a certificate is checked against.
    pub name: String,
    /// Port.
    pub port: u16,
}

impl Host {
    fn is_local(&self) -> bool {
        match self.name.parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => self.name.eq_ignore_ascii_case("localhost"),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.contains(':') {
            true => write!(f, "[{}]:{}", self.name, self.port),
            false => write!(f, "{}:{}", self.name, self.port),
        }
    }
}

/// What a listener is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    /// A service of a database.
    Name(String),
    /// An instance by its own name.
    Sid(String),
}

/// How a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// A folder with `ewallet.pem`: certificates to trust, or a certificate of our own with its key. Without one, the
    /// certificates of public authorities are trusted.
    pub wallet: Option<PathBuf>,
    /// What its key is encrypted with. Shown by nothing.
    pub wallet_password: Option<Secret>,
    /// Whether the server's certificate has to be for its host.
    pub matches_host: bool,
    /// The name that the certificate has to be for instead.
    pub server_name: Option<String>,
}

/// Everything needed to connect.
///
/// `Display` gives the address without the password, fit for an archive: `oracle://user@host:port/service`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionInfo {
    /// Where the listener is.
    pub host: Host,
    /// Where others are, which are tried in this order if that one does not take us.
    pub others: Vec<Host>,
    /// What it is asked for.
    pub service: Service,
    /// Which kind of server process, such as `dedicated`; `None`: as the listener likes.
    pub server: Option<String>,
    /// Who connects.
    pub user: String,
    /// Shown by nothing.
    pub password: Option<Secret>,
    /// How it is encrypted; `None`: not at all.
    pub tls: Option<Tls>,
    /// How long connecting and logging in may take.
    pub connect_timeout: Duration,
    /// What is odd about the address, as sentences.
    pub warnings: Vec<String>,
}

impl ConnectionInfo {
    /// Understands an address, filling what it leaves open from `env`, which looks a variable up.
    ///
    /// # Errors
    /// [`AddressError`] when it, or what a name in it stands for, cannot be understood.
    pub fn resolve(address: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, AddressError> {
        resolve::resolve(address, env)
    }

    /// The listeners to try, in order; never empty.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        std::iter::once(&self.host).chain(&self.others)
    }

    /// The same with this host alone.
    #[must_use]
    pub fn narrowed(&self, host: &Host) -> Self {
        Self {
            host: host.clone(),
            others: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether all listeners to try are on this machine as far as the address tells. (A tunnel looks like it, too.)
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.hosts().all(Host::is_local)
    }

    /// The schema in which this user's tables are: its name, in capitals unless it is quoted.
    #[must_use]
    pub fn schema(&self) -> String {
        match self.user.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(quoted) => quoted.to_owned(),
            None => self.user.to_uppercase(),
        }
    }
}

impl fmt::Display for ConnectionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encode = |text| utf8_percent_encode(text, SPECIAL);
        let scheme = if self.tls.is_some() { "oracles" } else { "oracle" };
        let hosts: Vec<_> = self.hosts().map(ToString::to_string).collect();
        write!(f, "{scheme}://{}@{}/", encode(&self.user), hosts.join(","))?;
        match &self.service {
            Service::Name(name) => write!(f, "{}", encode(name)),
            Service::Sid(sid) => write!(f, "?sid={}", encode(sid)),
        }
    }
}
