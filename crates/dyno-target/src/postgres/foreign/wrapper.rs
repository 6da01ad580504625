//! What the wrappers of foreign data want to be told: each has its own words for where the remote is and who asks.
//!
//! Sources: PostgreSQL, "postgres_fdw"; the documentation of mysql_fdw 2.8 and of oracle_fdw 2.6.

use super::{ForeignError, tcp};
use crate::postgres::address::{ConnectionInfo, Host, RootCertificate};
use crate::target::{Oracle, Reach, Remote};
use crate::{mysql, oracle};
use dyno_wire::Secret;
use dyno_wire::tls::SslMode;
use postgres_protocol::escape::escape_literal;

/// libpq's option for how long connecting may take, in seconds.
const CONNECT_TIMEOUT: &str = "connect_timeout";

/// An extension that reaches servers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapper {
    Postgres,
    Mysql,
    Oracle,
}

impl Wrapper {
    /// Its name, which is that of the extension, too.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Postgres => "postgres_fdw",
            Self::Mysql => "mysql_fdw",
            Self::Oracle => "oracle_fdw",
        }
    }

    /// What to install to have it on a server of this version, as a clause.
    pub(super) fn package(self, major: u32) -> String {
        let system = format!("with it, ask for the installed server, such as embedded:system:{major}");
        match self {
            Self::Postgres => "install PostgreSQL's contrib modules on its machine".to_owned(),
            Self::Mysql => {
                format!("on Debian it is in the package postgresql-{major}-mysql-fdw; {system}")
            }
            Self::Oracle => format!(
                "it has to be built from its sources (github.com/laurenz/oracle_fdw) with Oracle's client, or taken \
                 from PostgreSQL's own package sources (oracle_fdw_{major}); {system}"
            ),
        }
    }

    /// What its user mappings call who asks.
    fn user(self) -> &'static str {
        match self {
            Self::Postgres | Self::Oracle => "user",
            Self::Mysql => "username",
        }
    }
}

/// A remote as it is described to a wrapper.
#[derive(Debug)]
pub(super) struct Described {
    pub wrapper: Wrapper,
    /// Its address without a password.
    pub shown: String,
    /// Options of the foreign server.
    options: Vec<(String, String)>,
    user: String,
    pub password: Option<Secret>,
}

impl Described {
    /// Describes a remote, with options beside where it is.
    pub(super) fn of(remote: Remote<'_>, options: &[(String, String)]) -> Result<Self, ForeignError> {
        let mut described = match remote {
            Remote::Reached(Reach::Postgres(info)) => Self::postgres(info),
            Remote::Reached(Reach::Mysql(info)) => Self::mysql(info)?,
            Remote::Reached(Reach::Oracle(info)) => Self::reached_oracle(info),
            Remote::Oracle(oracle) => Self::oracle(oracle),
        };
        for (name, value) in options {
            described.check(name)?;
            described.options.push((name.clone(), value.clone()));
        }
        // Its backend cannot be interrupted while it connects.
        let has = |wanted: &str| described.options.iter().any(|(name, _)| name == wanted);
        if described.wrapper == Wrapper::Postgres && !has(CONNECT_TIMEOUT) {
            described.options.push((CONNECT_TIMEOUT.to_owned(), "10".to_owned()));
        }
        Ok(described)
    }

    fn postgres(info: &ConnectionInfo) -> Self {
        let (mut hosts, mut ports) = (Vec::new(), Vec::new());
        for host in info.hosts() {
            let (host, port) = match host {
                Host::Unix { directory, port } => (directory.to_string_lossy().into_owned(), port),
                Host::Tcp { name, address, port } => (
                    address.map_or_else(|| name.clone(), |address| address.to_string()),
                    port,
                ),
            };
            hosts.push(host);
            ports.push(port.to_string());
        }
        let mut options = named([
            ("host", hosts.join(",")),
            ("port", ports.join(",")),
            ("dbname", info.database().to_owned()),
        ]);
        let tls = info.tls();
        if tls.mode != SslMode::Prefer {
            options.push(("sslmode".to_owned(), tls.mode.name().to_owned()));
        }
        let root = match &tls.root {
            Some(RootCertificate::System) => Some("system".to_owned()),
            Some(RootCertificate::File(path)) => Some(path.to_string_lossy().into_owned()),
            None => None,
        };
        options.extend(root.map(|root| ("sslrootcert".to_owned(), root)));
        Self {
            wrapper: Wrapper::Postgres,
            shown: info.to_string(),
            options,
            user: info.user().to_owned(),
            password: info.password().cloned(),
        }
    }

    fn mysql(info: &mysql::address::ConnectionInfo) -> Result<Self, ForeignError> {
        let (host, port) = tcp(info)?;
        Ok(Self {
            wrapper: Wrapper::Mysql,
            shown: info.to_string(),
            options: named([("host", host), ("port", port.to_string())]),
            user: info.user.clone(),
            password: info.password.clone(),
        })
    }

    fn reached_oracle(info: &oracle::address::ConnectionInfo) -> Self {
        let at = info.whereabouts();
        Self {
            wrapper: Wrapper::Oracle,
            shown: info.to_string(),
            options: named([("dbserver", format!("//{}:{}/{}", at.host, at.port, at.database))]),
            user: info.user.clone(),
            password: info.password.clone(),
        }
    }

    fn oracle(oracle: &Oracle) -> Self {
        Self {
            wrapper: Wrapper::Oracle,
            shown: oracle.server.clone(),
            options: named([("dbserver", oracle.server.clone())]),
            user: oracle.user.clone(),
            password: Some(oracle.password.clone()),
        }
    }

    /// Refuses an option that is not one, or that says again where the remote is or who asks.
    fn check(&self, name: &str) -> Result<(), ForeignError> {
        let error = |why| ForeignError::Option {
            name: name.to_owned(),
            why,
        };
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(allowed) {
            return Err(error("names are of lower-case letters, digits and \"_\""));
        }
        let is_given = self.options.iter().any(|(given, _)| given == name);
        if is_given || ["user", "username", "password", "passfile"].contains(&name) {
            return Err(error("where the remote is and who asks is known from its own address"));
        }
        Ok(())
    }

    /// The statement that makes the foreign server.
    pub(super) fn server(&self, name: &str) -> String {
        format!(
            "create server {name} foreign data wrapper {} options ({})",
            self.wrapper.extension(),
            listed(&self.options)
        )
    }

    /// The statement that says who asks; with the password.
    pub(super) fn mapping(&self, server: &str) -> String {
        let mut options = vec![(self.wrapper.user().to_owned(), self.user.clone())];
        if let Some(password) = &self.password {
            let password = String::from_utf8_lossy(password.reveal()).into_owned();
            options.push(("password".to_owned(), password));
        }
        format!(
            "create user mapping for current_user server {server} options ({})",
            listed(&options)
        )
    }
}

fn named<const N: usize>(options: [(&str, String); N]) -> Vec<(String, String)> {
    options.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

fn listed(options: &[(String, String)]) -> String {
    let each = options
        .iter()
        .map(|(name, value)| format!("\"{name}\" {}", escape_literal(value).trim()));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(remote: Remote<'_>, options: &[(&str, &str)]) -> Result<[String; 2], String> {
        let options: Vec<_> = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let described = Described::of(remote, &options).map_err(|error| error.to_string())?;
        Ok([described.server("r"), described.mapping("r")])
    }

    #[test]
    fn postgres_is_told_as_libpq_knows_it() {
        let info = ConnectionInfo::resolve(Some("postgres://u:it's@a:5433,b/d?sslmode=require"), &|_| None).unwrap();
        let told = statements(Reach::Postgres(&info).into(), &[("fetch_size", "1000")]).unwrap();
        assert_eq!(
            told[0],
            "create server r foreign data wrapper postgres_fdw options (\"host\" 'a,b', \"port\" '5433,5432', \
             \"dbname\" 'd', \"sslmode\" 'require', \"fetch_size\" '1000', \"connect_timeout\" '10')"
        );
        assert_eq!(
            told[1],
            "create user mapping for current_user server r options (\"user\" 'u', \"password\" 'it''s')"
        );
        for (name, why) in [("host", "known from"), ("password", "known from"), ("a'b", "letters")] {
            let error = statements(Reach::Postgres(&info).into(), &[(name, "x")]).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn mysql_is_told_a_host_and_a_port() {
        let address = |text: &str| mysql::address::ConnectionInfo::resolve(text, &|_| None).unwrap();
        let told = statements(Reach::Mysql(&address("mysql://u:p@h:3307/d")).into(), &[]).unwrap();
        assert_eq!(
            told,
            [
                "create server r foreign data wrapper mysql_fdw options (\"host\" 'h', \"port\" '3307')",
                "create user mapping for current_user server r options (\"username\" 'u', \"password\" 'p')"
            ]
        );
        let socket = address("mysql://u@localhost/d?socket=/s");
        let error = statements(Reach::Mysql(&socket).into(), &[]).unwrap_err();
        assert!(error.contains("over TCP only"), "{error}");
    }

    #[test]
    fn oracle_is_told_a_connect_string() {
        let oracle = Oracle {
            server: "//h:1521/s".to_owned(),
            user: "scott".to_owned(),
            password: "tiger".into(),
            schema: "SCOTT".to_owned(),
        };
        let told = statements(Remote::Oracle(&oracle), &[("isolation_level", "read_committed")]).unwrap();
        assert_eq!(
            told,
            [
                "create server r foreign data wrapper oracle_fdw options (\"dbserver\" '//h:1521/s', \
                 \"isolation_level\" 'read_committed')",
                "create user mapping for current_user server r options (\"user\" 'scott', \"password\" 'tiger')"
            ]
        );
    }

    #[test]
    fn a_missing_wrapper_is_told_with_its_package() {
        assert!(Wrapper::Mysql.package(15).contains("postgresql-15-mysql-fdw"));
        assert!(Wrapper::Oracle.package(16).contains("oracle_fdw_16"));
    }
}
