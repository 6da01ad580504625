//! A session's connection, and Oracle's transactions on it.
//!
//! In Oracle a transaction begins with the first change and lasts until it is ended; a statement that fails takes
//! nothing but itself back; a definition commits. So changes are made behind a `begin` of ours, each with a savepoint.

use super::areas::{Provoked, Shared};
use super::columns::{NotNull, columns};
use super::dictionary::name_session;
use super::errors::oracle_error;
use super::statement::{Statement, read};
use super::values::{Received, Sent, bind_type};
use crate::counters::Counts;
use crate::executor::{Cancel, Executor, Failure, OracleError, Outcome, Work};
use crate::value::{Column, Kind, Value};
use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Client, NoTls, Row};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// More texts than this are not kept.
const KEPT: usize = 300;

/// A text that PostgreSQL has prepared.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) statement: postgres::Statement,
    pub(super) columns: Arc<[Column]>,
}

/// A session's connection.
pub(super) struct PgSession {
    pub(super) client: Client,
    user: String,
    number: u32,
    /// What it says that it is doing.
    module: String,
    shared: Arc<Shared>,
    /// Whether it has the right to see the server's views and to alter the system.
    pub(super) sees: bool,
    pub(super) open: bool,
    /// How the next transaction is isolated, and all others.
    pub(super) next_isolation: Option<String>,
    pub(super) isolation: String,
    understood: HashMap<String, Arc<Statement>>,
    prepared: HashMap<(String, Vec<Type>), Prepared>,
    not_null: NotNull,
}

impl PgSession {
    pub(super) fn new(client: Client, user: &str, number: u32, sees: bool, shared: Arc<Shared>) -> Self {
        Self {
            client,
            user: user.to_owned(),
            number,
            module: String::new(),
            shared,
            sees,
            open: false,
            next_isolation: None,
            isolation: String::new(),
            understood: HashMap::new(),
            prepared: HashMap::new(),
            not_null: NotNull::default(),
        }
    }

    /// What a text asks for.
    pub(super) fn understand(&mut self, sql: &str) -> Result<Arc<Statement>, OracleError> {
        if let Some(known) = self.understood.get(sql) {
            return Ok(Arc::clone(known));
        }
        let understood = Arc::new(read(sql)?);
        if self.understood.len() >= KEPT {
            self.understood.clear();
        }
        self.understood.insert(sql.to_owned(), Arc::clone(&understood));
        Ok(understood)
    }

    /// Prepares a text, unless that was done.
    pub(super) fn prepare(&mut self, sql: &str, types: Vec<Type>) -> Result<Prepared, OracleError> {
        let key = (sql.to_owned(), types);
        if let Some(known) = self.prepared.get(&key) {
            return Ok(known.clone());
        }
        let statement = self
            .client
            .prepare_typed(sql, &key.1)
            .map_err(|error| oracle_error(&error))?;
        let columns = columns(&mut self.client, &statement, &mut self.not_null)?;
        let prepared = Prepared { statement, columns };
        if self.prepared.len() >= KEPT {
            self.prepared.clear();
        }
        self.prepared.insert(key, prepared.clone());
        Ok(prepared)
    }

    /// Forgets what depends on definitions.
    pub(super) fn forget(&mut self) {
        self.prepared.clear();
        self.not_null.clear();
    }

    /// Sends what has no rows.
    pub(super) fn send(&mut self, sql: &str) -> Result<(), OracleError> {
        self.client.batch_execute(sql).map_err(|error| oracle_error(&error))
    }

    /// Begins a transaction, unless there is one.
    pub(super) fn begin(&mut self) -> Result<(), OracleError> {
        if !self.open {
            let isolation = self.next_isolation.take();
            let begin = format!("begin {}", isolation.as_deref().unwrap_or(&self.isolation));
            self.send(&begin)?;
            self.open = true;
        }
        Ok(())
    }

    /// Does something in the transaction that is open; what fails is taken back, and nothing else.
    pub(super) fn guarded<T, E: From<OracleError>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        if !self.open {
            return work(self);
        }
        self.send("savepoint standin")?;
        let done = work(self);
        let after = if done.is_ok() { "" } else { "rollback to standin; " };
        self.send(&format!("{after}release standin"))?;
        done
    }

    /// Ends the transaction.
    fn end(&mut self, how: &str) -> Result<(), OracleError> {
        self.next_isolation = None;
        if !self.open {
            return Ok(());
        }
        self.open = false;
        self.send(how)
    }

    /// Executes a prepared text with one row of binds; its rows.
    pub(super) fn query(
        &mut self,
        prepared: &Prepared,
        binds: &[usize],
        row: &[Value],
    ) -> Result<Vec<Vec<Value>>, OracleError> {
        let sent = bound(binds, row)?;
        let parameters = parameters(&sent);
        let rows = self.client.query(&prepared.statement, &parameters);
        let rows = rows.map_err(|error| self.failed(&error))?;
        rows.iter().map(received).collect()
    }

    /// Executes a prepared text with one row of binds; how many rows it changed.
    pub(super) fn change(&mut self, prepared: &Prepared, binds: &[usize], row: &[Value]) -> Result<u64, OracleError> {
        let sent = bound(binds, row)?;
        let parameters = parameters(&sent);
        let changed = self.client.execute(&prepared.statement, &parameters);
        changed.map_err(|error| self.failed(&error))
    }

    /// Waits for what a test wants to be waited for, in sight of the view of sessions.
    fn wait_for(&mut self, provoked: &Provoked) -> Result<(), OracleError> {
        let Provoked { class, event, time } = provoked;
        let wait = format!("/*waits|{class}|{event}|*/ select pg_sleep({})", time.as_secs_f64());
        self.guarded(|session| session.send(&wait))?;
        self.shared.waited(provoked);
        Ok(())
    }

    fn failed(&mut self, error: &postgres::Error) -> OracleError {
        if error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED) {
            // The result of a prepared text has changed with its table.
            self.forget();
        }
        oracle_error(error)
    }
}

/// The types that the binds of a text are declared with.
pub(super) fn types(binds: &[usize], kinds: &[Kind]) -> Vec<Type> {
    let kinds = binds.iter().map(|at| kinds.get(*at));
    kinds
        .map(|kind| kind.map_or(Type::UNKNOWN, |kind| bind_type(*kind)))
        .collect()
}

fn bound<'a>(binds: &[usize], row: &'a [Value]) -> Result<Vec<Sent<'a>>, OracleError> {
    let values = binds.iter().map(|at| row.get(*at).map(Sent));
    let values: Option<Vec<_>> = values.collect();
    values.ok_or_else(|| OracleError::new(1008, "not all variables bound"))
}

fn parameters<'a>(sent: &'a [Sent<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    sent.iter().map(|sent| sent as &(dyn ToSql + Sync)).collect()
}

fn received(row: &Row) -> Result<Vec<Value>, OracleError> {
    let cells = row.columns().iter().enumerate().map(|(at, column)| {
        let cell: Option<Received<'_>> = row.try_get(at).map_err(|error| oracle_error(&error))?;
        cell.map_or(Ok(Value::Null), |cell| cell.value(column.type_()))
    });
    cells.collect()
}

/// What a session has asked for, by the names of Oracle's statistics. What is a hard parse nobody knows here.
fn statistics(counts: &Counts) -> [(&'static str, u64); 9] {
    [
        ("parse count (total)", counts.parses),
        ("execute count", counts.executions),
        ("opened cursors cumulative", counts.parses),
        ("user calls", counts.round_trips),
        ("user commits", counts.commits),
        ("user rollbacks", counts.rollbacks),
        ("SQL*Net roundtrips to/from client", counts.round_trips),
        ("bytes received via SQL*Net from client", counts.received_bytes),
        ("bytes sent via SQL*Net to client", counts.sent_bytes),
    ]
}

impl Executor for PgSession {
    fn execute(&mut self, work: &Work<'_>) -> Result<Outcome, Failure> {
        let statement = self.understand(work.sql)?;
        let begun = Instant::now();
        let is_work = matches!(
            &*statement,
            Statement::Query { .. } | Statement::Change(_) | Statement::Block { .. }
        );
        if is_work && self.sees {
            self.shared.show(work.sql, &mut self.client)?;
        }
        // What is beside a load has a module.
        if is_work
            && self.module.is_empty()
            && let Some(provoked) = self.shared.provoked()
        {
            self.wait_for(&provoked)?;
        }
        let outcome = self.run(&statement, work)?;
        if is_work {
            let rows = match &outcome {
                Outcome::Rows { rows, .. } => rows.len() as u64,
                Outcome::Changed { counts, .. } => counts.iter().sum(),
                Outcome::Block => 0,
            };
            let session = (self.user.as_str(), self.module.as_str());
            let executions = work.rows.len().max(1);
            self.shared
                .executed(work.sql, session, executions, rows, begun.elapsed());
        }
        let failed = matches!(&outcome, Outcome::Changed { errors, .. } if !errors.is_empty());
        if work.commit && !failed {
            self.commit()?;
        }
        Ok(outcome)
    }

    fn describe(&mut self, sql: &str) -> Result<Option<Arc<[Column]>>, OracleError> {
        let statement = self.understand(sql)?;
        let (text, is_query) = match &*statement {
            Statement::Query { text, .. } => (text, true),
            Statement::Change(text) => (text, false),
            _ => return Ok(None),
        };
        let prepared = self.guarded(|session| session.prepare(&text.sql, types(&text.binds, &[])))?;
        Ok(is_query.then_some(prepared.columns))
    }

    fn commit(&mut self) -> Result<(), OracleError> {
        self.end("commit")
    }

    fn roll_back(&mut self) -> Result<(), OracleError> {
        self.end("rollback")
    }

    fn in_transaction(&self) -> bool {
        self.open
    }

    fn name_module(&mut self, module: &str) {
        module.clone_into(&mut self.module);
        // A connection that is gone is told of by the next statement.
        let _ = name_session(&mut self.client, &self.user, self.number, module);
    }

    fn take_counts(&mut self, counts: &[(u32, Counts)]) -> Result<(), OracleError> {
        let each = counts.iter().map(|(session, counts)| {
            let statistics = statistics(counts).map(|(name, value)| format!("\"{name}\": {value}"));
            format!("\"{session}\": {{{}}}", statistics.join(", "))
        });
        let text = format!("{{{}}}", each.collect::<Vec<_>>().join(", "));
        let set = "select set_config('standin.counts', $1, false)";
        let done = self.guarded(|session| {
            session
                .client
                .execute(set, &[&text])
                .map_err(|error| oracle_error(&error))
        });
        done.map(|_| ())
    }

    fn cancel(&self) -> Option<Cancel> {
        let token = self.client.cancel_token();
        Some(Arc::new(move || {
            // A server that cannot be asked is gone, and the statement with it.
            let _ = token.cancel_query(NoTls);
        }))
    }
}
