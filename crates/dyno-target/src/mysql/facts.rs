//! The server as it describes itself: what a result must be read with.

use super::traits::traits;
use super::{Client, ClientError};
use dyno_record::ServerTraits;
use serde::Serialize;

/// Settings that allow the server to lose what it reported as done, each with the values that do not.
const DURABLE: [(&str, &[&str]); 3] = [
    ("innodb_flush_log_at_trx_commit", &["1", "3"]),
    ("innodb_doublewrite", &["ON", "1"]),
    ("sync_binlog", &["1"]),
];

/// Version and settings of a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerFacts {
    /// As the server has it, such as `11.4.5-MariaDB`.
    pub version: String,
    /// Every global variable, by name.
    pub settings: Vec<ServerSetting>,
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
}

/// Asks a server for them.
///
/// # Errors
/// The connection is broken.
pub fn server_facts(client: &mut Client) -> Result<ServerFacts, ClientError> {
    let version = client.query_first("select version()")?.unwrap_or_default();
    let settings = global_variables(client)?;
    Ok(ServerFacts {
        version,
        traits: traits(&settings),
        settings,
    })
}

/// Every global variable.
pub(super) fn global_variables(client: &mut Client) -> Result<Vec<ServerSetting>, ClientError> {
    let rows = client.query::<(String, String)>("show global variables")?.into_iter();
    Ok(rows.map(|(name, value)| ServerSetting { name, value }).collect())
}

/// Settings that allow the server to lose what it reported as done, such as `sync_binlog = 0`. That of the binary log
/// counts only where there is one.
#[must_use]
pub fn not_durable(facts: &ServerFacts) -> Vec<String> {
    let value = |wanted: &str| {
        let found = facts.settings.iter().find(|setting| setting.name == wanted);
        found.map(|setting| setting.value.as_str())
    };
    let logs = value("log_bin") == Some("ON");
    DURABLE
        .iter()
        .filter(|(name, _)| logs || *name != "sync_binlog")
        .filter_map(|(name, durable)| {
            let found = value(name).filter(|found| !durable.contains(found))?;
            Some(format!("{name} = {found}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(settings: &[(&str, &str)]) -> ServerFacts {
        let each = settings.iter().map(|(name, value)| ServerSetting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        });
        ServerFacts {
            version: String::new(),
            settings: each.collect(),
            traits: ServerTraits::default(),
        }
    }

    #[test]
    fn tells_what_may_be_lost() {
        let durable = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("sync_binlog", "0"),
        ];
        assert!(not_durable(&facts(&durable)).is_empty());
        let risky = [
            ("innodb_flush_log_at_trx_commit", "2"),
            ("log_bin", "ON"),
            ("sync_binlog", "0"),
        ];
        assert_eq!(
            not_durable(&facts(&risky)),
            ["innodb_flush_log_at_trx_commit = 2", "sync_binlog = 0"]
        );
    }
}
