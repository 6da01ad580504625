//! Which part of a load each host drives.
//!
//! Threads are shared out, and clients go with them: client numbers, random numbers and parts of the rate follow from
//! the number of a thread in the whole load, so a seed gives the same draws whoever drives a thread.

use dyno_engine::{Cpus, Pacing, Part};
use dyno_load::LoadPlan;
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
    /// Some host would have nothing to do, as no workload that is for it has a client for each of its hosts.
    #[error(
        "load host {host} of {hosts} would have nothing to do: the workload {workload} has {} for {on} hosts; give it \
         more clients, or {clients} of the hosts at most",
        clients_of(*clients)
    )]
    Idle {
        /// Its number, from 1.
        host: usize,
        /// How many hosts.
        hosts: usize,
        /// Of these workloads the one with the most clients.
        workload: String,
        /// How many it has.
        clients: usize,
        /// How many hosts are to drive it.
        on: usize,
    },
    /// Some host would have nothing to do, as no workload is for it.
    #[error("load host {host} would have nothing to do: no workload is for it; leave it out")]
    Unused {
        /// Its number, from 1.
        host: usize,
    },
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

fn clients_of(number: usize) -> String {
    format!("{number} client{}", if number == 1 { "" } else { "s" })
}

/// Makes sure that each of so many hosts has something to do. Of each workload come its name, its clients, and the
/// places of the hosts that drive it; none: all.
///
/// # Errors
/// One has not.
pub fn check_hosts<'a>(
    hosts: usize,
    workloads: impl Iterator<Item = (&'a str, usize, &'a [usize])> + Clone,
) -> Result<(), ShareError> {
    for host in 0..hosts {
        let own = workloads
            .clone()
            .filter(|(_, _, on)| on.is_empty() || on.contains(&host))
            .map(|(workload, clients, on)| (workload, clients, if on.is_empty() { hosts } else { on.len() }));
        if own.clone().any(|(_, clients, on)| clients >= on) {
            continue;
        }
        let host = host + 1;
        return Err(match own.max_by_key(|(_, clients, _)| *clients) {
            Some((workload, clients, on)) => ShareError::Idle {
                host,
                hosts,
                workload: workload.to_owned(),
                clients,
                on,
            },
            None => ShareError::Unused { host },
        });
    }
    Ok(())
}

/// Shares the load out to as many hosts as there are weights; `on` has for each workload the places of the hosts that
/// drive it, of which none means all. A workload with fewer threads than hosts gets as many, if it has the clients for
/// them, and that is changed in `plan`, which all hosts have to know as it is then.
///
/// # Errors
/// It cannot be shared out like this.
pub fn share_out(plan: &mut LoadPlan, weights: &[f64], on: &[Vec<usize>]) -> Result<Vec<Share>, ShareError> {
    if plan.threads.cpus != Cpus::default() {
        return Err(ShareError::Cpus);
    }
    let hosts = weights.len();
    if weights.iter().any(|weight| !weight.is_finite() || *weight <= 0.0) {
        return Err(ShareError::Weights { given: hosts, hosts });
    }
    let on = |workload: usize| on.get(workload).map_or(&[][..], Vec::as_slice);
    let workloads = plan.workloads.iter().enumerate();
    let workloads = workloads.map(|(place, workload)| (workload.name.as_str(), workload.clients, on(place)));
    check_hosts(hosts, workloads)?;
    let mut shares = vec![Vec::new(); hosts];
    for (place, workload) in plan.workloads.iter_mut().enumerate() {
        let drives = |host: usize| on(place).is_empty() || on(place).contains(&host);
        let weights: Vec<_> = (0..hosts)
            .map(|host| if drives(host) { weights[host] } else { 0.0 })
            .collect();
        let drivers = weights.iter().filter(|weight| **weight > 0.0).count();
        workload.threads = workload.threads.max(drivers).min(workload.clients);
        let threads = workload.threads;
        let mut next = 0;
        for (share, number) in shares.iter_mut().zip(apportioned(threads, &weights)) {
            let range = next..next + number;
            next = range.end;
            share.push(WorkloadShare {
                clients: Part::of(vec![range.clone()]).clients(0, workload.clients, threads),
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

/// Divides a number in proportion to weights. Each that has one gets at least one, if there are as many; the rest goes
/// by largest remainders, the first of equals first. A weight of 0 gets nothing. If weights are whole numbers, with a
/// sum that is not exceeded, nobody gets more than its own.
#[must_use]
pub fn apportioned(number: usize, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let quotas: Vec<f64> = weights.iter().map(|weight| weight / sum * number as f64).collect();
    let is_one_each = number >= weights.iter().filter(|weight| **weight > 0.0).count();
    let least = |place: usize| usize::from(is_one_each && weights[place] > 0.0);
    let whole = |(place, quota): (usize, &f64)| (quota.floor() as usize).max(least(place));
    let mut parts: Vec<usize> = quotas.iter().enumerate().map(whole).collect();
    let missing = |parts: &[usize], place: usize| quotas[place] - parts[place] as f64;
    loop {
        let given: usize = parts.iter().sum();
        let places = 0..parts.len();
        let place = match given.cmp(&number) {
            std::cmp::Ordering::Equal => return parts,
            std::cmp::Ordering::Less => places
                .filter(|place| weights[*place] > 0.0)
                .rev()
                .max_by(|a, b| missing(&parts, *a).total_cmp(&missing(&parts, *b))),
            std::cmp::Ordering::Greater => places
                .filter(|place| parts[*place] > least(*place))
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
        assert_eq!(apportioned(5, &[0.0, 5.0, 0.0, 1.0]), [0, 4, 0, 1]);
        assert_eq!(apportioned(3, &[4.0, 4.0]), [2, 1]);
        assert_eq!(apportioned(7, &[8.0, 4.0, 2.0]), [4, 2, 1]);
        assert_eq!(apportioned(14, &[8.0, 4.0, 2.0]), [8, 4, 2]);
    }

    #[test]
    fn a_host_with_nothing_to_do_is_refused() {
        let check = |hosts, workloads: &[(&str, usize, &[usize])]| {
            let checked = check_hosts(hosts, workloads.iter().copied());
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(check(2, &[("a", 2, &[]), ("b", 1, &[])]), Ok(()));
        assert_eq!(
            check(9, &[("a", 3, &[]), ("b", 8, &[])]).unwrap_err(),
            "load host 1 of 9 would have nothing to do: the workload b has 8 clients for 9 hosts; give it more \
             clients, or 8 of the hosts at most"
        );
        assert_eq!(check(3, &[("a", 1, &[0]), ("b", 2, &[1, 2])]), Ok(()));
        assert_eq!(
            check(3, &[("a", 1, &[0]), ("b", 1, &[1, 2])]).unwrap_err(),
            "load host 2 of 3 would have nothing to do: the workload b has 1 client for 2 hosts; give it more \
             clients, or 1 of the hosts at most"
        );
        assert_eq!(
            check(2, &[("a", 9, &[1])]).unwrap_err(),
            "load host 1 would have nothing to do: no workload is for it; leave it out"
        );
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_there_is(
            own in prop::collection::vec(1_usize..50, 1..6), part in 0.0..1.0_f64,
        ) {
            let all: usize = own.iter().sum();
            let number = own.len() + ((all - own.len()) as f64 * part).round() as usize;
            let weights: Vec<f64> = own.iter().map(|own| *own as f64).collect();
            let parts = apportioned(number, &weights);
            prop_assert_eq!(parts.iter().sum::<usize>(), number);
            prop_assert!(parts.iter().zip(&own).all(|(part, own)| (1..=*own).contains(part)));
        }

        #[test]
        fn all_is_shared_out(number in 0_usize..2_000, weights in prop::collection::vec(0.01_f64..100.0, 1..40)) {
            let parts = apportioned(number, &weights);
            prop_assert_eq!(parts.iter().sum::<usize>(), number);
            if number >= weights.len() {
                prop_assert!(parts.iter().all(|part| *part > 0));
            }
        }
    }
}
