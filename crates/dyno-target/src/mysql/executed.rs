//! What the server counts of statements in its performance schema.

use super::address::ConnectionInfo;
use super::error::cannot;
use super::{Client, connect_until};
use crate::target::{Counted, Executed, StopFlag, TargetError, between, wait};
use std::time::Duration;

/// Nothing is counted.
#[derive(Debug, thiserror::Error)]
#[error(
    "the server counts no statements: start it with performance_schema = ON, and enable statements_digest in \
     performance_schema.setup_consumers"
)]
struct NotCounted;

/// Those of this database from now on, for so long.
pub(super) fn executed(info: &ConnectionInfo, lasts: Duration, stop: &StopFlag) -> Result<Vec<Executed>, TargetError> {
    let mut client = connect_until(info, stop)?;
    let query = query(&mut client)?;
    // What is asked from here on is not to be found in what is read.
    let before = read(&mut client, &query)?;
    wait(lasts, stop);
    Ok(between(before, read(&mut client, &query)?))
}

/// What reads the statistics.
fn query(client: &mut Client) -> Result<String, TargetError> {
    let failed = || cannot("read the statistics of statements");
    let counts: Option<String> = client
        .query_first("select cast(@@performance_schema as char)")
        .map_err(failed())?;
    if counts.as_deref() != Some("1") {
        return Err(TargetError::other(NotCounted));
    }
    // MySQL 8 keeps one execution with its values.
    let sample: Option<u64> = client
        .query_first(
            "select count(*) from information_schema.columns where table_schema = 'performance_schema' and \
             table_name = 'events_statements_summary_by_digest' and column_name = 'QUERY_SAMPLE_TEXT'",
        )
        .map_err(failed())?;
    let text = match sample {
        Some(1..) => "coalesce(nullif(query_sample_text, ''), digest_text)",
        _ => "digest_text",
    };
    Ok(format!(
        "select digest, {text}, concat_ws(' ', count_star, sum_timer_wait / 1e9) from \
         performance_schema.events_statements_summary_by_digest where digest is not null and schema_name = database() \
         and digest_text not like '%performance_schema%'"
    ))
}

fn read(client: &mut Client, query: &str) -> Result<Vec<Counted>, TargetError> {
    let rows: Vec<(String, Option<String>, String)> = client
        .query(query)
        .map_err(cannot("read the statistics of statements"))?;
    let counted = rows.into_iter().map(|(digest, text, counted)| {
        let mut numbers = counted.split(' ').map(|number| number.parse().unwrap_or(0.0));
        let counted = [numbers.next().unwrap_or(0.0), numbers.next().unwrap_or(0.0)];
        (digest, text.unwrap_or_default(), counted)
    });
    Ok(counted.collect())
}
