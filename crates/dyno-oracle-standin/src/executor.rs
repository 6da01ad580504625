//! What executes statements behind a stand-in. The protocol's side knows nothing of SQL but whether a text asks.

use crate::counters::Counts;
use crate::value::{Column, Kind, Value};
use std::sync::Arc;

/// An error as Oracle tells it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OracleError {
    /// The number behind `ORA-`.
    pub code: u32,
    /// The whole message, with `ORA-` and the number.
    pub message: String,
}

impl OracleError {
    /// The error of this number, with what it says behind it.
    #[must_use]
    pub fn new(code: u32, says: &str) -> Self {
        Self {
            code,
            message: format!("ORA-{code:05}: {says}"),
        }
    }
}

/// A statement with what is bound.
#[derive(Clone, Debug)]
pub struct Work<'a> {
    /// Its text.
    pub sql: &'a str,
    /// The types of its binds.
    pub kinds: &'a [Kind],
    /// A row of binds for each execution.
    pub rows: &'a [Vec<Value>],
    /// Whether rows that fail are to be told of at the end, instead of ending the work.
    pub batch_errors: bool,
    /// Whether it is to be committed with it.
    pub commit: bool,
}

/// What came of a statement.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Rows. They may be many, so whoever keeps them need not copy them.
    Rows {
        /// Their columns.
        columns: Arc<[Column]>,
        /// The rows, each as long as the columns.
        rows: Arc<[Vec<Value>]>,
    },
    /// Changes.
    Changed {
        /// How many rows each execution changed.
        counts: Vec<u64>,
        /// The executions that failed, if they were not to end the work.
        errors: Vec<(usize, OracleError)>,
    },
    /// A block of PL/SQL.
    Block,
}

/// A statement failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Why.
    pub error: OracleError,
    /// How many rows the executions before it changed, which stay changed.
    pub changed: u64,
}

impl From<OracleError> for Failure {
    fn from(error: OracleError) -> Self {
        Self { error, changed: 0 }
    }
}

/// Ends what an executor executes, from another thread.
pub type Cancel = Arc<dyn Fn() + Send + Sync>;

/// Executes the statements of one session.
pub trait Executor: Send {
    /// Executes a statement.
    ///
    /// # Errors
    /// As Oracle would say.
    fn execute(&mut self, work: &Work<'_>) -> Result<Outcome, Failure>;

    /// The columns of a query that is not executed; none: it is no query.
    ///
    /// # Errors
    /// As Oracle would say.
    fn describe(&mut self, sql: &str) -> Result<Option<Arc<[Column]>>, OracleError>;

    /// Commits.
    ///
    /// # Errors
    /// As Oracle would say.
    fn commit(&mut self) -> Result<(), OracleError>;

    /// Rolls back.
    ///
    /// # Errors
    /// As Oracle would say.
    fn roll_back(&mut self) -> Result<(), OracleError>;

    /// Whether a transaction is open.
    fn in_transaction(&self) -> bool;

    /// Takes note of what the session is said to be doing.
    fn name_module(&mut self, _module: &str) {}

    /// Takes note of what sessions, by their numbers, have asked for so far: the statement to come asks for it.
    ///
    /// # Errors
    /// As Oracle would say.
    fn take_counts(&mut self, _counts: &[(u32, Counts)]) -> Result<(), OracleError> {
        Ok(())
    }

    /// How a statement can be broken off. None: none takes long enough.
    fn cancel(&self) -> Option<Cancel>;
}

/// Makes the executors of sessions.
pub trait Executors: Send + Sync {
    /// One for a new session of this number.
    ///
    /// # Errors
    /// There can be none, as Oracle would say it.
    fn executor(&self, session: u32) -> Result<Box<dyn Executor>, OracleError>;
}
