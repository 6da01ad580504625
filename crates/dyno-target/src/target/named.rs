//! The database to measure, as it is named on the command line and in experiment files.

use super::{Embedded, External, Keyword, StopFlag, TargetError};
use dyno_record::Storage;
use dyno_script::Lexis;
use std::fmt;
use std::sync::Arc;

/// The word that asks for a private server, and the database that is measured unless another is named.
pub const EMBEDDED: &str = "embedded";

/// Looks up variables of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The database to measure.
#[derive(Debug)]
pub enum Target {
    /// A private server, made on demand.
    Embedded(Box<dyn Embedded>),
    /// A server that is there already.
    External(Arc<dyn External>),
}

/// A kind of database.
pub trait Product: Sync {
    /// The word for it in files: an experiment says in a section of this name what is for this kind alone.
    fn key(&self) -> &'static str;

    /// What it is called in sentences.
    fn name(&self) -> &'static str;

    /// What addresses of its servers begin with, before `://`.
    fn schemes(&self) -> &'static [&'static str];

    /// Whether an address may do without slashes: what follows the first of these and a colon is then a name that the
    /// database's own files know.
    fn takes_names(&self) -> bool {
        false
    }

    /// What the value of a keyword in its addresses is, so that only what is no secret is shown; `None` if they have no
    /// such keyword. It is given in lower case.
    fn keyword(&self, keyword: &str) -> Option<Keyword>;

    /// By which rules its SQL is read.
    fn lexis(&self) -> Lexis;

    /// The names of its settings that are known without a server.
    fn settings(&self) -> Box<dyn Iterator<Item = &'static str>>;

    /// A locale that one of its databases can have, as it is to be written.
    ///
    /// # Errors
    /// Why there is no such one.
    fn locale(&self, text: &str) -> Result<String, String>;

    /// How it keeps an experiment's data, on its private server if `is_embedded`.
    fn storage(&self, is_embedded: bool) -> Storage;

    /// What may follow `embedded:` to ask for a private server of this kind, before a colon or hyphen and a version.
    fn embedded_names(&self) -> &'static [&'static str];

    /// What asks for each of its private servers, with which [`Target::named`] begins.
    fn private_servers(&self) -> &'static [&'static str] {
        &[]
    }

    /// Its private server by this one of these names, of this version, or of the usual one. `stop` gives up fetching
    /// it.
    ///
    /// # Errors
    /// It has none, or no folder to keep it in is known.
    fn embedded(
        &self,
        name: &str,
        version: Option<&str>,
        environment: Environment<'_>,
        stop: &StopFlag,
    ) -> Result<Box<dyn Embedded>, TargetError>;

    /// The server at an address.
    ///
    /// # Errors
    /// The address cannot be understood.
    fn external(&self, address: &str, environment: Environment<'_>) -> Result<Arc<dyn External>, TargetError>;
}

/// What stands between a kind and its version.
const BEFORE_VERSION: [char; 2] = [':', '-'];

/// How many letters of a word may be wrong, missing or too many for it to be known all the same.
const SLIPS: usize = 2;

/// The kind that takes every address which names none.
pub(crate) const USUAL: &dyn Product = &crate::postgres::Postgres;

/// The kinds of databases that are built in.
pub const PRODUCTS: [&dyn Product; 3] = [USUAL, &crate::mysql::Mysql, &crate::oracle::Oracle];

impl Target {
    /// Understands `text`: `embedded`, `embedded:VERSION`, `embedded:KIND`, `embedded:KIND:VERSION`,
    /// `embedded:KIND-VERSION`, or an address.
    ///
    /// # Errors
    /// It cannot be understood, or names a kind of database that is not built in.
    pub fn named(text: &str, environment: Environment<'_>, stop: &StopFlag) -> Result<Self, TargetError> {
        if let Some(kind) = misspelt(text) {
            return Err(TargetError::UnknownKind { kind, known: known() });
        }
        Ok(match meant(text)? {
            (product, Meant::Embedded(name, version)) => {
                Self::Embedded(product.embedded(name, version, environment, stop)?)
            }
            (product, Meant::External) => Self::External(product.external(text, environment)?),
        })
    }

    /// The server, if it is there already.
    #[must_use]
    pub fn external(&self) -> Option<&Arc<dyn External>> {
        match self {
            Self::Embedded(_) => None,
            Self::External(server) => Some(server),
        }
    }
}

/// The kind of the database that `text` names, as [`Target::named`] understands it; nothing else of it is looked at.
///
/// # Errors
/// It names a kind of database that is not built in.
pub fn product(text: &str) -> Result<&'static dyn Product, TargetError> {
    meant(text).map(|(product, _)| product)
}

/// The names of settings that are known without a server, of all kinds of databases.
pub fn setting_names() -> impl Iterator<Item = &'static str> {
    PRODUCTS.into_iter().flat_map(|product| product.settings())
}

/// A locale, of any kind of database, as it is to be written.
///
/// # Errors
/// No database has such a one; the reason is the usual kind's.
pub fn locale(text: &str) -> Result<String, String> {
    let mut others = PRODUCTS.into_iter().filter_map(|product| product.locale(text).ok());
    others.next().map_or_else(|| USUAL.locale(text), Ok)
}

/// How the database that `text` names, as [`Target::named`] understands it, keeps an experiment's data. One of a kind
/// that is not built in is taken for one of the usual kind.
#[must_use]
pub fn storage(text: &str) -> Storage {
    let (product, meant) = meant(text).unwrap_or((USUAL, Meant::External));
    product.storage(matches!(meant, Meant::Embedded(..)))
}

/// Whether `text` is an address that begins with the name of a kind.
pub(super) fn is_uri(text: &str) -> bool {
    scheme(text).is_some_and(|scheme| PRODUCTS.iter().any(|product| product.schemes().contains(&scheme)))
}

/// Whether a private server is meant, or one that is there already.
enum Meant<'a> {
    /// A private one by this name, of this version if one is named.
    Embedded(&'a str, Option<&'a str>),
    External,
}

fn meant(text: &str) -> Result<(&'static dyn Product, Meant<'_>), TargetError> {
    let which = match text.strip_prefix(EMBEDDED) {
        Some("") => Some(None),
        Some(rest) => rest.strip_prefix(':').map(Some),
        None => None,
    };
    if let Some(which) = which {
        let (word, rest) = which.map_or(("", None), |which| match which.split_once(BEFORE_VERSION) {
            Some((word, rest)) => (word, Some(rest)),
            None => (which, None),
        });
        let named = PRODUCTS
            .into_iter()
            .find(|product| product.embedded_names().contains(&word));
        return Ok(match named {
            Some(product) => (product, Meant::Embedded(word, rest)),
            // Without a kind it is the usual one's version.
            None => (USUAL, Meant::Embedded("", which)),
        });
    }
    let Some(scheme) = scheme(text) else {
        if let Some(product) = by_name(text) {
            return Ok((product, Meant::External));
        }
        // To libpq it would be the name of a database.
        if let Some(scheme) = without_slashes(text) {
            return Err(TargetError::NoSlashes { scheme });
        }
        return Ok((USUAL, Meant::External));
    };
    let of_scheme = PRODUCTS.into_iter().find(|product| product.schemes().contains(&scheme));
    let product = of_scheme.ok_or_else(|| TargetError::UnknownKind {
        kind: format!("{scheme}://"),
        known: known(),
    })?;
    Ok((product, Meant::External))
}

/// The beginning of `text`, if that is almost the word for a private server or for a kind of one.
fn misspelt(text: &str) -> Option<String> {
    let (first, rest) = text
        .split_once(':')
        .map_or((text, None), |(first, rest)| (first, Some(rest)));
    if first != EMBEDDED {
        let colon = rest.map_or("", |_| ":");
        return (strsim::damerau_levenshtein(first, EMBEDDED) <= SLIPS).then(|| format!("{first}{colon}"));
    }
    let word = rest?.split(BEFORE_VERSION).next()?;
    let is_near = |product: &&dyn Product| {
        let is_other_name = product.key() == word || product.schemes().contains(&word);
        let mut names = product.embedded_names().iter();
        is_other_name || names.any(|name| strsim::damerau_levenshtein(word, name) <= SLIPS)
    };
    let is_name = PRODUCTS.iter().any(|product| product.embedded_names().contains(&word));
    (!is_name && PRODUCTS.iter().any(is_near)).then(|| format!("{EMBEDDED}:{word}"))
}

/// What an address begins with, if it is that of a URI.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let is_name = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_name.then_some(scheme)
}

/// How an address begins of which `text` lacks the slashes.
fn without_slashes(text: &str) -> Option<&'static str> {
    let (word, _) = text.split_once(':')?;
    let mut schemes = PRODUCTS.into_iter().flat_map(|product| product.schemes());
    schemes.find(|scheme| **scheme == word).copied()
}

/// The kind whose addresses may do without slashes, if this is such a one.
pub(super) fn by_name(text: &str) -> Option<&'static dyn Product> {
    let (word, _) = text.split_once(':')?;
    let mut named = PRODUCTS.into_iter().filter(|product| product.takes_names());
    named.find(|product| product.schemes().first() == Some(&word))
}

/// The kinds that are built in, as a list in a sentence.
fn known() -> String {
    let schemes = PRODUCTS.iter().flat_map(|product| product.schemes());
    let mut kinds: Vec<_> = schemes.map(|scheme| format!("{scheme}://")).collect();
    kinds.push(EMBEDDED.to_owned());
    let names = PRODUCTS.iter().flat_map(|product| product.embedded_names());
    kinds.extend(names.map(|name| format!("{EMBEDDED}:{name}")));
    kinds.join(", ")
}

impl fmt::Display for Target {
    /// Without passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(embedded) => embedded.fmt(f),
            Self::External(server) => server.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> String {
        let environment = |name: &str| match name {
            "DYNO_HOME" => Some("/nowhere".to_owned()),
            "USER" => Some("ann".to_owned()),
            _ => None,
        };
        match Target::named(text, &environment, &StopFlag::default()) {
            Ok(target) => target.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_private_server_has_a_version_and_may_have_a_kind() {
        assert!(named("embedded").starts_with("embedded:"));
        for (text, shown) in [
            ("embedded:17", "embedded:17"),
            ("embedded:system:15", "embedded:system:15"),
            ("embedded:postgres:17", "embedded:17"),
            ("embedded:mariadb", "embedded:mariadb:11.4.5"),
            ("embedded:mariadb:10.11", "embedded:mariadb:10.11"),
            ("embedded:mariadb-10.11", "embedded:mariadb:10.11"),
            ("embedded:mariadb-system", "embedded:mariadb:system"),
            ("embedded:postgres-17", "embedded:17"),
            ("embedded:mysql-system", "embedded:mysql:system"),
            ("embedded:mysql:system", "embedded:mysql:system"),
        ] {
            assert_eq!(named(text), shown);
        }
        assert_eq!(named("embedded:postgres"), named("embedded"));
    }

    #[test]
    fn a_kind_that_is_not_built_in_names_those_that_are() {
        let refused = named("db2://ann@db/x");
        assert!(refused.starts_with("db2:// is not supported; use one of "), "{refused}");
        assert!(refused.contains("postgres://, postgresql://"), "{refused}");
        assert!(refused.contains("embedded"), "{refused}");
    }

    #[test]
    fn a_slip_in_a_name_is_told_with_the_names_there_are() {
        for (text, shown) in [
            ("embeded:mariadb", "embeded:"),
            ("embeddd", "embeddd"),
            ("Embedded:18", "Embedded:"),
            ("embedded:maria", "embedded:maria"),
            ("embedded:mysq:8", "embedded:mysq"),
            ("embedded:maria-11.4", "embedded:maria"),
            ("embedded:postgre:17", "embedded:postgre"),
        ] {
            let refused = named(text);
            let begins = format!("{shown} is not supported; use one of postgres://, ");
            assert!(refused.starts_with(&begins), "{refused}");
            assert!(
                refused.ends_with("embedded, embedded:postgres, embedded:mariadb, embedded:mysql"),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_private_mysql_is_the_installed_one() {
        for text in ["embedded:mysql", "embedded:mysql:8.4", "embedded:mysql-8"] {
            assert_eq!(
                named(text),
                "MySQL is not packaged for dyno: install it and ask for it with embedded:mysql:system, take \
                 embedded:mariadb, or give the address of a running server with --target"
            );
        }
    }

    #[test]
    fn the_scheme_says_whose_address_it_is() {
        assert_eq!(named("mysql://ann:secret@db/x"), "mysql://ann@db:3306/x");
        assert_eq!(named("mariadb://ann@db:3307/x"), "mysql://ann@db:3307/x");
        assert_eq!(named("oracle://ann:secret@db/x"), "oracle://ann@db:1521/x");
        assert_eq!(named("oracle:ann/secret@db/x"), "oracle://ann@db:1521/x");
    }

    #[test]
    fn an_address_without_slashes_is_no_database_of_that_name() {
        for (text, scheme) in [
            ("mysql:bench", "mysql"),
            ("mariadb:ann:secret@db/x", "mariadb"),
            ("postgres:x", "postgres"),
            ("postgresql:/x", "postgresql"),
        ] {
            let refused = named(text);
            assert!(
                refused.ends_with(&format!("; give {scheme}://user@host:port/database")),
                "{refused}"
            );
            assert!(!refused.contains("secret"), "{refused}");
        }
        assert!(named("postgres").starts_with("postgres://"), "{}", named("postgres"));
    }

    #[test]
    fn the_kind_is_known_without_looking_further() {
        let key = |text: &str| product(text).map(|product| product.key()).ok();
        for postgres in [
            "embedded",
            "embedded:17",
            "host=db",
            "postgres://db/x",
            "embedded:nonsense",
        ] {
            assert_eq!(key(postgres), Some("postgres"), "{postgres}");
        }
        for mysql in [
            "embedded:mariadb",
            "embedded:mariadb:10.11",
            "embedded:mariadb-11.4",
            "mysql://db/x",
            "mariadb://db/x",
        ] {
            assert_eq!(key(mysql), Some("mysql"), "{mysql}");
        }
        for oracle in [
            "oracle://db/x",
            "oracles://db/x",
            "tcps://db/x",
            "oracle:SHOP",
            "oracle:ann@(DESCRIPTION=x)",
        ] {
            assert_eq!(key(oracle), Some("oracle"), "{oracle}");
        }
        assert_eq!(key("oracles:SHOP"), None);
        assert_eq!(key("db2://db/x"), None);
    }

    #[test]
    fn only_the_private_postgres_copies_what_it_loaded() {
        for (text, makes_copies) in [
            ("embedded", true),
            ("embedded:17", true),
            ("postgres://db/x", false),
            ("embedded:mariadb", false),
            ("mysql://db/x", false),
        ] {
            assert_eq!(storage(text).makes_copies, makes_copies, "{text}");
        }
    }

    #[test]
    fn what_names_no_kind_is_an_address_as_psql_takes_it() {
        for text in ["postgres://ann@db/x", "host=db user=ann dbname=x options='-c a=b://c'"] {
            assert!(named(text).starts_with("postgres://ann@db:5432/x"), "{}", named(text));
        }
    }
}
