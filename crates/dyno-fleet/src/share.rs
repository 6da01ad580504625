//! Which part of a load each host drives.
//!
//! Threads are shared out, and clients go with them: client numbers, random numbers and parts of the rate follow from
//! the number of a thread in the whole load, so a seed gives the same draws whoever drives a thread.

use dyno_engine::{Cpus, Pacing, Part};
use dyno_load::{LoadPlan, Server, Work};
use std::ops::Range;

/// The part of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// What it drives.
    pub part: Part,
    /// For each workload.
    pub workloads: Vec<WorkloadShare>,
}

/// What a host has of one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadShare {
    /// The numbers of its threads.
    pub threads: Range<usize>,
    /// The numbers of its clients.
    pub clients: Range<usize>,
    /// Transactions per second that it is to begin, where the workload has a rate.
    pub rate_per_s: Option<f64>,
}

/// A load that cannot be shared out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// Some host would have nothing to do.
    #[error(
        "no workload has a client for each of {hosts} load hosts; the largest has {clients}: use fewer hosts or more \
         clients"
    )]
    TooFewClients {
        /// How many hosts.
        hosts: usize,
        /// How many clients the workload with the most has.
        clients: usize,
    },
    /// A script in Lua.
    #[error(
        "workload \"{0}\" is a script in Lua, which several load hosts cannot share yet: write it in pgbench's \
         language, or drive it from one host"
    )]
    Lua(String),
    /// A database that is not supported here.
    #[error("several load hosts cannot drive an Oracle server yet: drive it from one host")]
    Oracle,
    /// CPUs were named, of which each host has its own.
    #[error("--cpus names CPUs of one machine: leave it out with several load hosts")]
    Cpus,
    /// A number of shares that is not that of hosts, or one that is no weight.
    #[error("{given} shares were given for {hosts} load hosts; give one for each, a number above 0")]
    Weights {
        /// How many were given.
        given: usize,
        /// How many hosts there are.
        hosts: usize,
    },
}

/// Makes sure that several hosts can drive this load.
///
/// # Errors
/// They cannot.
pub fn check(plan: &LoadPlan) -> Result<(), ShareError> {
    if plan.threads.cpus != Cpus::default() {
        return Err(ShareError::Cpus);
    }
    for workload in &plan.workloads {
        if matches!(workload.program, Work::Lua(_)) {
            return Err(ShareError::Lua(workload.name.clone()));
        }
        if matches!(workload.driver.server, Server::Oracle(_)) {
            return Err(ShareError::Oracle);
        }
    }
    Ok(())
}

/// Shares the load out to as many hosts as there are weights. A workload with fewer threads than hosts gets as many, if
/// it has the clients for them, and that is changed in `plan`, which all hosts have to know as it is then.
///
/// # Errors
/// It cannot be shared out like this.
pub fn share_out(plan: &mut LoadPlan, weights: &[f64]) -> Result<Vec<Share>, ShareError> {
    check(plan)?;
    let hosts = weights.len();
    if weights.iter().any(|weight| !weight.is_finite() || *weight <= 0.0) {
        return Err(ShareError::Weights { given: hosts, hosts });
    }
    let most_clients = plan
        .workloads
        .iter()
        .map(|workload| workload.clients)
        .max()
        .unwrap_or(0);
    if most_clients < hosts {
        return Err(ShareError::TooFewClients {
            hosts,
            clients: most_clients,
        });
    }
    let mut shares = vec![Vec::new(); hosts];
    for workload in &mut plan.workloads {
        workload.threads = workload.threads.max(hosts).min(workload.clients);
        let threads = workload.threads;
        let firsts = clients_of_threads(workload.clients, threads);
        let mut next = 0;
        for (share, number) in shares.iter_mut().zip(apportioned(threads, weights)) {
            let range = next..next + number;
            next = range.end;
            share.push(WorkloadShare {
                clients: firsts[range.start]..firsts[range.end],
                rate_per_s: match workload.pacing {
                    Pacing::Closed => None,
                    Pacing::Open { rate_per_s } => Some(rate_per_s * range.len() as f64 / threads as f64),
                },
                threads: range,
            });
        }
    }
    let shares = shares.into_iter().map(|workloads| Share {
        part: Part::of(workloads.iter().map(|share| share.threads.clone()).collect()),
        workloads,
    });
    Ok(shares.collect())
}

/// The number of each thread's first client, and at the end that of all clients: as the engine deals them.
fn clients_of_threads(clients: usize, threads: usize) -> Vec<usize> {
    let mut firsts = vec![0];
    let mut next = 0;
    for thread in 0..threads {
        next += (clients - next).div_ceil(threads - thread);
        firsts.push(next);
    }
    firsts
}

/// Divides a number in proportion to weights. Each gets at least one, if there are as many; the rest goes by largest
/// remainders, the first of equals first.
fn apportioned(number: usize, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let quotas: Vec<f64> = weights.iter().map(|weight| weight / sum * number as f64).collect();
    let least = usize::from(number >= weights.len());
    let mut parts: Vec<usize> = quotas.iter().map(|quota| (quota.floor() as usize).max(least)).collect();
    let missing = |parts: &[usize], place: usize| quotas[place] - parts[place] as f64;
    loop {
        let given: usize = parts.iter().sum();
        let places = 0..parts.len();
        let place = match given.cmp(&number) {
            std::cmp::Ordering::Equal => return parts,
            std::cmp::Ordering::Less => places
                .rev()
                .max_by(|a, b| missing(&parts, *a).total_cmp(&missing(&parts, *b))),
            std::cmp::Ordering::Greater => places
                .filter(|place| parts[*place] > least)
                .min_by(|a, b| missing(&parts, *a).total_cmp(&missing(&parts, *b))),
        };
        match place {
            Some(place) if given < number => parts[place] += 1,
            Some(place) => parts[place] -= 1,
            None => return parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn threads_go_by_weight_and_nobody_goes_away_empty() {
        assert_eq!(apportioned(6, &[1.0, 1.0, 1.0]), [2, 2, 2]);
        assert_eq!(apportioned(7, &[1.0, 1.0, 1.0]), [3, 2, 2]);
        assert_eq!(apportioned(12, &[4.0, 8.0]), [4, 8]);
        assert_eq!(apportioned(3, &[100.0, 1.0, 1.0]), [1, 1, 1]);
        assert_eq!(apportioned(5, &[100.0, 1.0, 1.0]), [3, 1, 1]);
        assert_eq!(apportioned(2, &[1.0, 5.0, 4.0]), [0, 1, 1]);
    }

    proptest! {
        #[test]
        fn all_is_shared_out(number in 0_usize..2_000, weights in prop::collection::vec(0.01_f64..100.0, 1..40)) {
            let parts = apportioned(number, &weights);
            prop_assert_eq!(parts.iter().sum::<usize>(), number);
            if number >= weights.len() {
                prop_assert!(parts.iter().all(|part| *part > 0));
            }
        }

        #[test]
        fn clients_are_dealt_evenly(clients in 1_usize..5_000, threads in 1_usize..300) {
            prop_assume!(threads <= clients);
            let firsts = clients_of_threads(clients, threads);
            prop_assert_eq!((firsts.len(), firsts[threads]), (threads + 1, clients));
            let sizes: Vec<_> = firsts.windows(2).map(|pair| pair[1] - pair[0]).collect();
            prop_assert!(sizes.iter().all(|size| *size >= clients / threads && *size <= clients.div_ceil(threads)));
        }
    }
}
