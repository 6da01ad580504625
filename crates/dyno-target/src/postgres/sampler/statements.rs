//! What each statement cost over the whole run, from the extension `pg_stat_statements` if the database has it:
//! `statements.csv`.
//!
//! The view is large, so it is read twice only: before and after.

use super::link::{Link, quiet};
use super::server::number_columns;
use crate::patience::SAMPLE;
use crate::postgres::Client;
use crate::postgres::address::ConnectionInfo;
use crate::postgres::scope::Scope;
use crate::postgres::server_message;
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use crate::target::statement_without_secrets;
use dyno_record::{Meaning, Series, Value};
use std::collections::HashMap;
use std::time::Duration;

/// How many statements are kept, those that took the most time.
const MOST: usize = 100;

/// How much of a statement's text is kept, in characters.
const TEXT: usize = 1_000;

/// What columns mean. Version 13 of the server renamed the time.
const MEANINGS: [(&str, Meaning); 10] = [
    ("calls", Meaning::Calls),
    ("total_exec_time", Meaning::ExecutionMs),
    ("total_time", Meaning::ExecutionMs),
    ("rows", Meaning::Rows),
    ("shared_blks_hit", Meaning::StatementPagesHit),
    ("shared_blks_read", Meaning::StatementPagesRead),
    ("shared_blks_dirtied", Meaning::StatementPagesDirtied),
    ("wal_records", Meaning::StatementLogRecords),
    ("wal_fpi", Meaning::StatementLogPageImages),
    ("wal_bytes", Meaning::StatementLogBytes),
];

/// Reads the statistics of all statements before and after.
pub(super) struct StatementsSampler {
    link: Link<()>,
    series: Series,
    query: String,
    before: HashMap<Key, Counted>,
    /// Which number statements are sorted by.
    time: Option<usize>,
    calls: Option<usize>,
}

/// Who ran which statement.
type Key = (i64, i64, bool);

/// What was counted of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counted {
    /// Since when, in seconds since 1970; known from version 17 on.
    since_s: Option<f64>,
    numbers: Vec<f64>,
}

impl Counted {
    /// Takes away what was counted `before` already. Gives back whether it was: if the statistics were reset
    /// meanwhile, or the statement was dropped from them and came again, counting has begun anew.
    fn subtract(&mut self, before: &Self) -> bool {
        let pairs = || self.numbers.iter().zip(&before.numbers);
        let goes_on = self.since_s == before.since_s && pairs().all(|(now, before)| now >= before);
        if goes_on {
            self.numbers = pairs().map(|(now, before)| now - before).collect();
        }
        goes_on
    }
}

/// A statement's key, its text and what was counted.
type Entry = (Key, String, Counted);

impl StatementsSampler {
    /// None if the database does not have the extension.
    pub(super) fn new(
        info: &ConnectionInfo,
        scope: &Scope,
        client: &mut Client,
        version: u32,
    ) -> Result<Option<Self>, String> {
        let said = |error: postgres::Error| server_message(&error);
        let place = client.query_opt(
            "select format('%I.pg_stat_statements', n.nspname) from pg_extension e join pg_namespace n on n.oid = \
             e.extnamespace
              where e.extname = 'pg_stat_statements'",
            &[],
        );
        let Some(row) = place.map_err(said)? else {
            return Ok(None);
        };
        let view: String = row.get(0);
        let columns: Vec<String> = number_columns(client, &view).map_err(said)?;
        let columns: Vec<String> = columns.into_iter().filter(|column| is_cumulative(column)).collect();
        let numbers: Vec<String> = columns
            .iter()
            .map(|column| format!("coalesce({column}::float8, 0)"))
            .collect();
        let since = client.query_one(
            "select exists (select 1 from pg_attribute where attrelid = $1::text::regclass and attname = \
             'stats_since')",
            &[&view],
        );
        let since = match since.map_err(said)?.get(0) {
            true => "extract(epoch from stats_since)::float8",
            false => "null::float8",
        };
        // Nested statements are counted apart from version 14 on.
        let toplevel = if version >= 140_000 { "toplevel" } else { "true" };
        // Where others work, too, those of the load's role are the nearest that the view can tell.
        let whose = match scope {
            Scope::Database => "",
            _ => " and userid = (select oid from pg_roles where rolname = session_user)",
        };
        let query = format!(
            "select userid::int8, coalesce(queryid, 0)::int8, {toplevel}, left(query, {TEXT}), array[{}], {since}
               from {view} where dbid = (select oid from pg_database where datname = current_database()){whose}",
            numbers.join(", ")
        );
        let place = |names: [&str; 2]| columns.iter().position(|column| names.contains(&column.as_str()));
        let (time, calls) = (place(["total_exec_time", "total_time"]), place(["calls", "calls"]));
        let mut sampler = Self {
            link: Link::new(info, |_, _| Ok(())),
            series: Series::new("statements.csv", std::iter::once("query".to_owned()).chain(columns)).meaning(MEANINGS),
            query,
            before: HashMap::new(),
            time,
            calls,
        };
        let entries = sampler.read().map_err(|error| error.to_string())?;
        sampler.before = entries.into_iter().map(|(key, _, counted)| (key, counted)).collect();
        Ok(Some(sampler))
    }

    fn read(&mut self) -> Result<Vec<Entry>, SampleError> {
        let query = &self.query;
        let rows = self.link.with(|client, ()| client.query(query.as_str(), &[]))?;
        let read = |row: postgres::Row| -> Result<Entry, postgres::Error> {
            let text: Option<String> = row.try_get(3)?;
            let key = (
                row.try_get(0)?,
                row.try_get(1)?,
                row.try_get::<_, Option<bool>>(2)?.unwrap_or(true),
            );
            let counted = Counted {
                since_s: row.try_get(5)?,
                numbers: row.try_get(4)?,
            };
            Ok((key, text.unwrap_or_default(), counted))
        };
        let entries: Result<Vec<Entry>, _> = rows.into_iter().map(read).collect();
        entries.map_err(|error| SampleError(server_message(&error)))
    }
}

/// Whether differences of this number mean something: identities and extremes do not add up.
fn is_cumulative(column: &str) -> bool {
    let extreme = ["min_", "max_", "mean_", "stddev_"]
        .iter()
        .any(|begin| column.starts_with(begin));
    !extreme && !["userid", "dbid", "queryid"].contains(&column)
}

impl Sampler for StatementsSampler {
    fn subject(&self) -> &'static str {
        "the statistics of statements"
    }

    fn period(&self) -> Duration {
        Duration::MAX
    }

    fn asks_server(&self) -> bool {
        true
    }

    fn sample(&mut self, _: Moment, _: &mut dyn Sink) -> Result<(), SampleError> {
        Ok(())
    }

    fn finish(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let mut entries = self.read()?;
        let mut anew = false;
        for (key, _, counted) in &mut entries {
            anew |= self.before.get(key).is_some_and(|before| !counted.subtract(before));
        }
        if anew {
            sink.warn(
                "The statistics of statements were reset while the load ran, or some of them were dropped to make \
                 room: what those statements cost until then \
                 is not in statements.csv. Leave pg_stat_statements_reset() alone during a run, or raise \
                 pg_stat_statements.max."
                    .to_owned(),
            );
        }
        let figure = |entry: &Entry, index: Option<usize>| {
            index
                .and_then(|index| entry.2.numbers.get(index).copied())
                .unwrap_or(0.0)
        };
        entries.retain(|entry| figure(entry, self.calls) > 0.0);
        entries.sort_by(|a, b| figure(b, self.time).total_cmp(&figure(a, self.time)));
        for (_, text, counted) in entries.into_iter().take(MOST) {
            // The extension keeps commands as they were typed.
            let text = statement_without_secrets(&text).to_owned();
            let values: Vec<Value> = std::iter::once(Value::Text(text))
                .chain(counted.numbers.into_iter().map(Value::Number))
                .collect();
            sink.row(moment, &self.series, &values);
        }
        Ok(())
    }
}

/// Makes the sampler with what the server has to say against it as a sentence.
pub(super) fn sampler(info: &ConnectionInfo, scope: &Scope, warnings: &mut Vec<String>) -> Option<StatementsSampler> {
    let mut client = info.connect_with_patience(SAMPLE).ok()?;
    let version = quiet(&mut client).ok()?;
    StatementsSampler::new(info, scope, &mut client, version).unwrap_or_else(|error| {
        warnings.push(format!(
            "Statements are not sampled, although the extension pg_stat_statements is there: {error}. Load it with \
             shared_preload_libraries, or grant this role the right to read it."
        ));
        None
    })
}

/// Whether the connected database has the extension, from which this role can read.
///
/// # Errors
/// It has, but it cannot be read, for this reason.
pub(in crate::postgres) fn are_counted(
    info: &ConnectionInfo,
    client: &mut Client,
    version: u32,
) -> Result<bool, String> {
    StatementsSampler::new(info, &Scope::Database, client, version).map(|found| found.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reset_is_not_subtracted_from() {
        let counted = |since_s, numbers: [f64; 2]| Counted {
            since_s,
            numbers: numbers.to_vec(),
        };
        let before = counted(None, [10.0, 5.0]);
        let mut now = counted(None, [12.0, 9.0]);
        assert!(now.subtract(&before));
        assert_eq!(now, counted(None, [2.0, 4.0]));
        let mut reset = counted(None, [3.0, 9.0]);
        assert!(!reset.subtract(&before));
        assert_eq!(reset, counted(None, [3.0, 9.0]));
        // It came again and has grown beyond what it was.
        let mut again = counted(Some(70.0), [30.0, 9.0]);
        assert!(!again.subtract(&counted(Some(60.0), [10.0, 5.0])));
        assert_eq!(again, counted(Some(70.0), [30.0, 9.0]));
    }
}
