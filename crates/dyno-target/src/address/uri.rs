//! The URI form: `postgres://user:password@host:port,host:port/database?keyword=value&…`, percent-encoded.

use super::AddressError;

fn syntax(what: &str) -> AddressError {
    AddressError::Syntax { what: what.to_owned() }
}

/// What follows `postgres://` or `postgresql://`, if the text is a URI.
pub(super) fn strip_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("postgresql://")
        .or_else(|| text.strip_prefix("postgres://"))
}

/// Splits the part after the scheme into keywords and values.
pub(super) fn parse(text: &str) -> Result<Vec<(String, String)>, AddressError> {
    let mut pairs = Vec::new();
    let mut add = |keyword: &str, value: String| {
        if !value.is_empty() {
            pairs.push((keyword.to_owned(), value));
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
        add("user", decode(user, "the user name")?);
        if let Some(password) = password {
            add("password", decode(password, "the password")?);
        }
    }
    let looks_like_password = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.bytes().all(|byte| byte.is_ascii_digit()));
    if rest.contains('@') && credentials.is_none() && looks_like_password {
        return Err(syntax(
            "an \"@\" stands after the first \"/\" or \"?\"; write \"/\" in a password as %2F, \"?\" as %3F, \"@\" as %40",
        ));
    }
    let mut names = Vec::new();
    let mut ports = Vec::new();
    for host in hosts.split(',') {
        let (name, port) = split_port(host)?;
        names.push(decode(name, "a host name")?);
        ports.push(port.to_owned());
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
            "an \"=\" stands before the first \"?\"; parameters begin with \"?\", and in a database's name it is written %3D",
        ));
    }
    add(
        "dbname",
        decode(database.strip_prefix('/').unwrap_or(database), "the database name")?,
    );
    for parameter in query.split('&').filter(|part| !part.is_empty()) {
        let Some((keyword, value)) = parameter.split_once('=') else {
            return Err(syntax("a parameter after \"?\" has no \"=\""));
        };
        // As libpq has it; most likely an "&" is missing.
        if value.contains('=') {
            return Err(syntax(
                "a parameter after \"?\" has two \"=\"; between parameters stands \"&\", and in a value \"=\" is written %3D",
            ));
        }
        let keyword = decode(keyword, "a parameter's name")?;
        let value = decode(value, "a parameter's value")?;
        // The JDBC spelling that libpq accepts too.
        if keyword == "ssl" && value == "true" {
            pairs.push(("sslmode".to_owned(), "require".to_owned()));
        } else {
            pairs.push((keyword, value));
        }
    }
    Ok(pairs)
}

/// Splits `host:port`, `[v6]:port`, `host`, and the empty string.
fn split_port(host: &str) -> Result<(&str, &str), AddressError> {
    if let Some(rest) = host.strip_prefix('[') {
        let Some((name, after)) = rest.split_once(']') else {
            return Err(syntax("an IPv6 address has \"[\" without \"]\""));
        };
        return match (after, after.strip_prefix(':')) {
            ("", _) => Ok((name, "")),
            (_, Some(port)) => Ok((name, port)),
            _ => Err(syntax("after an IPv6 address in brackets only \":port\" may follow")),
        };
    }
    match host.split_once(':') {
        Some((_, port)) if port.contains(':') => {
            Err(syntax("an IPv6 address must stand in brackets, as in [::1]:5432"))
        }
        Some((name, port)) => Ok((name, port)),
        None => Ok((host, "")),
    }
}

/// Undoes percent-encoding.
fn decode(text: &str, what: &str) -> Result<String, AddressError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut input = text.bytes();
    while let Some(byte) = input.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || input.next().and_then(|byte| char::from(byte).to_digit(16));
        match (digit(), digit()) {
            (Some(high), Some(low)) if high + low > 0 => bytes.push((high * 16 + low) as u8),
            _ => {
                return Err(syntax(&format!(
                    "{what} has a \"%\" that is not followed by two hexadecimal digits (a literal % is written %25, and %00 is not allowed)"
                )));
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| syntax(&format!("{what} is not UTF-8 after decoding")))
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

    fn get(text: &str) -> String {
        parse(text)
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
            "h%00",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = parse(&text);
        }

        #[test]
        fn encoding_comes_back(text in "[^\0]*") {
            prop_assert_eq!(decode(&encode(&text), "it").unwrap(), text);
        }
    }
}
