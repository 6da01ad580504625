//! From an address, the option files and the environment to everything that is needed to connect.

use super::option_files::OptionFiles;
use super::{AddressError, CONNECT_TIMEOUT, ConnectionInfo, Host, Identity, PORT, SCHEMES, SSL_MODES, spelt, syntax};
use crate::unencoded::{UNENCODED, is_split};
use dyno_wire::Secret;
use dyno_wire::tls::{SslMode, Words};
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The host that is this machine.
const LOCALHOST: &str = "localhost";

/// An address, taken apart.
struct Address<'a> {
    user: String,
    password: Option<String>,
    /// As written, one or several.
    hosts: &'a str,
    database: String,
    /// By their usual spellings.
    parameters: BTreeMap<String, String>,
}

/// As [`ConnectionInfo::resolve`]; `system` are the option files of the system.
pub(super) fn resolve(
    address: &str,
    system: &[&str],
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<ConnectionInfo, AddressError> {
    let address = Address::read(address)?;
    let options = OptionFiles::read(system, env)?;
    let defaults = Defaults { options: &options, env };
    let user = Some(address.user.clone()).filter(|user| !user.is_empty());
    let user = user
        .or_else(|| defaults.option("user"))
        .or_else(|| defaults.variable("USER"))
        .ok_or_else(|| AddressError::NoUser {
            ignored: options.warnings.clone(),
        })?;
    let mut hosts = defaults.hosts(&address)?.into_iter();
    let given = |name: &str| {
        let own = address.parameters.get(name).filter(|value| !value.is_empty());
        own.cloned().or_else(|| defaults.option(name))
    };
    let file = |name: &str| given(name).map(PathBuf::from);
    let mut warnings = options.warnings.clone();
    let password = address
        .password
        .clone()
        .map(Secret::from)
        .or_else(|| defaults.password());
    if password.is_none() {
        warnings.extend(defaults.login_file());
    }
    let root_certificate = file("ssl-ca");
    let ssl_mode = match given("ssl-mode") {
        Some(value) => mode_named(value)?,
        None => defaults.mode(address.parameters.contains_key("ssl-ca"), root_certificate.is_some()),
    };
    if root_certificate.is_some() && (SslMode::Prefer..SslMode::VerifyCa).contains(&ssl_mode) {
        warnings.push(format!(
            "ssl-ca is not looked at with ssl-mode={}, as in the database's own clients: whoever answers is believed; \
             give ssl-mode=verify_ca or verify_identity",
            Words::Mysql.mode(ssl_mode)
        ));
    }
    Ok(ConnectionInfo {
        host: hosts.next().ok_or(syntax("it names no host"))?,
        others: hosts.collect(),
        user,
        password,
        identity: identity(file("ssl-cert"), file("ssl-key")),
        root_certificate,
        ssl_mode,
        database: address.database,
        connect_timeout: CONNECT_TIMEOUT,
        warnings,
    })
}

/// A certificate and its key, which may be in one file.
fn identity(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Option<Identity> {
    let (certificate, key) = match (certificate, key) {
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(both), None) | (None, Some(both)) => (both.clone(), both),
        (None, None) => return None,
    };
    Some(Identity { certificate, key })
}

fn mode_named(value: String) -> Result<SslMode, AddressError> {
    let wanted = value.to_ascii_lowercase().replace('-', "_");
    let mut modes = SSL_MODES.into_iter();
    let found = modes.find(|mode| Words::Mysql.mode(*mode) == wanted);
    found.ok_or(AddressError::SslMode { value })
}

impl<'a> Address<'a> {
    fn read(address: &'a str) -> Result<Self, AddressError> {
        let (scheme, rest) = address.split_once("://").ok_or(syntax("it has no \"://\""))?;
        if !SCHEMES.contains(&scheme) {
            return Err(syntax("it does not begin with mysql:// or mariadb://"));
        }
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let first = parameters.split(['=', '&']).next().unwrap_or_default();
        if is_split(path) || first.contains('@') {
            return Err(syntax(UNENCODED));
        }
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decode(password)?)),
            None => (login, None),
        };
        if path.contains('/') {
            return Err(syntax("after the database only \"?\" and parameters can follow"));
        }
        Ok(Self {
            user: decode(user)?,
            password,
            hosts,
            database: Some(decode(path)?)
                .filter(|name| !name.is_empty())
                .ok_or(AddressError::NoDatabase)?,
            parameters: parameters
                .split('&')
                .filter(|parameter| !parameter.is_empty())
                .map(parameter)
                .collect::<Result<_, _>>()?,
        })
    }
}

fn parameter(text: &str) -> Result<(String, String), AddressError> {
    let (name, value) = text.split_once('=').ok_or(AddressError::UnknownParameter)?;
    if !super::is_parameter(name) {
        return Err(AddressError::UnknownParameter);
    }
    match (spelt(name), decode(value)?) {
        (name, value) if value.is_empty() && name == "socket" => Err(syntax("the path of its socket is empty")),
        parameter => Ok(parameter),
    }
}

/// What fills an address: the option files, and behind them the environment.
struct Defaults<'a> {
    options: &'a OptionFiles,
    env: &'a dyn Fn(&str) -> Option<String>,
}

impl Defaults<'_> {
    fn option(&self, name: &str) -> Option<String> {
        let value = self.options.value(name).filter(|value| !value.is_empty());
        value.map(str::to_owned)
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    fn password(&self) -> Option<Secret> {
        let option = self.option("password");
        let option = option.map(|text| Secret::new(dyno_text::encode(&text).into_owned()));
        option.or_else(|| self.variable("MYSQL_PWD").map(Secret::from))
    }

    /// What to say of the file in which `mysql_config_editor` keeps passwords.
    fn login_file(&self) -> Option<String> {
        let usual = || Some(Path::new(&self.variable("HOME")?).join(".mylogin.cnf"));
        let file = self
            .variable("MYSQL_TEST_LOGIN_FILE")
            .map(PathBuf::from)
            .or_else(usual)?;
        file.exists().then(|| {
            format!(
                "{} is not read; if the password is there, give it in ~/.my.cnf or MYSQL_PWD",
                file.display()
            )
        })
    }

    /// The TLS mode where none is named: MariaDB's clients say it by other options; certificates of whom to trust are
    /// given to be looked at.
    fn mode(&self, roots_in_address: bool, roots: bool) -> SslMode {
        match (self.options.is_on("ssl"), self.options.is_on("ssl-verify-server-cert")) {
            (Some(false), _) if !roots_in_address => SslMode::Disable,
            (_, Some(true)) => SslMode::VerifyFull,
            _ if roots => SslMode::VerifyCa,
            (Some(true), _) => SslMode::Require,
            _ => SslMode::Prefer,
        }
    }

    fn hosts(&self, address: &Address<'_>) -> Result<Vec<Host>, AddressError> {
        let places = address.hosts.split(',').map(place);
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let is_alone = places.len() == 1;
        if let Some(path) = address.parameters.get("socket") {
            return match is_alone {
                true => Ok(vec![Host::Unix(PathBuf::from(path))]),
                false => Err(syntax("a socket and several hosts exclude each other")),
            };
        }
        let hosts = places.into_iter().map(|(name, port)| {
            let name = Some(name).filter(|name| !name.is_empty());
            let name = name
                .or_else(|| self.option("host"))
                .or_else(|| self.variable("MYSQL_HOST"));
            let name = name.unwrap_or_else(|| LOCALHOST.to_owned());
            if is_alone
                && port.is_none()
                && name.eq_ignore_ascii_case(LOCALHOST)
                && let Some(path) = self.socket()
            {
                return Ok(Host::Unix(PathBuf::from(path)));
            }
            let port = port.map_or_else(|| self.port(), Ok)?;
            Ok(Host::Tcp { name, port })
        });
        hosts.collect()
    }

    /// Where the server of this machine is said to have its socket, unless TCP is asked for.
    fn socket(&self) -> Option<String> {
        let protocol = self.option("protocol");
        let is_tcp = protocol.is_some_and(|protocol| protocol.eq_ignore_ascii_case("tcp"));
        let path = self.option("socket").or_else(|| self.variable("MYSQL_UNIX_PORT"));
        path.filter(|_| !is_tcp)
    }

    /// The port where none is named.
    fn port(&self) -> Result<u16, AddressError> {
        let option = self.option("port").filter(|port| port != "0");
        let (text, origin) = match (option, self.variable("MYSQL_TCP_PORT")) {
            (Some(text), _) => (text, format!("the port in {}", self.options.place("port"))),
            (None, Some(text)) => (text, "MYSQL_TCP_PORT".to_owned()),
            (None, None) => return Ok(PORT),
        };
        port_in(&text).ok_or(AddressError::OtherPort { origin })
    }
}

fn port_in(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

/// `host`, `host:port`, `[address]`, `[address]:port`, or nothing.
fn place(place: &str) -> Result<(String, Option<u16>), AddressError> {
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
    let port = port.map(|port| port_in(port).ok_or(AddressError::Port)).transpose()?;
    Ok((decode(name)?, port))
}

fn decode(text: &str) -> Result<String, AddressError> {
    let decoded = percent_decode_str(text).decode_utf8().map(|text| text.into_owned());
    decoded.map_err(|_| syntax("what \"%\" stands for is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn resolve(address: &str) -> Result<ConnectionInfo, AddressError> {
        resolve_in(address, &|_| None)
    }

    /// Whatever option files this system has.
    fn resolve_in(address: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<ConnectionInfo, AddressError> {
        super::resolve(address, &[], env)
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
        let info = resolve_in("mysql://h/d", &env).unwrap();
        assert_eq!(
            (info.user.as_str(), info.password),
            ("bob", Some(Secret::from("secret")))
        );
        let info = resolve_in("mysql://ann:@h/d", &env).unwrap();
        assert_eq!((info.user.as_str(), info.password), ("ann", Some(Secret::from(""))));
        assert_eq!(
            resolve("mysql://h/d"),
            Err(AddressError::NoUser { ignored: Vec::new() })
        );
    }

    #[test]
    fn says_what_is_wrong_without_secrets() {
        assert_eq!(resolve("mysql://u@h:0/d"), Err(AddressError::Port));
        assert_eq!(
            resolve("mysql://ann:secret/d"),
            Err(AddressError::NoUser { ignored: Vec::new() })
        );
        assert_eq!(
            resolve_in("mysql://ann:secret/d", &|_| Some("u".to_owned())),
            Err(AddressError::Port)
        );
        assert_eq!(resolve("mysql://u@h"), Err(AddressError::NoDatabase));
        assert_eq!(resolve("mysql://u@h,g:x/d"), Err(AddressError::Port));
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
            "mysql://u@h,g/d?socket=/run/m.sock",
        ] {
            assert!(matches!(resolve(bad), Err(AddressError::Syntax { .. })), "{bad}");
        }
    }

    #[test]
    fn a_password_that_splits_the_address_is_to_be_encoded() {
        for password in ["p@ss/wo:rd", "wo/rd", "wo?rd", "wo:r/d"] {
            let error = resolve(&format!("mysql://bench:{password}@127.0.0.1:33991/bench")).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("write \"/\" in a password as %2F"), "{password}: {text}");
            assert!(!text.contains("rd@") && !text.contains("p@ss"), "{text}");
        }
        let info = resolve("mysql://ann:p@ss@h/d@1").unwrap();
        assert_eq!(info.database, "d@1");
    }

    /// What an option file and the environment make of an address.
    fn filled(file: &str, variables: &[(&str, &str)], address: &str) -> Result<ConnectionInfo, AddressError> {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".my.cnf"), file).unwrap();
        let env = |name: &str| match name {
            "HOME" => Some(home.path().display().to_string()),
            _ => variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned()),
        };
        resolve_in(address, &env)
    }

    #[test]
    fn option_files_fill_an_address_before_the_environment() {
        let file = "[client]\nhost=db\nport=3307\nuser=ann\npassword='s#cret'\n";
        let variables = [
            ("MYSQL_HOST", "other"),
            ("MYSQL_TCP_PORT", "3308"),
            ("MYSQL_PWD", "other"),
            ("USER", "bob"),
        ];
        let info = filled(file, &variables, "mysql:///d").unwrap();
        assert_eq!(info.to_string(), "mysql://ann@db:3307/d");
        assert_eq!(info.password, Some(Secret::from("s#cret")));
        let info = filled("", &variables, "mysql:///d").unwrap();
        assert_eq!(info.to_string(), "mysql://bob@other:3308/d");
        assert_eq!(info.password, Some(Secret::from("other")));
        let info = filled(file, &variables, "mysql://eve:own@h:1/d").unwrap();
        assert_eq!(info.to_string(), "mysql://eve@h:1/d");
        assert_eq!(info.password, Some(Secret::from("own")));
        assert_eq!(
            filled("[client]\npassword\nport=0", &[], "mysql://u@h/d")
                .unwrap()
                .password,
            None
        );
        let error = filled("[client]\nport=s3cret", &[], "mysql://u@h/d")
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("/.my.cnf, line 2 is not a number from 1 to 65535"),
            "{error}"
        );
        let error = filled("", &[("MYSQL_TCP_PORT", "x")], "mysql://u@h/d")
            .unwrap_err()
            .to_string();
        assert_eq!(error, "MYSQL_TCP_PORT is not a number from 1 to 65535");
    }

    #[test]
    fn this_machines_server_is_found_at_its_socket() {
        let host = |file: &str, variables: &[(&str, &str)], address: &str| {
            filled(file, variables, address).unwrap().host.to_string()
        };
        let file = "[client]\nsocket=/run/m.sock\n";
        assert_eq!(host(file, &[], "mysql://u@/d"), "/run/m.sock");
        assert_eq!(host(file, &[], "mysql://u@LOCALHOST/d"), "/run/m.sock");
        assert_eq!(
            host("", &[("MYSQL_UNIX_PORT", "/tmp/m.sock")], "mysql://u@/d"),
            "/tmp/m.sock"
        );
        assert_eq!(host(file, &[], "mysql://u@/d?socket=/own"), "/own");
        assert_eq!(host(file, &[], "mysql://u@localhost:3306/d"), "localhost:3306");
        assert_eq!(host(file, &[], "mysql://u@127.0.0.1/d"), "127.0.0.1:3306");
        assert_eq!(
            host(&format!("{file}protocol=TCP"), &[], "mysql://u@/d"),
            "localhost:3306"
        );
        assert_eq!(host(&format!("{file}host=db"), &[], "mysql://u@/d"), "db:3306");
    }

    #[test]
    fn several_hosts_are_tried_in_their_order() {
        let info = filled(
            "[client]\nport=3307\nsocket=/s",
            &[],
            "mysql://u@localhost,db:1,[::1]/d",
        )
        .unwrap();
        assert_eq!(info.to_string(), "mysql://u@localhost:3307,db:1,[::1]:3307/d");
        assert_eq!(resolve(&info.to_string()).unwrap().others, info.others);
        assert!(!info.is_local());
        assert!(resolve("mysql://u@localhost,[::1]:1/d").unwrap().is_local());
    }

    #[test]
    fn tls_is_what_the_clients_understand() {
        let mode = |file: &str, parameters: &str| {
            let info = filled(&format!("[client]\n{file}"), &[], &format!("mysql://u@h/d{parameters}")).unwrap();
            (Words::Mysql.mode(info.ssl_mode), info.warnings.len())
        };
        for (file, parameters, expected) in [
            ("", "", ("preferred", 0)),
            ("", "?ssl-ca=/c", ("verify_ca", 0)),
            ("", "?ssl-ca=/c&ssl-mode=required", ("required", 1)),
            ("", "?ssl-ca=/c&ssl-mode=disabled", ("disabled", 0)),
            ("ssl-mode=VERIFY_IDENTITY", "", ("verify_identity", 0)),
            ("ssl-mode=VERIFY_IDENTITY", "?ssl-mode=preferred", ("preferred", 0)),
            ("ssl_ca=/c", "", ("verify_ca", 0)),
            ("skip-ssl", "", ("disabled", 0)),
            ("skip-ssl", "?ssl-ca=/c", ("verify_ca", 0)),
            ("ssl", "", ("required", 0)),
            ("ssl\nssl-ca=/c", "", ("verify_ca", 0)),
            ("ssl-verify-server-cert", "", ("verify_identity", 0)),
        ] {
            assert_eq!(mode(file, parameters), expected, "{file} {parameters}");
        }
        let identity = |parameters: &str| resolve(&format!("mysql://u@h/d?{parameters}")).unwrap().identity;
        let both = |certificate: &str, key: &str| {
            let (certificate, key) = (PathBuf::from(certificate), PathBuf::from(key));
            Some(Identity { certificate, key })
        };
        assert_eq!(identity("ssl-cert=/c&ssl_key=/k"), both("/c", "/k"));
        assert_eq!(identity("ssl-cert=/c"), both("/c", "/c"));
        assert_eq!(identity(""), None);
    }

    #[test]
    fn the_login_file_is_said_to_be_no_source() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("login.cnf");
        let path = file.display().to_string();
        let warned = |address: &str| {
            filled("", &[("MYSQL_TEST_LOGIN_FILE", &path)], address)
                .unwrap()
                .warnings
        };
        assert_eq!(warned("mysql://u@h/d"), Vec::<String>::new());
        fs::write(&file, "").unwrap();
        assert_eq!(warned("mysql://u:p@h/d"), Vec::<String>::new());
        let [warning] = &warned("mysql://u@h/d")[..] else {
            panic!("one warning is due");
        };
        assert!(warning.starts_with(&format!("{path} is not read; ")), "{warning}");
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
