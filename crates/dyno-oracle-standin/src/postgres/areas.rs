//! What sessions have executed and waited for, as the server's views count it.
//!
//! Counting in PostgreSQL would cost every statement another one, so it is counted here, and put into the tables behind
//! `v$sqlstats`, `v$sql` and `v$system_event` when somebody looks at them.

use super::errors::oracle_error;
use super::tokens::{Kind, tokens};
use crate::executor::OracleError;
use postgres::Client;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// More texts than this are not counted: clients that write values into them send ever new ones.
const MOST: usize = 20_000;

/// What the names of the views begin with that are filled here: of statements, and of events.
const STATEMENTS: &str = "v$sql";
const EVENTS: &str = "v$system_event";

/// What a test has all sessions wait for that are not beside a load.
#[derive(Clone, Debug)]
pub(super) struct Provoked {
    pub(super) class: String,
    pub(super) event: String,
    /// How long at each statement.
    pub(super) time: Duration,
}

/// A text, as it was executed so far.
#[derive(Clone, Debug, Default)]
struct Area {
    user: String,
    module: String,
    executions: u64,
    rows: u64,
    elapsed: Duration,
}

/// What all sessions share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    provoked: Mutex<Option<Provoked>>,
    areas: Mutex<HashMap<String, Area>>,
    /// How often an event was waited for, and how long, since that was written down last.
    waits: Mutex<HashMap<(String, String), (u64, Duration)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Has sessions wait from now on, or not any more.
    pub(super) fn provoke(&self, provoked: Option<Provoked>) {
        *locked(&self.provoked) = provoked;
    }

    pub(super) fn provoked(&self) -> Option<Provoked> {
        locked(&self.provoked).clone()
    }

    pub(super) fn waited(&self, provoked: &Provoked) {
        let mut waits = locked(&self.waits);
        let waited = waits
            .entry((provoked.class.clone(), provoked.event.clone()))
            .or_default();
        waited.0 += 1;
        waited.1 += provoked.time;
    }

    /// Counts an execution by a session of this user and module. The module that counts is that of the first.
    pub(super) fn executed(
        &self,
        sql: &str,
        (user, module): (&str, &str),
        executions: usize,
        rows: u64,
        time: Duration,
    ) {
        let mut areas = locked(&self.areas);
        if !areas.contains_key(sql) {
            if areas.len() >= MOST {
                return;
            }
            let area = Area {
                user: user.to_uppercase(),
                module: module.to_owned(),
                ..Area::default()
            };
            areas.insert(sql.to_owned(), area);
        }
        if let Some(area) = areas.get_mut(sql) {
            area.executions += executions as u64;
            area.rows += rows;
            area.elapsed += time;
        }
    }

    /// Puts what was counted where a statement will look, if it looks at it.
    pub(super) fn show(&self, sql: &str, client: &mut Client) -> Result<(), OracleError> {
        let lower = sql.to_lowercase();
        if lower.contains(STATEMENTS) {
            self.show_areas(client).map_err(|error| oracle_error(&error))?;
        }
        if lower.contains(EVENTS) {
            self.show_waits(client).map_err(|error| oracle_error(&error))?;
        }
        Ok(())
    }

    fn show_areas(&self, client: &mut Client) -> Result<(), postgres::Error> {
        let areas = locked(&self.areas).clone();
        let put = "insert into sysviews.sql_areas values ($1, $2, $3, $4, $5, $6::text::numeric, $7::text::numeric,
                     $8::text::numeric)
                   on conflict (sql_id) do update set executions = excluded.executions, rows = excluded.rows,
                     elapsed_us = excluded.elapsed_us";
        let put = client.prepare(put)?;
        for (sql, area) in areas {
            let (text, id, signature) = (sql.chars().take(1_000).collect::<String>(), id(&sql), signature(&sql));
            let [executions, rows, us] = [area.executions.into(), area.rows.into(), area.elapsed.as_micros()]
                .map(|number: u128| number.to_string());
            client.execute(
                &put,
                &[
                    &id,
                    &text,
                    &signature,
                    &area.user,
                    &area.module,
                    &executions,
                    &rows,
                    &us,
                ],
            )?;
        }
        Ok(())
    }

    fn show_waits(&self, client: &mut Client) -> Result<(), postgres::Error> {
        let waits = std::mem::take(&mut *locked(&self.waits));
        for ((class, event), (times, time)) in waits {
            let us = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
            let times = i64::try_from(times).unwrap_or(i64::MAX);
            client.execute("select sysviews.waited($1, $2, $3, $4)", &[&class, &event, &times, &us])?;
        }
        Ok(())
    }
}

/// What a text is known by.
fn id(sql: &str) -> String {
    hex::encode(Sha256::digest(sql)).chars().take(13).collect()
}

/// What texts have in common that differ in their literals only; 0 for blocks, as in Oracle.
fn signature(sql: &str) -> i64 {
    let tokens = tokens(sql);
    let is_block = ["begin", "declare"]
        .iter()
        .any(|word| tokens.first().is_some_and(|first| first.is_word(word)));
    if is_block {
        return 0;
    }
    let words = tokens.iter().map(|token| match token.kind {
        Kind::Text | Kind::Number => "?",
        _ => token.text.as_str(),
    });
    let digest = Sha256::digest(words.collect::<String>());
    let first = digest
        .iter()
        .take(7)
        .fold(0_i64, |sum, byte| (sum << 8) | i64::from(*byte));
    first + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_literals_are_alike_but_for_blocks() {
        assert_eq!(
            signature("select * from t where a = 1 and b = 'x'"),
            signature("SELECT * from t where a = 27 and b = 'y z'")
        );
        assert_ne!(signature("select * from t"), signature("select * from u"));
        assert_eq!(signature("begin p(1); end;"), 0);
        assert_eq!(id("select 1 from dual").len(), 13);
    }
}
