//! What the server counts of statements in `pg_stat_statements`.

use super::Client;
use super::address::ConnectionInfo;
use super::server_message;
use crate::target::{Counted, Executed, StopFlag, TargetError, Values, between, wait};
use std::time::Duration;

/// What the view has in place of a text that the role may not see.
const HIDDEN: &str = "<insufficient privilege>";

/// Its statistics cannot be had.
#[derive(Debug, thiserror::Error)]
enum ExecutedError {
    #[error(
        "the database has no extension pg_stat_statements, which counts what is executed: put it into \
         shared_preload_libraries, restart the server, and create extension pg_stat_statements"
    )]
    Missing,
    #[error("this role may not see the statements of others: grant pg_read_all_stats to it")]
    Hidden,
    #[error("cannot read pg_stat_statements: {0}")]
    Refused(String),
}

fn refused(error: &postgres::Error) -> TargetError {
    TargetError::other(ExecutedError::Refused(server_message(error)))
}

/// Those of this database from now on, for so long.
pub(super) fn executed(info: &ConnectionInfo, lasts: Duration, stop: &StopFlag) -> Result<Executed, TargetError> {
    let mut client = info.connect_to_ask(stop)?;
    let place = client.query_opt(
        "select format('%I.pg_stat_statements', n.nspname) from pg_extension e join pg_namespace n on n.oid = \
         e.extnamespace where e.extname = 'pg_stat_statements'",
        &[],
    );
    let Some(row) = place.map_err(|error| refused(&error))? else {
        return Err(TargetError::other(ExecutedError::Missing));
    };
    let view: String = row.get(0);
    let query = query(&mut client, &view)?;
    // What is asked from here on is not to be found in what is read.
    let before = read(&mut client, &query)?;
    let lasts = wait(lasts, stop, || Ok(()))?;
    let mut statements = between(before, read(&mut client, &query)?);
    if statements.iter().any(|statement| statement.text == HIDDEN) {
        return Err(TargetError::other(ExecutedError::Hidden));
    }
    for statement in &mut statements {
        if let Values::Numbered(types) = &mut statement.values {
            // What was a literal of a type has a number there, which is no SQL any more.
            let texts = [statement.text.clone(), cast(&statement.text)];
            if let Some((text, known)) = texts.into_iter().find_map(|text| typed(&mut client, text)) {
                (statement.text, *types) = (text, known);
            }
        }
    }
    Ok(Executed {
        statements,
        lasts,
        uncounted: 0,
    })
}

/// What reads the view.
fn query(client: &mut Client, view: &str) -> Result<String, TargetError> {
    // Version 13 renamed the time.
    let time = client
        .query_one(
            "select count(*) from pg_attribute where attrelid = $1::text::regclass and attname = 'total_exec_time'",
            &[&view],
        )
        .map_err(|error| refused(&error))?;
    let time = match time.get::<_, i64>(0) {
        0 => "total_time",
        _ => "total_exec_time",
    };
    Ok(format!(
        "select concat_ws(' ', userid, queryid), query, calls::float8, {time}::float8, \
         current_setting('server_version_num')::int >= 100000 from {view} where dbid = (select \
         oid from pg_database where datname = current_database()) and query not like '%pg_stat_statements%'"
    ))
}

fn read(client: &mut Client, query: &str) -> Result<Vec<Counted>, TargetError> {
    let rows = client.query(query, &[]);
    let rows = rows.map_err(|error| refused(&error))?.into_iter();
    let counted = |row: postgres::Row| Counted {
        key: row.get(0),
        text: row.get(1),
        // Before version 10, places of values had no numbers.
        values: match row.get(4) {
            true => Values::Numbered(Vec::new()),
            false => Values::Marked,
        },
        calls: row.get(2),
        total_ms: row.get(3),
    };
    Ok(rows.map(counted).collect())
}

/// A statement with the types of its parameters; nothing if the server does not understand it.
fn typed(client: &mut Client, text: String) -> Option<(String, Vec<String>)> {
    let prepared = client.prepare(&text).ok()?;
    let types = prepared.params().iter().map(|kind| kind.name().to_owned()).collect();
    Some((text, types))
}

/// A text in which what stood before a literal, such as `date $1`, is a cast of its place.
fn cast(text: &str) -> String {
    const TYPES: [&str; 5] = ["date", "time", "timestamp", "timestamptz", "interval"];
    let mut written = String::with_capacity(text.len());
    let mut parts = text.split('$');
    written.extend(parts.next());
    for part in parts {
        let before = written.trim_end();
        let start = before
            .trim_end_matches(|one: char| one.is_ascii_alphanumeric() || one == '_')
            .len();
        let word = before[start..].to_lowercase();
        let digits = part.len() - part.trim_start_matches(|one: char| one.is_ascii_digit()).len();
        let is_literal = digits > 0 && before.len() < written.len() && TYPES.contains(&word.as_str());
        let (number, rest) = part.split_at(digits);
        match is_literal {
            true => {
                written.truncate(start);
                written.push_str(&format!("${number}::{word}{rest}"));
            }
            false => {
                written.push('$');
                written.push_str(part);
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_a_literal_of_a_type_is_cast() {
        for (text, expected) in [
            ("select date $1", "select $1::date"),
            (
                "select * from t where at > Timestamp  $1 - interval $2 and id = $3",
                "select * from t where at > $1::timestamp - $2::interval and id = $3",
            ),
            ("select $1, update $2, a_date $3", "select $1, update $2, a_date $3"),
            ("select date $x, é $1, é date $2", "select date $x, é $1, é $2::date"),
        ] {
            assert_eq!(cast(text), expected);
        }
    }
}
