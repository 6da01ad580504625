//! What Oracle has and PostgreSQL has not: functions, and views about what there is and about the server.

use postgres::Client;
use postgres_protocol::escape::{escape_identifier, escape_literal};
use sha2::{Digest, Sha256};

/// Functions and the like, what everybody may see, and what takes a right: each text makes a schema or goes on with
/// one.
const TEXTS: [&str; 3] = [
    include_str!("sql/common.sql"),
    include_str!("sql/owned.sql"),
    include_str!("sql/server.sql"),
];

/// The schemas that they make.
const SCHEMAS: [&str; 4] = ["sysviews", "sys", "dbms_random", "dbms_xplan"];

/// Only one may prepare a database at a time.
const LOCK: &str = "select pg_advisory_xact_lock(7204013372)";

/// Prepares a database for a user.
pub(super) fn prepare(client: &mut Client, user: &str) -> Result<(), postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.execute(LOCK, &[])?;
    // What another version of the stand-in made is made anew.
    let version = hex::encode(Sha256::digest(TEXTS.concat()));
    let there = "select obj_description(oid, 'pg_namespace') from pg_namespace where nspname = 'sys'";
    let there = transaction
        .query_opt(there, &[])?
        .and_then(|row| row.get::<_, Option<String>>(0));
    if there.as_ref() != Some(&version) {
        for schema in SCHEMAS {
            transaction.batch_execute(&format!("drop schema if exists {schema} cascade"))?;
        }
        for text in TEXTS {
            transaction.batch_execute(text)?;
        }
        transaction.batch_execute(&format!("comment on schema sys is '{version}'"))?;
    }
    let schema = escape_identifier(&user.to_lowercase());
    transaction.batch_execute(&format!("create schema if not exists {schema}"))?;
    transaction.execute(
        "insert into sysviews.dba_users select upper($1), 100, 'OPEN', 'USERS', 'TEMP', '2026-01-01', 'DEFAULT',
         '11G 12C' where not exists (select from sysviews.dba_users where username = upper($1))",
        &[&user],
    )?;
    transaction.commit()
}

/// Makes a connection a session of the user, who may see the server's views or not.
pub(super) fn begin_session(client: &mut Client, user: &str, session: u32, sees: bool) -> Result<(), postgres::Error> {
    let views = if sees { "sysviews, " } else { "" };
    client.batch_execute(&format!(
        "set search_path = {}, sys, {views}pg_catalog; set time zone 'UTC'; set client_min_messages = error;
         select set_config('standin.user', upper({}), false), set_config('standin.sid', '{session}', false)",
        escape_identifier(user),
        escape_literal(user),
    ))?;
    name_session(client, user, session, "")
}

/// Says in the connection's name whose it is, for others to see.
pub(super) fn name_session(client: &mut Client, user: &str, session: u32, module: &str) -> Result<(), postgres::Error> {
    let name = format!("standin:{session}:{}:{}", user.to_uppercase(), module.replace(':', "."));
    client.execute("select set_config('application_name', $1, false)", &[&name])?;
    Ok(())
}
