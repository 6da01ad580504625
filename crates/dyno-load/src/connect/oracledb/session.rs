//! What a connection of Oracle's crate is asked for, so that a script means the same as through dyno's own sessions.
//!
//! Those have a change committed by its execution, and are told whether a transaction is open. The crate can do
//! neither, so outside of BEGIN and COMMIT each change is followed by a call that commits it, or that rolls back what a
//! statement which failed may have left open.

use super::error::{Failure, unconnected};
use super::value::{Bound, Place, text_of};
use dyno_engine::ConnectError;
use dyno_engine::backend::blocking::Answer;
use dyno_wire::{CapturedResult, OraConfig, OraKind, OraStatement, Room, TransactionStatus};
use oracledb::{Config, Connection, Statement, ToDbValue};
use std::io;
use std::time::Duration;

/// How many rows come with an execution, and how many at a time behind it. The crate loses its place in rows behind one
/// of which values are left out because they repeat those of the row before: it forgets to forget which. The first row
/// of an execution has none before it, so the second may be such a one, and is the last of its message; of those that
/// are fetched each is alone in its message. A result of one row comes in one message with its end.
const ROWS_WITH_EXECUTION: u32 = 2;
const ROWS_AT_A_TIME: u32 = 1;

/// A statement to be executed.
pub struct Execution {
    /// What it is.
    pub kind: OraKind,
    /// Its text.
    pub text: Vec<u8>,
    /// The number of a statement whose cursor is kept.
    pub kept: Option<usize>,
    /// The values of its places; `None` is NULL.
    pub values: Vec<Option<Given>>,
    /// Whether somebody looks into its results.
    pub results: bool,
}

/// A value as a script gives it.
pub struct Given {
    /// Its text.
    pub text: Vec<u8>,
    /// Whether it is text whatever it looks like.
    pub is_text: bool,
}

/// A connection that is logged in.
pub struct Session {
    connection: Connection,
    /// Whether a script has begun a transaction.
    begun: bool,
    /// The types that the places of kept statements have had, by the statements' numbers.
    places: Vec<Vec<Place>>,
}

impl Session {
    /// Connects, logs in, and has values represented as dyno's own sessions do.
    pub fn open(address: &str, config: Config) -> Result<Self, ConnectError> {
        let refused = |error| unconnected(address, &error);
        let connection = oracledb::connect(config).map_err(refused)?;
        connection.execute(OraConfig::SETTINGS, &[]).map_err(refused)?;
        Ok(Self {
            connection,
            begun: false,
            places: Vec::new(),
        })
    }

    /// Whether a transaction is open, as far as scripts have said so.
    pub fn status(&self) -> TransactionStatus {
        match self.begun {
            true => TransactionStatus::Open,
            false => TransactionStatus::Idle,
        }
    }

    /// Takes leave of the server, which may take so long for each message.
    pub fn leave(self, limit: Duration) {
        // A connection that is gone has no limits, and is closed at once.
        let _ = self.connection.set_call_timeout(Some(limit));
        drop(self.connection);
    }

    /// Executes a statement.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn execute(&mut self, execution: &Execution) -> io::Result<Answer> {
        let done = match execution.kind {
            OraKind::Begin => {
                self.begun = true;
                Ok(Answer::default())
            }
            OraKind::Commit => self.end(Connection::commit),
            OraKind::Rollback => self.end(Connection::rollback),
            OraKind::SetTransaction => self.change(execution).inspect(|_| self.begun = true),
            OraKind::Query => self.query(execution),
            OraKind::Change | OraKind::Block | OraKind::Other => self.change(execution),
        };
        let leaves_open = match execution.kind {
            OraKind::Query => locks(&execution.text),
            OraKind::Change | OraKind::Block | OraKind::Other => true,
            _ => false,
        };
        let settled = match &done {
            Ok(_) if leaves_open && !self.begun => self.connection.commit(),
            Err(Failure::Refused(_)) if leaves_open && !self.begun => self.connection.rollback(),
            _ => Ok(()),
        };
        match done.and_then(|answer| settled.map(|()| answer).map_err(Failure::from)) {
            Ok(answer) => Ok(answer),
            Err(Failure::Refused(error)) => Ok(Answer {
                error: Some(*error),
                ..Answer::default()
            }),
            Err(Failure::Lost(cause)) => Err(cause),
        }
    }

    /// Ends a transaction.
    fn end(&mut self, call: impl FnOnce(&Connection) -> Result<(), oracledb::Error>) -> Result<Answer, Failure> {
        self.begun = false;
        call(&self.connection)?;
        Ok(Answer::default())
    }

    fn change(&mut self, execution: &Execution) -> Result<Answer, Failure> {
        let values = self.bound(execution)?;
        let values: Vec<_> = values.iter().map(Bound::as_value).collect();
        let done = self.statement(execution)?.execute(&values)?;
        let is_change = execution.kind == OraKind::Change;
        Ok(Answer {
            affected: if is_change { done.rows_affected() } else { 0 },
            results: execution.results.then(CapturedResult::default).into_iter().collect(),
            ..Answer::default()
        })
    }

    fn query(&mut self, execution: &Execution) -> Result<Answer, Failure> {
        let values = self.bound(execution)?;
        let values: Vec<&dyn ToDbValue> = values.iter().map(Bound::as_value).collect();
        let cursor = self.statement(execution)?.query(&values)?;
        if !execution.results {
            let rows = cursor
                .map(|row| row.map(drop))
                .try_fold(0, |rows, row| row.map(|()| rows + 1))?;
            return Ok(Answer {
                rows,
                affected: rows,
                ..Answer::default()
            });
        }
        let mut result = CapturedResult {
            is_query: true,
            columns: cursor.columns().iter().map(|column| column.name().to_owned()).collect(),
            ..CapturedResult::default()
        };
        let mut room = Room::default();
        for row in cursor {
            result.push(text_of(&row?)?, &mut room);
        }
        Ok(Answer {
            rows: result.rows,
            affected: result.rows,
            results: vec![result],
            error: None,
        })
    }

    /// The values of an execution with the types that their places have.
    fn bound(&mut self, execution: &Execution) -> Result<Vec<Bound>, Failure> {
        let mut once = Vec::new();
        let places = match execution.kept {
            None => &mut once,
            Some(index) => {
                if self.places.len() <= index {
                    self.places.resize_with(index + 1, Vec::new);
                }
                &mut self.places[index]
            }
        };
        places.resize(execution.values.len(), Place::Null);
        let values = execution.values.iter().zip(places);
        values
            .map(|(value, place)| Bound::of(value.as_ref(), place, OraStatement::number))
            .collect()
    }

    fn statement(&self, execution: &Execution) -> Result<Statement, Failure> {
        let text = str::from_utf8(&execution.text).map_err(|_| Failure::not_utf8("the statement"))?;
        let statement = self.connection.statement(text)?;
        let statement = statement
            .prefetch_rows(ROWS_WITH_EXECUTION)
            .fetch_array_size(ROWS_AT_A_TIME);
        let statement = match execution.kept {
            Some(_) => statement,
            None => statement.exclude_from_cache(),
        };
        Ok(statement.build()?)
    }
}

/// Whether a query may lock rows, as far as its text tells: what it has locked is to be let go again. One that only
/// looks like it is followed by a commit of nothing.
fn locks(text: &[u8]) -> bool {
    let words: Vec<_> = text
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .filter(|word| !word.is_empty())
        .collect();
    words
        .windows(2)
        .any(|pair| pair[0].eq_ignore_ascii_case(b"for") && pair[1].eq_ignore_ascii_case(b"update"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_locks_is_known_by_its_words() {
        for (text, expected) in [
            ("select * from t where id = 1 for update", true),
            ("select * from t FOR\n  Update of a nowait", true),
            ("select before_update from t", false),
            ("select a from for_update", false),
        ] {
            assert_eq!(locks(text.as_bytes()), expected, "{text}");
        }
    }
}
