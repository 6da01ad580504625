//! What each statement cost over the whole run, from the performance schema if the server counts it there:
//! `statements.csv`.
//!
//! The table is large, so it is read twice only: before and after.

use super::link::{Link, OwnSessions};
use crate::mysql::address::ConnectionInfo;
use crate::mysql::{Client, ClientError};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use crate::target::statement_without_secrets;
use dyno_record::{Meaning, Series, Value};
use std::collections::HashMap;
use std::time::Duration;

/// How many statements are kept, those that took the most time.
const MOST: usize = 100;

/// How much of a statement's text is kept, in characters.
const TEXT: usize = 1_000;

/// The columns after the statement, with how each comes from the server's table, and what it means. Times are
/// picoseconds there.
const COLUMNS: [(&str, &str, Option<Meaning>); 10] = [
    ("count_star", "count_star", Some(Meaning::Calls)),
    ("sum_timer_wait_ms", "sum_timer_wait / 1e9", Some(Meaning::ExecutionMs)),
    ("rows", "sum_rows_sent + sum_rows_affected", Some(Meaning::Rows)),
    ("sum_lock_time_ms", "sum_lock_time / 1e9", None),
    ("sum_errors", "sum_errors", None),
    ("sum_warnings", "sum_warnings", None),
    ("sum_rows_examined", "sum_rows_examined", None),
    ("sum_created_tmp_disk_tables", "sum_created_tmp_disk_tables", None),
    ("sum_sort_rows", "sum_sort_rows", None),
    ("sum_no_index_used", "sum_no_index_used", None),
];

/// Which of them is how often, and which the time.
const CALLS: usize = 0;
const TIME: usize = 1;

/// Reads the statistics of all statements before and after.
pub(super) struct StatementsSampler {
    link: Link,
    series: Series,
    query: String,
    /// By digest.
    before: HashMap<String, Vec<f64>>,
}

/// A statement's digest, its text and what was counted.
type Entry = (String, String, Vec<f64>);

impl StatementsSampler {
    /// Those of the load's database. What was counted before is read now.
    pub(super) fn new(info: &ConnectionInfo, own: &OwnSessions) -> Result<Self, SampleError> {
        let numbers = COLUMNS.map(|(_, source, _)| format!("coalesce({source}, 0)"));
        let database = match info.database.as_str() {
            "" => "schema_name is null".to_owned(),
            database => format!("schema_name = '{}'", database.replace('\'', "''")),
        };
        let names = std::iter::once("query").chain(COLUMNS.iter().map(|(name, ..)| *name));
        let meanings = COLUMNS
            .iter()
            .filter_map(|(name, _, meaning)| Some((*name, (*meaning)?)));
        let mut sampler = Self {
            link: Link::new(info, own),
            series: Series::new("statements.csv", names).meaning(meanings),
            query: format!(
                "select digest, left(digest_text, {TEXT}), concat_ws(' ', {})
                   from performance_schema.events_statements_summary_by_digest
                  where digest is not null and {database}",
                numbers.join(", ")
            ),
            before: HashMap::new(),
        };
        let entries = sampler.read()?;
        sampler.before = entries
            .into_iter()
            .map(|(digest, _, counted)| (digest, counted))
            .collect();
        Ok(sampler)
    }

    fn read(&mut self) -> Result<Vec<Entry>, SampleError> {
        let query = &self.query;
        let read =
            |client: &mut Client| -> Result<Vec<(String, Option<String>, String)>, ClientError> { client.query(query) };
        let rows = self.link.with(read)?.into_iter();
        let numbers = |text: &str| text.split(' ').map(|number| number.parse().unwrap_or(0.0)).collect();
        Ok(rows
            .map(|(digest, text, counted)| (digest, text.unwrap_or_default(), numbers(&counted)))
            .collect())
    }
}

/// What was counted since `before`. If the statistics were reset meanwhile, counting has begun anew.
fn since(now: &[f64], before: Option<&Vec<f64>>) -> Vec<f64> {
    match before {
        Some(before) if now.iter().zip(before).all(|(now, before)| now >= before) => {
            now.iter().zip(before).map(|(now, before)| now - before).collect()
        }
        _ => now.to_vec(),
    }
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
        let entries = self.read()?.into_iter();
        let mut entries: Vec<(String, Vec<f64>)> = entries
            .map(|(digest, text, now)| (text, since(&now, self.before.get(&digest))))
            .filter(|(_, counted)| counted.get(CALLS).is_some_and(|calls| *calls > 0.0))
            .collect();
        let time = |entry: &(String, Vec<f64>)| entry.1.get(TIME).copied().unwrap_or(0.0);
        entries.sort_by(|one, other| time(other).total_cmp(&time(one)));
        for (text, counted) in entries.into_iter().take(MOST) {
            // Constants are left out of digests, but not everywhere.
            let text = statement_without_secrets(&text).to_owned();
            let values: Vec<Value> = std::iter::once(Value::Text(text))
                .chain(counted.into_iter().map(Value::Number))
                .collect();
            sink.row(moment, &self.series, &values);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reset_is_not_subtracted_from() {
        let before = vec![10.0, 5.0];
        assert_eq!(since(&[12.0, 9.0], Some(&before)), [2.0, 4.0]);
        assert_eq!(since(&[3.0, 9.0], Some(&before)), [3.0, 9.0]);
        assert_eq!(since(&[3.0, 9.0], None), [3.0, 9.0]);
    }
}
