//! Rows for a statement of an experiment's author, in a transaction that only reads and is rolled back.

use super::{Client, server_message};
use crate::target::{Asked, TextRows};
use postgres::Error;

/// The statement takes as long as it takes, but locks are not waited for without end.
const BEGIN: &str = "begin transaction read only; set local lock_timeout = '60s'";

/// Asks for the rows of one statement.
///
/// # Errors
/// The connection is broken.
pub(super) fn ask(client: &mut Client, statement: &str) -> Result<Asked, Error> {
    client.batch_execute(BEGIN)?;
    let asked = rows(client, statement);
    match asked {
        Ok(rows) => {
            client.batch_execute("rollback")?;
            Ok(Asked::Rows(rows))
        }
        Err(error) if error.as_db_error().is_some() => {
            client.batch_execute("rollback")?;
            Ok(Asked::Refused(server_message(&error)))
        }
        Err(lost) => Err(lost),
    }
}

fn rows(client: &mut Client, statement: &str) -> Result<TextRows, Error> {
    // The server prepares a single command only: what ends the transaction and goes on is refused.
    client.prepare(statement)?;
    client.text_rows(statement)
}
