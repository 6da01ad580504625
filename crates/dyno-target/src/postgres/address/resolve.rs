//! From target, service file, environment and defaults to one [`ConnectionInfo`].

use super::keyword::{KEYWORDS, Pairs};
use super::passfile::PassFile;
use super::safety;
use super::{AddressError, ConnectionInfo, Host, Server};
use super::{conninfo, service, uri};
use crate::postgres::Postgres;
use crate::target::{PRODUCTS, Product, is_misplaced};
use dyno_wire::{RequiredPeer, Secret, SessionKind};
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What connections are called in `pg_stat_activity` unless the user says otherwise.
pub(super) const APPLICATION_NAME: &str = "dyno";

/// Said of `client_encoding`, unless [`ConnectionInfo::in_client_encoding`] follows it.
pub(super) const ENCODING_IGNORED: &str = "client_encoding has no effect in dyno and is ignored";

/// How long a host may take to answer when nothing is said; libpq would wait as long as the system does, which is
/// minutes.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The encoding of connections.
pub(super) const UTF8: &str = "UTF8";

const DEFAULT_PORT: u16 = 5432;

/// Folders where servers put their socket: Debian's and Red Hat's choice, then PostgreSQL's own.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

const ENCODING_VARIABLE: &str = "PGCLIENTENCODING";

/// A value and the keyword or variable it came from.
#[derive(Clone, Default)]
pub(super) struct Given {
    pub(super) value: String,
    pub(super) origin: String,
}

/// Values by keyword; the first one to be given stays.
#[derive(Default)]
pub(super) struct Parameters {
    values: HashMap<&'static str, Given>,
    warnings: Vec<String>,
}

impl Parameters {
    /// Takes a list in which later values replace earlier ones, without replacing what an earlier list gave.
    fn add_list(&mut self, list: Pairs, origin: &str) -> Result<(), AddressError> {
        let mut values = HashMap::new();
        for (keyword, value) in list {
            let origin = format!("{origin} ({keyword})");
            check_place(keyword, &value, &origin)?;
            values.insert(keyword, Given { value, origin });
        }
        for (keyword, given) in values {
            self.values.entry(keyword).or_insert(given);
        }
        Ok(())
    }

    /// Refuses what cannot be honoured, and notes what has no effect.
    fn judge(&mut self) -> Result<(), AddressError> {
        for keyword in KEYWORDS {
            let Some(given) = self.values.get(keyword.name) else {
                continue;
            };
            // A variable is meant for all programs, and is not told off where it does no harm.
            let by_variable = keyword.variable == Some(given.origin.as_str());
            let origin = given.origin.split(" (").next().unwrap_or_default();
            let warning = keyword.judge(&given.value, origin)?;
            self.warnings.extend(warning.filter(|_| !by_variable));
        }
        Ok(())
    }

    /// The value, unless it is missing or empty.
    pub(super) fn get(&self, keyword: &str) -> Option<&str> {
        self.given(keyword).map(|given| given.value.as_str())
    }

    pub(super) fn given(&self, keyword: &str) -> Option<&Given> {
        self.values.get(keyword).filter(|given| !given.value.is_empty())
    }

    /// Parses the value of `keyword` with `read`, saying what is `expected` when it does not fit.
    pub(super) fn parse<T>(
        &self,
        keyword: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, AddressError> {
        let Some(given) = self.given(keyword) else {
            return Ok(None);
        };
        match read(&given.value) {
            Some(value) => Ok(Some(value)),
            None => Err(AddressError::Value {
                keyword: given.origin.clone(),
                value: given.value.clone(),
                expected: expected.to_owned(),
            }),
        }
    }
}

/// See [`ConnectionInfo::resolve`].
pub(super) fn resolve(
    target: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<ConnectionInfo, AddressError> {
    let mut parameters = Parameters::default();
    if let Some(target) = target.map(str::trim).filter(|text| !text.is_empty()) {
        parameters.add_list(target_list(target)?, "the target")?;
    }
    let service = parameters
        .get("service")
        .map(str::to_owned)
        .or_else(|| env("PGSERVICE").filter(|name| !name.is_empty()));
    if let Some(name) = service {
        check_place("service", &name, "PGSERVICE")?;
        let list = service::parameters(&name, env)?;
        parameters.add_list(list, &format!("the service {name}"))?;
    }
    for keyword in KEYWORDS {
        if let Some(variable) = keyword.variable
            && let Some(value) = env(variable).filter(|value| !value.is_empty())
        {
            let origin = variable.to_owned();
            let given = parameters.values.entry(keyword.name).or_insert(Given { value, origin });
            check_place(keyword.name, &given.value, &given.origin)?;
        }
    }
    parameters.judge()?;
    build(parameters, env)
}

/// Refuses an address in the place of a part of one.
fn check_place(keyword: &str, value: &str, origin: &str) -> Result<(), AddressError> {
    if !is_misplaced(&Postgres, keyword, value) {
        return Ok(());
    }
    Err(of_another(value).unwrap_or_else(|| AddressError::Misplaced {
        origin: origin.to_owned(),
    }))
}

/// What is wrong with the address of another kind of database.
fn of_another(address: &str) -> Option<AddressError> {
    let (scheme, _) = address.trim_start().split_once("://")?;
    let is_of = |product: &&&dyn Product| product.key() != Postgres.key() && product.schemes().contains(&scheme);
    let product = PRODUCTS.iter().find(is_of)?;
    Some(AddressError::Syntax {
        what: format!("{scheme}:// is for {}, and this needs PostgreSQL", product.name()),
        libpq: None,
    })
}

/// The keywords and values of the target in any of its three forms.
fn target_list(target: &str) -> Result<Pairs, AddressError> {
    if let Some(rest) = uri::strip_scheme(target) {
        return uri::parse(target, rest);
    }
    if let Some((scheme, _)) = target.split_once("://")
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return Err(of_another(target).unwrap_or_else(|| AddressError::Syntax {
            what: format!("the scheme {scheme}:// is not one of postgres:// and postgresql://"),
            libpq: None,
        }));
    }
    if target.contains('=') {
        return conninfo::parse(target);
    }
    // Almost certainly a slip, and everything about a database, also what the server says and writes into its log,
    // has its name.
    if target.contains("//") || target.split_once(':').is_some_and(|(_, rest)| rest.contains('@')) {
        return Err(AddressError::Syntax {
            what:
                "it does not begin with postgres://, but goes on like a URI (a database of such a name is dbname='…')"
                    .to_owned(),
            libpq: None,
        });
    }
    Ok(vec![("dbname", target.to_owned())])
}

fn build(mut parameters: Parameters, env: &dyn Fn(&str) -> Option<String>) -> Result<ConnectionInfo, AddressError> {
    let home = env("HOME").map(PathBuf::from);
    let user = match parameters.get("user") {
        Some(user) => user.to_owned(),
        None => system_user()?,
    };
    let database = parameters.get("dbname").unwrap_or(&user).to_owned();
    let (session_kind, second_kind) = parameters
        .parse(
            "target_session_attrs",
            "give any, read-write, read-only, primary, standby or prefer-standby",
            |text| {
                Some(match text {
                    "any" => (SessionKind::Any, None),
                    "read-write" => (SessionKind::ReadWrite, None),
                    "read-only" => (SessionKind::ReadOnly, None),
                    "primary" => (SessionKind::Primary, None),
                    "standby" => (SessionKind::Standby, None),
                    "prefer-standby" => (SessionKind::Standby, Some(SessionKind::Any)),
                    _ => return None,
                })
            },
        )?
        .unwrap_or_default();
    let tls = safety::tls(&parameters, home.as_deref())?;
    let authentication = safety::authentication(&parameters)?;
    let asked_encoding = parameters.values.remove("client_encoding");
    // The variable is meant for all programs, and is not told off.
    if asked_encoding
        .as_ref()
        .is_some_and(|given| given.origin != ENCODING_VARIABLE)
    {
        parameters.warnings.push(ENCODING_IGNORED.to_owned());
    }
    let hosts = hosts(&parameters)?;
    let connect_timeout = connect_timeout(&parameters, &hosts)?;
    let servers = with_passwords(hosts, &mut parameters, &database, &user, home.as_deref());
    Ok(ConnectionInfo {
        servers,
        application_name: parameters
            .get("application_name")
            .or_else(|| parameters.get("fallback_application_name"))
            .unwrap_or(APPLICATION_NAME)
            .to_owned(),
        options: parameters.get("options").map(str::to_owned),
        parameters: Vec::new(),
        client_encoding: Some(UTF8.to_owned()),
        asked_encoding: asked_encoding.map(|given| given.value),
        connect_timeout,
        session_kind,
        second_kind,
        tls,
        authentication,
        required_peer: parameters.get("requirepeer").map(RequiredPeer::new),
        warnings: parameters.warnings,
        user,
        database,
    })
}

/// How long a host may take to answer, which is told as something between us and the first of them.
fn connect_timeout(parameters: &Parameters, hosts: &[Host]) -> Result<Option<Duration>, AddressError> {
    let (Some(given), Some(host)) = (parameters.given("connect_timeout"), hosts.first()) else {
        return Ok(Some(CONNECT_TIMEOUT));
    };
    match given.value.trim().parse::<i32>() {
        Ok(seconds) => Ok(u64::try_from(seconds).ok().filter(|s| *s > 0).map(Duration::from_secs)),
        Err(_) => Err(AddressError::ConnectTimeout {
            origin: given.origin.clone(),
            value: given.value.clone(),
            host: host.clone(),
        }),
    }
}

/// The name of the user running this process.
fn system_user() -> Result<String, AddressError> {
    let uid = nix::unistd::geteuid();
    match nix::unistd::User::from_uid(uid) {
        Ok(Some(user)) => Ok(user.name),
        Ok(None) | Err(_) => Err(AddressError::NoUser { uid: uid.as_raw() }),
    }
}

/// Pairs hosts, numeric addresses and ports, which are comma-separated lists of equal length (or one port for all).
fn hosts(parameters: &Parameters) -> Result<Vec<Host>, AddressError> {
    let list = |keyword: &str| -> Vec<&str> {
        parameters
            .get(keyword)
            .map_or_else(Vec::new, |text| text.split(',').map(str::trim).collect())
    };
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = names.len().max(addresses.len()).max(1);
    let length = |keyword: &str, found: usize, allowed: bool| {
        if allowed {
            return Ok(());
        }
        let libpq = match keyword {
            "port" => format!("could not match {found} port numbers to {count} hosts"),
            _ => format!(
                "could not match {} host names to {} hostaddr values",
                names.len(),
                addresses.len()
            ),
        };
        Err(AddressError::Syntax {
            what: format!("{found} values are given for {keyword}, but there are {count} hosts"),
            libpq: Some(libpq),
        })
    };
    length("host", names.len(), names.is_empty() || names.len() == count)?;
    length(
        "hostaddr",
        addresses.len(),
        addresses.is_empty() || addresses.len() == count,
    )?;
    length("port", ports.len(), ports.len() <= 1 || ports.len() == count)?;
    (0..count)
        .map(|index| {
            let text = |list: &[&str]| list.get(index).copied().unwrap_or_default().to_owned();
            let port = if ports.len() == 1 {
                ports[0]
            } else {
                ports.get(index).copied().unwrap_or_default()
            };
            let origin = parameters.given("port").map_or("port", |given| given.origin.as_str());
            let port = port_number(port, origin, port)?;
            host(&text(&names), &text(&addresses), port)
        })
        .collect()
}

/// A port, or the default one for an empty text. An error shows it as `shown`.
pub(super) fn port_number(text: &str, origin: &str, shown: &str) -> Result<u16, AddressError> {
    if text.is_empty() {
        return Ok(DEFAULT_PORT);
    }
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(AddressError::Port {
            origin: origin.to_owned(),
            libpq: match text.parse::<i32>() {
                Ok(_) => format!("invalid port number: \"{shown}\""),
                Err(_) => format!("invalid integer value \"{shown}\" for connection option \"port\""),
            },
        }),
    }
}

fn host(name: &str, address: &str, port: u16) -> Result<Host, AddressError> {
    if !address.is_empty() {
        let Ok(numeric) = address.parse::<IpAddr>() else {
            return Err(AddressError::Value {
                keyword: "hostaddr".to_owned(),
                value: address.to_owned(),
                expected: "a numeric address such as 192.0.2.1 is needed; give names as host".to_owned(),
            });
        };
        let name = if name.is_empty() { address } else { name };
        return Ok(Host::Tcp {
            name: name.to_owned(),
            address: Some(numeric),
            port,
        });
    }
    if name.is_empty() {
        return Ok(Host::Unix {
            directory: default_socket_folder(port),
            port,
        });
    }
    if name.starts_with(['/', '@']) {
        return Ok(Host::Unix {
            directory: PathBuf::from(name),
            port,
        });
    }
    Ok(Host::Tcp {
        name: name.to_owned(),
        address: None,
        port,
    })
}

/// The folder that has this port's socket, else the first folder that exists.
fn default_socket_folder(port: u16) -> PathBuf {
    let folders = SOCKET_FOLDERS.map(Path::new);
    folders
        .iter()
        .find(|folder| folder.join(format!(".s.PGSQL.{port}")).exists())
        .or_else(|| folders.iter().find(|folder| folder.is_dir()))
        .map_or_else(|| PathBuf::from("/tmp"), |folder| folder.to_path_buf())
}

/// Gives every host its password: the one given, else the password file's.
fn with_passwords(
    hosts: Vec<Host>,
    parameters: &mut Parameters,
    database: &str,
    user: &str,
    home: Option<&Path>,
) -> Vec<Server> {
    if let Some(password) = parameters.get("password") {
        let password = Some(Secret::from(password));
        return hosts
            .into_iter()
            .map(|host| Server {
                host,
                password: password.clone(),
            })
            .collect();
    }
    let path = parameters
        .get("passfile")
        .map(PathBuf::from)
        .or_else(|| home.map(|home| home.join(".pgpass")));
    let file = path.map(|path| PassFile::read(&path));
    let password = |host: &Host| {
        let file = file.as_ref()?;
        match host {
            Host::Tcp { name, port, .. } => file.password(name, *port, database, user),
            // libpq files the default socket under "localhost".
            Host::Unix { directory, port } => {
                let is_default = SOCKET_FOLDERS.iter().any(|folder| directory == Path::new(folder));
                let name = if is_default {
                    "localhost".into()
                } else {
                    directory.to_string_lossy()
                };
                file.password(&name, *port, database, user)
            }
        }
    };
    let servers = hosts
        .into_iter()
        .map(|host| Server {
            password: password(&host).map(Secret::from),
            host,
        })
        .collect();
    if let Some(warning) = file.and_then(|file| file.warning) {
        parameters.warnings.push(warning);
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::address::RootCertificate;
    use dyno_wire::tls::SslMode;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    fn resolve_with(target: &str, variables: &[(&str, &str)]) -> Result<ConnectionInfo, AddressError> {
        let env = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        resolve((!target.is_empty()).then_some(target), &env)
    }

    fn shown(target: &str, variables: &[(&str, &str)]) -> String {
        resolve_with(target, variables).unwrap().to_string()
    }

    fn passwords(info: &ConnectionInfo) -> Vec<Option<&str>> {
        info.servers
            .iter()
            .map(|server| Some(str::from_utf8(server.password.as_ref()?.reveal()).unwrap()))
            .collect()
    }

    #[test]
    fn the_target_goes_before_the_environment() {
        let env = [("PGHOST", "h"), ("PGPORT", "7"), ("PGUSER", "u"), ("PGDATABASE", "d")];
        assert_eq!(shown("", &env), "postgres://u@h:7/d");
        assert_eq!(shown("other", &env), "postgres://u@h:7/other");
        assert_eq!(shown("host=x user=v", &env), "postgres://v@x:7/d");
        assert_eq!(shown("postgres://x:8", &env), "postgres://u@x:8/d");
        assert_eq!(
            shown("postgresql://v:p@x:8,[::1]:9/e", &env),
            "postgres://v@x:8,[::1]:9/e"
        );
        // One default port for all: a variable's single port goes to every host.
        assert_eq!(shown("host=x,y", &env), "postgres://u@x:7,y:7/d");
    }

    #[test]
    fn an_address_is_no_part_of_one() {
        let whole = "postgres://ann:s3cret@db/x";
        let encoded = "postgres%3A%2F%2Fann%3As3cret%40db";
        for (target, variables, origin) in [
            (format!("dbname={whole}"), vec![], "the target (dbname)"),
            (format!("dbname='{whole}' host=h"), vec![], "the target (dbname)"),
            (format!("user=u dbname={encoded}"), vec![], "the target (dbname)"),
            (format!("user=u host={whole}"), vec![], "the target (host)"),
            (format!("user=u service={whole}"), vec![], "the target (service)"),
            (format!("postgres://u@h/{encoded}"), vec![], "the target (dbname)"),
            (encoded.to_owned(), vec![], "the target (dbname)"),
            ("host=h".to_owned(), vec![("PGDATABASE", whole)], "PGDATABASE"),
            ("host=h".to_owned(), vec![("PGSERVICE", whole)], "PGSERVICE"),
        ] {
            let error = resolve_with(&target, &variables).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{origin} is an address itself")),
                "{target}: {error}"
            );
            assert!(!error.contains("s3cret"), "{error}");
        }
        // What is overruled asks for nothing, and a password may be anything.
        for target in ["dbname=d user=u", "dbname=d user=u password=a://b@c"] {
            assert!(resolve_with(target, &[("PGDATABASE", whole)]).is_ok(), "{target}");
        }
    }

    #[test]
    fn defaults_are_those_of_psql() {
        let info = resolve_with("", &[]).unwrap();
        assert_eq!(info.database(), info.user());
        assert_eq!(info.application_name(), "dyno");
        assert!(matches!(info.hosts().next(), Some(Host::Unix { port: 5432, .. })));
        assert_eq!(info.tls().mode, SslMode::Prefer);
        let info = resolve_with(
            "host=h",
            &[
                ("PGAPPNAME", "a"),
                ("PGSSLROOTCERT", "system"),
                ("PGCONNECT_TIMEOUT", "0"),
            ],
        )
        .unwrap();
        assert_eq!(info.application_name(), "a");
        assert_eq!(info.tls().root, Some(RootCertificate::System));
        assert_eq!(info.tls().mode, SslMode::VerifyFull);
        assert_eq!(info.connect_timeout(), None);
        let info = resolve_with("host=/run/x port=1", &[]).unwrap();
        assert_eq!(info.hosts().next().unwrap().to_string(), "/run/x/.s.PGSQL.1");
        assert_eq!(info.with_database("x y").to_string().rsplit('/').next(), Some("x%20y"));
    }

    #[test]
    fn a_password_is_found_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".pgpass");
        std::fs::write(&file, "h1:*:*:*:one\nh2:5433:*:*:two\nlocalhost:*:*:*:three\n").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let env = [("HOME", folder.path().to_str().unwrap()), ("PGUSER", "u")];
        let info = resolve_with("host=h1,h2,h3 port=1,5433,3", &env).unwrap();
        assert_eq!(passwords(&info), [Some("one"), Some("two"), None]);
        assert_eq!(passwords(&resolve_with("", &env).unwrap()), [Some("three")]);
        let info = resolve_with("host=h1 password=hunter2", &env).unwrap();
        assert_eq!(passwords(&info), [Some("hunter2")]);
        let endpoint = resolve_with("postgres://u:hunter2@127.0.0.1/d", &env)
            .unwrap()
            .endpoint();
        for text in [format!("{info} {info:?}"), format!("{endpoint:?}")] {
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_service_fills_what_the_target_leaves_open() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("services");
        std::fs::write(&file, "[s]\nhost=h\nuser=u\ndbname=d\n").unwrap();
        let env = [
            ("PGSERVICEFILE", file.to_str().unwrap()),
            ("PGHOST", "x"),
            ("PGPORT", "7"),
        ];
        assert_eq!(shown("service=s user=v", &env), "postgres://v@h:7/d");
        let error = resolve_with("service=t", &env).unwrap_err().to_string();
        assert!(error.contains("\"t\"") && error.contains("services"), "{error}");
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (target, expected) in [
            ("hosst=x", "did you mean \"host\"?"),
            ("postgres://h/d?conect_timeout=1", "did you mean \"connect_timeout\"?"),
            ("sslmode=reqire", "verify-full"),
            ("connect_timeout=soon", "whole number of seconds"),
            (
                "host=a,b port=1,2,3",
                "3 values are given for port, but there are 2 hosts",
            ),
            ("hostaddr=name", "numeric address"),
            (
                "mysql://h/d",
                "mysql:// is for MariaDB and MySQL, and this needs PostgreSQL",
            ),
            (
                "dbname=mysql://u:hunter2@h/d",
                "mysql:// is for MariaDB and MySQL, and this needs PostgreSQL",
            ),
            ("oracle://h/d", "oracle://"),
            ("target_session_attrs=slave", "read-write"),
            ("channel_binding=always", "give disable, prefer or require"),
            ("gssencmode=require", "does not support"),
            ("postgres://u:hunter2", "port"),
            ("postgres://h:0/d", "1 to 65535"),
        ] {
            let error = resolve_with(target, &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{target}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = resolve_with("", &[("PGPORT", "x")]).unwrap_err().to_string();
        assert!(error.contains("PGPORT"), "{error}");
        let info = resolve_with("host=h keepalives=1", &[]).unwrap();
        assert!(info.warnings()[0].contains("keepalives"));
    }

    #[test]
    fn connections_are_in_utf8_unless_the_clients_encoding_is_to_be_followed() {
        for (target, variable, asked) in [
            ("host=/h", "", None),
            ("host=/h", "latin1", Some("latin1")),
            ("host=/h client_encoding=gbk", "latin1", Some("gbk")),
            ("host=/h client_encoding=''", "latin1", None),
            ("host=/h", "auto", Some("SQL_ASCII")),
        ] {
            let info = resolve_with(target, &[("PGCLIENTENCODING", variable)]).unwrap();
            let encoding = |info: &ConnectionInfo| info.endpoint().unwrap().config.client_encoding.clone();
            assert_eq!(encoding(&info).as_deref(), Some("UTF8"));
            assert_eq!(info.warnings().len(), usize::from(target.contains("client_encoding")));
            let info = info.in_client_encoding();
            assert_eq!(encoding(&info).as_deref(), asked, "{target} {variable}");
            assert!(info.warnings().is_empty());
        }
    }

    proptest! {
        #[test]
        fn never_panics(target in any::<String>(), scheme in any::<bool>()) {
            let target = if scheme { format!("postgres://{target}") } else { target };
            let _ = resolve_with(&target, &[("PGUSER", "u")]);
        }
    }
}
