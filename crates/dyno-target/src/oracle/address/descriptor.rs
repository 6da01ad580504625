//! Descriptions of databases in Oracle's own words, `(DESCRIPTION=…)`, given or looked up in `tnsnames.ora`.
//!
//! They are read by Oracle's crate, which writes what it has understood again, always in the same form; that is taken
//! apart here.

use super::resolve::switch;
use super::{AddressError, Host, PORT, Service, TLS_PORT, Tls};
use oracledb::{Config, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is known of a database without who asks.
pub(super) struct Described {
    pub hosts: Vec<Host>,
    pub service: Service,
    pub server: Option<String>,
    pub connect_timeout: Option<Duration>,
    pub tls: Option<Tls>,
    pub warnings: Vec<String>,
}

/// The file of names.
const NAMES: &str = "tnsnames.ora";

/// Looks a name up in the folder that the environment names.
pub(super) fn looked_up(name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Described, AddressError> {
    let folder = variable("TNS_ADMIN").or_else(|| {
        let home = variable("ORACLE_HOME")?;
        Some(format!("{home}/network/admin"))
    });
    let folder = folder.ok_or_else(|| AddressError::NoFolder { name: name.to_owned() })?;
    let file = Path::new(&folder).join(NAMES).display().to_string();
    let failed = |why: String| AddressError::Name {
        name: name.to_owned(),
        file: file.clone(),
        why,
    };
    let parsed = Config::default().set_config_dir(&folder).set_connect_string(name);
    let config = parsed.map_err(|error| {
        let why = match error.kind() {
            ErrorKind::TnsAliasNotFound(..) => "the file does not have it".to_owned(),
            _ => error.to_string(),
        };
        // Of a last line that does not end, the crate reads nothing.
        let is_open = std::fs::read(&file).is_ok_and(|text| !text.ends_with(b"\n"));
        failed(match is_open {
            true => format!("{why}; end its last line with a line break"),
            false => why,
        })
    })?;
    from_text(&config.get_connect_descriptor())
}

/// Reads a description that was given.
pub(super) fn described(text: &str) -> Result<Described, AddressError> {
    // The crate reads the newer of two names for one thing, and writes the older.
    let text = text.replace("MY_WALLET_DIRECTORY", "WALLET_LOCATION");
    let parsed = Config::default().set_connect_string(&text);
    let config = parsed.map_err(|error| AddressError::Description {
        // The error repeats all of it, which is known.
        why: match error.kind() {
            ErrorKind::InvalidConnectString(_, why) => why.clone(),
            ErrorKind::ParseError(..) => "it is not in Oracle's form, or its parentheses do not match".to_owned(),
            _ => error.to_string(),
        },
    })?;
    from_text(&config.get_connect_descriptor())
}

/// Takes apart what the crate writes.
fn from_text(text: &str) -> Result<Described, AddressError> {
    let unfit = |why: &str| AddressError::Description { why: why.to_owned() };
    let leaves = leaves(text).ok_or_else(|| unfit("it is not complete"))?;
    let all = |key: &str| -> Vec<&str> {
        let found = leaves.iter().filter(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).collect()
    };
    let one = |key: &str| all(key).first().map(|value| (*value).to_owned());
    if text.matches("(DESCRIPTION=").count() > 1 {
        return Err(unfit("it is a list of several descriptions; give one of them"));
    }
    if text.contains("HTTPS_PROXY") {
        return Err(unfit("it goes through a proxy for HTTPS, which dyno does not"));
    }
    let service = match (one("SERVICE_NAME"), one("SID")) {
        (Some(name), _) => Service::Name(name),
        (None, Some(sid)) => Service::Sid(sid),
        (None, None) => return Err(unfit("it names no service")),
    };
    let (Service::Name(name) | Service::Sid(name)) = &service;
    if !is_plain(name) {
        return Err(unfit("a service's name has letters, digits and . _ - $ # alone"));
    }
    let protocols = all("PROTOCOL");
    let encrypted = protocols.first() == Some(&"tcps");
    if protocols
        .iter()
        .any(|protocol| *protocol != if encrypted { "tcps" } else { "tcp" })
    {
        return Err(unfit(
            "its addresses have to be all of the protocol tcp, or all of tcps",
        ));
    }
    let usual = if encrypted { TLS_PORT } else { PORT };
    let names = all("HOST").into_iter();
    let hosts: Vec<Host> = names
        .zip(all("PORT"))
        .map(|(name, port)| Host {
            name: name.trim_matches(['[', ']']).to_owned(),
            port: port.parse().unwrap_or(usual),
        })
        .collect();
    if hosts.iter().any(|host| !is_host(&host.name)) {
        return Err(unfit("the name of a host has letters, digits and . _ - : alone"));
    }
    let mut warnings = Vec::new();
    if text.contains("(LOAD_BALANCE=ON)") {
        warnings.push(
            "The hosts of the database are tried in the order of its description, not shared out among connections \
             (LOAD_BALANCE), so that all of them measure one server."
                .to_owned(),
        );
    }
    Ok(Described {
        hosts,
        service,
        server: one("SERVER").and_then(|server| server_kind(&server)),
        connect_timeout: None,
        tls: encrypted.then(|| Tls {
            wallet: one("MY_WALLET_DIRECTORY").map(PathBuf::from),
            wallet_password: None,
            matches_host: one("SSL_SERVER_DN_MATCH").is_some_and(|value| switch(&value.to_lowercase()) == Some(true)),
            server_name: one("SSL_SERVER_CERT_DN"),
        }),
        warnings,
    })
}

/// What stands between parentheses without others in it, by the name before its equals sign; `None` if they do not
/// match.
fn leaves(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(begin) = rest.find(['(', ')']) {
        let inside = &rest[begin + 1..];
        if rest[begin..].starts_with(')') {
            depth = depth.checked_sub(1)?;
            rest = inside;
            continue;
        }
        depth += 1;
        let (key, value) = inside.split_once('=')?;
        if value.starts_with('(') {
            rest = value;
            continue;
        }
        let end = value.find(')')?;
        found.push((key.to_owned(), value[..end].to_owned()));
        rest = &value[end..];
    }
    (depth == 0).then_some(found)
}

/// A kind of server process by its name.
pub(super) fn server_kind(text: &str) -> Option<String> {
    let kind = text.to_ascii_lowercase();
    ["dedicated", "shared", "pooled"]
        .contains(&kind.as_str())
        .then_some(kind)
}

/// Whether this can be the name of a service, and means nothing else in a description.
pub(super) fn is_plain(text: &str) -> bool {
    text.chars()
        .all(|letter| letter.is_alphanumeric() || "._-$#".contains(letter))
}

/// The same of a host.
pub(super) fn is_host(text: &str) -> bool {
    text.chars()
        .all(|letter| letter.is_alphanumeric() || "._-:".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::super::ConnectionInfo;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_looked_up_where_the_environment_says() {
        let folder = tempfile::tempdir().unwrap();
        let names = "# ours\nSHOP, STORE =\n  (DESCRIPTION =\n    (ADDRESS = (PROTOCOL = TCPS)(HOST = db)(PORT = \
                     2485))\n    (CONNECT_DATA = (SERVICE_NAME = shop))\n    (SECURITY = (SSL_SERVER_DN_MATCH = \
                     ON)(WALLET_LOCATION = /w)))\neasy = db2:1523/other\n";
        std::fs::write(folder.path().join(NAMES), names).unwrap();
        let env = |name: &str| (name == "TNS_ADMIN").then(|| folder.path().display().to_string());
        let resolved = |address: &str| ConnectionInfo::resolve(address, &env);
        let info = resolved("oracle:ann@store").unwrap();
        assert_eq!(info.to_string(), "oracles://ann@db:2485/shop");
        let tls = info.tls.unwrap();
        assert_eq!((tls.wallet, tls.matches_host), (Some(PathBuf::from("/w")), true));
        assert_eq!(
            resolved("oracle:ann@EASY").unwrap().to_string(),
            "oracle://ann@db2:1523/other"
        );
        let unknown = resolved("oracle:ann:s3cret@nowhere").unwrap_err().to_string();
        assert!(unknown.starts_with("nowhere cannot be looked up in /"), "{unknown}");
        assert!(
            unknown.ends_with("tnsnames.ora: the file does not have it"),
            "{unknown}"
        );
    }

    #[test]
    fn a_description_is_taken_as_a_whole_or_refused() {
        let refused = |text: &str| described(text).err().map(|error| error.to_string()).unwrap_or_default();
        let two = "(DESCRIPTION_LIST=(DESCRIPTION=(ADDRESS=(HOST=a))(CONNECT_DATA=(SERVICE_NAME=s)))(DESCRIPTION=\
                   (ADDRESS=(HOST=b))(CONNECT_DATA=(SERVICE_NAME=s))))";
        assert!(refused(two).contains("several descriptions"), "{}", refused(two));
        let open = "(DESCRIPTION=(ADDRESS=(HOST=a)";
        assert!(refused(open).contains("parentheses do not match"), "{}", refused(open));
        let mixed = "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=a))(ADDRESS=(PROTOCOL=tcps)(HOST=b))(CONNECT_DATA=\
                     (SERVICE_NAME=s)))";
        assert!(refused(mixed).contains("all of tcps"), "{}", refused(mixed));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[()=A-Za-z@/:?&%. ]{0,60}") {
            let env = |_: &str| None;
            for form in [format!("oracle:{text}"), format!("oracle://{text}"), format!("oracle:(DESCRIPTION={text}")] {
                if let Ok(info) = ConnectionInfo::resolve(&form, &env) {
                    prop_assert!(!info.to_string().is_empty());
                }
            }
        }
    }
}
