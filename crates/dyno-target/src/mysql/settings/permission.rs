//! What a role lacks to give a server the settings of an experiment, told before one asks for any.

use crate::mysql::rights::grant;
use crate::mysql::{Client, ClientError};

/// Settings that experiments change more than others; servers may ask for another right for each.
const USUAL: [&str; 4] = [
    "innodb_flush_log_at_trx_commit",
    "innodb_io_capacity",
    "max_connections",
    "sync_binlog",
];

/// The statements that give this role the rights which it lacks. Each setting is set to what it is, which changes
/// nothing.
///
/// # Errors
/// The connection is lost.
pub(in crate::mysql) fn missing(client: &mut Client) -> Result<Vec<String>, ClientError> {
    let mut statements = Vec::new();
    for name in USUAL {
        match client.execute(&format!("set global {name} = @@global.{name}")) {
            Ok(()) => {}
            Err(error @ ClientError::Server(_)) => statements.extend(grant(client, &error, "super on *.*")),
            Err(lost) => return Err(lost),
        }
    }
    statements.sort();
    statements.dedup();
    Ok(statements)
}
