//! Data: statements that set up, and rows that the server itself makes, or that are made here.

mod generated;

use super::{Client, ClientError};
use crate::batches::{BATCH_ROWS, rows, usual_connections};
use crate::table_file::TableFileError;
use crate::target::{Fill, MakeError, Sql, SqlError, statements};
use dyno_script::{ColumnError, Lexis, RowError};
use dyno_wire::WireError;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

pub use generated::fill_rows;

/// Data could not be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum LoadError {
    #[error(transparent)]
    Sql(#[from] SqlError),
    #[error("{what}, line {line}: {error}{hint}")]
    Statement {
        what: String,
        line: usize,
        error: ClientError,
        hint: &'static str,
    },
    #[error("the table {table} cannot be filled: {error}")]
    Fill { table: String, error: ClientError },
    #[error("the table {table} cannot be filled: {error}")]
    Unsendable { table: String, error: WireError },
    #[error("the table {table} has no columns to fill")]
    NoColumns { table: String },
    #[error("the rows of a table cannot be made: {0}")]
    Column(#[from] ColumnError),
    #[error("a row cannot be made: {0}")]
    Row(#[from] RowError),
    #[error(transparent)]
    File(#[from] TableFileError),
    #[error("filling {table} failed at {}{place}: {message}", rows(*first, *last))]
    Rows {
        table: String,
        first: u64,
        last: u64,
        /// Where they stand in a file, as it follows their numbers; may be empty.
        place: String,
        message: String,
        /// The SQLSTATE; empty: what the server warned of has none.
        state: String,
    },
    #[error(transparent)]
    Make(#[from] MakeError),
    #[error("cannot start a thread that loads data: {0}; raise the limit on processes (ulimit -u)")]
    Thread(io::Error),
    #[error(
        "the table {table} cannot be filled: this server has no sequence engine, which generates the rows; MariaDB has \
         (install soname 'ha_sequence'). Or let dyno make the rows: give the table `generate` instead of `columns`"
    )]
    NoSequences { table: String },
    #[error(
        "the data uses tablespaces ({names}), which are created for PostgreSQL only; leave them out for MariaDB and \
         MySQL, with tablespaces = [] under [mysql.data]"
    )]
    Tablespaces { names: String },
    #[error(
        "locale = \"{locale}\" is for PostgreSQL only; on MariaDB and MySQL, give columns a collation in setup, and \
         write the locale under [postgres.server]"
    )]
    Locale { locale: String },
    #[error("the database for the run cannot be made: {0}")]
    Database(ClientError),
    #[error("the database for the run cannot be made: {error}; {remedy}")]
    NotAllowed { error: ClientError, remedy: String },
    #[error(
        "there is a database {database} without dyno's mark, which is left alone; rename it, or drop it if nobody \
         needs it"
    )]
    NotOurs { database: &'static str },
    #[error(
        "the database dyno_run, which is to be dropped, has tables or views that dyno did not make: {names}; move them \
         to another database (rename table), or drop them"
    )]
    Others { names: String },
    #[error(
        "the database dyno_run is to be dropped, but tables elsewhere refer to it, or views show what is in it: \
         {names}; drop these foreign keys and views"
    )]
    Needed { names: String },
    #[error(
        "rows would go into the table {table}, which is not of this experiment: it was there before its setup ran. \
         Create the table in data.setup, without naming a database"
    )]
    ForeignTable { table: String },
    #[error("stopped while loading")]
    Stopped,
}

/// Executes the statements of a text, one after the other.
///
/// # Errors
/// What is wrong with one, with its line.
pub fn run(client: &mut Client, sql: &Sql) -> Result<(), LoadError> {
    for statement in &statements(&sql.text, &sql.name, Lexis::Mysql)? {
        client.work(statement.text()).map_err(|error| LoadError::Statement {
            what: sql.name.clone(),
            line: statement.position().line,
            hint: advice(&error, statement.text()),
            error,
        })?;
    }
    Ok(())
}

/// What a server says of a table that is there already.
const EXISTS: u16 = 1050;

/// What to do about a statement that failed because what it makes is there; empty: that is not why. dyno's database is
/// new, so what is there is elsewhere.
fn advice(error: &ClientError, statement: &str) -> &'static str {
    // A qualified name stands before any parenthesis.
    let head = statement.split('(').next().unwrap_or_default();
    match error {
        ClientError::Server(said) if said.code == EXISTS && head.contains('.') => {
            "; a name with a database leads outside of dyno's own, which alone is dropped before each load: make \
             tables without naming a database, and drop what an earlier run has left there"
        }
        _ => "",
    }
}

/// What the server says of a table, and of a database, that is not there; and of a text that names none.
const NOT_THERE: [u16; 3] = [1146, 1049, 1064];

/// Refuses to fill a table that is there before the set-up has made any. The connection is in the new and empty
/// database of the experiment, so whatever is there is somebody else's.
///
/// # Errors
/// [`LoadError::ForeignTable`], or the connection is lost.
pub(super) fn check_new(client: &mut Client, fill: &Fill) -> Result<(), LoadError> {
    let table = || fill.table.clone();
    match client.execute(&format!("select 1 from {} limit 0", fill.table)) {
        // What there is not, filling it will say.
        Err(ClientError::Server(said)) if NOT_THERE.contains(&said.code) => Ok(()),
        // It may be one that this role may fill, but not read.
        Ok(()) | Err(ClientError::Server(_)) => Err(LoadError::ForeignTable { table: table() }),
        Err(error) => Err(LoadError::Fill { table: table(), error }),
    }
}

/// Fills a table. SQL expressions are evaluated by the server, which makes the rows by its sequence engine: no data
/// crosses the network, so the server is the only limit. Other rows are made here and loaded by as many connections as
/// there are cores, four at most. `progress` is told of the rows that are in after every batch.
///
/// # Errors
/// The server refuses it, or [`LoadError::Stopped`].
pub fn fill_table(
    client: &mut Client,
    fill: &Fill,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<(), LoadError> {
    let table = || fill.table.clone();
    let failed = |error| LoadError::Fill { table: table(), error };
    if fill.columns.is_empty() {
        return Err(LoadError::NoColumns { table: table() });
    }
    if let Some(rows) = fill.source.rows::<LoadError>(&fill.table, &fill.columns)? {
        fill_rows(client, fill, &rows, usual_connections(), stop, progress)?;
        return Ok(fill.source.check_unchanged()?);
    }
    let mut first = 1;
    while first <= fill.rows {
        if stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        let last = fill.rows.min(first + BATCH_ROWS - 1);
        client.work(&insert(fill, first, last)).map_err(failed)?;
        progress(last);
        first = last + 1;
    }
    Ok(())
}

/// The statement that inserts some of the rows; `row` is the row's number in the expressions.
fn insert(fill: &Fill, first: u64, last: u64) -> String {
    let names: Vec<&str> = fill.columns.iter().map(|(name, _)| name.as_str()).collect();
    let expressions: Vec<&str> = fill.columns.iter().map(|(_, sql)| sql.as_str()).collect();
    format!(
        "insert into {} ({}) select {} from (select seq as row from seq_{first}_to_{last}) numbered",
        fill.table,
        names.join(", "),
        expressions.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::RowSource;

    #[test]
    fn lets_the_server_number_the_rows() {
        let fill = Fill {
            table: "t".to_owned(),
            rows: 10,
            columns: vec![
                ("id".to_owned(), "row".to_owned()),
                ("x".to_owned(), "row * 2".to_owned()),
            ],
            source: RowSource::Server,
        };
        assert_eq!(
            insert(&fill, 1, 10),
            "insert into t (id, x) select row, row * 2 from (select seq as row from seq_1_to_10) numbered"
        );
    }
}
