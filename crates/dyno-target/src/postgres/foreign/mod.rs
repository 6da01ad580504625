//! Foreign tables: PostgreSQL as a proxy, by an extension that knows how to ask the remote server (PostgreSQL,
//! "CREATE SERVER", "CREATE USER MAPPING", "IMPORT FOREIGN SCHEMA").
//!
//! The password of the remote is in one statement, which is kept out of the server's log as far as the role may say so,
//! and in no message of ours.

mod error;
mod wrapper;

use super::Client;
use super::facts::server_version;
use super::server_message;
use crate::mysql;
use crate::target::{ForeignTables, HIDDEN, Reach, Remote};
use dyno_wire::Secret;
pub(super) use error::ForeignError;

use postgres_protocol::escape::{escape_identifier, escape_literal};
use wrapper::Described;

/// What the foreign server is called: there is one for a database.
const SERVER: &str = "dyno_remote";

/// Keeps a statement out of the log and out of what is counted of statements, for the transaction.
const UNSEEN: [&str; 5] = [
    "set local log_statement = 'none'",
    "set local log_min_duration_statement = -1",
    "set local log_min_error_statement = 'panic'",
    "set local log_duration = off",
    "set local pg_stat_statements.track = 'none'",
];

/// Makes tables of another server foreign tables of the database at hand, in place of an earlier remote, and asks each
/// for a row. Gives what is to be known of it, as sentences.
///
/// # Errors
/// The extension is not installed, the proxy cannot reach the remote, or that has no such table.
pub(super) fn link(
    client: &mut Client,
    remote: Remote<'_>,
    foreign: &ForeignTables,
) -> Result<Vec<String>, ForeignError> {
    let described = Described::of(remote, &foreign.options)?;
    let schema = match remote {
        Remote::Oracle(oracle) => oracle.schema.clone(),
        Remote::Reached(reach) => schema_of(reach, foreign),
    };
    extension(client, &described)?;
    let mut notes = Vec::new();
    unlink(client)?;
    execute(client, "create the foreign server", &described.server(SERVER))?;
    if !map_user(client, &described)? {
        notes.push(
            "The proxy may log the statement that gives it the password of its remote, because this role may not set \
             log_statement; use one that may, or a password that may be known."
                .to_owned(),
        );
    }
    let unreachable = |error: postgres::Error| ForeignError::Unreachable {
        remote: described.shown.clone(),
        message: hidden(&server_message(&error), described.password.as_ref()),
    };
    client
        .batch_execute(&import(&schema, &foreign.tables))
        .map_err(unreachable)?;
    let missing = missing(client, &foreign.tables)?;
    if !missing.is_empty() {
        return Err(ForeignError::NoTable {
            remote: described.shown.clone(),
            schema,
            tables: missing.join(", "),
        });
    }
    for table in &foreign.tables {
        let table = escape_identifier(table);
        client
            .query(&format!("select from {table} limit 1"), &[])
            .map_err(unreachable)?;
        execute(client, &format!("analyze {table}"), &format!("analyze {table}"))?;
    }
    Ok(notes)
}

/// Forgets the remote, with the foreign tables and who asks for them.
pub(super) fn unlink(client: &mut Client) -> Result<(), ForeignError> {
    let drop = format!("drop server if exists {SERVER} cascade");
    execute(client, "remove the last remote", &drop)
}

/// The import of these tables of a schema into the one that sessions look into first.
fn import(schema: &str, tables: &[String]) -> String {
    let names: Vec<String> = tables.iter().map(|table| escape_identifier(table)).collect();
    format!(
        "do $dyno$ begin execute format('import foreign schema %I limit to ({}) from server {SERVER} into %I', {}, \
         current_schema()); end $dyno$",
        names.join(", ").replace('%', "%%").replace('\'', "''"),
        escape_literal(schema).trim()
    )
}

/// The schema of the remote that has the tables. Where it cannot be asked, the proxy will say so.
fn schema_of(reach: Reach<'_>, foreign: &ForeignTables) -> String {
    const USUAL: &str = "public";
    match reach {
        // What is called a schema is a database there.
        Reach::Mysql(info) => info.database.clone(),
        Reach::Oracle(info) => info.schema(),
        Reach::Postgres(info) => {
            let found = info.connect().ok().and_then(|mut client| {
                let query = "select n.nspname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace \
                             where c.oid = any (select to_regclass(quote_ident(name)) from unnest($1::text[]) name) \
                             limit 1";
                client.query_opt(query, &[&foreign.tables]).ok().flatten()
            });
            found.map_or_else(|| USUAL.to_owned(), |row| row.get(0))
        }
    }
}

/// Makes sure that the database has the extension.
fn extension(client: &mut Client, described: &Described) -> Result<(), ForeignError> {
    let name = described.wrapper.extension();
    let query = "select 1 from pg_available_extensions where name = $1";
    let found = client.query_opt(query, &[&name]);
    let found = found.map_err(|error| ForeignError::server("look for extensions", &error))?;
    if found.is_none() {
        let version = server_version(client).map_err(|error| ForeignError::server("read the version", &error))?;
        return Err(ForeignError::NoExtension {
            name,
            package: described.wrapper.package(version / 10_000),
        });
    }
    // Not among the experiment's own things, which go with their schema.
    let create = format!("create extension if not exists {name} schema public");
    execute(client, &format!("create the extension {name}"), &create)
}

/// Says who asks the remote; false if that may be in the log.
fn map_user(client: &mut Client, described: &Described) -> Result<bool, ForeignError> {
    const WHAT: &str = "say who asks the remote";
    let failed = |error: postgres::Error| ForeignError::Server {
        what: WHAT.to_owned(),
        message: hidden(&server_message(&error), described.password.as_ref()),
    };
    let mut transaction = client.transaction().map_err(failed)?;
    let mut unseen = true;
    for setting in UNSEEN {
        let mut attempt = transaction.transaction().map_err(failed)?;
        match attempt.batch_execute(setting) {
            Ok(()) => attempt.commit().map_err(failed)?,
            Err(_) => {
                drop(attempt);
                unseen = false;
            }
        }
    }
    let logs = "select current_setting('log_statement') in ('ddl', 'mod', 'all')";
    let logs: bool = transaction.query_one(logs, &[]).map_err(failed)?.get(0);
    transaction.batch_execute(&described.mapping(SERVER)).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    Ok(unseen || !logs)
}

/// The tables that are not there.
fn missing(client: &mut Client, tables: &[String]) -> Result<Vec<String>, ForeignError> {
    let query = "select name from unnest($1::text[]) name where not exists (select from pg_foreign_table t join \
                 pg_foreign_server s on s.oid = t.ftserver where s.srvname = $2::text::name and t.ftrelid = \
                 to_regclass(quote_ident(name)))";
    let rows = client.query(query, &[&tables, &SERVER]);
    let rows = rows.map_err(|error| ForeignError::server("look for the foreign tables", &error))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

fn execute(client: &mut Client, what: &str, statement: &str) -> Result<(), ForeignError> {
    client
        .batch_execute(statement)
        .map_err(|error| ForeignError::server(what, &error))
}

/// A server's words without the password.
fn hidden(message: &str, password: Option<&Secret>) -> String {
    let password = password.map(|password| String::from_utf8_lossy(password.reveal()));
    match password {
        Some(password) if !password.is_empty() => message.replace(&*password, HIDDEN),
        _ => message.to_owned(),
    }
}

/// Where a MySQL listens for a wrapper, which knows TCP only.
fn tcp(info: &mysql::address::ConnectionInfo) -> Result<(String, u16), ForeignError> {
    match &info.host {
        mysql::address::Host::Tcp { name, port } => Ok((name.clone(), *port)),
        mysql::address::Host::Unix(_) => Err(ForeignError::OnlyTcp {
            remote: info.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_for_the_import() {
        let tables = ["plain".to_owned(), "it's 100%".to_owned()];
        assert_eq!(
            import("my schema", &tables),
            "do $dyno$ begin execute format('import foreign schema %I limit to (\"plain\", \"it''s 100%%\") from \
             server dyno_remote into %I', 'my schema', current_schema()); end $dyno$"
        );
    }

    #[test]
    fn passwords_are_in_no_message() {
        let secret = Secret::from("s3cret");
        assert_eq!(
            hidden("password 's3cret' is bad", Some(&secret)),
            format!("password '{HIDDEN}' is bad")
        );
        assert_eq!(hidden("as it is", Some(&Secret::from(""))), "as it is");
    }
}
