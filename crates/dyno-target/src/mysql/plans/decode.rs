//! The plans in JSON of MariaDB and MySQL as steps.
//!
//! Both nest blocks of queries, tables and what is done with their rows in one another, under names that differ between
//! servers and versions. What is a table, a block or a list is known; whatever else holds any of these is a step of its
//! own, under the server's name for it.

use crate::plans::{MOST_ANSWER_BYTES, MOST_STEPS, clipped};
use dyno_record::{AskedWith, PlanStep, QueryPlan};
use serde_json::{Map, Value};

/// What is told of a step beside its table and its index.
const DETAILS: [&str; 11] = [
    "attached_condition",
    "index_condition",
    "having_condition",
    "bka_cond",
    "mrr_type",
    "sort_key",
    "used_key_parts",
    "ref",
    "buffer_type",
    "join_type",
    "message",
];

/// What holds no steps.
const NO_STEPS: [&str; 6] = [
    "cost_info",
    "possible_keys",
    "used_columns",
    "used_key_parts",
    "ref",
    "partitions",
];

/// What is only there to hold others.
const FRAMES: [&str; 4] = ["query_block", "query_specifications", "inputs", "query_plan"];

/// A table of which nothing else is told.
pub(super) const TABLE: &str = "table";

/// Reads the answer to EXPLAIN FORMAT=JSON.
///
/// # Errors
/// It is none, in words.
pub(super) fn decode(answer: &str, asked_with: AskedWith) -> Result<QueryPlan, String> {
    let unread = |why: &str| format!("its answer cannot be read: {why}");
    let parsed: Value = serde_json::from_str(answer).map_err(|error| unread(&error.to_string()))?;
    let mut steps: Vec<PlanStep> = Vec::new();
    // What is still to be read, the next one last.
    let mut open = vec![(0, "query_block", &parsed)];
    while let Some((depth, name, value)) = open.pop() {
        match value {
            // One row after the other of these tables, if there are several.
            Value::Array(items) if name == "nested_loop" && items.len() > 1 => {
                steps.push(PlanStep {
                    depth,
                    step: "nested loop".to_owned(),
                    ..PlanStep::default()
                });
                open.extend(items.iter().rev().map(|item| (depth + 1, "query_block", item)));
            }
            Value::Array(items) => {
                let name = if name == "nested_loop" { "query_block" } else { name };
                open.extend(items.iter().rev().map(|item| (depth, name, item)));
            }
            Value::Object(fields) => {
                let step = step(depth, name, fields);
                let below = depth + usize::from(step.is_some());
                steps.extend(step);
                let holders = fields.iter().filter(|(name, _)| !NO_STEPS.contains(&name.as_str()));
                let mut holders: Vec<_> = holders.map(|(name, value)| (below, name.as_str(), value)).collect();
                holders.reverse();
                open.extend(holders);
            }
            _ => {}
        }
        if steps.len() > MOST_STEPS {
            return Err(unread(&format!("it has more than {MOST_STEPS} steps")));
        }
    }
    // A list of names, or of anything else, is none.
    if steps.is_empty() {
        return Err(unread("it holds no plan"));
    }
    Ok(QueryPlan {
        steps,
        asked_with,
        answer: (answer.len() <= MOST_ANSWER_BYTES).then(|| answer.to_owned()),
    })
}

/// What an object of this name does; nothing if it only holds others.
fn step(depth: usize, name: &str, fields: &Map<String, Value>) -> Option<PlanStep> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let details = DETAILS
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), words(fields.get(*key)?)?)));
    let mut step = PlanStep {
        depth,
        index: text("key").map(clipped),
        on: text("table_name").map(clipped),
        details: details.collect(),
        rows: number(fields, &["rows", "rows_examined_per_scan", "estimated_rows"]),
        cost: number(fields, &["cost", "estimated_total_cost"]).or_else(|| {
            let cost = fields.get("cost_info")?.as_object()?;
            number(cost, &["query_cost", "prefix_cost"])
        }),
        ..PlanStep::default()
    };
    step.step = if let Some(operation) = text("operation") {
        // The newer form tells a step in a sentence, with its table and index.
        (step.on, step.index) = (None, None);
        clipped(operation)
    } else if name == "table" {
        access(fields)
    } else if FRAMES.contains(&name) {
        // Without a table, there is a word about that.
        step.details.remove("message");
        clipped(text("message")?)
    } else {
        let name = clipped(&name.replace(['_', '-'], " "));
        match fields.get("using_filesort") {
            Some(Value::Bool(true)) => format!("{name} by filesort"),
            _ => name,
        }
    };
    Some(step)
}

/// How a table is gone through.
fn access(fields: &Map<String, Value>) -> String {
    let is = |key: &str| match fields.get(key) {
        Some(Value::Bool(is)) => *is,
        Some(Value::Number(number)) => number.as_u64() == Some(1),
        _ => false,
    };
    let does = ["insert", "replace", "update", "delete"]
        .into_iter()
        .find(|key| is(key));
    if let Some(does @ ("insert" | "replace")) = does {
        return does.to_owned();
    }
    let (kind, called) = match fields.get("access_type").and_then(Value::as_str) {
        None => {
            let message = fields.get("message").and_then(Value::as_str);
            return message.map_or_else(|| TABLE.to_owned(), clipped);
        }
        Some(called @ "ALL") => ("whole table", called),
        Some(called @ "index") => ("whole index", called),
        Some(called @ ("const" | "system")) => ("one row", called),
        Some(called @ "eq_ref") => ("unique lookup", called),
        Some(called @ ("ref" | "ref_or_null")) => ("lookup", called),
        Some(called) => ("rows", called),
    };
    let only = if is("using_index") { ", index only" } else { "" };
    let backward = if is("backward_index_scan") { ", backward" } else { "" };
    let does = does.map_or_else(String::new, |does| format!("{does}: "));
    format!("{does}{kind} ({}{only}{backward})", clipped(called))
}

/// The first of these that is a number, or a text of one.
fn number(fields: &Map<String, Value>, keys: &[&str]) -> Option<f64> {
    let value = |key: &&str| match fields.get(*key)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    };
    keys.iter().find_map(value)
}

/// A detail as words.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(clipped(text)),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            (!items.is_empty()).then(|| clipped(&items.join(", ")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steps(answer: &str) -> Vec<(usize, String)> {
        let plan = decode(answer, AskedWith::Text).unwrap();
        plan.steps.iter().map(|step| (step.depth, step.words())).collect()
    }

    #[track_caller]
    fn assert_steps(answer: &str, expected: &[(usize, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(depth, words)| (*depth, (*words).to_owned()))
            .collect();
        assert_eq!(steps(answer), expected);
    }

    #[test]
    fn tables_of_a_join_are_below_it() {
        assert_steps(
            r#"{"query_block": {"select_id": 1, "cost": 0.03, "nested_loop": [
                {"table": {"table_name": "a", "access_type": "ALL", "rows": 10, "attached_condition": "a.x > 5"}},
                {"block-nl-join": {"table": {"table_name": "b", "access_type": "ref", "key": "b_x", "ref": ["a.x"]},
                    "buffer_type": "flat", "join_type": "BNL"}}]}}"#,
            &[
                (0, "nested loop"),
                (1, "whole table (ALL) on a"),
                (1, "block nl join"),
                (2, "lookup (ref) using b_x on b"),
            ],
        );
    }

    #[test]
    fn what_is_done_with_rows_is_above_the_tables() {
        assert_steps(
            r#"{"query_block": {"select_id": 1, "cost_info": {"query_cost": "0.35"}, "ordering_operation": {
                "using_filesort": true, "table": {"table_name": "t", "access_type": "range", "key": "PRIMARY",
                "using_index": true, "cost_info": {"prefix_cost": "0.35"}, "used_columns": ["id"]}}}}"#,
            &[
                (0, "ordering operation by filesort"),
                (1, "rows (range, index only) using PRIMARY on t"),
            ],
        );
        let subquery = r#"{"query_block": {"table": {"table_name": "<derived2>", "access_type": "ALL",
            "materialized": {"query_block": {"select_id": 2, "nested_loop": [{"table": {"table_name": "t",
            "access_type": "const", "key": "PRIMARY"}}]}}}}}"#;
        let expected = [
            (0, "whole table (ALL) on <derived2>"),
            (1, "materialized"),
            (2, "one row (const) using PRIMARY on t"),
        ];
        assert_steps(subquery, &expected);
    }

    #[test]
    fn what_writes_and_what_reads_nothing_is_told() {
        let update = r#"{"query_block": {"table": {"update": 1, "table_name": "t", "access_type": "range",
            "key": "PRIMARY", "attached_condition": "t.`id` = 5"}}}"#;
        assert_steps(update, &[(0, "update: rows (range) using PRIMARY on t")]);
        let insert = r#"{"query_block": {"select_id": 1, "table": {"insert": true, "table_name": "t",
            "access_type": "ALL"}}}"#;
        assert_steps(insert, &[(0, "insert on t")]);
        assert_steps(
            r#"{"query_block": {"message": "No tables used"}}"#,
            &[(0, "No tables used")],
        );
        let never = r#"{"query_block": {"table": {"message": "Impossible WHERE"}}}"#;
        assert_steps(never, &[(0, "Impossible WHERE")]);
    }

    #[test]
    fn the_newer_form_is_read_as_well() {
        assert_steps(
            r#"{"query": "…", "query_plan": {"operation": "Sort: t.c", "estimated_rows": 5.0, "inputs": [
                {"operation": "Index lookup on t using k", "table_name": "t", "index_name": "k"}]}}"#,
            &[(0, "Sort: t.c"), (1, "Index lookup on t using k")],
        );
    }

    #[test]
    fn what_is_no_plan_is_refused_in_words() {
        for answer in ["", "nothing", "[]", "{}", "{\"query_block\": 5}", "null", "[[[["] {
            let why = decode(answer, AskedWith::Text).unwrap_err();
            assert!(why.starts_with("its answer cannot be read: "), "{answer}: {why}");
        }
        let tables = vec!["{\"table\": {}}"; MOST_STEPS + 1].join(",");
        let wide = format!("{{\"query_block\": {{\"nested_loop\": [{tables}]}}}}");
        assert!(decode(&wide, AskedWith::Text).unwrap_err().contains("more than"));
    }

    /// JSON with the words of plans in odd places.
    fn any_plan() -> impl Strategy<Value = Value> {
        let key = proptest::sample::select(vec![
            "query_block",
            "nested_loop",
            "table",
            "table_name",
            "access_type",
            "key",
            "rows",
            "cost_info",
            "message",
            "materialized",
            "operation",
            "inputs",
            "update",
            "using_index",
            "ref",
            "filesort",
            "attached_condition",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(8, 64, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::vec((key.clone(), inner), 0..6).prop_map(|entries| entries
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(plan in any_plan()) {
            let answer = serde_json::json!({ "query_block": plan }).to_string();
            if let Ok(plan) = decode(&answer, AskedWith::Text) {
                prop_assert!(!plan.steps.is_empty());
                prop_assert_eq!(plan.steps[0].depth, 0);
                for pair in plan.steps.windows(2) {
                    prop_assert!(pair[1].depth <= pair[0].depth + 1);
                }
            }
        }

        #[test]
        fn no_text_is_too_odd(answer in ".{0,200}") {
            let _ = decode(&answer, AskedWith::Text);
        }
    }
}
