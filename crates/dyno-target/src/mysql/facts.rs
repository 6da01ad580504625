//! The server as it describes itself: what a result must be read with.

use super::traits::traits;
use super::variables::Variables;
use super::{Client, ClientError};
use dyno_record::ServerTraits;
use serde::Serialize;

/// Settings that allow the server to lose what it reported as done, each with the values that do not. MariaDB's
/// doublewrite `fast` leaves out that the data files are synchronised before the log is reused (MDEV-33545), MySQL's
/// `DETECT_ONLY` keeps no copies of pages ("Doublewrite Buffer").
const DURABLE: [(&str, &[&str]); 3] = [
    ("innodb_flush_log_at_trx_commit", &["1", "3"]),
    ("innodb_doublewrite", &["ON", "1", "DETECT_AND_RECOVER"]),
    ("sync_binlog", &["1"]),
];

/// What is in the names of variables that may hold a password or a key, or statements and options with one in them.
const SECRET: [&str; 11] = [
    "passw",
    "pwd",
    "secret",
    "token",
    "auth",
    "filekey",
    "access_key",
    "provider_options",
    "init_connect",
    "init_slave",
    "init_replica",
];

/// The variables that do not have their defaults, with where they come from. MariaDB has said this since 10.1; what it
/// derives by itself from others and from the machine is left out. MySQL has said it since 8.0; defaults are not to be
/// had there, but what is compiled in is known as such.
const CHANGED: [&str; 2] = [
    "select lower(variable_name), global_value, lower(global_value_origin)
       from information_schema.system_variables
      where global_value is not null and global_value_origin not in ('COMPILE-TIME', 'AUTO')
        and not (global_value <=> default_value)
      order by 1",
    "select lower(variable_name), variable_value, lower(replace(variable_source, '_', ' '))
       from performance_schema.variables_info join performance_schema.global_variables using (variable_name)
      where variable_source <> 'COMPILED'
      order by 1",
];

/// Version and settings of a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerFacts {
    /// As the server has it, such as `11.4.5-MariaDB`.
    pub version: String,
    /// Global variables that do not have their defaults, by name, but for those that may hold a password. All of a
    /// server that does not tell which these are.
    pub settings: Vec<ServerSetting>,
    /// Settings that allow the server to lose what it reported as done, such as `sync_binlog = 0`.
    #[serde(skip)]
    pub not_durable: Vec<String>,
    /// Where it keeps its data, on its machine.
    pub data_folder: Option<String>,
    /// What readers of the result need not know of MariaDB and MySQL.
    pub traits: ServerTraits,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerSetting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it comes from, in the server's words, such as `command-line` or `sql`; empty if the server does not tell.
    pub source: String,
}

/// Asks a server for them.
///
/// # Errors
/// The connection is broken.
pub fn server_facts(client: &mut Client) -> Result<ServerFacts, ClientError> {
    let version: String = client.query_first("select version()")?.unwrap_or_default();
    let variables = Variables::read(client)?;
    Ok(ServerFacts {
        settings: changed(client)?,
        not_durable: not_durable(&variables),
        traits: traits(&version, &variables),
        data_folder: variables.get("datadir").map(str::to_owned),
        version,
    })
}

/// The settings that do not have their defaults.
fn changed(client: &mut Client) -> Result<Vec<ServerSetting>, ClientError> {
    for query in CHANGED {
        match client.query::<(String, String, String)>(query) {
            Ok(rows) => return Ok(settings(rows)),
            // It has no such table, or this role may not read it.
            Err(ClientError::Server(_)) => {}
            Err(lost) => return Err(lost),
        }
    }
    let rows = client.query::<(String, String)>("show global variables")?.into_iter();
    Ok(settings(
        rows.map(|(name, value)| (name, value, String::new())).collect(),
    ))
}

/// Settings from name, value and source, without those that may be secret.
fn settings(rows: Vec<(String, String, String)>) -> Vec<ServerSetting> {
    let rows = rows.into_iter().filter(|(name, ..)| !may_hold_password(name));
    rows.map(|(name, value, source)| ServerSetting { name, value, source })
        .collect()
}

/// Whether the value of the variable `name` may be secret, or have a secret in it.
fn may_hold_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// Settings that allow the server to lose what it reported as done. That of the binary log counts only where there is
/// one.
fn not_durable(variables: &Variables) -> Vec<String> {
    let logs = variables.get("log_bin") == Some("ON");
    DURABLE
        .iter()
        .filter(|(name, _)| logs || *name != "sync_binlog")
        .filter_map(|(name, durable)| {
            let is_durable = |found: &&str| durable.iter().any(|value| value.eq_ignore_ascii_case(found));
            let found = variables.get(name).filter(|found| !is_durable(found))?;
            Some(format!("{name} = {found}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_may_be_lost() {
        let durable = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("sync_binlog", "0"),
        ];
        assert!(not_durable(&durable.into()).is_empty());
        assert!(not_durable(&[("innodb_doublewrite", "DETECT_AND_RECOVER")].into()).is_empty());
        for less in ["OFF", "fast", "DETECT_ONLY"] {
            let found = not_durable(&[("innodb_doublewrite", less)].into());
            assert_eq!(found, [format!("innodb_doublewrite = {less}")]);
        }
        let risky = [
            ("innodb_flush_log_at_trx_commit", "2"),
            ("log_bin", "ON"),
            ("sync_binlog", "0"),
        ];
        assert_eq!(
            not_durable(&risky.into()),
            ["innodb_flush_log_at_trx_commit = 2", "sync_binlog = 0"]
        );
    }

    #[test]
    fn settings_that_may_hold_a_password_are_left_out() {
        for name in [
            "report_password",
            "init_connect",
            "init_slave",
            "wsrep_provider_options",
            "wsrep_sst_auth",
            "file_key_management_filekey",
            "hashicorp_key_management_token",
            "s3_access_key",
            "s3_secret_key",
            "keyring_hashicorp_secret_id",
            "authentication_ldap_simple_bind_root_pwd",
        ] {
            assert!(may_hold_password(name), "{name}");
        }
        for name in [
            "innodb_buffer_pool_size",
            "key_buffer_size",
            "foreign_key_checks",
            "ssl_key",
        ] {
            assert!(!may_hold_password(name), "{name}");
        }
        let row = |name: &str| (name.to_owned(), "x".to_owned(), "config".to_owned());
        let kept = settings(vec![row("report_password"), row("port")]);
        assert_eq!(
            kept.iter().map(|setting| setting.name.as_str()).collect::<Vec<_>>(),
            ["port"]
        );
    }
}
