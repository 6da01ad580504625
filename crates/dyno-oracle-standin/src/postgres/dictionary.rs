//! What Oracle has and PostgreSQL has not: functions, and views about the server.

use postgres::Client;
use postgres_protocol::escape::{escape_identifier, escape_literal};

/// Functions and the views of a database.
const COMMON: &str = include_str!("sql/common.sql");

/// Prepares a database for a user.
pub(super) fn prepare(client: &mut Client, user: &str) -> Result<(), postgres::Error> {
    let is_there = client.query_opt("select 1 from pg_namespace where nspname = 'sys'", &[])?;
    if is_there.is_none() {
        let mut transaction = client.transaction()?;
        transaction.batch_execute(COMMON)?;
        transaction.commit()?;
    }
    let schema = escape_identifier(&user.to_lowercase());
    client.batch_execute(&format!("create schema if not exists {schema}"))
}

/// Makes a connection a session of the user.
pub(super) fn begin_session(client: &mut Client, user: &str, session: u32) -> Result<(), postgres::Error> {
    client.batch_execute(&format!(
        "set search_path = {}, sys, pg_catalog; set time zone 'UTC'; set client_min_messages = error;
         select set_config('standin.user', upper({}), false), set_config('standin.sid', '{session}', false);",
        escape_identifier(user),
        escape_literal(user),
    ))
}
