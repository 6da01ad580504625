//! Foreign tables: PostgreSQL as a proxy, by an extension that knows how to ask the remote server (PostgreSQL,
//! "CREATE SERVER", "CREATE USER MAPPING", "IMPORT FOREIGN SCHEMA").
//!
//! The password of the remote is in one statement, which is kept out of the server's log as far as the role may say so,
//! and in no message of ours.

mod error;
mod wrapper;

use super::Client;
use super::facts::server_version;
use super::schema::MARK;
use super::server_message;
use crate::mysql;
use crate::target::{ForeignTables, HIDDEN, Reach, Remote};
use dyno_wire::Secret;
pub(super) use error::ForeignError;

use super::data::OWN_SCHEMA;
use postgres::error::SqlState;
use postgres_protocol::escape::{escape_identifier, escape_literal};
use wrapper::Described;

/// What the foreign server of a private database is called, whose tables are where everything is. Elsewhere it has the
/// name of dyno's schema.
const OF_PRIVATE: &str = "dyno_remote";

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
    let here: String = client
        .query_one("select coalesce(current_schema()::text, '')", &[])
        .map_err(|error| ForeignError::server("find the schema", &error))?
        .get(0);
    unlink(client, &here)?;
    let server = server_in(&here);
    let quoted = escape_identifier(server);
    let made = described.server(&quoted);
    let made = format!("{made}; comment on server {quoted} is {}", escape_literal(MARK).trim());
    client
        .batch_execute(&made)
        .map_err(|error| refused(&described, &error))?;
    if !map_user(client, &described, &quoted)? {
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
        .batch_execute(&import(&schema, &foreign.tables, server, &here))
        .map_err(|error| match error.code() {
            Some(&SqlState::DUPLICATE_TABLE) => ForeignError::server("import the foreign tables", &error),
            _ => unreachable(error),
        })?;
    let missing = missing(client, &foreign.tables, server)?;
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

/// The foreign server of the tables in this schema.
fn server_in(schema: &str) -> &str {
    match schema.starts_with(OWN_SCHEMA) {
        true => schema,
        false => OF_PRIVATE,
    }
}

/// Why a foreign server is not made, and what to do if the role lacks a right.
fn refused(described: &Described, error: &postgres::Error) -> ForeignError {
    let wrapper = described.wrapper.extension();
    let what = "create the foreign server";
    match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => ForeignError::Server {
            what: what.to_owned(),
            message: format!(
                "{}; it takes \"grant usage on foreign data wrapper {wrapper}\" to dyno's role",
                server_message(error)
            ),
        },
        _ => ForeignError::server(what, error),
    }
}

/// Forgets the remote of the tables in `schema`, with the foreign tables and who asks for them. Without one nothing
/// happens. What others have built on them stays, and so do they.
///
/// # Errors
/// There is such a server that is not dyno's, others need it or its tables, or the server refuses.
pub(super) fn unlink(client: &mut Client, schema: &str) -> Result<(), ForeignError> {
    const WHAT: &str = "remove the last remote";
    let failed = |error: postgres::Error| ForeignError::server(WHAT, &error);
    let server = server_in(schema);
    let query = "select pg_get_userbyid(srvowner)::text,
                        coalesce(obj_description(oid, 'pg_foreign_server'), '') = $2::text
                   from pg_foreign_server where srvname = $1::text::name";
    let Some(row) = client.query_opt(query, &[&server, &MARK]).map_err(failed)? else {
        return Ok(());
    };
    if !row.get::<_, bool>(1) {
        return Err(ForeignError::NotOurs {
            server: server.to_owned(),
            owner: row.get(0),
        });
    }
    let query = "select format('%I.%I', n.nspname, c.relname), n.nspname = $2::text::name from pg_foreign_table t
                   join pg_foreign_server s on s.oid = t.ftserver join pg_class c on c.oid = t.ftrelid
                   join pg_namespace n on n.oid = c.relnamespace where s.srvname = $1::text::name";
    let tables = client.query(query, &[&server, &schema]).map_err(failed)?;
    let others: Vec<String> = tables
        .iter()
        .filter(|row| !row.get::<_, bool>(1))
        .map(|row| row.get(0))
        .collect();
    if !others.is_empty() {
        let tables = others.join(", ");
        let server = server.to_owned();
        return Err(ForeignError::Others { server, tables });
    }
    let mut transaction = client.transaction().map_err(failed)?;
    // Nothing cascades: the server names what others have built upon it.
    for row in &tables {
        let drop = format!("drop foreign table {}", row.get::<_, String>(0));
        transaction.batch_execute(&drop).map_err(failed)?;
    }
    let quoted = escape_identifier(server);
    let drop = format!("drop user mapping if exists for current_user server {quoted}; drop server {quoted}");
    transaction.batch_execute(&drop).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// The import of these tables of a remote's `schema` into the one that is `here`.
fn import(schema: &str, tables: &[String], server: &str, here: &str) -> String {
    let names: Vec<String> = tables.iter().map(|table| escape_identifier(table)).collect();
    format!(
        "import foreign schema {} limit to ({}) from server {} into {}",
        escape_identifier(schema),
        names.join(", "),
        escape_identifier(server),
        escape_identifier(here)
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
fn map_user(client: &mut Client, described: &Described, server: &str) -> Result<bool, ForeignError> {
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
    transaction.batch_execute(&described.mapping(server)).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    Ok(unseen || !logs)
}

/// The tables that are not there.
fn missing(client: &mut Client, tables: &[String], server: &str) -> Result<Vec<String>, ForeignError> {
    let query = "select name from unnest($1::text[]) name where not exists (select from pg_foreign_table t join \
                 pg_foreign_server s on s.oid = t.ftserver where s.srvname = $2::text::name and t.ftrelid = \
                 to_regclass(quote_ident(name)))";
    let rows = client.query(query, &[&tables, &server]);
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
            import("my schema", &tables, "dyno_x", "dyno_x"),
            "import foreign schema \"my schema\" limit to (\"plain\", \"it's 100%\") from server \"dyno_x\" into \
             \"dyno_x\""
        );
        assert_eq!((server_in("dyno_x"), server_in("public")), ("dyno_x", OF_PRIVATE));
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
