//! PostgreSQL's plans in JSON as steps.

use crate::plans::{MOST_ANSWER_BYTES, MOST_STEPS, clipped};
use dyno_record::{AskedWith, PlanStep, QueryPlan};
use serde_json::{Map, Value};

/// What is told of a step beside its table and its index, by the server's names: what says which rows it takes, and in
/// which order.
const DETAILS: [&str; 16] = [
    "Index Cond",
    "Recheck Cond",
    "TID Cond",
    "Hash Cond",
    "Merge Cond",
    "Join Filter",
    "Filter",
    "One-Time Filter",
    "Order By",
    "Sort Key",
    "Presorted Key",
    "Group Key",
    "Cache Key",
    "Conflict Resolution",
    "Conflict Arbiter Indexes",
    "Workers Planned",
];

/// What foreign data wrappers call the SQL that they send: postgres_fdw, mysql_fdw and oracle_fdw.
const REMOTE: [&str; 3] = ["Remote SQL", "Remote query", "Oracle query"];

/// Reads the answer to EXPLAIN (FORMAT JSON).
///
/// # Errors
/// It is none, in words.
pub(super) fn decode(answer: &str, asked_with: AskedWith) -> Result<QueryPlan, String> {
    let unread = |why: &str| format!("its answer cannot be read: {why}");
    let parsed: Value = serde_json::from_str(answer).map_err(|error| unread(&error.to_string()))?;
    let first = match &parsed {
        Value::Array(plans) => plans.first(),
        other => Some(other),
    };
    let root = first.and_then(|plan| plan.get("Plan")).and_then(Value::as_object);
    let root = root.ok_or_else(|| unread("it holds no plan"))?;
    let mut steps = Vec::new();
    // What is still to be read, the next one last.
    let mut open = vec![(0, root)];
    while let Some((depth, node)) = open.pop() {
        if steps.len() == MOST_STEPS {
            return Err(unread(&format!("it has more than {MOST_STEPS} steps")));
        }
        steps.push(step(depth, node));
        let below = node.get("Plans").and_then(Value::as_array).into_iter().flatten();
        let below: Vec<_> = below
            .filter_map(Value::as_object)
            .map(|node| (depth + 1, node))
            .collect();
        open.extend(below.into_iter().rev());
    }
    Ok(QueryPlan {
        steps,
        asked_with,
        answer: (answer.len() <= MOST_ANSWER_BYTES).then(|| answer.to_owned()),
    })
}

fn step(depth: usize, node: &Map<String, Value>) -> PlanStep {
    let text = |key: &str| node.get(key).and_then(Value::as_str);
    let number = |key: &str| node.get(key).and_then(Value::as_f64);
    let details = DETAILS
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), words(node.get(*key)?)?)));
    let remote = REMOTE.iter().find_map(|key| text(key)).map(clipped);
    PlanStep {
        depth,
        step: name(node),
        on: on(node),
        index: text("Index Name").map(clipped),
        remote,
        details: details.collect(),
        rows: number("Plan Rows"),
        cost: number("Total Cost"),
    }
}

/// What a step does, with all that makes it another one.
fn name(node: &Map<String, Value>) -> String {
    let text = |key: &str| node.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = match (text("Node Type"), text("Operation"), text("Strategy")) {
        ("", ..) => "Step".to_owned(),
        ("ModifyTable", operation, _) if !operation.is_empty() => operation.to_owned(),
        // "Foreign Update" and the like, which the server does to the other one in one go.
        (kind, operation, _) if !operation.is_empty() && operation != "Select" => format!("{kind} ({operation})"),
        ("Aggregate", _, "Sorted") => "Group Aggregate".to_owned(),
        ("Aggregate", _, "Hashed") => "Hash Aggregate".to_owned(),
        ("Aggregate", _, "Mixed") => "Mixed Aggregate".to_owned(),
        (kind, ..) => kind.to_owned(),
    };
    let partial = match text("Partial Mode") {
        "" | "Simple" => "",
        "Partial" => "Partial ",
        _ => "Finalize ",
    };
    let parallel = match node.get("Parallel Aware") {
        Some(Value::Bool(true)) => "Parallel ",
        _ => "",
    };
    let join = match text("Join Type") {
        "" | "Inner" => String::new(),
        join => format!(" ({} Join)", clipped(join)),
    };
    let backward = match text("Scan Direction") {
        "Backward" => " Backward",
        _ => "",
    };
    let part = match text("Subplan Name") {
        "" => String::new(),
        part => format!("{}: ", clipped(part)),
    };
    format!("{part}{partial}{parallel}{}{backward}{join}", clipped(&kind))
}

/// What a step works on.
fn on(node: &Map<String, Value>) -> Option<String> {
    let keys = [
        "Relation Name",
        "Relations",
        "CTE Name",
        "Function Name",
        "Tuplestore Name",
    ];
    let named = keys.iter().find_map(|key| node.get(*key)?.as_str())?;
    let alias = node
        .get("Alias")
        .and_then(Value::as_str)
        .filter(|alias| *alias != named);
    Some(match alias {
        Some(alias) => format!("{} {}", clipped(named), clipped(alias)),
        None => clipped(named),
    })
}

/// A detail as words.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(clipped(text)),
        Value::Number(number) => Some(number.to_string()),
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

    #[test]
    fn steps_come_before_what_they_get_their_rows_from() {
        let answer = r#"[{"Plan": {"Node Type": "Hash Join", "Join Type": "Left", "Total Cost": 9.5, "Plan Rows": 3,
            "Hash Cond": "(a.id = b.id)", "Plans": [
              {"Node Type": "Seq Scan", "Relation Name": "one", "Schema": "public", "Alias": "a",
               "Output": ["a.id"], "Filter": "(a.x > 5)"},
              {"Node Type": "Hash", "Plans": [
                {"Node Type": "Index Scan", "Scan Direction": "Backward", "Relation Name": "two", "Alias": "two",
                 "Index Name": "two_pkey", "Index Cond": "(two.id = 5)"}]}]}}]"#;
        let expected = [
            (0, "Hash Join (Left Join)"),
            (1, "Seq Scan on one a"),
            (1, "Hash"),
            (2, "Index Scan Backward using two_pkey on two"),
        ];
        assert_eq!(steps(answer), expected.map(|(depth, words)| (depth, words.to_owned())));
        let plan = decode(answer, AskedWith::Values).unwrap();
        assert_eq!((plan.steps[0].cost, plan.steps[0].rows), (Some(9.5), Some(3.0)));
        assert_eq!(plan.steps[1].details["Filter"], "(a.x > 5)");
        assert_eq!(plan.asked_with, AskedWith::Values);
        assert_eq!(plan.answer.as_deref(), Some(answer));
    }

    #[test]
    fn what_changes_rows_and_what_is_done_elsewhere_is_told() {
        let answer = r#"[{"Plan": {"Node Type": "ModifyTable", "Operation": "Update", "Relation Name": "t",
            "Alias": "t", "Plans": [{"Node Type": "Foreign Scan", "Operation": "Select", "Relation Name": "far",
            "Alias": "f", "Remote SQL": "SELECT id FROM public.far", "Subplan Name": "InitPlan 1"}]}}]"#;
        let expected = [(0, "Update on t"), (1, "InitPlan 1: Foreign Scan on far f")];
        assert_eq!(steps(answer), expected.map(|(depth, words)| (depth, words.to_owned())));
        let plan = decode(answer, AskedWith::Text).unwrap();
        assert_eq!(plan.steps[1].remote.as_deref(), Some("SELECT id FROM public.far"));
    }

    #[test]
    fn every_wrapper_tells_what_it_sends() {
        for key in REMOTE {
            let answer = format!(r#"[{{"Plan": {{"Node Type": "Foreign Scan", "{key}": "SELECT 1"}}}}]"#);
            let plan = decode(&answer, AskedWith::Text).unwrap();
            assert_eq!(plan.steps[0].remote.as_deref(), Some("SELECT 1"), "{key}");
        }
    }

    #[test]
    fn what_is_no_plan_is_refused_in_words() {
        for answer in ["", "nothing", "[]", "{}", "[{\"Plan\": 5}]", "null", "[[[["] {
            let why = decode(answer, AskedWith::Text).unwrap_err();
            assert!(why.starts_with("its answer cannot be read: "), "{answer}: {why}");
        }
        let wide = format!("[{{\"Plan\": {{\"Plans\": [{}]}}}}]", vec!["{}"; MOST_STEPS].join(","));
        assert!(decode(&wide, AskedWith::Text).unwrap_err().contains("more than"));
    }

    /// JSON with the words of plans in odd places.
    fn any_plan() -> impl Strategy<Value = Value> {
        let key = proptest::sample::select(vec![
            "Plan",
            "Plans",
            "Node Type",
            "Operation",
            "Relation Name",
            "Alias",
            "Index Name",
            "Filter",
            "Sort Key",
            "Plan Rows",
            "Total Cost",
            "Join Type",
            "Strategy",
            "Partial Mode",
            "Subplan Name",
            "Remote SQL",
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
            let answer = serde_json::json!([{ "Plan": plan }]).to_string();
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
