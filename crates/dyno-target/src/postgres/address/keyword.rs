//! libpq's connection keywords, all up to version 18: which dyno honours, which it may ignore, which it must refuse.
//!
//! A promise of safety that is silently dropped sends a password where its owner forbade it; so whatever is not
//! honoured is refused, unless nothing is lost without it. Source: PostgreSQL 18 documentation, chapter "libpq",
//! "Parameter Key Words" and "Environment Variables".

use super::AddressError;
use crate::target::{self, HIDDEN};

/// What dyno does with a keyword.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standing {
    /// It has an effect.
    Honoured,
    /// It changes neither who is talked to nor what is measured, for this reason.
    Harmless(&'static str),
    /// Only these values ask for nothing beyond what dyno does.
    Only(&'static [&'static str]),
    /// The same, and the value is a secret.
    Secret,
}

/// A keyword, the variable that stands for it, and what is done with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyword {
    pub(super) name: &'static str,
    pub(super) variable: Option<&'static str>,
    pub(super) standing: Standing,
}

use Standing::{Harmless, Honoured, Only, Secret};

const fn keyword(name: &'static str, variable: &'static str, standing: Standing) -> Keyword {
    Keyword {
        name,
        variable: Some(variable),
        standing,
    }
}

const fn without_variable(name: &'static str, standing: Standing) -> Keyword {
    Keyword {
        name,
        variable: None,
        standing,
    }
}

const TCP: &str = "dyno uses the system's settings: a dead server shows as an error a little earlier or later";

const GSS: &str = "dyno never authenticates by GSSAPI, so this chooses nothing";

/// All keywords.
pub(super) const KEYWORDS: &[Keyword] = &[
    keyword("application_name", "PGAPPNAME", Honoured),
    keyword("channel_binding", "PGCHANNELBINDING", Honoured),
    keyword("client_encoding", "PGCLIENTENCODING", Honoured),
    keyword("connect_timeout", "PGCONNECT_TIMEOUT", Honoured),
    keyword("dbname", "PGDATABASE", Honoured),
    without_variable("fallback_application_name", Honoured),
    keyword("gssdelegation", "PGGSSDELEGATION", Only(&["0"])),
    keyword("gssencmode", "PGGSSENCMODE", Only(&["disable", "prefer"])),
    keyword("gsslib", "PGGSSLIB", Harmless(GSS)),
    keyword("host", "PGHOST", Honoured),
    keyword("hostaddr", "PGHOSTADDR", Honoured),
    without_variable("keepalives", Harmless(TCP)),
    without_variable("keepalives_count", Harmless(TCP)),
    without_variable("keepalives_idle", Harmless(TCP)),
    without_variable("keepalives_interval", Harmless(TCP)),
    keyword("krbsrvname", "PGKRBSRVNAME", Harmless(GSS)),
    keyword("load_balance_hosts", "PGLOADBALANCEHOSTS", Only(&["disable"])),
    // Version 3.0 of the protocol is what dyno speaks.
    keyword(
        "max_protocol_version",
        "PGMAXPROTOCOLVERSION",
        Only(&["3.0", "3.2", "latest"]),
    ),
    keyword("min_protocol_version", "PGMINPROTOCOLVERSION", Only(&["3.0"])),
    without_variable("oauth_client_id", Only(&[])),
    without_variable("oauth_client_secret", Secret),
    without_variable("oauth_issuer", Only(&[])),
    without_variable("oauth_scope", Only(&[])),
    keyword("options", "PGOPTIONS", Honoured),
    keyword("passfile", "PGPASSFILE", Honoured),
    keyword("password", "PGPASSWORD", Honoured),
    keyword("port", "PGPORT", Honoured),
    without_variable("replication", Only(&["0", "false", "off", "no"])),
    keyword("require_auth", "PGREQUIREAUTH", Honoured),
    keyword("requirepeer", "PGREQUIREPEER", Honoured),
    // The old name of a part of sslmode.
    keyword("requiressl", "PGREQUIRESSL", Honoured),
    without_variable("scram_client_key", Secret),
    without_variable("scram_server_key", Secret),
    keyword("service", "PGSERVICE", Honoured),
    keyword("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", Honoured),
    keyword("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION", Honoured),
    keyword("sslcert", "PGSSLCERT", Honoured),
    keyword("sslcertmode", "PGSSLCERTMODE", Honoured),
    keyword(
        "sslcompression",
        "PGSSLCOMPRESSION",
        Harmless("nothing compresses TLS any more, libpq neither: it leaks"),
    ),
    keyword("sslcrl", "PGSSLCRL", Honoured),
    keyword("sslcrldir", "PGSSLCRLDIR", Honoured),
    keyword("sslkey", "PGSSLKEY", Honoured),
    without_variable("sslkeylogfile", Only(&[])),
    keyword("sslmode", "PGSSLMODE", Honoured),
    keyword("sslnegotiation", "PGSSLNEGOTIATION", Only(&["postgres"])),
    without_variable("sslpassword", Secret),
    keyword("sslrootcert", "PGSSLROOTCERT", Honoured),
    keyword("sslsni", "PGSSLSNI", Honoured),
    keyword("target_session_attrs", "PGTARGETSESSIONATTRS", Honoured),
    without_variable("tcp_user_timeout", Harmless(TCP)),
    keyword("user", "PGUSER", Honoured),
];

/// The keyword that a value was given for, from where it came from: a variable, or words with the keyword in
/// parentheses.
pub(super) fn keyword_of(origin: &str) -> &str {
    match KEYWORDS.iter().find(|known| known.variable == Some(origin)) {
        Some(known) => known.name,
        None => origin
            .rsplit_once('(')
            .map_or(origin, |(_, keyword)| keyword.trim_end_matches(')')),
    }
}

/// What the value of a keyword, in lower case, is; `None`: libpq does not know it.
pub(crate) fn meaning(name: &str) -> Option<target::Keyword> {
    let standing = find(name).map(|known| (known.name, known.standing));
    match standing {
        Some((name @ "password", _) | (name, Secret)) => Some(target::Keyword::Secret(name)),
        Some(("options", _)) => Some(target::Keyword::Assignments),
        Some(_) => Some(target::Keyword::Plain),
        // The JDBC spelling of a mode of TLS.
        None => (name == "ssl").then_some(target::Keyword::Plain),
    }
}

/// Keywords with their values, in the order in which they are given.
pub(super) type Pairs = Vec<(&'static str, String)>;

/// Looks a keyword up.
pub(super) fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|known| known.name == name)
}

/// That there is no such keyword, of which libpq says `words` and then the keyword, unless it may be a piece of a
/// password.
pub(super) fn unknown(name: &str, words: &str, may_be_secret: bool) -> AddressError {
    let suggestion = nearest(name).map(|nearest| (name.to_owned(), nearest));
    let shown = if may_be_secret && suggestion.is_none() {
        HIDDEN
    } else {
        name
    };
    AddressError::UnknownKeyword {
        libpq: format!("{words} \"{shown}\""),
        suggestion,
    }
}

impl Keyword {
    /// Judges the value that counts in the end, given by `origin`. Gives a sentence for the user if it has no effect.
    pub(super) fn judge(&self, value: &str, origin: &str) -> Result<Option<String>, AddressError> {
        let accepted = match self.standing {
            Honoured => return Ok(None),
            Harmless(why) => {
                return Ok(Some(format!(
                    "{} has no effect in dyno and is ignored: {why}",
                    self.name
                )));
            }
            Only(accepted) => accepted,
            Secret => &[],
        };
        if value.is_empty() {
            return Ok(None);
        }
        if accepted.contains(&value) {
            return Ok(None);
        }
        Err(AddressError::Unsupported {
            origin: origin.to_owned(),
            keyword: self.name,
            value: match self.standing {
                Secret => "…".to_owned(),
                _ => value.to_owned(),
            },
        })
    }
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
    KEYWORDS
        .iter()
        .filter(|known| matches!(known.standing, Honoured))
        .map(|known| (strsim::jaro_winkler(&lower, known.name), known.name))
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

    fn judged(name: &str, value: &str) -> Result<Option<String>, AddressError> {
        find(name).unwrap().judge(value, "the target")
    }

    #[test]
    fn refuses_what_it_cannot_honour() {
        for (name, value) in [
            ("gssencmode", "require"),
            ("sslnegotiation", "direct"),
            ("load_balance_hosts", "random"),
            ("min_protocol_version", "3.2"),
            ("oauth_issuer", "https://example.org"),
            ("replication", "database"),
            ("sslkeylogfile", "keys"),
        ] {
            let error = judged(name, value).unwrap_err().to_string();
            assert!(
                error.contains(&format!("the target asks for {name}={value}")),
                "{error}"
            );
        }
        for name in [
            "sslpassword",
            "scram_client_key",
            "scram_server_key",
            "oauth_client_secret",
        ] {
            let error = judged(name, "top").unwrap_err().to_string();
            assert!(!error.contains("top"), "{error}");
            assert!(judged(name, "").is_ok());
        }
        assert_eq!(judged("gssencmode", "prefer").unwrap(), None);
        assert!(judged("keepalives", "1").unwrap().unwrap().contains("no effect"));
        assert!(find("hosst").is_none());
    }

    #[test]
    fn keywords_are_unique() {
        for pair in KEYWORDS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{}", pair[1].name);
        }
    }
}
