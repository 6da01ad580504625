//! Bringing data in: SQL texts, generated rows, and the quiet afterwards.

mod copy;
mod existing;
mod fill;
mod loader;

use crate::batches::rows;
use crate::postgres::Client;
use crate::postgres::scope::Scope;
use crate::postgres::server_message;
use crate::table_file::TableFileError;
use crate::target::{SqlError, statements};
use dyno_script::{ColumnError, Lexis, RowError};
use postgres::error::SqlState;

pub use copy::fill_rows;
pub use existing::check_columns;
pub use fill::{Fill, Filled, Filling, fill_table};
pub use loader::{Loader, LoaderError, StopRequested};

/// Data could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] crate::postgres::address::ConnectError),
    /// A statement of an SQL text failed.
    #[error("{what}, line {line}: {message}\n  in the statement: {statement}{hint}")]
    Statement {
        /// What the text is called, such as its file.
        what: String,
        /// Line within the text, from 1.
        line: usize,
        /// What the server said.
        message: String,
        /// The statement, shortened.
        statement: String,
        /// What to do about it, in a line of its own; may be empty.
        hint: &'static str,
    },
    /// An SQL text cannot be run.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// Rows could not be inserted.
    #[error("filling {table} failed at {}{place}: {message}", rows(*first, *last))]
    Fill {
        /// Table.
        table: String,
        /// First row of the batch.
        first: u64,
        /// Last row of the batch.
        last: u64,
        /// Where they stand in a file and in which of their columns it is, as it follows their numbers; may be empty.
        place: String,
        /// What the server said.
        message: String,
        /// The SQLSTATE; empty: the server said nothing.
        state: String,
    },
    /// An expression that rows are made with is wrong.
    #[error("the rows of a table cannot be made: {0}")]
    Column(#[from] ColumnError),
    /// A row cannot be made.
    #[error("a row cannot be made: {0}")]
    Row(#[from] RowError),
    /// The file that rows stand in cannot be read.
    #[error(transparent)]
    File(#[from] TableFileError),
    /// There is no thread to insert rows with.
    #[error("cannot start a thread that loads data: {0}; raise the limit on processes (ulimit -u)")]
    Thread(std::io::Error),
    /// A fill without columns.
    #[error("nothing says what to fill {table} with: give at least one column")]
    NoColumns {
        /// Table.
        table: String,
    },
    /// Stopped on request.
    #[error("stopped while filling {table} after {rows} rows")]
    Stopped {
        /// Table.
        table: String,
        /// Rows that are in.
        rows: u64,
    },
    /// A table of the same name has other columns.
    #[error(
        "the table {table} does not fit what is to be filled into it: {differences}; correct data.setup or what \
         fills the table, or, if it is somebody \
         else's, choose another database"
    )]
    OtherColumns {
        /// Table.
        table: String,
        /// How its columns differ.
        differences: String,
    },
    /// Settling failed.
    #[error("{what} failed: {message}")]
    Settle {
        /// The command.
        what: String,
        /// What the server said.
        message: String,
    },
}

impl LoadError {
    /// With what to do about a statement that failed.
    pub(super) fn advised(mut self, advice: &'static str) -> Self {
        if let Self::Statement { hint, .. } = &mut self {
            *hint = advice;
        }
        self
    }
}

/// Longest piece of a statement in an error, in characters.
const SHOWN: usize = 200;

/// Runs the statements of an SQL text one by one, each in a transaction of its own unless the text says `begin`, as
/// psql would. `what` names the text in errors. The text is split as scripts are; meta commands mean nothing here.
///
/// # Errors
/// A meta command, or the first statement that fails, with its line.
pub fn run_sql(client: &mut Client, text: &str, what: &str) -> Result<(), LoadError> {
    run_sql_with(client, text, what, &mut |client, statement| {
        client.batch_execute(statement)
    })
}

/// The same with `run` in place of just running each statement.
///
/// # Errors
/// A meta command, or the first statement for which `run` fails, with its line.
pub fn run_sql_with(
    client: &mut Client,
    text: &str,
    what: &str,
    run: &mut dyn FnMut(&mut Client, &str) -> Result<(), postgres::Error>,
) -> Result<(), LoadError> {
    // All are looked at before the first is run.
    for statement in &statements(text, what, Lexis::Psql)? {
        run(client, statement.text()).map_err(|error| LoadError::Statement {
            what: what.to_owned(),
            line: statement.position().line + lines_before_error(&error, statement.text()),
            message: server_message(&error),
            statement: shortened(statement.text()),
            hint: "",
        })?;
    }
    Ok(())
}

/// How many lines into the statement the server's error position is (a count of characters, from 1).
fn lines_before_error(error: &postgres::Error, statement: &str) -> usize {
    use postgres::error::ErrorPosition;
    match error.as_db_error().and_then(|error| error.position()) {
        Some(ErrorPosition::Original(position)) => statement
            .chars()
            .take((*position as usize).saturating_sub(1))
            .filter(|character| *character == '\n')
            .count(),
        _ => 0,
    }
}

fn shortened(statement: &str) -> String {
    let mut text: String = statement.chars().take(SHOWN).collect();
    if text.len() < statement.len() {
        text.push('…');
    }
    text
}

/// Brings the database to rest, so that neither autovacuum nor a checkpoint of the loading disturbs the
/// measurement: vacuum and analyze of the experiment's tables, then a checkpoint. What the role may not do is left
/// out; the sentences given back say so.
///
/// # Errors
/// A command failed for another reason than privilege.
pub fn settle(client: &mut Client, scope: &Scope) -> Result<Vec<String>, LoadError> {
    let standby = client.query_one("select pg_is_in_recovery()", &[]);
    if standby
        .map_err(|error| settle_failed("asking whether it is a standby", &error))?
        .get(0)
    {
        // All that is its primary's to do.
        return Ok(Vec::new());
    }
    let query = format!(
        "select quote_ident(n.nspname) || '.' || quote_ident(c.relname) {} order by 1",
        scope.tables()
    );
    let tables = client
        .query(&query, &[])
        .map_err(|error| settle_failed("listing the tables", &error))?;
    let mut warnings = Vec::new();
    for row in tables {
        let table: String = row.get(0);
        tolerate(client, &format!("vacuum analyze {table}"), &mut warnings)?;
    }
    tolerate(client, "checkpoint", &mut warnings)?;
    Ok(warnings)
}

fn settle_failed(what: &str, error: &postgres::Error) -> LoadError {
    LoadError::Settle {
        what: what.to_owned(),
        message: server_message(error),
    }
}

/// Runs a command; a missing privilege becomes a warning.
fn tolerate(client: &mut Client, command: &str, warnings: &mut Vec<String>) -> Result<(), LoadError> {
    match client.batch_execute(command) {
        Ok(()) => Ok(()),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            warnings.push(format!(
                "\"{command}\" was left out, because this role may not do it: its effects may fall into the measurement"
            ));
            Ok(())
        }
        Err(error) => Err(settle_failed(command, &error)),
    }
}
