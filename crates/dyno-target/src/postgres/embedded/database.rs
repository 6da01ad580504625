//! Databases made as copies: loaded data is kept in a template database, and each run works on a fresh copy of it.

use crate::postgres::Client;
use crate::postgres::facts::server_version;
use crate::postgres::server_message;
use postgres_protocol::escape::escape_identifier;

/// A database could not be created, dropped or looked up.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {message}")]
pub struct DatabaseError {
    what: String,
    message: String,
}

impl DatabaseError {
    pub(super) fn new(what: String, message: String) -> Self {
        Self { what, message }
    }
}

pub(super) fn failed(what: String) -> impl FnOnce(postgres::Error) -> DatabaseError {
    move |error| DatabaseError {
        what,
        message: server_message(&error),
    }
}

/// Whether a database exists.
///
/// # Errors
/// The connection is broken.
pub fn database_exists(client: &mut Client, name: &str) -> Result<bool, DatabaseError> {
    client
        .query_opt("select 1 from pg_database where datname = $1::text", &[&name])
        .map(|row| row.is_some())
        .map_err(failed(format!("look for database {name}")))
}

/// Creates database `name` as a copy of `template`, to which nobody may be connected. From version 15 on the files
/// are copied as such: writing every page through the log, the default there, would leave the copy's pages in the
/// cache and the log full. From version 18 on the kernel copies, which takes no room and no time on a file system
/// that can share blocks (btrfs, XFS with reflink).
///
/// # Errors
/// The template does not exist or is in use, the name is taken, the disk is full.
pub fn create_from_template(client: &mut Client, template: &str, name: &str) -> Result<(), DatabaseError> {
    let what = format!("copy database {template} to {name}");
    let version = server_version(client).map_err(failed(what.clone()))?;
    let strategy = if version >= 150_000 { " strategy file_copy" } else { "" };
    let command = format!(
        "create database {} template {}{strategy}",
        escape_identifier(name),
        escape_identifier(template)
    );
    // A server that was built without the system call does not know the value, and files of two file systems may
    // not be copied by it.
    let clones = version >= 180_000 && client.batch_execute("set file_copy_method = clone").is_ok();
    let copied = client.batch_execute(&command);
    if !clones {
        return copied.map_err(failed(what));
    }
    client
        .batch_execute("reset file_copy_method")
        .map_err(failed(what.clone()))?;
    copied.or_else(|_| client.batch_execute(&command)).map_err(failed(what))
}

/// Drops a database if it exists; from version 13 on also while somebody is connected to it.
///
/// # Errors
/// The database is in use (before version 13), or the role may not drop it.
pub fn drop_database(client: &mut Client, name: &str) -> Result<(), DatabaseError> {
    let what = format!("drop database {name}");
    let version = server_version(client).map_err(failed(what.clone()))?;
    let force = if version >= 130_000 { " with (force)" } else { "" };
    let command = format!("drop database if exists {}{force}", escape_identifier(name));
    client.batch_execute(&command).map_err(failed(what))
}
