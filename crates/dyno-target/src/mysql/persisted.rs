//! What takes effect when a server starts: MySQL keeps such settings itself, in a file of its own (MySQL Reference
//! Manual, "Persisted System Variables"). MariaDB does not.

use super::address::ConnectionInfo;
use super::settings::literal;
use super::variables::Variables;
use super::{Client, ClientError};
use crate::values::in_bytes;
use std::collections::HashMap;
use std::time::Duration;

/// The variable that says whether a server that starts reads what it keeps; MariaDB has none.
const LOADS: &str = "persisted_globals_load";

/// What a role needs to have the server keep what cannot be set while it runs.
pub(super) const RIGHTS: &str = "system_variables_admin, persist_ro_variables_admin on *.*";

/// Why a server cannot be given what takes effect when it starts.
pub(super) const NOT_KEPT: &str = "it takes effect when the server starts; set it in the server's option file and \
                                   restart it";

/// The same of one that could be, if it may be restarted.
pub(super) const NEEDS_RESTART: &str = "it takes effect when the server starts; give the command that restarts it \
                                        (--restart-command), or set it yourself";

/// Whether a server with these variables has a file of settings that it keeps: a MySQL does.
pub(super) fn exists(variables: &Variables) -> bool {
    variables.get(LOADS).is_some()
}

/// Whether a server with these variables keeps settings for its next start, and reads them then.
pub(super) fn keeps(variables: &Variables) -> bool {
    variables.get(LOADS) == Some("ON")
}

/// The values that the server keeps, by name.
///
/// # Errors
/// This role may not read them, or the connection is lost.
pub(super) fn read(client: &mut Client) -> Result<HashMap<String, String>, ClientError> {
    let rows = client.query::<(String, String)>(
        "select lower(variable_name), variable_value from performance_schema.persisted_variables",
    )?;
    Ok(rows.into_iter().collect())
}

/// The statement that has the server keep a value, or none.
pub(super) fn statement(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("set persist_only {name} = {}", literal(&in_bytes(value))),
        None => format!("reset persist if exists {name}"),
    }
}

/// Restarts the server by the command that its owner gave.
///
/// # Errors
/// Why it is not there, or is the same as before.
pub(super) fn restart(info: &ConnectionInfo, command: &str) -> Result<(), String> {
    crate::restart::restart(command, &mut |since: Duration| {
        let mut client = info.connect().map_err(|error| error.to_string())?;
        let up = client.query_first::<(String, u64)>("show global status like 'Uptime'");
        let (_, up_s) = up.map_err(|error| error.to_string())?.unwrap_or_default();
        Ok(up_s <= since.as_secs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_reads_what_it_keeps_can_be_given_it() {
        assert!(keeps(&[(LOADS, "ON")].into()));
        assert!(!keeps(&[(LOADS, "OFF")].into()));
        assert!(!keeps(&[("version", "11.4.5-MariaDB")].into()));
    }

    #[test]
    fn a_value_is_kept_or_given_up() {
        assert_eq!(
            statement("innodb_log_buffer_size", Some("16M")),
            "set persist_only innodb_log_buffer_size = 16777216"
        );
        assert_eq!(
            statement("innodb_flush_method", Some("O_DIRECT")),
            "set persist_only innodb_flush_method = 'O_DIRECT'"
        );
        assert_eq!(
            statement("innodb_log_buffer_size", None),
            "reset persist if exists innodb_log_buffer_size"
        );
    }
}
