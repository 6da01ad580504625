//! How a load ended, from how its parts did.

use super::{Agent, State};
use crate::protocol::{Early, Ended};
use dyno_engine::{Ending, LastTransactions, Outcome, Stop, Waited};
use dyno_record::{MOST_CODES, MOST_COUNTED};
use std::time::Duration;

/// Whether this speaks of so many workloads, and of no more errors than they can have.
pub(super) fn fits(ended: &Ended, workloads: usize) -> bool {
    let lengths = [
        ended.unfinished.len(),
        ended.waited.len(),
        ended.aborted.len(),
        ended.connections.len(),
        ended.connection_time.len(),
        ended.last.len(),
        ended.restarted.len(),
    ];
    let failed = || ended.last.iter().flat_map(|last| &last.failed);
    lengths.iter().all(|length| *length == workloads)
        && failed().count() <= workloads * (MOST_CODES + 1)
        && failed().all(|error| error.count < MOST_COUNTED)
}

/// Whether this ends the load for all hosts, as it does for all threads of one process.
pub(super) fn is_for_all(early: &Early) -> bool {
    matches!(early, Early::Other(_))
}

/// Whether a host that ends so is missing in a load that goes on.
pub(super) fn is_gap(early: &Early) -> bool {
    matches!(early, Early::Aborted | Early::ConnectionsLost(_))
}

/// Why, in words.
pub(super) fn words(early: &Early) -> String {
    match early {
        Early::Stopped => Ending::Stopped.to_string(),
        Early::Aborted => Ending::Aborted.to_string(),
        Early::ConnectionsLost(said) => Ending::ConnectionsLost(said.clone()).to_string(),
        Early::Other(said) => said.clone(),
    }
}

/// The outcome of the whole; `lost` is the loss of a host that ended it.
pub(super) fn of(agents: &[Agent], workloads: usize, lost: Option<String>, stop: &Stop) -> Outcome {
    let mut outcome = Outcome {
        ended_early: None,
        unfinished: vec![0; workloads],
        waited: vec![None; workloads],
        last: vec![LastTransactions::default(); workloads],
        aborted: vec![0; workloads],
        connections: vec![0; workloads],
        connection_time: vec![Duration::ZERO; workloads],
        measured: Duration::ZERO,
    };
    let ended = agents.iter().filter_map(|agent| match &agent.state {
        State::Done(ended) => Some((agent, ended)),
        _ => None,
    });
    let ended: Vec<_> = ended.collect();
    for (_, ended) in &ended {
        add(&mut outcome, ended);
    }
    let all_over = || ended.iter().map(|(_, ended)| ended.early.as_ref());
    let for_all = ended.iter().find_map(|(agent, ended)| {
        let early = ended.early.as_ref().filter(|early| is_for_all(early))?;
        Some(format!("load host {}: {}", agent.host.name, words(early)))
    });
    outcome.ended_early = if let Some(said) = lost.or(for_all) {
        Some(Ending::Elsewhere(said))
    } else if ended.is_empty() {
        let said = agents.iter().find_map(|agent| Some(&agent.gap.as_ref()?.reason));
        let said = said.map_or("nothing was heard of any", String::as_str);
        Some(Ending::Elsewhere(format!(
            "all load hosts were lost; the first said: {said}"
        )))
    } else if stop.requested() && all_over().any(|early| early == Some(&Early::Stopped)) {
        Some(Ending::Stopped)
    } else if all_over().any(|early| early.is_none()) {
        None
    } else {
        all_over().flatten().next().map(|early| match early {
            Early::Stopped => Ending::Stopped,
            Early::Aborted => Ending::Aborted,
            Early::ConnectionsLost(said) => Ending::ConnectionsLost(said.clone()),
            Early::Other(said) => Ending::Elsewhere(said.clone()),
        })
    };
    outcome
}

fn add(outcome: &mut Outcome, ended: &Ended) {
    let add = |sums: &mut [u64], parts: &[u64]| {
        for (sum, part) in sums.iter_mut().zip(parts) {
            *sum = sum.saturating_add(*part);
        }
    };
    add(&mut outcome.unfinished, &ended.unfinished);
    add(&mut outcome.aborted, &ended.aborted);
    add(&mut outcome.connections, &ended.connections);
    for (sum, part) in outcome.connection_time.iter_mut().zip(&ended.connection_time) {
        *sum = sum.saturating_add(*part);
    }
    for (sum, part) in outcome.waited.iter_mut().zip(&ended.waited) {
        let part = part.map(|(longest, least)| Waited { longest, least });
        *sum = sum.take().into_iter().chain(part).reduce(Waited::and);
    }
    for (last, part) in outcome.last.iter_mut().zip(&ended.last) {
        last.add(part.clone());
    }
    outcome.measured = outcome.measured.max(ended.measured);
}
