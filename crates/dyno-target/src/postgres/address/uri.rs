//! The URI form: `postgres://user:password@host:port,host:port/database?keyword=value&…`, percent-encoded.

use super::AddressError;
use super::keyword::{Pairs, find, unknown};
use super::resolve::port_number;
use crate::postgres::Postgres;
use crate::target::{HIDDEN, is_secret, without_secrets};
use crate::unencoded::{UNENCODED, is_split};

fn syntax(what: &str, libpq: Option<String>) -> AddressError {
    AddressError::Syntax {
        what: what.to_owned(),
        libpq,
    }
}

/// What follows `postgres://` or `postgresql://`, if the text is a URI.
pub(super) fn strip_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("postgresql://")
        .or_else(|| text.strip_prefix("postgres://"))
}

/// Splits a URI, of which `text` is the part after the scheme, into keywords and values.
pub(super) fn parse(uri: &str, text: &str) -> Result<Pairs, AddressError> {
    let mut pairs = Pairs::new();
    let mut add = |keyword: &'static str, value: String| {
        if !value.is_empty() {
            pairs.push((keyword, value));
        }
    };
    let authority_end = text.find(['/', '?']).unwrap_or(text.len());
    let (authority, rest) = text.split_at(authority_end);
    // A password may hold an unencoded "@" or "/" only by mistake; the last "@" of the authority is the separator.
    let (credentials, hosts) = match authority.rsplit_once('@') {
        Some((credentials, hosts)) => (Some(credentials), hosts),
        None => (None, authority),
    };
    if let Some(credentials) = credentials {
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (credentials, None),
        };
        add("user", decode(user, "the user name", user)?);
        if let Some(password) = password {
            add("password", decode(password, "the password", HIDDEN)?);
        }
    }
    let looks_like_password = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.bytes().all(|byte| byte.is_ascii_digit()));
    let path = rest.split('?').next().unwrap_or_default();
    if is_split(path) || rest.contains('@') && credentials.is_none() && looks_like_password {
        return Err(syntax(UNENCODED, None));
    }
    let mut names = Vec::new();
    let mut ports = Vec::new();
    let mut at = uri.len() - rest.len() - hosts.len();
    for host in hosts.split(',') {
        let (name, port) = split_port(uri, host, at)?;
        names.push(decode(name, "a host name", name)?);
        // What is no port may be a password without its host.
        port_number(port, "the target (port)", HIDDEN)?;
        ports.push(port.to_owned());
        at += host.len() + 1;
    }
    if names.iter().any(|name| !name.is_empty()) {
        add("host", names.join(","));
    }
    if ports.iter().any(|port| !port.is_empty()) {
        add("port", ports.join(","));
    }
    let (database, query) = match rest.split_once('?') {
        Some((database, query)) => (database, query),
        None => (rest, ""),
    };
    if database.contains('=') {
        return Err(syntax(
            "an \"=\" stands before the first \"?\"; parameters begin with \"?\", and in a database's name it is \
             written %3D",
            None,
        ));
    }
    let database = database.strip_prefix('/').unwrap_or(database);
    add("dbname", decode(database, "the database name", database)?);
    for parameter in query.split('&').filter(|part| !part.is_empty()) {
        pairs.push(query_parameter(parameter)?);
    }
    Ok(pairs)
}

/// Reads `keyword=value` of a query. What may be a piece of a password is not repeated.
fn query_parameter(parameter: &str) -> Result<(&'static str, String), AddressError> {
    let keyword = parameter.split('=').next().unwrap_or_default();
    let shown = find(keyword).map_or(HIDDEN, |known| known.name);
    let libpq = |what: &str| format!("{what} key/value separator \"=\" in URI query parameter: \"{shown}\"");
    let Some((keyword, value)) = parameter.split_once('=') else {
        return Err(syntax("a parameter after \"?\" has no \"=\"", Some(libpq("missing"))));
    };
    // As libpq has it; most likely an "&" is missing.
    if value.contains('=') {
        return Err(syntax(
            "a parameter after \"?\" has two \"=\"; between parameters stands \"&\", and in a value \"=\" is \
             written %3D",
            Some(libpq("extra")),
        ));
    }
    let keyword = decode(keyword, "a parameter's name", HIDDEN)?;
    let shown = if is_secret(&Postgres, &keyword) { HIDDEN } else { value };
    let value = decode(value, "a parameter's value", shown)?;
    // The JDBC spelling that libpq accepts too.
    if keyword == "ssl" && value == "true" {
        return Ok(("sslmode", "require".to_owned()));
    }
    match find(&keyword) {
        Some(known) => Ok((known.name, value)),
        None => Err(unknown(&keyword, "invalid URI query parameter:", true)),
    }
}

/// Splits `host:port`, `[v6]:port`, `host`, and the empty string, which begins at byte `at` of `uri`.
fn split_port<'a>(uri: &str, host: &'a str, at: usize) -> Result<(&'a str, &'a str), AddressError> {
    let refused = |what: &str, libpq: &str| {
        let libpq = format!("{libpq}: \"{}\"", without_secrets(uri));
        Err(syntax(what, Some(libpq)))
    };
    if let Some(rest) = host.strip_prefix('[') {
        let Some((name, after)) = rest.split_once(']') else {
            return refused(
                "an IPv6 address has \"[\" without \"]\"",
                "end of string reached when looking for matching \"]\" in IPv6 host address in URI",
            );
        };
        if name.is_empty() {
            return refused(
                "there is no address between \"[\" and \"]\"",
                "IPv6 host address may not be empty in URI",
            );
        }
        return match (after.chars().next(), after.strip_prefix(':')) {
            (None, _) => Ok((name, "")),
            (_, Some(port)) => Ok((name, port)),
            (Some(found), None) => refused(
                "after an IPv6 address in brackets only \":port\" may follow",
                &format!(
                    "unexpected character \"{found}\" at position {} in URI (expected \":\" or \"/\")",
                    at + host.len() - after.len() + 1
                ),
            ),
        };
    }
    match host.split_once(':') {
        Some((_, port)) if port.contains(':') => Err(syntax(
            "an IPv6 address must stand in brackets, as in [::1]:5432",
            Some(format!(
                "invalid integer value \"{HIDDEN}\" for connection option \"port\""
            )),
        )),
        Some((name, port)) => Ok((name, port)),
        None => Ok((host, "")),
    }
}

/// Undoes percent-encoding. An error shows the text as `shown`.
fn decode(text: &str, what: &str, shown: &str) -> Result<String, AddressError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut input = text.bytes();
    while let Some(byte) = input.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || input.next().and_then(|byte| char::from(byte).to_digit(16));
        let digits = (digit(), digit());
        match digits {
            (Some(high), Some(low)) if high + low > 0 => bytes.push((high * 16 + low) as u8),
            _ => {
                let libpq = match digits {
                    (Some(_), Some(_)) => "forbidden value %00 in percent-encoded value",
                    _ => "invalid percent-encoded token",
                };
                return Err(syntax(
                    &format!(
                        "{what} has a \"%\" that is not followed by two hexadecimal digits (a literal % is written \
                         %25, and %00 is not allowed)"
                    ),
                    Some(format!("{libpq}: \"{shown}\"")),
                ));
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| syntax(&format!("{what} is not UTF-8 after decoding"), None))
}

/// Percent-encodes all but unreserved characters (RFC 3986, section 2.3).
pub(super) fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<Pairs, AddressError> {
        parse(&format!("postgres://{text}"), text)
    }

    fn get(text: &str) -> String {
        parsed(text)
            .unwrap()
            .iter()
            .map(|(keyword, value)| format!("{keyword}={value}"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn reads_every_part() {
        assert_eq!(get(""), "");
        assert_eq!(get("localhost"), "host=localhost");
        assert_eq!(get("localhost:5433/db"), "host=localhost port=5433 dbname=db");
        assert_eq!(
            get("u:p%40ss@h1:1,h2,[::1]:3/d%20b?sslmode=require&ssl=true"),
            "user=u password=p@ss host=h1,h2,::1 port=1,,3 dbname=d b sslmode=require sslmode=require"
        );
        assert_eq!(get("%2Ftmp%2Fx/db"), "host=/tmp/x dbname=db");
        assert_eq!(get("/db?host=/tmp&port=5"), "dbname=db host=/tmp port=5");
        assert_eq!(get("u@/db"), "user=u dbname=db");
    }

    #[test]
    fn refuses_what_is_broken_without_the_password() {
        for text in [
            "h/d?x",
            "u:secret%@h",
            "u:secret%zz@h",
            "[::1",
            "[::1]x",
            "::1",
            "u:secret/x@h/d",
            "u:p@ss/secret:x@h:1/d",
            "h%00",
        ] {
            let error = parsed(text).unwrap_err();
            assert!(!format!("{error} {}", error.libpq()).contains("secret"), "{error:?}");
        }
    }

    #[test]
    fn says_what_libpq_says() {
        for (text, expected) in [
            (
                "u:p@[::1",
                "end of string reached when looking for matching \"]\" in IPv6 host address in \
                 URI: \"postgres://u:***@[:***\"",
            ),
            ("h,[]", "IPv6 host address may not be empty in URI: \"postgres://h,[]\""),
            (
                "h,[::1]x",
                "unexpected character \"x\" at position 19 in URI (expected \":\" or \"/\"): \"postgres://h,[::1]x\"",
            ),
            ("h:x", "invalid integer value \"***\" for connection option \"port\""),
            ("h:0", "invalid port number: \"***\""),
            (
                "h/d?sslmode",
                "missing key/value separator \"=\" in URI query parameter: \"sslmode\"",
            ),
            (
                "h/d?host=a=b",
                "extra key/value separator \"=\" in URI query parameter: \"host\"",
            ),
            ("h/d?hosst=a", "invalid URI query parameter: \"hosst\""),
            ("h/d?x=a", "invalid URI query parameter: \"***\""),
            ("h/%zz", "invalid percent-encoded token: \"%zz\""),
            ("h/%00", "forbidden value %00 in percent-encoded value: \"%00\""),
        ] {
            assert_eq!(parsed(text).unwrap_err().libpq(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = parsed(&text);
        }

        #[test]
        fn encoding_comes_back(text in "[^\0]*") {
            prop_assert_eq!(decode(&encode(&text), "it", "it").unwrap(), text);
        }
    }
}
