//! How Oracle would execute statements: EXPLAIN PLAN, which writes the steps to a table of the session's own that every
//! database has (`plan_table`), and the text that `dbms_xplan` makes of it. Nothing is executed.

use super::rights::{is_denied, refusable};
use super::statement::{sent, shown};
use super::{Client, ClientError};
use crate::plans::{MOST_ANSWER_BYTES, MOST_STEPS, clipped, unfit};
use crate::target::{ToExplain, first_word};
use dyno_record::{AskedWith, Explained, PlanStep, QueryPlan};
use std::collections::BTreeMap;
use std::time::Duration;

/// What EXPLAIN PLAN takes and a client may send.
const EXPLAINED: [&str; 6] = ["select", "with", "insert", "update", "delete", "merge"];

/// By this the steps are told from others in the table.
const ID: &str = "dyno";

/// The steps, each with how deep it is. All of these columns are there since 12.1 and before.
const STEPS: &str = "select depth, operation, options, object_name, object_alias, object_type, cost, cardinality, \
                     substr(access_predicates, 1, 2000), substr(filter_predicates, 1, 2000) from plan_table where \
                     statement_id = 'dyno' order by id";

const TEXT: &str = "select plan_table_output from table(dbms_xplan.display(null, 'dyno', 'TYPICAL'))";

/// How long it may take for one statement.
const LIMIT: Duration = Duration::from_secs(10);

/// Asks for the plan of each statement.
///
/// # Errors
/// The connection is broken.
pub(super) fn explain(client: &mut Client, statements: &[ToExplain]) -> Result<Vec<Explained>, ClientError> {
    statements.iter().map(|statement| one(client, statement)).collect()
}

fn one(client: &mut Client, statement: &ToExplain) -> Result<Explained, ClientError> {
    // EXPLAIN PLAN looks at no bind's value and takes all for texts, so the values that clients send say more.
    let filled = statement.filled.as_ref();
    let filled = filled.map(|text| ((text.clone(), 0), statement.filled_with()));
    let parameterized = statement.parameterized.as_ref();
    let parameterized = parameterized.map(|text| (with_binds(text), AskedWith::Parameters));
    let mut came = Explained::NotAsked("its text is not known".to_owned());
    for ((text, binds), asked_with) in filled.into_iter().chain(parameterized) {
        came = told(client, &text, binds, asked_with)?;
        if !matches!(came, Explained::Refused(_)) {
            break;
        }
    }
    Ok(came)
}

/// A text with `$1`, `$2`, … in the form in which the server has parameters, and how many there are.
fn with_binds(text: &str) -> (String, usize) {
    let mut bound = String::with_capacity(text.len());
    let mut number = 0;
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let in_name = before.ends_with(|last: char| last.is_alphanumeric() || "_$#".contains(last));
        let is_number = after.starts_with(|first: char| first.is_ascii_digit());
        bound.push_str(before);
        bound.push(if is_number && !in_name { ':' } else { '$' });
        number += usize::from(is_number && !in_name);
        rest = after;
    }
    (bound + rest, number)
}

fn told(client: &mut Client, text: &str, binds: usize, asked_with: AskedWith) -> Result<Explained, ClientError> {
    if !EXPLAINED.contains(&first_word(text, &["--"]).as_str()) {
        return Ok(Explained::HasNone);
    }
    if let Some(why) = unfit(text) {
        return Ok(Explained::NotAsked(why));
    }
    let asked = ask(client, text, binds, asked_with);
    refusable(client.rollback())?.ok();
    Ok(match refusable(asked)? {
        Ok(Ok(plan)) => Explained::Plan(plan),
        Ok(Err(why)) => Explained::Refused(why),
        Err(error) if is_denied(&error) && error.code() == Some(1031) => Explained::Denied(error.to_string()),
        Err(error) => Explained::Refused(error.to_string()),
    })
}

fn ask(
    client: &mut Client,
    text: &str,
    binds: usize,
    asked_with: AskedWith,
) -> Result<Result<QueryPlan, String>, ClientError> {
    refusable(client.begin(&format!("delete from plan_table where statement_id = '{ID}'")))?.ok();
    let explain = format!("explain plan set statement_id = '{ID}' for {}", sent(text));
    client.begin_with(&explain, &vec!["1"; binds])?;
    let rows = client.answer(STEPS, &[], MOST_STEPS + 1, Some(LIMIT))?.rows;
    if rows.len() > MOST_STEPS {
        return Ok(Err(format!("its plan has more than {MOST_STEPS} steps")));
    }
    let steps: Vec<PlanStep> = rows.iter().filter_map(|row| step(row)).collect();
    if steps.is_empty() {
        return Ok(Err("the server wrote no plan into plan_table".to_owned()));
    }
    let text = refusable(client.answer(TEXT, &[], MOST_STEPS * 10, Some(LIMIT)))?;
    let answer = text.ok().map(|text| {
        let lines = text
            .rows
            .into_iter()
            .map(|row| row.into_iter().flatten().collect::<String>());
        lines.collect::<Vec<_>>().join("\n")
    });
    Ok(Ok(QueryPlan {
        steps: from_one_below_the_other(steps),
        asked_with,
        answer: answer.filter(|text| !text.is_empty() && text.len() <= MOST_ANSWER_BYTES),
    }))
}

/// A step of these values, in the order of [`STEPS`].
fn step(row: &[Option<String>]) -> Option<PlanStep> {
    let text = |index: usize| row.get(index)?.as_deref();
    let number = |index: usize| text(index)?.parse::<f64>().ok().filter(|number| number.is_finite());
    let options = text(2).map_or_else(String::new, |options| format!(" {options}"));
    let name = text(3).map(|name| clipped(&shown(name)));
    let is_index = text(5).is_some_and(|kind| kind.starts_with("INDEX"));
    let details = [("access", text(8)), ("filter", text(9))].into_iter();
    let details: BTreeMap<String, String> = details
        .filter_map(|(name, value)| Some((name.to_owned(), clipped(value?))))
        .collect();
    Some(PlanStep {
        depth: text(0)?.parse().ok()?,
        step: clipped(&format!("{}{options}", text(1)?).to_lowercase()),
        on: if is_index { None } else { name.clone() },
        index: if is_index { name } else { None },
        remote: None,
        details,
        rows: number(7),
        cost: number(6),
    })
}

/// The steps with depths that begin with 0 and grow by one at most, whatever the server says.
fn from_one_below_the_other(mut steps: Vec<PlanStep>) -> Vec<PlanStep> {
    let mut deepest = 0;
    for step in &mut steps {
        step.depth = step.depth.min(deepest);
        deepest = step.depth + 1;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_binds_and_names_stay() {
        let bound = "select :1, v$session.a$2, :12".to_owned();
        assert_eq!(with_binds("select $1, v$session.a$2, $12"), (bound, 2));
    }

    #[test]
    fn a_step_is_read_from_its_columns() {
        let row = |values: &[Option<&str>]| values.iter().map(|value| value.map(str::to_owned)).collect::<Vec<_>>();
        let read = step(&row(&[
            Some("2"),
            Some("INDEX"),
            Some("UNIQUE SCAN"),
            Some("TBL_PK"),
            Some("TBL@SEL$1"),
            Some("INDEX (UNIQUE)"),
            Some("1"),
            Some("1"),
            Some("\"ID\"=:1"),
            None,
        ]));
        let read = read.unwrap();
        assert_eq!(read.words(), "index unique scan using tbl_pk");
        assert_eq!(
            (read.depth, read.cost, read.details["access"].as_str()),
            (2, Some(1.0), "\"ID\"=:1")
        );
        let depths = from_one_below_the_other(vec![read.clone(), read])
            .into_iter()
            .map(|step| step.depth);
        assert_eq!(depths.collect::<Vec<_>>(), [0, 1]);
        assert_eq!(step(&row(&[None])), None);
    }
}
