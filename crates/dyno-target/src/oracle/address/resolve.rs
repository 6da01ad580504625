//! From an address, the environment and the file of names to everything that is needed to connect.

use super::descriptor::{self, Described};
use super::{
    AddressError, CONNECT_TIMEOUT, ConnectionInfo, Host, NAMED, PARAMETERS, PORT, SCHEMES, Service, TLS_PORT, Tls,
    WALLET_PASSWORD, syntax,
};
use crate::unencoded::{UNENCODED, is_split};
use dyno_wire::Secret;
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What is said of a server in place of a name.
const DESCRIPTION: char = '(';

/// Who asks, as an address says it.
#[derive(Default)]
struct Login {
    user: String,
    password: Option<String>,
}

/// As [`ConnectionInfo::resolve`].
pub(super) fn resolve(address: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<ConnectionInfo, AddressError> {
    let variable = |name: &str| env(name).filter(|value| !value.is_empty());
    let (login, described) = match address.split_once("://") {
        Some((scheme, rest)) if SCHEMES.contains(&scheme) => uri(scheme, rest)?,
        _ => {
            let rest = address.strip_prefix(NAMED).and_then(|rest| rest.strip_prefix(':'));
            let rest = rest.ok_or(syntax("it does not begin with oracle://, oracles:// or oracle:"))?;
            named(rest, &variable)?
        }
    };
    let user = Some(login.user).filter(|user| !user.is_empty());
    let user = user
        .or_else(|| variable("DYNO_ORACLE_USER"))
        .ok_or(AddressError::NoUser)?;
    let password = login.password.or_else(|| variable("DYNO_ORACLE_PASSWORD"));
    let mut hosts = described.hosts.into_iter();
    let mut tls = described.tls;
    if let Some(tls) = &mut tls {
        let given = tls.wallet_password.take();
        tls.wallet_password = given.or_else(|| variable("DYNO_ORACLE_WALLET_PASSWORD").map(Secret::from));
    }
    Ok(ConnectionInfo {
        host: hosts.next().ok_or(syntax("it names no host"))?,
        others: hosts.collect(),
        service: described.service,
        server: described.server,
        user,
        password: password.map(Secret::from),
        tls,
        connect_timeout: described.connect_timeout.unwrap_or(CONNECT_TIMEOUT),
        warnings: described.warnings,
    })
}

/// What is behind `oracle:` without slashes: a name of `tnsnames.ora`, a description, or `host/service`.
fn named(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<(Login, Described), AddressError> {
    // A description has no "@" before its first parenthesis, and a name none at all.
    let end = text.find(DESCRIPTION).unwrap_or(text.len());
    let (login, connect) = match text[..end].rfind('@') {
        Some(at) => (login(&text[..at])?, &text[at + 1..]),
        None => (Login::default(), text),
    };
    let described = match connect {
        "" => return Err(syntax("it names no database")),
        full if full.starts_with(DESCRIPTION) => descriptor::described(full)?,
        easy if easy.contains('/') => {
            let (scheme, rest) = easy.split_once("://").unwrap_or((NAMED, easy));
            let scheme = if scheme == "tcp" { NAMED } else { scheme };
            if !SCHEMES.contains(&scheme) {
                return Err(syntax("its protocol is neither tcp nor tcps"));
            }
            uri(scheme, rest.trim_start_matches('/'))?.1
        }
        name => descriptor::looked_up(name, variable)?,
    };
    Ok((login, described))
}

/// A user, and a password behind a colon, or a slash as Oracle's own clients have it.
fn login(text: &str) -> Result<Login, AddressError> {
    Ok(match text.split_once([':', '/']) {
        Some((user, password)) => Login {
            user: decode(user)?,
            password: Some(decode(password)?),
        },
        None => Login {
            user: decode(text)?,
            password: None,
        },
    })
}

/// What is behind `://`.
fn uri(scheme: &str, rest: &str) -> Result<(Login, Described), AddressError> {
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let first = parameters.split(['=', '&']).next().unwrap_or_default();
    if is_split(path) || first.contains('@') {
        return Err(syntax(UNENCODED));
    }
    let (who, hosts) = match authority.rsplit_once('@') {
        Some((who, hosts)) => (login(who)?, hosts),
        None => (Login::default(), authority),
    };
    let mut given: BTreeMap<String, String> = parameters
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(parameter)
        .collect::<Result<_, _>>()?;
    let encrypted = match given.remove("protocol").map(|value| value.to_ascii_lowercase()) {
        None => scheme != NAMED,
        Some(protocol) if protocol == "tcps" => true,
        Some(protocol) if protocol == "tcp" && scheme == NAMED => false,
        Some(_) => {
            return Err(AddressError::Value {
                parameter: "protocol",
                known: "tcp or tcps, and tcps in an address that begins with oracles:// or tcps://",
            });
        }
    };
    let path = decode(path)?;
    let (service, server) = match path.split_once(':') {
        Some((service, server)) => (service, Some(server.to_owned())),
        None => (path.as_str(), None),
    };
    let service = match (service, given.remove("sid")) {
        ("", None) => return Err(AddressError::NoService),
        ("", Some(sid)) => Service::Sid(sid),
        (name, None) => Service::Name(name.to_owned()),
        (_, Some(_)) => return Err(syntax("it names a service and a sid; leave one of them out")),
    };
    let Some(server) = server.map_or(Some(None), |server| descriptor::server_kind(&server).map(Some)) else {
        return Err(syntax(
            "behind the service only :dedicated, :shared or :pooled can follow",
        ));
    };
    let (Service::Name(name) | Service::Sid(name)) = &service;
    if !descriptor::is_plain(name) {
        return Err(syntax("a service's name has letters, digits and . _ - $ # alone"));
    }
    let described = Described {
        hosts: hosts_of(hosts, if encrypted { TLS_PORT } else { PORT })?,
        service,
        server,
        connect_timeout: given
            .remove("transport_connect_timeout")
            .map(|value| seconds(&value))
            .transpose()?,
        tls: tls(encrypted, given)?,
        warnings: Vec::new(),
    };
    Ok((who, described))
}

/// How connections are encrypted, if they are; what is said of that otherwise is refused.
fn tls(encrypted: bool, mut given: BTreeMap<String, String>) -> Result<Option<Tls>, AddressError> {
    if !encrypted {
        return match given.is_empty() {
            true => Ok(None),
            false => Err(syntax(
                "it has parameters for TLS but asks for none; begin it with oracles://",
            )),
        };
    }
    let matches_host = match given
        .remove("ssl_server_dn_match")
        .map(|value| value.to_ascii_lowercase())
    {
        None => true,
        Some(value) => switch(&value).ok_or(AddressError::Value {
            parameter: "ssl_server_dn_match",
            known: "on or off",
        })?,
    };
    Ok(Some(Tls {
        wallet: given.remove("wallet_location").map(PathBuf::from),
        wallet_password: given.remove(WALLET_PASSWORD).map(Secret::from),
        matches_host,
        server_name: given.remove("ssl_server_cert_dn"),
    }))
}

/// Whether a switch, in lower case, is on.
pub(super) fn switch(value: &str) -> Option<bool> {
    match value {
        "on" | "yes" | "true" => Some(true),
        "off" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// A number of seconds, or with a unit behind it.
fn seconds(value: &str) -> Result<Duration, AddressError> {
    let value = value.to_ascii_lowercase();
    let unit = |name: &str, ms: u64| Some((value.strip_suffix(name)?, ms));
    let (number, ms) = unit("ms", 1)
        .or_else(|| unit("sec", 1_000))
        .or_else(|| unit("min", 60_000))
        .unwrap_or((&value, 1_000));
    let number = number.trim_end().parse::<u32>().ok().filter(|number| *number > 0);
    let number = number.ok_or(AddressError::Value {
        parameter: "transport_connect_timeout",
        known: "a number of seconds, or one with ms, sec or min behind it",
    })?;
    Ok(Duration::from_millis(u64::from(number) * ms))
}

/// `host:port,host:port`; a host without a port has the usual one.
fn hosts_of(text: &str, usual: u16) -> Result<Vec<Host>, AddressError> {
    text.split(',').map(|host| host_of(host, usual)).collect()
}

fn host_of(text: &str, usual: u16) -> Result<Host, AddressError> {
    let (name, port) = match text.strip_prefix('[') {
        // An IPv6 address.
        Some(rest) => {
            let (name, rest) = rest.split_once(']').ok_or(syntax("\"[\" is not closed by \"]\""))?;
            match rest {
                "" => (name, None),
                rest => (name, Some(rest.strip_prefix(':').ok_or(AddressError::Port)?)),
            }
        }
        None => text
            .split_once(':')
            .map_or((text, None), |(name, port)| (name, Some(port))),
    };
    let port = match port.filter(|port| !port.is_empty()) {
        None => usual,
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or(AddressError::Port)?,
    };
    let name = decode(name)?;
    match name.is_empty() {
        true => Err(syntax("it names no host")),
        false if !descriptor::is_host(&name) => Err(syntax("the name of a host has letters, digits and . _ - : alone")),
        false => Ok(Host { name, port }),
    }
}

fn parameter(text: &str) -> Result<(String, String), AddressError> {
    let (name, value) = text.split_once('=').ok_or(AddressError::UnknownParameter)?;
    let name = name.to_ascii_lowercase();
    match PARAMETERS.contains(&name.as_str()) || name == WALLET_PASSWORD {
        true => Ok((name, decode(value)?)),
        false => Err(AddressError::UnknownParameter),
    }
}

fn decode(text: &str) -> Result<String, AddressError> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map_or(Err(syntax("it is not UTF-8")), |text| Ok(text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(address: &str) -> String {
        match ConnectionInfo::resolve(address, &|_| None) {
            Ok(info) => info.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_address_says_where_the_database_is_and_who_asks() {
        for (address, expected) in [
            ("oracle://ann@db/shop", "oracle://ann@db:1521/shop"),
            (
                "oracle://ann:secret@db:1526/shop.example.com",
                "oracle://ann@db:1526/shop.example.com",
            ),
            (
                "oracle://ann@h1,h2:1523/shop:pooled",
                "oracle://ann@h1:1521,h2:1523/shop",
            ),
            ("oracle://ann@[::1]:1521/shop", "oracle://ann@[::1]:1521/shop"),
            ("oracle://ann@db/?sid=ORCL", "oracle://ann@db:1521/?sid=ORCL"),
            ("oracles://ann@db/shop", "oracles://ann@db:2484/shop"),
            (
                "tcps://ann@db:2484/shop?wallet_location=/w&ssl_server_dn_match=off",
                "oracles://ann@db:2484/shop",
            ),
            ("oracle://ann@db/shop?protocol=tcps", "oracles://ann@db:2484/shop"),
            ("oracle:ann/secret@db:1521/shop", "oracle://ann@db:1521/shop"),
            ("oracle:ann@tcps://db/shop", "oracles://ann@db:2484/shop"),
            ("oracle:ann@//db/shop", "oracle://ann@db:1521/shop"),
            (
                "oracle:ann:secret@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db)(PORT=1522))(CONNECT_DATA=\
                 (SERVICE_NAME=shop)(SERVER=dedicated)))",
                "oracle://ann@db:1522/shop",
            ),
        ] {
            assert_eq!(shown(address), expected, "{address}");
        }
        let given = "oracles://ann@db/shop?wallet_location=/w&ssl_server_dn_match=no&transport_connect_timeout=200ms";
        let info = ConnectionInfo::resolve(given, &|_| None).unwrap();
        let tls = info.tls.unwrap();
        assert_eq!((tls.wallet, tls.matches_host), (Some(PathBuf::from("/w")), false));
        assert_eq!(info.connect_timeout, Duration::from_millis(200));
    }

    #[test]
    fn what_an_address_lacks_is_said_with_what_to_write() {
        for (address, expected) in [
            (
                "oracle://ann@db",
                "names no service; give oracle://user@host:1521/service, such as FREEPDB1",
            ),
            ("oracle://ann@db/", "names no service"),
            ("oracle://db/shop", "names no user, and neither does DYNO_ORACLE_USER"),
            ("oracle://ann@/shop", "it names no host"),
            (
                "oracle://ann:s3cret/shop",
                "the port in the target's address is not a number",
            ),
            ("oracle://ann@db:0/shop", "not a number from 1 to 65535"),
            (
                "oracle://ann@db/shop?wallet_location=/w",
                "asks for none; begin it with oracles://",
            ),
            (
                "oracle://ann@db/shop?s3cret=1",
                "unknown parameter after \"?\"; there are protocol, sid",
            ),
            (
                "oracles://ann@db/shop?protocol=tcp",
                "protocol in the target's address has to be",
            ),
            (
                "oracles://ann@db/shop?ssl_server_dn_match=perhaps",
                "has to be on or off",
            ),
            (
                "oracle://ann@db/shop:fast",
                "only :dedicated, :shared or :pooled can follow",
            ),
            ("oracle://ann@db/a)(b", "a service's name has letters"),
            ("oracle://ann:a/b@c:1/shop", "write \"/\" in a password as %2F"),
            ("oracle:", "it names no database"),
            (
                "oracle:ann@SHOP",
                "SHOP is a name of tnsnames.ora, and TNS_ADMIN does not say",
            ),
            (
                "oracle:ann@(DESCRIPTION=(ADDRESS=(HOST=db)))",
                "cannot be used: it names no service",
            ),
        ] {
            let said = shown(address);
            assert!(said.contains(expected), "{address}: {said}");
            assert!(!said.contains("s3cret"), "{address}: {said}");
        }
    }

    #[test]
    fn the_environment_says_who_asks_where_the_address_does_not() {
        let env = |name: &str| match name {
            "DYNO_ORACLE_USER" => Some("bea".to_owned()),
            "DYNO_ORACLE_PASSWORD" => Some("s3cret".to_owned()),
            _ => None,
        };
        let resolved = |address: &str| ConnectionInfo::resolve(address, &env).unwrap();
        let info = resolved("oracle://db/shop");
        assert_eq!((info.user.as_str(), info.schema().as_str()), ("bea", "BEA"));
        assert_eq!(info.password.unwrap().reveal(), b"s3cret");
        assert_eq!(resolved("oracle://ann:own@db/shop").password.unwrap().reveal(), b"own");
        assert!(!format!("{:?}", resolved("oracle://db/shop")).contains("s3cret"));
    }
}
