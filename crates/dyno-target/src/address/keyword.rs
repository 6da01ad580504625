//! libpq's connection keywords: which dyno honours, which it may ignore, which it must refuse.

use super::AddressError;

/// Keywords with an effect.
const HONOURED: &[&str] = &[
    "application_name",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "host",
    "hostaddr",
    "options",
    "passfile",
    "password",
    "port",
    "service",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "user",
];

/// Keywords that change neither who is talked to nor what is measured; ignored with a warning.
const HARMLESS: &[&str] = &[
    "gsslib",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "sslcompression",
    "sslsni",
    "tcp_user_timeout",
];

/// Keywords whose values promise something that dyno does not do, with the values that ask for nothing beyond what dyno does.
const REFUSED: &[(&str, &[&str])] = &[
    ("channel_binding", &["disable", "prefer"]),
    ("gssdelegation", &["0"]),
    ("gssencmode", &["disable", "prefer"]),
    ("load_balance_hosts", &["disable"]),
    ("replication", &["0", "false", "off", "no"]),
    ("require_auth", &[]),
    ("requirepeer", &[]),
    ("requiressl", &["0"]),
    ("ssl_max_protocol_version", &["TLSv1.3"]),
    ("ssl_min_protocol_version", &["TLSv1", "TLSv1.1", "TLSv1.2"]),
    ("sslcertmode", &["allow"]),
    ("sslcrl", &[]),
    ("sslcrldir", &[]),
    ("sslkeylogfile", &[]),
    ("sslnegotiation", &["postgres"]),
    ("sslpassword", &[]),
];

/// What to do with a keyword and its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has an effect.
    Honoured(&'static str),
    /// It has none; say so.
    Ignored,
}

/// Looks a keyword up.
pub(super) fn standing(keyword: &str, value: &str) -> Result<Standing, AddressError> {
    if let Some(known) = HONOURED.iter().find(|known| **known == keyword) {
        return Ok(Standing::Honoured(known));
    }
    if HARMLESS.contains(&keyword) {
        return Ok(Standing::Ignored);
    }
    if let Some((_, accepted)) = REFUSED.iter().find(|(known, _)| *known == keyword) {
        if value.is_empty() || accepted.contains(&value) {
            return Ok(Standing::Ignored);
        }
        let value = if keyword == "sslpassword" { "…" } else { value };
        return Err(AddressError::Unsupported {
            keyword: keyword.to_owned(),
            value: value.to_owned(),
        });
    }
    Err(AddressError::UnknownKeyword {
        keyword: keyword.to_owned(),
        suggestion: nearest(keyword),
    })
}

/// The known keyword nearest to a mistyped one, if any is near.
fn nearest(keyword: &str) -> Option<&'static str> {
    const ALIASES: &[(&str, &str)] = &[
        ("database", "dbname"),
        ("db", "dbname"),
        ("username", "user"),
        ("pass", "password"),
        ("ssl", "sslmode"),
        ("timeout", "connect_timeout"),
    ];
    let lower = keyword.to_ascii_lowercase();
    if let Some((_, known)) = ALIASES.iter().find(|(alias, _)| *alias == lower) {
        return Some(known);
    }
    HONOURED
        .iter()
        .map(|known| (strsim::jaro_winkler(&lower, known), *known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_nearest_keyword() {
        assert_eq!(nearest("pasword"), Some("password"));
        assert_eq!(nearest("database"), Some("dbname"));
        assert_eq!(nearest("SSLMODE"), Some("sslmode"));
        assert_eq!(nearest("zzz"), None);
    }

    #[test]
    fn refuses_what_it_cannot_honour() {
        assert!(standing("channel_binding", "require").is_err());
        assert_eq!(standing("channel_binding", "prefer").unwrap(), Standing::Ignored);
        assert_eq!(standing("user", "x").unwrap(), Standing::Honoured("user"));
        let error = standing("sslpassword", "top").unwrap_err().to_string();
        assert!(!error.contains("top"), "{error}");
    }
}
