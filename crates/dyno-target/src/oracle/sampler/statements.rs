//! What each statement cost over the whole run, as the server counts it in `v$sqlstats`: `statements.csv`.
//!
//! No pack is needed for that view, and it keeps what the library cache has given up already. It says of no statement
//! whose it is, so the library cache is asked for that (`v$sql`). Both are large, so they are read twice only: before
//! and after. Texts that differ in their literals only are counted together, by the signature that the server gives
//! them for that; blocks of PL/SQL have none. 12.1 has all columns that are read here.

use super::link::Link;
use crate::oracle::address::ConnectionInfo;
use crate::oracle::client::BESIDE;
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use crate::target::statement_without_secrets;
use dyno_record::{Meaning, Series, Value};
use std::collections::HashMap;
use std::time::Duration;

/// How many statements are kept, those that took the most time.
const MOST: usize = 100;

/// More are not even read: a client that writes values into its texts has the server keep one for each.
const MOST_READ: usize = 2_000;

/// The columns after the statement, with how each comes from the view, and what it means. Times are microseconds there.
const COLUMNS: [(&str, &str, Option<Meaning>); 14] = [
    ("executions", "s.executions", Some(Meaning::Calls)),
    ("elapsed_time_ms", "s.elapsed_time / 1000", Some(Meaning::ExecutionMs)),
    ("cpu_time_ms", "s.cpu_time / 1000", Some(Meaning::StatementCpuMs)),
    ("rows_processed", "s.rows_processed", Some(Meaning::Rows)),
    ("buffer_gets", "s.buffer_gets", None),
    ("disk_reads", "s.disk_reads", Some(Meaning::StatementPagesRead)),
    ("direct_writes", "s.direct_writes", None),
    ("parse_calls", "s.parse_calls", None),
    ("fetches", "s.fetches", None),
    ("sorts", "s.sorts", None),
    ("application_wait_time_ms", "s.application_wait_time / 1000", None),
    ("concurrency_wait_time_ms", "s.concurrency_wait_time / 1000", None),
    ("cluster_wait_time_ms", "s.cluster_wait_time / 1000", None),
    ("user_io_wait_time_ms", "s.user_io_wait_time / 1000", None),
];

/// Which of them is how often, and which the time.
const CALLS: usize = 0;
const TIME: usize = 1;

/// Reads the statistics of all statements before and after.
pub(super) struct StatementsSampler {
    link: Link,
    series: Series,
    query: String,
    /// By what texts are known by.
    before: HashMap<String, Vec<f64>>,
}

/// What texts are known by, one of them, and what was counted.
type Entry = (String, String, Vec<f64>);

impl StatementsSampler {
    /// Those of the load's user. What was counted before is read now.
    ///
    /// # Errors
    /// This user may not read it, or the server does not answer.
    pub(super) fn new(info: &ConnectionInfo) -> Result<Self, SampleError> {
        let names = std::iter::once("query").chain(COLUMNS.iter().map(|(name, ..)| *name));
        let meanings = COLUMNS
            .iter()
            .filter_map(|(name, _, meaning)| Some((*name, (*meaning)?)));
        let mut sampler = Self {
            link: Link::new(info),
            series: Series::new("statements.csv", names).meaning(meanings),
            query: query(&info.schema()),
            before: HashMap::new(),
        };
        let entries = sampler.read()?.into_iter();
        sampler.before = entries.map(|(key, _, counted)| (key, counted)).collect();
        Ok(sampler)
    }

    fn read(&mut self) -> Result<Vec<Entry>, SampleError> {
        let query = &self.query;
        let answer = self.link.with(|client| client.answer(query, &[], MOST_READ, None))?;
        Ok(answer.rows.iter().filter_map(|row| entry(row)).collect())
    }
}

/// What the statements of a user cost, most first, but for those beside the load: what a text is known by, the first of
/// those that are known by it, and the numbers.
fn query(user: &str) -> String {
    let key = "case when s.force_matching_signature = 0 then s.sql_id else to_char(s.force_matching_signature) end";
    let numbers = COLUMNS.map(|(_, source, _)| format!("sum({source})"));
    let user = user.replace('\'', "''");
    format!(
        "select {key}, min(s.sql_text), {} from v$sqlstats s where s.sql_id in (select q.sql_id from v$sql q where \
         q.parsing_schema_name = '{user}' and coalesce(q.module, '-') <> '{BESIDE}') group by {key} order by \
         sum(s.elapsed_time) desc",
        numbers.join(", ")
    )
}

/// What a row of the answer says.
fn entry(row: &[Option<String>]) -> Option<Entry> {
    let text = |index: usize| row.get(index)?.clone();
    let numbers = (2..row.len()).map(|index| text(index)?.parse().ok());
    let numbers = numbers.map(|number: Option<f64>| number.unwrap_or(0.0)).collect();
    Some((text(0)?, text(1).unwrap_or_default(), numbers))
}

/// What was counted since `before`. If the server has forgotten some of it meanwhile, counting has begun anew.
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
            .map(|(key, text, now)| (text, since(&now, self.before.get(&key))))
            .filter(|(_, counted)| counted.get(CALLS).is_some_and(|calls| *calls > 0.0))
            .collect();
        let time = |entry: &(String, Vec<f64>)| entry.1.get(TIME).copied().unwrap_or(0.0);
        entries.sort_by(|one, other| time(other).total_cmp(&time(one)));
        for (text, counted) in entries.into_iter().take(MOST) {
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
    fn statements_of_the_user_are_asked_for_and_none_of_those_beside_the_load() {
        let asked = query("O'NEIL");
        assert!(
            asked.contains("q.parsing_schema_name = 'O''NEIL' and coalesce(q.module, '-') <> 'dyno beside the load'"),
            "{asked}"
        );
    }

    #[test]
    fn what_was_forgotten_meanwhile_is_not_subtracted_from() {
        let row = ["7", "select 1", "12", "9"].map(|value| Some(value.to_owned()));
        let (key, text, now) = entry(&row).unwrap();
        assert_eq!((key.as_str(), text.as_str()), ("7", "select 1"));
        assert_eq!(since(&now, Some(&vec![10.0, 5.0])), [2.0, 4.0]);
        assert_eq!(since(&now, Some(&vec![13.0, 5.0])), [12.0, 9.0]);
        assert_eq!(entry(&[None, None]), None);
    }
}
