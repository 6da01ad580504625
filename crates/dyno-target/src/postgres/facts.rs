//! What a result must be read with: the server's version and settings.

use crate::postgres::Client;
use crate::postgres::server_message;
use crate::postgres::traits;
use dyno_record::ServerTraits;
use serde::Serialize;
use std::fmt;

/// What tells a server from others, however it is reached and whatever it is called: its cluster's number, from 9.6
/// on. Standbys have their primary's number, so their port and `cluster_name` are added.
#[must_use]
pub fn server_identity(client: &mut Client) -> Option<String> {
    let query = "select c.system_identifier::text
                     || case when pg_is_in_recovery() then '-standby-' || current_setting('port') || '-' ||
                       current_setting('cluster_name') else '' end
                   from pg_control_system() c";
    client.query_one(query, &[]).ok()?.get(0)
}

/// The server as it describes itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerFacts {
    /// The text of `version()`.
    pub version: String,
    /// The version as a number, such as 180006.
    pub version_number: u32,
    /// Settings that do not come from the built-in defaults, by name.
    pub settings: Vec<ServerSetting>,
    /// The data folder on the server's machine, where this role may see it.
    pub data_folder: Option<String>,
    /// The locale of the measured database.
    pub locale: LocaleFacts,
    /// What readers of the result need not know of PostgreSQL.
    pub traits: ServerTraits,
}

/// How a database orders text and which characters are letters to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LocaleFacts {
    /// Encoding, such as `UTF8`.
    pub encoding: String,
    /// Order of text, by a locale of the system.
    pub collate: String,
    /// Kinds of characters, by a locale of the system.
    pub ctype: String,
    /// Who orders text: `libc`, `icu` or `builtin`.
    pub provider: String,
    /// The locale that another provider than `libc` uses.
    pub locale: Option<String>,
    /// Version of the order, where the provider has one.
    pub version: Option<String>,
}

impl LocaleFacts {
    /// Whether it is the locale that an experiment file calls so.
    #[must_use]
    pub fn is(&self, wanted: &str) -> bool {
        let plain = |name: &str| name.to_ascii_lowercase().replace("utf-8", "utf8");
        let wanted = plain(wanted);
        if let Some(locale) = &self.locale {
            return wanted == plain(&format!("{}:{locale}", self.provider));
        }
        // They order text alike.
        let order = plain(&self.collate).replace("posix", "c");
        let is_order = order == wanted || (wanted == "c.utf8" && order == "c");
        is_order && plain(&self.ctype).replace("posix", "c") == wanted
    }
}

impl fmt::Display for LocaleFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, collate {}, ctype {}", self.encoding, self.collate, self.ctype)?;
        if let Some(locale) = &self.locale {
            write!(f, ", {} {locale}", self.provider)?;
        }
        if let Some(version) = &self.version {
            write!(f, ", version {version}")?;
        }
        Ok(())
    }
}

/// One setting of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerSetting {
    /// Name.
    pub name: String,
    /// Value as `show` prints it.
    pub value: String,
    /// Where it comes from, such as `configuration file` or `command line`.
    pub source: String,
}

/// The server's facts could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the server's version and settings cannot be read: {message}")]
pub struct FactsError {
    message: String,
}

/// The server's version as a number, such as 180006 for 18.6 and 90624 for 9.6.24.
///
/// # Errors
/// The connection is broken.
pub fn server_version(client: &mut Client) -> Result<u32, postgres::Error> {
    let row = client.query_one("select current_setting('server_version_num')::int", &[])?;
    Ok(row.get::<_, i32>(0).cast_unsigned())
}

/// Reads version and settings. Settings of this very connection (source `client` or `session`) are left out, and so
/// are those that can hold a password of a standby, an archive's access, or an extension's secret.
///
/// # Errors
/// The connection is broken.
pub fn server_facts(client: &mut Client) -> Result<ServerFacts, FactsError> {
    let failed = |error: postgres::Error| FactsError {
        message: server_message(&error),
    };
    let version = client.query_one("select version()", &[]).map_err(failed)?.get(0);
    let version_number = server_version(client).map_err(failed)?;
    let rows = client
        .query(
            "select name, current_setting(name), source from pg_settings
              where source not in ('default', 'client', 'session')
              order by name",
            &[],
        )
        .map_err(failed)?;
    let settings = rows.iter().map(|row| ServerSetting {
        name: row.get(0),
        value: row.get(1),
        source: row.get(2),
    });
    let settings = settings.filter(|setting| !may_hold_password(&setting.name)).collect();
    // Only superusers and readers of all settings see the row.
    let data_folder = client
        .query_opt("select setting from pg_settings where name = 'data_directory'", &[])
        .map_err(failed)?
        .and_then(|row| row.get(0));
    Ok(ServerFacts {
        version,
        version_number,
        settings,
        data_folder,
        locale: locale_facts(client, version_number).map_err(failed)?,
        traits: traits::traits(client).map_err(failed)?,
    })
}

/// Whether the value of the setting `name` may be secret, or have a secret in it: a server's own are known, those
/// of extensions go by what they are called.
fn may_hold_password(name: &str) -> bool {
    match name.split_once('.') {
        None => name == "primary_conninfo" || name.ends_with("_command"),
        Some((_, name)) => {
            let name = name.to_ascii_lowercase();
            ["passw", "pwd", "secret", "key", "token", "conninfo"]
                .iter()
                .any(|part| name.contains(part))
        }
    }
}

fn locale_facts(client: &mut Client, version: u32) -> Result<LocaleFacts, postgres::Error> {
    let more = match version {
        170_000.. => "datlocprovider::text, datlocale::text, datcollversion::text",
        150_000.. => "datlocprovider::text, daticulocale::text, datcollversion::text",
        _ => "'c'::text, null::text, null::text",
    };
    let row = client.query_one(
        &format!(
            "select pg_encoding_to_char(encoding)::text, datcollate::text, datctype::text, {more}
               from pg_database where datname = current_database()"
        ),
        &[],
    )?;
    let provider: &str = row.get(3);
    Ok(LocaleFacts {
        encoding: row.get(0),
        collate: row.get(1),
        ctype: row.get(2),
        provider: match provider {
            "c" => "libc",
            "i" => "icu",
            "b" => "builtin",
            other => other,
        }
        .to_owned(),
        locale: row.get(4),
        version: row.get(5),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_is_known_by_its_name() {
        let libc = |collate: &str, ctype: &str| LocaleFacts {
            encoding: "UTF8".to_owned(),
            collate: collate.to_owned(),
            ctype: ctype.to_owned(),
            provider: "libc".to_owned(),
            locale: None,
            version: None,
        };
        assert!(libc("C", "C.UTF-8").is("C.UTF-8"));
        assert!(libc("C.utf8", "C.utf8").is("C.UTF-8"));
        assert!(!libc("C", "C").is("C.UTF-8"));
        assert!(libc("POSIX", "C").is("C"));
        assert!(!libc("en_US.UTF-8", "en_US.UTF-8").is("C.UTF-8"));
        let icu = LocaleFacts {
            provider: "icu".to_owned(),
            locale: Some("zh".to_owned()),
            ..libc("C", "C.UTF-8")
        };
        assert!(icu.is("icu:zh") && !icu.is("C.UTF-8"));
        assert_eq!(icu.to_string(), "UTF8, collate C, ctype C.UTF-8, icu zh");
    }

    #[test]
    fn settings_that_may_hold_a_password_are_left_out() {
        for name in [
            "primary_conninfo",
            "archive_command",
            "archive_cleanup_command",
            "recovery_end_command",
            "restore_command",
            "ssl_passphrase_command",
            "vault.secret_key",
            "audit.Password",
        ] {
            assert!(may_hold_password(name), "{name}");
        }
        for name in [
            "password_encryption",
            "ssl_key_file",
            "shared_buffers",
            "pg_stat_statements.max",
        ] {
            assert!(!may_hold_password(name), "{name}");
        }
    }
}
