//! Workloads that have a number of transactions to do, instead of a time.
//!
//! Such a workload rests in the warm-up: its transactions are what is measured, all of them. So there is a warm-up only
//! if something else runs.

use super::SetError;
use super::set::STAGE;
use dyno_archive::plan::{Resolved, Span, Stage, WARMUP, Workload};
use std::time::Duration;

/// The warm-up of a load in which something runs meanwhile, where nobody says it.
const USUAL_WARMUP: Duration = Duration::from_secs(10);

fn is_counted(workload: &Workload) -> bool {
    workload.transactions_per_client.is_some()
}

/// How long the warm-up of these workloads is where nobody says it.
pub(super) fn usual_warmup(workloads: &[Workload]) -> Duration {
    match workloads.iter().all(is_counted) {
        true => Duration::ZERO,
        false => USUAL_WARMUP,
    }
}

/// Makes sure that numbers of transactions, phases and stages fit together.
pub(super) fn check(experiment: &Resolved) -> Result<(), SetError> {
    let refused = |name: String, value: String, reason: &str| {
        Err(SetError::Invalid {
            name,
            value,
            reason: reason.to_owned(),
        })
    };
    let counted: Vec<&Workload> = experiment
        .workloads
        .iter()
        .filter(|workload| is_counted(workload))
        .collect();
    for workload in &counted {
        let refused = |reason| {
            let number = workload.transactions_per_client.unwrap_or_default();
            refused(format!("{}.transactions", workload.name), number.to_string(), reason)
        };
        if workload.scripts.lua().is_some() {
            return refused("a script in Lua has no number of transactions here; give it a time: measure");
        }
        if !experiment.load_hosts.is_empty() {
            return refused(
                "load hosts cannot end together when the work is done; leave them out ([load], --hosts, \
                 --local-agents), set hosts=0, or give a time: measure",
            );
        }
    }
    if !counted.is_empty() && counted.len() == experiment.workloads.len() && !experiment.warmup.is_zero() {
        return refused(
            WARMUP.to_owned(),
            format!("{:?}", experiment.warmup),
            "all workloads have a number of `transactions`, and these begin when the warm-up is over, so nothing would \
             run in it; leave it out. To have the data in memory, say cache = \"warm\" under [data]",
        );
    }
    let mut done: Vec<&str> = Vec::new();
    for stage in experiment.stages.iter().filter(|stage| stage.lasts.is_none()) {
        let work: Vec<&Workload> = experiment.work_of(&stage.name).collect();
        let reason = if work.is_empty() {
            "none of its workloads has a number of `transactions` after which it would be done"
        } else if work.iter().all(|workload| done.contains(&workload.name.as_str())) {
            "its workloads are done before, in an earlier stage: `transactions` are those of the whole run"
        } else if changes(stage) {
            "a straight line of clients or rates needs a stage whose length is known; give it `lasts`"
        } else if work.iter().any(|workload| some_rest(stage, workload)) {
            "its `clients` are fewer than those of a workload with `transactions`: the others rest, so that its work \
             would never be done. Leave them out, or give it `lasts`"
        } else {
            done.extend(work.iter().map(|workload| workload.name.as_str()));
            continue;
        };
        return refused(format!("{STAGE}.{}.until", stage.name), "done".to_owned(), reason);
    }
    Ok(())
}

/// Whether the stage lets clients of this workload rest.
fn some_rest(stage: &Stage, workload: &Workload) -> bool {
    stage
        .clients
        .is_some_and(|clients| clients.to < workload.clients as f64)
}

/// Whether clients or rate change while the stage lasts.
fn changes(stage: &Stage) -> bool {
    let steady = |span: &Span| span.from == span.to;
    ![stage.clients, stage.rate].iter().flatten().all(steady)
}
