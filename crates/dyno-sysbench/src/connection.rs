//! Where the database is, from sysbench's options.

use crate::options::Settings;
use dyno_target::mysql::address::{self as mysql, Identity};
use dyno_target::postgres::address as postgres;
use dyno_wire::Secret;
use dyno_wire::tls::SslMode;
use std::path::PathBuf;
use std::time::Duration;

/// How long connecting and logging in may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The host that means this machine's socket.
const LOCALHOST: &str = "localhost";

/// The names of TLS modes that `--mysql-ssl` takes, `on` and `off` among them.
const MYSQL_SSL: [(&str, SslMode); 9] = [
    ("on", SslMode::Require),
    ("off", SslMode::Disable),
    ("true", SslMode::Require),
    ("false", SslMode::Disable),
    ("disabled", SslMode::Disable),
    ("preferred", SslMode::Prefer),
    ("required", SslMode::Require),
    ("verify_ca", SslMode::VerifyCa),
    ("verify_identity", SslMode::VerifyFull),
];

/// The kind of database that `--db-driver` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// MySQL or MariaDB.
    Mysql,
    /// PostgreSQL.
    Pgsql,
}

impl Driver {
    /// The driver of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "mysql" => Some(Self::Mysql),
            "pgsql" => Some(Self::Pgsql),
            _ => None,
        }
    }
}

/// Options that lead to no database; texts never contain a password.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// PostgreSQL's options or variables.
    #[error("{}", .0.libpq())]
    Postgres(#[from] postgres::AddressError),
    /// A port that is none.
    #[error("Invalid value for --mysql-port: {0}")]
    Port(String),
    /// A TLS mode that there is not.
    #[error(
        "Invalid value for --mysql-ssl: {0}; give on, off, disabled, preferred, required, verify_ca or verify_identity"
    )]
    SslMode(String),
    /// An option of the client library that dyno has not.
    #[error("--{0} is not supported by dyno: {1}")]
    Unsupported(&'static str, &'static str),
}

/// The servers that connections are dealt to in turn, and who connects.
///
/// # Errors
/// [`ConnectionError`]
pub fn mysql_target(settings: &Settings) -> Result<mysql::ConnectionInfo, ConnectionError> {
    if settings.is_on("mysql-compression") {
        return Err(ConnectionError::Unsupported(
            "mysql-compression",
            "it speaks the protocol without compression; leave the option out",
        ));
    }
    if settings.is_on("mysql-dry-run") {
        return Err(ConnectionError::Unsupported(
            "mysql-dry-run",
            "what is measured has to be executed; leave the option out",
        ));
    }
    if !settings.text("mysql-ssl-cipher").is_empty() {
        return Err(ConnectionError::Unsupported(
            "mysql-ssl-cipher",
            "client and server choose a cipher by themselves; leave the option out",
        ));
    }
    let written = settings.text("mysql-ssl");
    let mode = written.to_ascii_lowercase().replace('-', "_");
    let ssl_mode = MYSQL_SSL.iter().find(|(name, _)| *name == mode || mode.is_empty());
    let (_, ssl_mode) = ssl_mode.ok_or_else(|| ConnectionError::SslMode(written.to_owned()))?;
    let file = |name: &str| {
        Some(settings.text(name))
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    };
    let identity = match (file("mysql-ssl-cert"), file("mysql-ssl-key")) {
        (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
        (Some(both), None) | (None, Some(both)) => Some(Identity {
            certificate: both.clone(),
            key: both,
        }),
        (None, None) => None,
    };
    let mut hosts = mysql_hosts(settings)?.into_iter();
    let first = hosts.next().unwrap_or(mysql::Host::Tcp {
        name: LOCALHOST.to_owned(),
        port: mysql::PORT,
    });
    let password = settings.text("mysql-password");
    Ok(mysql::ConnectionInfo {
        host: first,
        others: hosts.collect(),
        user: settings.text("mysql-user").to_owned(),
        password: Some(Secret::new(dyno_text::encode(password).into_owned())),
        database: settings.text("mysql-db").to_owned(),
        ssl_mode: *ssl_mode,
        root_certificate: file("mysql-ssl-ca"),
        identity,
        connect_timeout: CONNECT_TIMEOUT,
        warnings: Vec::new(),
    })
}

/// Where MySQL's client library looks for the socket of this machine's server.
const SOCKETS: [&str; 3] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// Sockets, if any are given: hosts do not count then. Else all hosts with the first port, then with the second one.
fn mysql_hosts(settings: &Settings) -> Result<Vec<mysql::Host>, ConnectionError> {
    let sockets = settings.list("mysql-socket");
    if !sockets.is_empty() {
        return Ok(sockets
            .iter()
            .map(|path| mysql::Host::Unix(PathBuf::from(path)))
            .collect());
    }
    let hosts = or_usual(settings.list("mysql-host"), LOCALHOST);
    let mut ports = Vec::new();
    for text in or_usual(settings.list("mysql-port"), "3306") {
        let port: Option<u16> = text.parse().ok().filter(|port| *port > 0);
        ports.push(port.ok_or(ConnectionError::Port(text))?);
    }
    let places = ports
        .iter()
        .flat_map(|port| hosts.iter().map(move |host| (host, *port)));
    let found = places.map(|(host, port)| {
        let usual = SOCKETS.iter().map(PathBuf::from).find(|path| path.exists());
        match usual {
            Some(path) if host == LOCALHOST => mysql::Host::Unix(path),
            _ => mysql::Host::Tcp {
                name: host.clone(),
                port,
            },
        }
    });
    Ok(found.collect())
}

/// A list, or what it usually holds if it is empty.
fn or_usual(list: &[String], usual: &str) -> Vec<String> {
    match list.is_empty() {
        true => vec![usual.to_owned()],
        false => list.to_vec(),
    }
}

/// The PostgreSQL server; what the options leave open comes from the PG* variables, as in libpq.
///
/// # Errors
/// [`ConnectionError`]
pub fn pgsql_target(
    settings: &Settings,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<postgres::ConnectionInfo, ConnectionError> {
    let port = settings.int("pgsql-port").to_string();
    let keywords = [
        ("host", settings.text("pgsql-host")),
        ("port", port.as_str()),
        ("dbname", settings.text("pgsql-db")),
        ("user", settings.text("pgsql-user")),
        ("password", settings.text("pgsql-password")),
        (
            "sslmode",
            match settings.is_given("pgsql-sslmode") {
                true => settings.text("pgsql-sslmode"),
                false => "",
            },
        ),
    ];
    let words = keywords.into_iter().filter(|(_, value)| !value.is_empty());
    let words = words.map(|(keyword, value)| {
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        format!("{keyword}='{value}'")
    });
    let conninfo = words.collect::<Vec<_>>().join(" ");
    let target = postgres::ConnectionInfo::resolve(Some(&conninfo), environment)?;
    Ok(target.in_client_encoding())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Request, parse};

    fn settings(words: &[&str]) -> Settings {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match parse(&words, &mut Vec::new()) {
            Ok(Request::Test(options)) => options.settings,
            other => panic!("{other:?}"),
        }
    }

    fn hosts(words: &[&str]) -> Vec<String> {
        let target = mysql_target(&settings(words)).unwrap();
        target.hosts().map(ToString::to_string).collect()
    }

    #[test]
    fn hosts_come_with_each_port_in_turn() {
        let words = ["--mysql-host=a,b", "--mysql-port=1,2"];
        assert_eq!(hosts(&words), ["a:1", "b:1", "a:2", "b:2"]);
        assert_eq!(hosts(&["--mysql-host=a", "--mysql-socket=/s,/t"]), ["/s", "/t"]);
        let error = mysql_target(&settings(&["--mysql-port=x"])).unwrap_err();
        assert_eq!(error.to_string(), "Invalid value for --mysql-port: x");
    }

    #[test]
    fn tls_is_on_or_a_mode() {
        let mode = |word: &str| mysql_target(&settings(&["--mysql-host=a", word])).map(|target| target.ssl_mode);
        assert_eq!(mode("--mysql-ssl").unwrap(), SslMode::Require);
        assert_eq!(mode("--mysql-ssl=on").unwrap(), SslMode::Require);
        assert_eq!(mode("--mysql-ssl=off").unwrap(), SslMode::Disable);
        assert_eq!(mode("--threads=1").unwrap(), SslMode::Disable);
        assert_eq!(mode("--mysql-ssl=VERIFY_CA").unwrap(), SslMode::VerifyCa);
        assert!(mode("--mysql-ssl=maybe").is_err());
        assert!(mode("--mysql-compression").is_err());
    }

    #[test]
    fn postgres_takes_the_rest_from_libpqs_variables() {
        let options = settings(&[
            "--pgsql-host=h",
            "--pgsql-user=ann",
            "--pgsql-password=it's",
            "--pgsql-db=d b",
        ]);
        let env = |name: &str| (name == "PGSSLMODE").then(|| "require".to_owned());
        let target = pgsql_target(&options, &env).unwrap();
        assert_eq!(target.to_string(), "postgres://ann@h:5432/d%20b");
        assert_eq!(target.tls().mode, SslMode::Require);
        assert!(!format!("{target:?}").contains("it's"));
    }
}
