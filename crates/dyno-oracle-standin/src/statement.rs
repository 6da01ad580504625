//! Statements of a session: parsed, executed, fetched from.

use crate::codec::Writer;
use crate::counters::Counters;
use crate::executor::{Executor, Failure, OracleError, Outcome, Work};
use crate::options::Moment;
use crate::rare::Form;
use crate::reply;
use crate::request::Execute;
use crate::session::{Ended, Session};
use crate::value::{Column, Value};
use std::sync::Arc;

/// What a message asks of a statement that its cursor knows.
struct Wanted<'a> {
    rows: &'a [Vec<Value>],
    fetch: Option<usize>,
    commit: bool,
    batch_errors: bool,
    row_counts: bool,
    /// Whether nothing but the cursor's number was sent.
    again: bool,
}

impl Session {
    /// Answers a message with everything about a statement. Not, if the client broke it off.
    pub(crate) fn execute(&mut self, message: Execute, writer: &mut Writer) -> Result<bool, Ended> {
        let number = if message.cursor == 0 {
            self.cursors.open()
        } else {
            message.cursor
        };
        if message.sql.is_some() && message.parses() {
            Counters::one(&self.counters.parses);
        }
        let Some(cursor) = self.cursors.get(number) else {
            self.no_such_cursor(writer);
            return Ok(true);
        };
        if let Some(sql) = &message.sql {
            cursor.sql = Arc::from(&**sql);
            cursor.described = None;
        }
        if let Some(binds) = &message.binds {
            cursor.binds.clone_from(binds);
        }
        if let Some(forms) = message.forms {
            return self.define(number, forms, message.fetch, writer);
        }
        if !message.executes() && message.fetches() {
            // Of a cursor that came in a row, which is executed already.
            self.fetch(number, message.fetch, writer);
            return Ok(true);
        }
        if !message.executes() {
            return self.describe(number, writer);
        }
        let wanted = Wanted {
            rows: &message.rows,
            fetch: message.fetches().then_some(message.fetch),
            commit: message.commits(),
            batch_errors: message.wants_batch_errors(),
            row_counts: message.row_counts,
            again: false,
        };
        self.run(number, &wanted, writer)
    }

    /// Answers a message that only says which statement to execute again.
    pub(crate) fn execute_again(
        &mut self,
        cursor: u32,
        fetch: Option<usize>,
        commit: bool,
        rows: &[Vec<Value>],
        writer: &mut Writer,
    ) -> Result<bool, Ended> {
        let wanted = Wanted {
            rows,
            fetch,
            commit,
            batch_errors: false,
            row_counts: false,
            again: true,
        };
        self.run(cursor, &wanted, writer)
    }

    /// Answers a message that says in what form columns are wanted, and asks for the first rows.
    fn define(&mut self, number: u32, forms: Vec<Form>, most: usize, writer: &mut Writer) -> Result<bool, Ended> {
        let Some(cursor) = self.cursors.get(number) else {
            self.no_such_cursor(writer);
            return Ok(true);
        };
        let columns = cursor.described.as_deref().unwrap_or_default();
        if columns.len() != forms.len() {
            let message = format!("{} forms for {} columns", forms.len(), columns.len());
            return Err(Ended::Wrong(message));
        }
        cursor.forms = Some(forms);
        Counters::one(&self.counters.defines);
        self.fetch(number, most, writer);
        Ok(true)
    }

    /// Answers a message that asks for more rows.
    pub(crate) fn fetch(&mut self, number: u32, most: usize, writer: &mut Writer) {
        Counters::one(&self.counters.fetches);
        self.fetches += 1;
        self.link.misbehaviour = self.options.fault(Moment::Fetch(self.fetches));
        if self.cursors.get(number).is_none_or(|cursor| cursor.described.is_none()) {
            return self.no_such_cursor(writer);
        }
        let is_end = self.write_rows(number, most, writer);
        self.write_end(number, is_end, writer);
    }

    fn no_such_cursor(&mut self, writer: &mut Writer) {
        let error = OracleError::new(1001, "invalid cursor");
        self.end(Some(&error)).write(writer, self.terms);
    }

    fn describe(&mut self, number: u32, writer: &mut Writer) -> Result<bool, Ended> {
        let Some(cursor) = self.cursors.get(number) else {
            return Ok(true);
        };
        let sql = Arc::clone(&cursor.sql);
        let described = match self.perform(move |executor| executor.describe(&sql))? {
            None => return Ok(false),
            Some(described) => described,
        };
        let error = match described {
            Ok(columns) => {
                if let Some(columns) = &columns {
                    reply::describe(writer, self.terms, columns);
                }
                reply::returned(writer, number, None);
                if let Some(cursor) = self.cursors.get(number) {
                    cursor.described = columns;
                }
                None
            }
            Err(error) => Some(error),
        };
        let mut end = self.end(error.as_ref());
        end.cursor = number;
        end.write(writer, self.terms);
        Ok(true)
    }

    fn run(&mut self, number: u32, wanted: &Wanted<'_>, writer: &mut Writer) -> Result<bool, Ended> {
        Counters::one(&self.counters.executions);
        self.executions += 1;
        self.link.misbehaviour = self.options.fault(Moment::Execute(self.executions));
        let Some(cursor) = self.cursors.get(number) else {
            self.no_such_cursor(writer);
            return Ok(true);
        };
        let binds = cursor.binds.len();
        if binds > 0 {
            Counters::add(&self.counters.bound_rows, wanted.rows.len());
        }
        let (sql, kinds) = (Arc::clone(&cursor.sql), cursor.kinds());
        let work = Work {
            sql: &sql,
            kinds: &kinds,
            rows: wanted.rows,
            batch_errors: wanted.batch_errors,
            commit: wanted.commit,
        };
        let counts = asks_for_counts(&sql).then(|| self.all_counters.each());
        let execute = |executor: &mut dyn Executor| {
            if let Some(counts) = &counts {
                executor.take_counts(counts)?;
            }
            executor.execute(&work)
        };
        let Some(outcome) = self.perform(execute)? else {
            return Ok(false);
        };
        match outcome {
            Ok(Outcome::Rows { columns, rows }) => {
                let Some(cursor) = self.cursors.get(number) else {
                    return Ok(true);
                };
                if cursor.take(Arc::clone(&columns), rows) {
                    reply::describe(writer, self.terms, &columns);
                }
                let is_late = self.cursors.get(number).is_some_and(|cursor| cursor.comes_late());
                if wanted.again && wanted.fetch.is_some() && columns.iter().any(Column::must_be_told) {
                    return Err(Ended::Wrong("LOBs are to come with an execution".to_owned()));
                }
                let is_end = match wanted.fetch {
                    Some(most @ 1..) if !is_late => self.write_rows(number, most, writer),
                    _ => false,
                };
                reply::returned(writer, number, None);
                self.write_end(number, is_end, writer);
            }
            Ok(Outcome::Changed { counts, errors }) => {
                if wanted.commit && errors.is_empty() {
                    Counters::one(&self.counters.commits);
                    Counters::one(&self.counters.commits_with_execution);
                }
                reply::returned(writer, number, wanted.row_counts.then_some(&counts));
                let batch = OracleError::new(24_381, "error(s) in array DML");
                let mut end = self.end((!errors.is_empty()).then_some(&batch));
                end.cursor = number;
                end.rows = counts.iter().sum();
                end.batch = &errors;
                end.write(writer, self.terms);
            }
            Ok(Outcome::Block) => {
                if binds > 0 {
                    reply::block_binds(writer, binds);
                }
                reply::returned(writer, number, None);
                self.write_end(number, false, writer);
            }
            Err(Failure { error, changed }) => {
                let mut end = self.end(Some(&error));
                end.cursor = number;
                end.rows = changed;
                end.write(writer, self.terms);
            }
        }
        Ok(true)
    }

    /// Writes rows; whether there are fewer than were asked for.
    fn write_rows(&mut self, number: u32, most: usize, writer: &mut Writer) -> bool {
        let compress = self.options.compress;
        reply::row_header(writer, most);
        let written = self.cursors.write_rows(number, writer, self.terms, most, compress);
        Counters::add(&self.counters.sent_rows, written);
        written < most
    }

    fn write_end(&mut self, number: u32, is_end: bool, writer: &mut Writer) {
        let sent = self.cursors.get(number).map_or(0, |cursor| cursor.sent());
        let no_more = OracleError::new(reply::NO_MORE_ROWS, "no data found");
        let mut end = self.end(is_end.then_some(&no_more));
        end.cursor = number;
        end.rows = sent as u64;
        end.write(writer, self.terms);
    }
}

/// Whether a text asks what sessions have asked for.
fn asks_for_counts(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    sql.contains("v$sesstat") || sql.contains("v$mystat")
}
