//! What the server counts of statements in its performance schema.
//!
//! MySQL counts all of them by digest, and keeps one execution of each with its values. MariaDB keeps digests only,
//! whose text has no values and lists cut short; where an administrator has enabled `events_statements_current`, what
//! each session executes is there to be looked at. Executions of what clients had prepared are in no digest, nor
//! counted in `prepared_statements_instances` (11.4): how many there were is all that is known.

use super::address::ConnectionInfo;
use super::error::cannot;
use super::{Client, ClientError, connect_until};
use crate::target::{Counted, Executed, StopFlag, TargetError, Values, between, wait};
use dyno_wire::MyStatement;
use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

/// Nothing is counted.
#[derive(Debug, thiserror::Error)]
#[error(
    "the server counts no statements: start it with performance_schema = ON, and enable statements_digest in \
     performance_schema.setup_consumers"
)]
struct NotCounted;

/// Those of this database from now on, for so long.
pub(super) fn executed(info: &ConnectionInfo, lasts: Duration, stop: &StopFlag) -> Result<Executed, TargetError> {
    let mut client = connect_until(info, stop)?;
    let failed = || cannot("read the statistics of statements");
    let statistics = Statistics::of(&mut client)?;
    // What is asked from here on is not to be found in what is read.
    let before = statistics.read(&mut client).map_err(failed())?;
    let uncounted_before = statistics.uncounted(&mut client).map_err(failed())?;
    let mut seen = HashMap::new();
    let look = || match statistics {
        Statistics::WithSamples => Ok(()),
        Statistics::Digests => look_at_sessions(&mut client, &mut seen).map_err(failed()),
    };
    let lasts = wait(lasts, stop, look)?;
    let mut after = statistics.read(&mut client).map_err(failed())?;
    for counted in &mut after {
        if let Some(text) = seen.remove(&counted.key) {
            counted.values = values_in(&text);
            counted.text = text;
        }
    }
    if matches!(statistics, Statistics::Digests) {
        let tables: Vec<String> = client
            .query("select table_name from information_schema.tables where table_schema = database()")
            .map_err(failed())?;
        for counted in after.iter_mut().filter(|counted| counted.values == Values::LeftOut) {
            counted.text = with_names(&counted.text, &tables);
        }
    }
    let uncounted = statistics.uncounted(&mut client).map_err(failed())?;
    Ok(Executed {
        statements: between(before, after),
        lasts,
        uncounted: uncounted.saturating_sub(uncounted_before),
    })
}

/// What a server keeps.
#[derive(Clone, Copy)]
enum Statistics {
    /// Digests, each with a sample; what was prepared is among them.
    WithSamples,
    /// Digests only.
    Digests,
}

impl Statistics {
    fn of(client: &mut Client) -> Result<Self, TargetError> {
        let failed = || cannot("read the statistics of statements");
        let counts: Option<u64> = client
            .query_first("select @@performance_schema + 0")
            .map_err(failed())?;
        if counts != Some(1) {
            return Err(TargetError::other(NotCounted));
        }
        let sample: Option<u64> = client
            .query_first(
                "select count(*) from information_schema.columns where table_schema = 'performance_schema' and \
                 table_name = 'events_statements_summary_by_digest' and column_name = 'QUERY_SAMPLE_TEXT'",
            )
            .map_err(failed())?;
        Ok(match sample {
            Some(1..) => Self::WithSamples,
            _ => Self::Digests,
        })
    }

    fn read(self, client: &mut Client) -> Result<Vec<Counted>, ClientError> {
        let sample = match self {
            // A longer one is cut.
            Self::WithSamples => {
                "if(octet_length(query_sample_text) < @@performance_schema_max_sql_text_length, \
                                  nullif(query_sample_text, ''), null)"
            }
            Self::Digests => "null",
        };
        let rows: Vec<Row> = client.query(&format!(
            "select digest, digest_text, {sample}, concat_ws(' ', count_star, sum_timer_wait / 1e9) from \
             performance_schema.events_statements_summary_by_digest where digest is not null and schema_name = \
             database() and digest_text not like '%performance_schema%'"
        ))?;
        Ok(rows.into_iter().map(counted).collect())
    }

    /// How many executions there have been in all databases that are in no digest.
    fn uncounted(self, client: &mut Client) -> Result<u64, ClientError> {
        if matches!(self, Self::WithSamples) {
            return Ok(0);
        }
        let row: Option<(String, u64)> = client.query_first("show global status like 'Com_stmt_execute'")?;
        Ok(row.map_or(0, |(_, count)| count))
    }
}

/// A key, a text, a text with values if there is one, and what was counted.
type Row = (String, Option<String>, Option<String>, String);

fn counted((key, text, sample, counted): Row) -> Counted {
    let mut numbers = counted.split(' ').map(|number| number.parse().unwrap_or(0.0));
    Counted {
        key,
        values: sample.as_deref().map_or(Values::LeftOut, values_in),
        text: sample.or_else(|| text.map(without_execute)).unwrap_or_default(),
        calls: numbers.next().unwrap_or(0.0),
        total_ms: numbers.next().unwrap_or(0.0),
    }
}

/// What stands in a text that was executed in place of its values: what was prepared is kept as it was prepared.
fn values_in(text: &str) -> Values {
    match MyStatement::placeholder_count(text.as_bytes()) {
        0 => Values::Given,
        _ => Values::Marked,
    }
}

/// MySQL (9.7) puts this before the digest of what was prepared. A statement that somebody executed by its name has the
/// name there, quoted.
fn without_execute(digest: String) -> String {
    match digest.strip_prefix("EXECUTE ") {
        Some(prepared) if !prepared.starts_with('`') => prepared.to_owned(),
        _ => digest,
    }
}

/// A digest of MariaDB's in which tables are called by their names: one that is also a keyword is in capitals there,
/// without quotes, and so would be another table.
fn with_names(digest: &str, tables: &[String]) -> String {
    let mut words: Vec<Cow<'_, str>> = digest.split(' ').map(Cow::Borrowed).collect();
    for place in 1..words.len() {
        let is_of_table = ["FROM", "JOIN", "INTO", "UPDATE", ","].contains(&words[place - 1].as_ref());
        let table = tables.iter().find(|table| table.to_uppercase() == words[place]);
        if let Some(table) = table.filter(|_| is_of_table) {
            words[place] = Cow::Owned(format!("`{table}`"));
        }
    }
    words.join(" ")
}

/// Keeps a text for each digest that a session executes or has executed last.
fn look_at_sessions(client: &mut Client, seen: &mut HashMap<String, String>) -> Result<(), ClientError> {
    let rows: Vec<(String, String)> = client.query(
        "select digest, sql_text from performance_schema.events_statements_current where digest is not null and \
         current_schema = database() and octet_length(sql_text) < @@performance_schema_max_sql_text_length",
    )?;
    for (digest, text) in rows {
        seen.entry(digest).or_insert(text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_a_digest_have_their_names() {
        let tables = ["account", "Time", "city"].map(str::to_owned);
        for (digest, expected) in [
            (
                "SELECT `name` FROM ACCOUNT WHERE `id` = ?",
                "SELECT `name` FROM `account` WHERE `id` = ?",
            ),
            ("UPDATE TIME SET TIME = ?", "UPDATE `Time` SET TIME = ?"),
            ("SELECT ACCOUNT , `b` FROM `city`", "SELECT ACCOUNT , `b` FROM `city`"),
        ] {
            assert_eq!(with_names(digest, &tables), expected);
        }
    }

    #[test]
    fn what_was_prepared_is_not_executed_by_name() {
        assert_eq!(without_execute("EXECUTE SELECT ?".to_owned()), "SELECT ?");
        assert_eq!(without_execute("EXECUTE `one`".to_owned()), "EXECUTE `one`");
        assert_eq!(values_in("select '?'"), Values::Given);
        assert_eq!(values_in("select ?"), Values::Marked);
    }
}
