//! Carries a statement out.

use super::errors::oracle_error;
use super::session::{PgSession, types};
use super::statement::Statement;
use super::translate::Text;
use crate::executor::{Executor, Failure, OracleError, Outcome, Work};
use crate::value::Value;

/// What a block without rows of binds has.
const NO_BINDS: &[Value] = &[];

impl PgSession {
    pub(super) fn run(&mut self, statement: &Statement, work: &Work<'_>) -> Result<Outcome, Failure> {
        let none = || Outcome::Changed {
            counts: vec![0],
            errors: Vec::new(),
        };
        match statement {
            Statement::Query { text, locks, wait } => Ok(self.run_query(text, *locks, *wait, work)?),
            Statement::Change(text) => self.run_change(text, work),
            Statement::Define(texts) => {
                self.commit()?;
                for text in texts {
                    self.send(text)?;
                }
                self.forget();
                Ok(none())
            }
            Statement::Block { parts, swallows } => {
                match self.run_block(parts, work) {
                    Err(_) if *swallows => {}
                    done => done?,
                }
                Ok(Outcome::Block)
            }
            Statement::Nothing => Ok(none()),
            Statement::NothingBySystem => {
                self.require_right()?;
                Ok(none())
            }
            Statement::Flush(what) => {
                self.require_right()?;
                let flushed = self.client.execute("insert into sysviews.flushed values ($1)", &[what]);
                flushed.map_err(|error| oracle_error(&error))?;
                Ok(none())
            }
            Statement::Module(module) => {
                self.name_module(module);
                Ok(none())
            }
            Statement::Explain {
                id,
                text,
                operation,
                table,
            } => {
                self.explain(id.as_deref(), text, operation, table.as_deref())?;
                Ok(none())
            }
            Statement::Commit => {
                self.commit()?;
                Ok(none())
            }
            Statement::RollBack => {
                self.roll_back()?;
                Ok(none())
            }
            Statement::Within(sql) => {
                self.begin()?;
                // A guard would take a savepoint back with its own.
                if sql.starts_with("savepoint") || sql.starts_with("rollback") {
                    self.send(sql)?;
                } else {
                    self.guarded(|session| session.send(sql))?;
                }
                Ok(none())
            }
            Statement::Isolate(isolation) => {
                self.next_isolation = Some(isolation.clone());
                Ok(none())
            }
            Statement::IsolateAll(isolation) => {
                self.isolation.clone_from(isolation);
                Ok(none())
            }
            Statement::SetSession { name, value } => {
                let sql = "select set_config('standin.' || $1, $2, false)";
                let set = self.client.execute(sql, &[name, value]);
                set.map_err(|error| oracle_error(&error))?;
                Ok(none())
            }
            Statement::SetSystem {
                name,
                value,
                now,
                later,
            } => {
                self.set_system(name, value.as_deref(), *now, *later)?;
                Ok(none())
            }
        }
    }

    fn require_right(&self) -> Result<(), OracleError> {
        if self.sees {
            Ok(())
        } else {
            Err(OracleError::new(1031, "insufficient privileges"))
        }
    }

    /// Writes a plan down: the table is read, whatever PostgreSQL would do.
    fn explain(
        &mut self,
        id: Option<&str>,
        text: &Text,
        operation: &str,
        table: Option<&str>,
    ) -> Result<(), OracleError> {
        self.begin()?;
        let types = types(&text.binds, &[]);
        self.guarded(|session| {
            session.prepare(&text.sql, types)?;
            let steps = "insert into sys.plan_table (statement_id, operation, options, object_name, object_alias,
                object_type, id, parent_id, depth, position, cost, cardinality, bytes) values
                ($1, $2, null, null, null, null, 0, null, 0, 2, 2, 1, 100),
                ($1, 'TABLE ACCESS', 'FULL', $3, $3, 'TABLE', 1, 0, 1, 1, 2, 1, 100)";
            let written = session.client.execute(steps, &[&id, &operation, &table]);
            written.map(|_| ()).map_err(|error| oracle_error(&error))
        })
    }

    fn run_query(
        &mut self,
        text: &Text,
        locks: bool,
        wait: Option<u32>,
        work: &Work<'_>,
    ) -> Result<Outcome, OracleError> {
        if locks {
            self.begin()?;
        }
        let row = work.rows.first().map_or(NO_BINDS, Vec::as_slice);
        let types = types(&text.binds, work.kinds);
        self.guarded(|session| {
            if let Some(seconds) = wait {
                session.send(&format!("set local lock_timeout = '{seconds}s'"))?;
            }
            let prepared = session.prepare(&text.sql, types)?;
            let rows = session.query(&prepared, &text.binds, row)?;
            if wait.is_some() {
                session.send("set local lock_timeout = 0")?;
            }
            Ok(Outcome::Rows {
                columns: prepared.columns,
                rows: rows.into(),
            })
        })
    }

    fn run_change(&mut self, text: &Text, work: &Work<'_>) -> Result<Outcome, Failure> {
        let types = types(&text.binds, work.kinds);
        // A single row that is committed at once is a transaction by itself.
        if !(work.commit && work.rows.len() == 1 && self.isolation.is_empty() && self.next_isolation.is_none()) {
            self.begin()?;
        }
        let all = self.guarded(|session| {
            let prepared = session.prepare(&text.sql, types.clone())?;
            let rows = work.rows.iter();
            let counts: Result<Vec<_>, _> = rows.map(|row| session.change(&prepared, &text.binds, row)).collect();
            counts
        });
        match all {
            Ok(counts) => Ok(Outcome::Changed {
                counts,
                errors: Vec::new(),
            }),
            Err(error) if work.rows.len() == 1 => {
                if work.batch_errors {
                    return Ok(Outcome::Changed {
                        counts: vec![0],
                        errors: vec![(0, error)],
                    });
                }
                Err(error.into())
            }
            // Which row it was, and that those before it stay, is found one by one.
            Err(_) => self.change_one_by_one(text, work),
        }
    }

    fn change_one_by_one(&mut self, text: &Text, work: &Work<'_>) -> Result<Outcome, Failure> {
        let prepared = self.guarded(|session| session.prepare(&text.sql, types(&text.binds, work.kinds)))?;
        let mut counts = Vec::new();
        let mut errors = Vec::new();
        for (at, row) in work.rows.iter().enumerate() {
            match self.guarded(|session| session.change(&prepared, &text.binds, row)) {
                Ok(count) => counts.push(count),
                Err(error) if work.batch_errors => {
                    counts.push(0);
                    errors.push((at, error));
                }
                Err(error) => {
                    return Err(Failure {
                        error,
                        changed: counts.iter().sum(),
                    });
                }
            }
        }
        Ok(Outcome::Changed { counts, errors })
    }

    fn run_block(&mut self, parts: &[Statement], work: &Work<'_>) -> Result<(), Failure> {
        // Only the block as a whole is committed.
        let work = Work {
            commit: false,
            ..work.clone()
        };
        for part in parts {
            match part {
                // Nobody hears of its rows.
                Statement::Query { text, .. } => {
                    let row = work.rows.first().map_or(NO_BINDS, Vec::as_slice);
                    self.guarded(|session| session.call(text, &work, row))?;
                }
                part => {
                    self.run(part, &work)?;
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, text: &Text, work: &Work<'_>, row: &[Value]) -> Result<(), OracleError> {
        let prepared = self.prepare(&text.sql, types(&text.binds, work.kinds))?;
        self.query(&prepared, &text.binds, row).map(|_| ())
    }

    fn set_system(&mut self, name: &str, value: Option<&str>, now: bool, later: bool) -> Result<(), OracleError> {
        self.require_right()?;
        self.commit()?;
        let row = self.client.query_one(
            "select sysviews.set_system($1, $2, $3, $4)",
            &[&name, &value, &now, &later],
        );
        let says: String = row.map_err(|error| oracle_error(&error))?.get(0);
        match says.split_once(' ') {
            Some((code, says)) => Err(OracleError::new(code.parse().unwrap_or(2065), says)),
            None => Ok(()),
        }
    }
}
