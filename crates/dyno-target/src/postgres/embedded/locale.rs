//! The locale of an embedded server's databases: how text is ordered, and which characters are letters.
//!
//! It belongs to the database, not to the cluster, so clusters that were made with another one serve as well. Text
//! is ordered by code points unless asked otherwise, which costs least; what a letter is, is known for all of
//! Unicode: with the ctype `C` PostgreSQL takes all beyond ASCII for no letters at all, and `pg_trgm`, full-text
//! search, `upper()` and regular expressions silently do nothing for such text.

use super::DatabaseError;
use crate::postgres::Client;
use postgres::error::SqlState;
use postgres_protocol::escape::{escape_identifier, escape_literal};
use std::fmt;
use std::str::FromStr;

/// Names for Unicode's characters without the customs of a language, and what has them where the first is not
/// installed.
const UNICODE_CTYPES: [&str; 2] = ["C.UTF-8", "en_US.UTF-8"];

/// A locale asked for: `C.UTF-8`, the default; `C`; another one of the system, such as `zh_CN.UTF-8`; `icu:LOCALE`
/// or `builtin:LOCALE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locale {
    provider: Provider,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    Libc,
    Icu,
    Builtin,
}

impl Default for Locale {
    fn default() -> Self {
        Self {
            provider: Provider::Libc,
            name: UNICODE_CTYPES[0].to_owned(),
        }
    }
}

impl FromStr for Locale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (provider, name) = match text.split_once(':') {
            None => (Provider::Libc, text),
            Some(("icu", name)) => (Provider::Icu, name),
            Some(("builtin", name)) => (Provider::Builtin, name),
            Some((other, _)) => return Err(format!("expected icu: or builtin: before a locale, not {other}:")),
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.@=;".contains(c);
        if name.is_empty() || name.len() > 100 || !name.chars().all(allowed) {
            return Err("expected a locale such as C.UTF-8, C, zh_CN.UTF-8 or icu:zh".to_owned());
        }
        Ok(Self {
            provider,
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let provider = match self.provider {
            Provider::Libc => "",
            Provider::Icu => "icu:",
            Provider::Builtin => "builtin:",
        };
        write!(f, "{provider}{}", self.name)
    }
}

/// A locale that a server has, as its databases are created with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseLocale {
    /// Options of `create database`.
    options: String,
    /// What to say about it.
    note: Option<String>,
}

impl DatabaseLocale {
    /// Finds out how this server names the locale; `None`: the default.
    ///
    /// # Errors
    /// The server does not have it, or does not answer. Only the default is replaced by what there is, which is
    /// then [noted](Self::note).
    pub fn find(client: &mut Client, version: u32, wanted: Option<&Locale>) -> Result<Self, DatabaseError> {
        let default = Locale::default();
        let locale = wanted.unwrap_or(&default);
        for (collate, ctype) in locale.libc_names() {
            let probe = locale.collation(collate, ctype);
            if is_there(client, &probe).map_err(super::database::failed(format!("look for the locale {locale}")))? {
                return Ok(Self {
                    options: locale.options(version, collate, ctype),
                    note: None,
                });
            }
        }
        if wanted.is_some() {
            let what = format!("use the locale {locale}");
            let message = "the server does not have it; `locale -a` lists those of the system, and C is always there";
            return Err(DatabaseError::new(what, message.to_owned()));
        }
        let tried = UNICODE_CTYPES.join(" and ");
        Ok(Self {
            options: locale.options(version, "C", "C"),
            note: Some(format!(
                "The system has no UTF-8 locale (tried {tried}), so the databases have the ctype C: characters \
                 beyond ASCII are not letters to pg_trgm, full-text search, \
                 upper() and regular expressions. Install the locale C.UTF-8."
            )),
        })
    }

    /// What to say when it is not what it should be.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// What tells databases with different locales apart.
    #[must_use]
    pub fn options(&self) -> &str {
        &self.options
    }
}

impl Locale {
    /// The system's locales for order and characters that may serve, the best first.
    fn libc_names(&self) -> Vec<(&str, &str)> {
        let spelled = self.name.to_ascii_lowercase().replace('-', "");
        match self.provider {
            // Its order is that of code points, as is that of C, which need not ask the system.
            Provider::Libc if spelled == "c.utf8" => UNICODE_CTYPES.map(|ctype| ("C", ctype)).to_vec(),
            Provider::Libc => vec![(&self.name, &self.name)],
            // Some functions ask the system all the same.
            Provider::Icu | Provider::Builtin => UNICODE_CTYPES
                .map(|ctype| ("C", ctype))
                .into_iter()
                .chain([("C", "C")])
                .collect(),
        }
    }

    /// Options of a collation that exists only if the locale does.
    fn collation(&self, collate: &str, ctype: &str) -> Vec<String> {
        let libc = format!(
            "lc_collate = {}, lc_ctype = {}",
            escape_literal(collate),
            escape_literal(ctype)
        );
        let other = |provider: &str| format!("provider = {provider}, locale = {}", escape_literal(&self.name));
        match self.provider {
            Provider::Libc => vec![libc],
            Provider::Icu => vec![libc, other("icu")],
            Provider::Builtin => vec![libc, other("builtin")],
        }
    }

    fn options(&self, version: u32, collate: &str, ctype: &str) -> String {
        let name = escape_literal(&self.name);
        let provider = match self.provider {
            Provider::Libc if version < 150_000 => String::new(),
            Provider::Libc => "locale_provider libc ".to_owned(),
            Provider::Icu => format!("locale_provider icu icu_locale {name} "),
            Provider::Builtin => format!("locale_provider builtin builtin_locale {name} "),
        };
        format!(
            "template template0 encoding 'UTF8' {provider}lc_collate {} lc_ctype {}",
            escape_literal(collate),
            escape_literal(ctype)
        )
    }
}

/// Whether all these collations can be created. None stays.
fn is_there(client: &mut Client, collations: &[String]) -> Result<bool, postgres::Error> {
    for collation in collations {
        let mut transaction = client.transaction()?;
        match transaction.batch_execute(&format!("create collation dyno_locale ({collation})")) {
            Ok(()) => {}
            // A locale or a provider that the server does not know.
            Err(error)
                if error.code().is_some_and(|code| {
                    [
                        SqlState::WRONG_OBJECT_TYPE,
                        SqlState::UNDEFINED_OBJECT,
                        SqlState::INVALID_PARAMETER_VALUE,
                        SqlState::INVALID_OBJECT_DEFINITION,
                        SqlState::FEATURE_NOT_SUPPORTED,
                        SqlState::SYNTAX_ERROR,
                    ]
                    .contains(code)
                }) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Creates an empty database.
///
/// # Errors
/// The name is taken, or the server has no such locale.
pub fn create_database(client: &mut Client, name: &str, locale: &DatabaseLocale) -> Result<(), DatabaseError> {
    let command = format!("create database {} {}", escape_identifier(name), locale.options);
    client
        .batch_execute(&command)
        .map_err(super::database::failed(format!("create database {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_are_read_as_written() {
        for text in [
            "C",
            "C.UTF-8",
            "zh_CN.UTF-8",
            "icu:zh-u-co-pinyin",
            "builtin:PG_UNICODE_FAST",
        ] {
            assert_eq!(text.parse::<Locale>().unwrap().to_string(), text);
        }
        for bad in ["", "icu:", "libc:C", "C'; drop", "zh CN"] {
            assert!(bad.parse::<Locale>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_default_orders_as_c_does() {
        let options = |text: &str, version| {
            let locale: Locale = text.parse().unwrap();
            let (collate, ctype) = locale.libc_names()[0];
            locale.options(version, collate, ctype)
        };
        let plain = "template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C.UTF-8'";
        assert_eq!(options("C.UTF-8", 90_624), plain);
        assert_eq!(options("c.utf8", 90_624), plain);
        assert!(options("C", 180_006).ends_with("locale_provider libc lc_collate 'C' lc_ctype 'C'"));
        assert!(options("icu:zh", 180_006).contains("locale_provider icu icu_locale 'zh' lc_collate 'C'"));
    }
}
