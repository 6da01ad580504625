//! Rows for a statement of an experiment's author, in a transaction that only reads and is rolled back.

use super::{Client, ClientError};
use crate::target::{Asked, TextRows};
use dyno_wire::{MyStatement, Parameters, Protocol};

/// The statement takes as long as it takes, but locks on tables are not waited for without end.
const LOCKS: &str = "set session lock_wait_timeout = 60";

/// A statement of an experiment's author has no parameters.
struct NoValues;

impl Parameters for NoValues {
    fn len(&self) -> usize {
        0
    }

    fn is_text(&self, _index: usize) -> bool {
        true
    }

    fn write(&self, _index: usize, _out: &mut Vec<u8>) -> bool {
        false
    }
}

/// Asks for the rows of one statement; `number` tells it from others that this connection has prepared.
///
/// # Errors
/// The connection is broken.
pub(super) fn ask(client: &mut Client, number: usize, text: &str) -> Result<Asked, ClientError> {
    // Prepared, as these servers do for a single statement only: what ends the transaction and goes on is refused.
    let statement = match MyStatement::new(number, text, 0, Protocol::Prepared) {
        Ok(statement) => statement,
        Err(error) => return Ok(Asked::Refused(error.to_string())),
    };
    client.execute(LOCKS)?;
    // Servers before 5.6 know no transactions that only read; then there is none.
    refusable(client.execute("start transaction read only"))?.ok();
    let rows = rows(client, &statement);
    refusable(client.execute("rollback"))?.ok();
    Ok(match refusable(rows)? {
        Ok(rows) => Asked::Rows(rows),
        Err(error) => Asked::Refused(error.to_string()),
    })
}

fn rows(client: &mut Client, statement: &MyStatement) -> Result<TextRows, ClientError> {
    client.prepare(statement)?;
    let result = client.result_of(statement, &NoValues, None)?;
    let mut rows = TextRows {
        columns: result.columns,
        ..TextRows::default()
    };
    for row in result.kept {
        rows.push(row.into_iter());
    }
    Ok(rows)
}

/// What came of something that the server may refuse: `Err` of `Ok` is its reason.
pub(super) fn refusable<T>(result: Result<T, ClientError>) -> Result<Result<T, ClientError>, ClientError> {
    match result {
        Err(ClientError::Lost(error)) => Err(ClientError::Lost(error)),
        result => Ok(result),
    }
}
