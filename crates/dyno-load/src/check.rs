//! What every plan must keep to, however it came here.

use crate::plan::{LoadPlan, Work, WorkloadPlan};
use dyno_engine::{Pacing, Span, Stage};
use std::collections::HashSet;
use std::time::Duration;

/// No load has more clients: each takes some kilobytes and a socket.
const MOST_CLIENTS: usize = 1_000_000;

/// The shortest interval in which results are collected.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// A plan that cannot be driven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan of a load cannot be driven: {what}")]
pub struct InvalidPlan {
    what: String,
}

/// Checks a plan.
pub(crate) fn check(plan: &LoadPlan) -> Result<(), InvalidPlan> {
    refuse(plan.workloads.is_empty(), || "it has no workload".to_owned())?;
    refuse(plan.phases.is_empty(), || "it has no phase".to_owned())?;
    refuse(plan.interval < SHORTEST_INTERVAL, || {
        "its interval is shorter than a millisecond".to_owned()
    })?;
    let mut names = HashSet::new();
    let mut clients = 0_usize;
    for workload in &plan.workloads {
        let name = &workload.name;
        refuse(!names.insert(name), || format!("two workloads are called \"{name}\""))?;
        clients = clients.saturating_add(workload.clients);
        refuse(clients > MOST_CLIENTS, || {
            format!("it has {clients} clients, more than {MOST_CLIENTS}")
        })?;
        check_workload(workload).map_err(|what| InvalidPlan {
            what: format!("workload \"{name}\" {what}"),
        })?;
    }
    Ok(())
}

fn refuse(wrong: bool, what: impl FnOnce() -> String) -> Result<(), InvalidPlan> {
    if wrong {
        Err(InvalidPlan { what: what() })
    } else {
        Ok(())
    }
}

fn check_workload(workload: &WorkloadPlan) -> Result<(), &'static str> {
    let rate = match workload.pacing {
        Pacing::Closed => None,
        Pacing::Open { rate_per_s } => Some(rate_per_s),
    };
    let whole = |span: &Span| {
        [span.from, span.to]
            .iter()
            .all(|value| value.is_finite() && *value >= 0.0)
    };
    let sound = |stage: &Stage| [stage.clients, stage.rate_per_s].iter().flatten().all(whole);
    let scripts = match &workload.program {
        Work::Scripts(scripts) => Some(&scripts.scripts),
        Work::Lua(_) => None,
    };
    let rules = [
        (workload.clients > 0, "has no client"),
        (
            (1..=workload.clients).contains(&workload.threads),
            "has no thread, or more threads than clients",
        ),
        (
            rate.is_none_or(|rate| rate.is_finite() && rate > 0.0),
            "has a rate that is not a number above 0",
        ),
        (
            workload.stages.iter().all(sound),
            "has a stage whose clients or rate are not a number from 0 on",
        ),
        (scripts.is_none_or(|scripts| !scripts.is_empty()), "has no script"),
        (
            scripts.is_none_or(|scripts| scripts.iter().any(|script| script.weight > 0)),
            "has no script of a weight above 0",
        ),
        (
            workload.log.as_ref().is_none_or(|log| log.aggregate_s != Some(0)),
            "has a log that sums up 0 seconds",
        ),
    ];
    match rules.iter().find(|(kept, _)| !kept) {
        Some((_, what)) => Err(what),
        None => Ok(()),
    }
}
