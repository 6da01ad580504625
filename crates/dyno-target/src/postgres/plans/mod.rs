//! How PostgreSQL would execute statements: EXPLAIN, never with ANALYZE.
//!
//! A statement may be several joined by semicolons, of which EXPLAIN would explain the first and the server execute the
//! others. So the server itself is asked first whether it is one, by having it prepare the whole, which it does for a
//! single command only. Beside that, all of it happens in transactions that only read and are rolled back.

mod decode;

use crate::plans::unfit;
use crate::postgres::{Client, server_message};
use crate::target::{ToExplain, first_word};
use decode::decode;
use dyno_record::{AskedWith, Explained};
use postgres::SimpleQueryMessage;
use postgres::error::SqlState;

/// From this version on the server has plans that serve all values of parameters
/// (PostgreSQL 16, "EXPLAIN", `GENERIC_PLAN`).
const GENERIC_PLANS: i32 = 160_000;

/// Locks are not waited for: what is measured may hold them, or wait behind us.
const BEGIN: &str = "begin transaction read only; set local lock_timeout = '500ms'; set local statement_timeout = '1s'";

/// What EXPLAIN takes and a client may send (PostgreSQL, "EXPLAIN"). What makes a table or a cursor is left out.
const EXPLAINED: [&str; 8] = [
    "select", "insert", "update", "delete", "merge", "values", "with", "table",
];

/// Asks for the plan of each statement.
///
/// # Errors
/// The connection is broken.
pub(super) fn explain(client: &mut Client, statements: &[ToExplain]) -> Result<Vec<Explained>, postgres::Error> {
    let version: String = client.query_one("show server_version_num", &[])?.get(0);
    let has_generic_plans = version.parse().is_ok_and(|version: i32| version >= GENERIC_PLANS);
    let each = statements.iter().map(|statement| {
        let generic = statement.parameterized.as_deref().filter(|_| has_generic_plans);
        let generic = generic.map(|text| (text, AskedWith::Parameters));
        let filled = statement.filled.as_deref().map(|text| (text, statement.filled_with()));
        one(client, generic.into_iter().chain(filled))
    });
    each.collect()
}

/// Asks for one plan with each of these texts until the server gives it.
fn one<'a>(
    client: &mut Client,
    texts: impl Iterator<Item = (&'a str, AskedWith)>,
) -> Result<Explained, postgres::Error> {
    let mut refused = None;
    for (text, asked_with) in texts {
        if !EXPLAINED.contains(&first_word(text, &["--"]).as_str()) {
            return Ok(Explained::HasNone);
        }
        if let Some(why) = unfit(text) {
            return Ok(Explained::NotAsked(why));
        }
        let asked = client.batch_execute(BEGIN).and_then(|()| ask(client, text, asked_with));
        match asked {
            Ok(answer) => {
                client.batch_execute("rollback")?;
                match decode(&answer, asked_with) {
                    Ok(plan) => return Ok(Explained::Plan(plan)),
                    Err(why) => refused = Some(why),
                }
            }
            Err(error) if error.as_db_error().is_some() => {
                client.batch_execute("rollback")?;
                if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
                    return Ok(Explained::Denied(server_message(&error)));
                }
                refused = Some(server_message(&error));
            }
            Err(lost) => return Err(lost),
        }
    }
    Ok(match refused {
        Some(why) => Explained::Refused(why),
        None => Explained::NotAsked("its values come from other statements' results".to_owned()),
    })
}

/// The server's answer, in a transaction that has begun.
fn ask(client: &mut Client, text: &str, asked_with: AskedWith) -> Result<String, postgres::Error> {
    let text = text.trim_end().trim_end_matches(';');
    let generic = if asked_with == AskedWith::Parameters {
        ", generic_plan"
    } else {
        ""
    };
    let query = format!("explain (verbose{generic}, format json) {text}");
    client.prepare(&query)?;
    let said = client.simple_query(&query)?;
    let lines = said.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}
