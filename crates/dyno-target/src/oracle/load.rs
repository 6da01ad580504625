//! Data: statements that set up, and rows that the server itself makes, or that are made here and sent as arrays of
//! values, so that the server parses one INSERT and executes it for many rows.

use super::address::ConnectionInfo;
use super::client::TextRow;
use super::data::{note_begun, note_made, note_refused};
use super::rights::refusable;
use super::statement::{is_block, is_definition, sent};
use super::{Client, ClientError};
use crate::batches::{BATCH_ROWS, Batch, Batches, Sharing, rows, rows_in_batch, share_out, usual_connections};
use crate::table_file::TableFileError;
use crate::target::{Fill, MakeError, Sql, SqlError, statements};
use dyno_script::{ColumnError, Lexis, RowError, RowFormat, Rows};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    #[error("the table {table} has no columns to fill")]
    NoColumns { table: String },
    #[error("the rows of a table cannot be made: {0}")]
    Column(#[from] ColumnError),
    #[error("a row cannot be made: {0}")]
    Row(#[from] RowError),
    #[error(transparent)]
    File(#[from] TableFileError),
    #[error("filling {table} failed at {}{place}: {error}", rows(*first, *last))]
    Rows {
        table: String,
        first: u64,
        last: u64,
        /// Where they stand in a file, as it follows their numbers; may be empty.
        place: String,
        error: ClientError,
    },
    #[error(transparent)]
    Make(#[from] MakeError),
    #[error("cannot start a thread that loads data: {0}; raise the limit on processes (ulimit -u)")]
    Thread(io::Error),
    #[error(
        "the data uses tablespaces ({names}), which are created for PostgreSQL only; leave them out for Oracle, with \
         tablespaces = [] under [oracle.data]"
    )]
    Tablespaces { names: String },
    #[error(
        "locale = \"{locale}\" is for PostgreSQL only: an Oracle database has one character set; write the locale \
         under [postgres.server]"
    )]
    Locale { locale: String },
    #[error("the data of the run cannot be made: {0}")]
    Database(ClientError),
    #[error("the data of the run cannot be made: {error}; {remedy}")]
    NotAllowed { error: ClientError, remedy: String },
    #[error(
        "there is a table dyno_run without dyno's mark, which is left alone; rename it, or drop it if nobody needs it"
    )]
    NotOurs,
    #[error(
        "rows would go into the table {table}, which is not of this experiment: it was there before its setup ran. \
         Create the table in data.setup, rename the other one, or measure as another user"
    )]
    ForeignTable { table: String },
    #[error("stopped while loading")]
    Stopped,
}

/// What the conversions of values rely on, whatever the server's own formats are. Each is one that others understand,
/// too.
const FORMATS: [&str; 4] = [
    "alter session set nls_date_format = 'YYYY-MM-DD HH24:MI:SS'",
    "alter session set nls_timestamp_format = 'YYYY-MM-DD HH24:MI:SS.FF'",
    "alter session set nls_timestamp_tz_format = 'YYYY-MM-DD HH24:MI:SS.FF TZH:TZM'",
    "alter session set nls_numeric_characters = '.,'",
];

/// How many rows are sent at a time.
const ARRAY_ROWS: u64 = 1_000;

/// What a server says of a name that is taken.
const EXISTS: u32 = 955;

/// Executes the statements of a text, one after the other, and notes what each makes.
///
/// # Errors
/// What is wrong with one, with its line.
pub(super) fn run(client: &mut Client, sql: &Sql) -> Result<(), LoadError> {
    set_formats(client).map_err(LoadError::Database)?;
    for statement in &statements(&sql.text, &sql.name, Lexis::Oracle)? {
        let text = sent(statement.text());
        let is_definition = is_definition(text);
        if is_definition {
            note_begun(client, text)?;
        }
        let failed = |error: ClientError| LoadError::Statement {
            what: sql.name.clone(),
            line: statement.position().line,
            hint: match error.code() {
                Some(EXISTS) => {
                    "; it was there before and is not dyno's: rename it, drop it if nobody needs it, or measure as \
                     another user"
                }
                _ => "",
            },
            error,
        };
        if let Err(refused) = refusable(client.work(text)).map_err(failed)? {
            if is_definition {
                note_refused(client, is_block(text))?;
            }
            return Err(failed(refused));
        }
        if is_definition {
            note_made(client)?;
        }
    }
    Ok(())
}

fn set_formats(client: &mut Client) -> Result<(), ClientError> {
    for statement in FORMATS {
        refusable(client.execute(statement))?.ok();
    }
    Ok(())
}

/// Whether a table that is to be filled is there. What cannot be looked at is not, or filling it will say what is
/// wrong.
///
/// # Errors
/// The connection is lost.
pub(super) fn is_there(client: &mut Client, fill: &Fill) -> Result<bool, LoadError> {
    let found = client.query::<Option<String>>(&format!("select null from {} where 1 = 0", fill.table));
    let found = refusable(found).map_err(|error| LoadError::Fill {
        table: fill.table.clone(),
        error,
    })?;
    Ok(found.is_ok())
}

/// Fills a table. SQL expressions are evaluated by the server, which makes the rows. Other rows are made here and
/// loaded by as many connections as there are cores, four at most. `progress` is told of the rows that are in after
/// every batch.
///
/// # Errors
/// The server refuses it, or [`LoadError::Stopped`].
pub(super) fn fill_table(
    client: &mut Client,
    fill: &Fill,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<(), LoadError> {
    let table = || fill.table.clone();
    if fill.columns.is_empty() {
        return Err(LoadError::NoColumns { table: table() });
    }
    if let Some(rows) = fill.source.rows::<LoadError>(&fill.table, &fill.columns)? {
        fill_rows(client.info(), fill, &rows, stop, progress)?;
        return Ok(fill.source.check_unchanged()?);
    }
    let mut first = 1;
    while first <= fill.rows {
        if stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        let last = fill.rows.min(first + BATCH_ROWS - 1);
        let inserted = client.work(&insert(fill, first, last));
        inserted.map_err(|error| LoadError::Fill { table: table(), error })?;
        progress(last);
        first = last + 1;
    }
    Ok(())
}

/// The statement that has the server make some of the rows; `row` is the row's number in the expressions. As that is a
/// word of Oracle's own, it is quoted.
fn insert(fill: &Fill, first: u64, last: u64) -> String {
    let names: Vec<&str> = fill.columns.iter().map(|(name, _)| name.as_str()).collect();
    let expressions: Vec<String> = fill.columns.iter().map(|(_, sql)| with_row_quoted(sql)).collect();
    format!(
        "insert into {} ({}) select {} from (select level + {} as \"ROW\" from dual connect by level <= {})",
        fill.table,
        names.join(", "),
        expressions.join(", "),
        first - 1,
        last + 1 - first
    )
}

/// An expression in which the word `row`, where it is no part of a string or of another word, is a name.
fn with_row_quoted(sql: &str) -> String {
    let mut quoted = String::with_capacity(sql.len() + 2);
    let mut quote = None;
    let mut word = String::new();
    let end_word = |word: &mut String, quoted: &mut String| {
        match word.eq_ignore_ascii_case("row") {
            true => quoted.push_str("\"ROW\""),
            false => quoted.push_str(word),
        }
        word.clear();
    };
    for letter in sql.chars() {
        if quote.is_none() && (letter.is_alphanumeric() || "_$#".contains(letter)) {
            word.push(letter);
            continue;
        }
        end_word(&mut word, &mut quoted);
        quoted.push(letter);
        match quote {
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            Some(open) if open == letter => quote = None,
            _ => {}
        }
    }
    end_word(&mut word, &mut quoted);
    quoted
}

/// Fills a table with rows that are ready to be sent.
fn fill_rows(
    info: &ConnectionInfo,
    fill: &Fill,
    rows: &Rows,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<(), LoadError> {
    let names: Vec<&str> = fill.columns.iter().map(|(name, _)| name.as_str()).collect();
    let places: Vec<String> = (1..=names.len()).map(|number| format!(":{number}")).collect();
    let loading = Loading {
        info,
        fill,
        rows,
        statement: format!(
            "insert into {} ({}) values ({})",
            fill.table,
            names.join(", "),
            places.join(", ")
        )
        .into(),
    };
    let sharing = Sharing {
        rows: fill.rows,
        batch_rows: rows_in_batch(rows.mean_bytes(fill.rows)?),
        connections: usual_connections(),
    };
    let loaded = share_out(sharing, stop, progress, LoadError::Thread, &|batches| {
        loading.load_batches(batches)
    });
    match loaded {
        // What was given up then has no other reason.
        Err(_) if stop.load(Ordering::Relaxed) => Err(LoadError::Stopped),
        Err(error) => Err(error),
        Ok(rows) if rows < fill.rows => Err(LoadError::Stopped),
        Ok(_) => Ok(()),
    }
}

/// What all connections that fill a table know.
struct Loading<'a> {
    info: &'a ConnectionInfo,
    fill: &'a Fill,
    rows: &'a Rows,
    statement: Arc<str>,
}

impl Loading<'_> {
    /// One connection's work: batch after batch until none is left, each committed when it is in.
    fn load_batches(&self, batches: &Batches<'_, LoadError>) -> Result<(), LoadError> {
        let failed = |error| LoadError::Fill {
            table: self.fill.table.clone(),
            error,
        };
        let mut client = self.info.connect().map_err(failed)?;
        set_formats(&mut client).map_err(failed)?;
        let mut writer = self.rows.writer(RowFormat::Lines);
        while let Some(batch) = batches.next() {
            let mut first = batch.first;
            while first <= batch.last {
                if batches.is_stopped() {
                    return Ok(());
                }
                let last = batch.last.min(first + ARRAY_ROWS - 1);
                let values = (first..=last).map(|row| writer.values(row));
                let values: Vec<TextRow> = values.collect::<Result<_, _>>()?;
                let inserted = client.execute_rows(&self.statement, values, last == batch.last);
                self.check(inserted, Batch { first, last })?;
                first = last + 1;
            }
            batches.done(batch);
        }
        Ok(())
    }

    /// Makes sure that all rows are in.
    fn check(&self, inserted: Result<u64, ClientError>, Batch { first, last }: Batch) -> Result<(), LoadError> {
        let refused = |error| LoadError::Rows {
            table: self.fill.table.clone(),
            first,
            last,
            place: self.fill.source.lines(first, last),
            error,
        };
        match inserted {
            Ok(rows) if rows == last + 1 - first => Ok(()),
            Ok(rows) => Err(refused(ClientError::Unexpected(format!("{rows} rows inserted")))),
            Err(error) => Err(refused(error)),
        }
    }
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
                ("x".to_owned(), "row * 2 || 'row' || a_row".to_owned()),
            ],
            source: RowSource::Server,
        };
        assert_eq!(
            insert(&fill, 4, 10),
            "insert into t (id, x) select \"ROW\", \"ROW\" * 2 || 'row' || a_row from (select level + 3 as \"ROW\" \
             from dual connect by level <= 7)"
        );
    }
}
