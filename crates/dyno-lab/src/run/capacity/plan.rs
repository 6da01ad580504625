//! A plan whose only run seeks the highest load that holds limits.

use super::{TIMES_LIMIT, whole};
use dyno_archive::CapacitySearch;
use dyno_archive::plan::{ErrorLimit, Plan, PlannedRun, Resolved};
use std::time::Duration;

/// The warm-up is never shorter: its second half says where to begin.
const SHORTEST_WARMUP: Duration = Duration::from_secs(4);

/// So many steps have to fit: one that holds, one that does not, and both again.
const FEWEST_STEPS: u32 = 4;

/// Why the capacity of an experiment cannot be sought.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CapacityError {
    /// There are several things to measure.
    #[error(
        "the capacity is sought of one variant, but the plan has {cells} cells: give every factor one value with \
         --set, and call dyno capacity for each variant"
    )]
    NotOne {
        /// How many.
        cells: usize,
    },
    /// A limit is too long for the time.
    #[error(
        "a limit of {limit_s} s needs steps that are three times as long, and {} of them at least: give --at-most \
         {least_s}s or more, or a shorter limit",
        FEWEST_STEPS
    )]
    TooShort {
        /// The longest limit, in seconds.
        limit_s: f64,
        /// The shortest time in which its capacity can be sought, in seconds.
        least_s: u64,
    },
    /// Its load is not for dyno capacity to choose.
    #[error("the capacity of this experiment cannot be sought, because {why}")]
    Unsuitable {
        /// What is in the way.
        why: &'static str,
    },
}

/// `plan`, of one cell, as one that seeks what `sought` says for at most `at_most`. The shares of its workloads are
/// those of their rates, or of their clients if they have no rates.
///
/// # Errors
/// There are several cells, the load of its cell is not one that can be varied, or the time is too short for a limit.
pub fn seeking(plan: Plan, sought: CapacitySearch, at_most: Duration) -> Result<Plan, CapacityError> {
    let mut plan = plan;
    let [cell] = plan.cells.as_mut_slice() else {
        return Err(CapacityError::NotOne {
            cells: plan.cells.len(),
        });
    };
    let experiment = &mut cell.experiment;
    check(experiment)?;
    check_time(&sought, at_most)?;
    let rates: Option<Vec<f64>> = experiment
        .workloads
        .iter()
        .map(|workload| workload.rate_per_s)
        .collect();
    let clients = || {
        experiment
            .workloads
            .iter()
            .map(|workload| workload.clients as f64)
            .collect()
    };
    let parts: Vec<f64> = rates.unwrap_or_else(clients);
    let all: f64 = parts.iter().sum();
    for workload in &mut experiment.workloads {
        workload.rate_per_s = None;
    }
    experiment.warmup = whole(experiment.warmup.max(SHORTEST_WARMUP));
    experiment.measure = Some(at_most);
    experiment.interval = super::KEPT;
    // They are of a load that does not change.
    experiment.metrics.clear();
    experiment.checks.clear();
    experiment.outputs.clear();
    plan.runs = vec![PlannedRun {
        number: 1,
        cell: cell.levels.clone(),
        repetition: 1,
    }];
    plan.capacity = Some(CapacitySearch {
        shares: parts.iter().map(|part| part / all).collect(),
        ..sought
    });
    // Loads that are too high are part of it.
    plan.max_errors = ErrorLimit::ANY;
    Ok(plan)
}

/// Whether the load can be varied.
fn check(experiment: &Resolved) -> Result<(), CapacityError> {
    let workloads = || experiment.workloads.iter();
    let with_rate = workloads().filter(|workload| workload.rate_per_s.is_some()).count();
    let why = if !experiment.load_hosts.is_empty() {
        "its load comes from several hosts; drive it from this one"
    } else if !experiment.stages.is_empty() {
        "it has stages of its own"
    } else if workloads().any(|workload| workload.transactions_per_client.is_some()) {
        "a workload ends after a number of transactions"
    } else if workloads().any(|workload| !workload.start_delay.is_zero()) {
        "a workload begins later than the others"
    } else if with_rate > 0 && with_rate < experiment.workloads.len() {
        "some of its workloads have a rate and others have none, so it is not known how they share a rate: give all of \
         them one, or none"
    } else {
        return Ok(());
    };
    Err(CapacityError::Unsuitable { why })
}

/// Whether a few steps fit: each settles for as long as its longest limit, and is then watched.
fn check_time(sought: &CapacitySearch, at_most: Duration) -> Result<(), CapacityError> {
    let limit = sought.longest_limit();
    let least = limit.saturating_mul((1 + TIMES_LIMIT) * FEWEST_STEPS);
    match at_most < least {
        true => Err(CapacityError::TooShort {
            limit_s: limit.as_secs_f64(),
            least_s: least.as_secs_f64().ceil() as u64,
        }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use dyno_archive::LoadDimension;
    use dyno_archive::plan::Size;
    use std::path::Path;

    fn sought(file: &str) -> Result<Plan, CapacityError> {
        let experiment = Experiment::parse(Path::new("mine.toml"), &format!("title = \"t\"\n{file}")).unwrap();
        let plan = experiment.plan(Size::Small, &[], None, 7, 2).unwrap();
        let search = CapacitySearch {
            limits: vec!["p99 < 5ms".parse().unwrap()],
            over: LoadDimension::Rate,
            within: 0.05,
            shares: Vec::new(),
        };
        seeking(plan, search, Duration::from_secs(60))
    }

    fn workload(name: &str, keys: &str) -> String {
        format!("[[workload]]\nname = \"{name}\"\nscript = \"select 1;\"\n{keys}\n")
    }

    #[test]
    fn workloads_share_a_rate_as_their_rates_or_clients_do() {
        let shares = |file: &str| sought(file).unwrap().capacity.unwrap().shares;
        let by_rate = workload("a", "clients = 2\nrate = 300") + &workload("b", "clients = 2\nrate = 100");
        assert_eq!(shares(&by_rate), [0.75, 0.25]);
        let by_clients = workload("a", "clients = 4") + &workload("b", "clients = 1");
        assert_eq!(shares(&by_clients), [0.8, 0.2]);
    }

    #[test]
    fn the_only_run_is_a_closed_loop_until_it_is_steered() {
        let plan = sought(&workload("a", "clients = 2\nrate = 300")).unwrap();
        let experiment = &plan.cells[0].experiment;
        assert_eq!((plan.runs.len(), experiment.workloads[0].rate_per_s), (1, None));
        assert_eq!(experiment.measure, Some(Duration::from_secs(60)));
        assert!(experiment.warmup >= SHORTEST_WARMUP);
    }

    #[test]
    fn a_limit_that_is_too_long_for_the_time_is_told() {
        let within = |limit: &str| {
            let sought = CapacitySearch {
                limits: vec![limit.parse().unwrap()],
                over: LoadDimension::Rate,
                within: 0.05,
                shares: Vec::new(),
            };
            check_time(&sought, Duration::from_secs(60))
        };
        assert_eq!(within("p99 < 5s"), Ok(()));
        let said = within("p99 < 5500ms").unwrap_err().to_string();
        assert!(
            said.contains("a limit of 5.5 s") && said.contains("--at-most 66s"),
            "{said}"
        );
    }

    #[test]
    fn a_load_that_cannot_be_varied_is_told() {
        let said = |file: &str| sought(file).unwrap_err().to_string();
        let mixed = workload("a", "clients = 2\nrate = 300") + &workload("b", "clients = 2");
        assert!(
            said(&mixed).contains("give all of them one, or none"),
            "{}",
            said(&mixed)
        );
        let delayed = workload("a", "clients = 2\nstart_delay = \"1s\"");
        assert!(
            said(&delayed).contains("begins later than the others"),
            "{}",
            said(&delayed)
        );
    }
}
