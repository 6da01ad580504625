//! How the server would execute each statement, before and after the load: `plans.json`.
//!
//! Runs of earlier dynos have no such file, nor have loads that are no experiment.

use crate::{ArchiveError, FORMAT, PLANS_JSON, Run, read_json, replace_json};
use dyno_record::Explained;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The plans of one statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementPlans {
    /// The workload.
    pub workload: String,
    /// Its place among the statements of the workload, from 1.
    pub number: usize,
    /// Its text as figures are told by.
    pub statement: String,
    /// What the server said before the load.
    pub before: Explained,
    /// What it said after the load; absent if it was not asked, because the load ended early or has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Explained>,
    /// What the server behind a proxy would do for what it is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remote: Vec<RemotePlan>,
}

/// The plan of a server behind a proxy for what the proxy sends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemotePlan {
    /// What the experiment calls that server.
    pub server: String,
    /// What it is sent.
    pub statement: String,
    /// What it said of that before the load.
    pub explained: Explained,
    /// What it said after the load; absent if it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Explained>,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct File<S> {
    format: u32,
    statements: S,
}

/// Writes the plans of a run into its folder.
///
/// # Errors
/// They cannot be written.
pub fn write_plans(folder: &Path, statements: &[StatementPlans]) -> Result<(), ArchiveError> {
    let format = FORMAT;
    replace_json(&folder.join(PLANS_JSON), &File { format, statements })
}

impl Run {
    /// The plans of its statements; none if they were not kept, or cannot be read.
    #[must_use]
    pub fn plans(&self) -> Vec<StatementPlans> {
        let read = read_json::<File<Vec<StatementPlans>>>(&self.path.join(PLANS_JSON));
        read.map_or_else(|_| Vec::new(), |file| file.statements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunState;
    use dyno_record::{AskedWith, PlanStep, QueryPlan};

    #[test]
    fn plans_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let run = Run {
            path: folder.path().to_owned(),
            record: Err(ArchiveError::InUse {
                path: folder.path().to_owned(),
            }),
            state: RunState::Complete,
        };
        assert_eq!(run.plans(), []);
        let of = |number, before, after| StatementPlans {
            workload: "one".to_owned(),
            number,
            statement: "select 1".to_owned(),
            before,
            after,
            remote: Vec::new(),
        };
        let step = PlanStep {
            step: "Seq Scan".to_owned(),
            on: Some("t".to_owned()),
            details: [("Filter".to_owned(), "(x = 5)".to_owned())].into(),
            rows: Some(5.0),
            ..PlanStep::default()
        };
        let plan = Explained::Plan(QueryPlan {
            steps: vec![step],
            asked_with: AskedWith::Parameters,
            answer: Some("[]".to_owned()),
        });
        let written = [
            of(1, plan.clone(), Some(plan)),
            of(2, Explained::HasNone, None),
            of(
                3,
                Explained::NotAsked("who knows".to_owned()),
                Some(Explained::Refused("no".to_owned())),
            ),
        ];
        write_plans(folder.path(), &written).unwrap();
        assert_eq!(run.plans(), written);
        std::fs::write(folder.path().join(PLANS_JSON), "{\"format\":1,\"statements\":5}").unwrap();
        assert_eq!(run.plans(), []);
    }
}
