//! How a server would execute a statement, in a form that is the same for all databases.
//!
//! The steps are a list with depths and not a tree, so that nobody who walks or reads one has to recurse, however deep
//! a server nests. Names of steps, tables and indexes are the server's own.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A server's plan for a statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryPlan {
    /// What is done, a step before those that it gets its rows from.
    pub steps: Vec<PlanStep>,
    /// With what it was asked for.
    #[serde(default)]
    pub asked_with: AskedWith,
    /// The server's whole answer, as it was; absent if it is very long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// One step of a plan. What a server does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// How many steps it is below the first one.
    pub depth: usize,
    /// What is done, such as `Index Scan`.
    pub step: String,
    /// The table it is done to, without its schema; with its alias if it has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The index that is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The SQL that another server is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Conditions, orders and the like, by the server's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
    /// How many rows the server expects of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<f64>,
    /// What the server expects it to cost with all below it, in its own unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl PlanStep {
    /// What is done to which table by which index.
    #[must_use]
    pub fn words(&self) -> String {
        let index = self.index.iter().map(|index| format!(" using {index}"));
        let on = self.on.iter().map(|on| format!(" on {on}"));
        std::iter::once(self.step.clone()).chain(index).chain(on).collect()
    }
}

/// What came of asking for the plan of a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Explained {
    /// The plan.
    Plan(QueryPlan),
    /// There is none for statements of this kind, such as COMMIT.
    HasNone,
    /// It was not asked for, and why.
    NotAsked(String),
    /// This role may not know it, in the server's words.
    Denied(String),
    /// The server did not tell it, and why.
    Refused(String),
}

impl Explained {
    /// The plan, if there is one.
    #[must_use]
    pub fn plan(&self) -> Option<&QueryPlan> {
        match self {
            Self::Plan(plan) => Some(plan),
            _ => None,
        }
    }
}

/// With what a statement was explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedWith {
    /// Its own text, which has no parameters.
    #[default]
    Text,
    /// Parameters without values: the plan that serves all of them.
    Parameters,
    /// Values such as clients send.
    Values,
    /// Values that stand in for those that clients send, which were not known.
    StandIns,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_with_its_table_and_index() {
        let mut step = PlanStep {
            step: "Index Scan".to_owned(),
            ..PlanStep::default()
        };
        assert_eq!(step.words(), "Index Scan");
        (step.on, step.index) = (Some("tbl t".to_owned()), Some("tbl_pkey".to_owned()));
        assert_eq!(step.words(), "Index Scan using tbl_pkey on tbl t");
    }
}
