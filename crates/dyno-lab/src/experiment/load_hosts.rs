//! Which hosts drive the load of a cell, and which of them each workload: a file names more than a cell may have, where
//! their number is a factor.

use super::SetError;
use dyno_archive::plan::{LoadHosts, Workload};
use dyno_fleet::start::hosts;
use std::collections::BTreeSet;

/// More hosts than anybody has.
pub(super) const MOST_HOSTS: i64 = 10_000;

const NO_HOSTS: &str = "there are no load hosts: write [load] hosts = […], or use --hosts or --local-agents";

/// The load hosts that drive a workload, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum OnHosts {
    /// All that there are.
    #[default]
    All,
    /// One for each instance of the workload's server, and the first again after the last.
    InTurn,
    /// These.
    These(Vec<HostWord>),
}

/// What stands for a load host in a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HostWord {
    /// What `[load]` has, or the name that reports have.
    Name(String),
    /// Its place in the list, from 1.
    Number(usize),
}

/// The hosts of a cell.
pub(super) struct CellHosts {
    hosts: LoadHosts,
    /// Whether dyno itself is to drive the load, whatever hosts there are.
    is_left_out: bool,
}

impl CellHosts {
    /// The first `number` of these; `None`: all.
    pub fn of(mut all: LoadHosts, number: Option<usize>) -> Result<Self, SetError> {
        let named = hosts(all.hosts.iter().map(String::as_str)).map_err(|error| refused("hosts", "", &error))?;
        // A host has the name that it has among all, whichever of them a cell has.
        all.names = named.into_iter().map(|host| host.name).collect();
        if let Some(number) = number {
            if number > all.names.len() {
                let reason = match all.names.len() {
                    0 => NO_HOSTS.to_owned(),
                    there => format!("{there} load hosts are named"),
                };
                return Err(refused("hosts", &number.to_string(), &reason));
            }
            all.hosts.truncate(number);
            all.shares.truncate(number);
            all.names.truncate(number);
        }
        Ok(Self {
            hosts: all,
            is_left_out: number == Some(0),
        })
    }

    /// How many.
    pub fn number(&self) -> usize {
        self.hosts.names.len()
    }

    /// The places of those that drive the workload called `workload`; empty: all of them, or dyno itself.
    pub fn places(&self, workload: &str, on: &OnHosts) -> Result<Vec<usize>, SetError> {
        let OnHosts::These(words) = on else {
            return Ok(Vec::new());
        };
        let by_number = |word: &HostWord| matches!(word, HostWord::Number(_));
        if self.hosts.names.is_empty() && (self.is_left_out || words.iter().all(by_number)) {
            return Ok(Vec::new());
        }
        let places = words.iter().map(|word| {
            let (place, shown) = match word {
                HostWord::Number(number) => (number.checked_sub(1), number.to_string()),
                HostWord::Name(name) => {
                    let hosts = self.hosts.hosts.iter().enumerate();
                    let given: Vec<_> = hosts
                        .filter(|(_, word)| *word == name)
                        .map(|(place, _)| place)
                        .collect();
                    // A word that is there several times names none of these hosts.
                    let given = given.first().copied().filter(|_| given.len() == 1);
                    let place = self.hosts.names.iter().position(|known| known == name).or(given);
                    (place, name.clone())
                }
            };
            place.filter(|place| *place < self.number()).ok_or_else(|| {
                let reason = match self.number() {
                    0 => NO_HOSTS.to_owned(),
                    number => format!("the load hosts here are 1 to {number}: {}", self.hosts.names.join(", ")),
                };
                refused(&format!("{workload}.hosts"), &shown, &reason)
            })
        });
        // In their order, and each once.
        let places: BTreeSet<usize> = places.collect::<Result<_, _>>()?;
        Ok(places.into_iter().collect())
    }

    /// The hosts, without those that no workload is for.
    pub fn in_use(mut self, workloads: &mut [Workload]) -> LoadHosts {
        if workloads.iter().any(|workload| workload.load_hosts.is_empty()) {
            return self.hosts;
        }
        let used: BTreeSet<usize> = workloads
            .iter()
            .flat_map(|workload| workload.load_hosts.clone())
            .collect();
        for place in workloads.iter_mut().flat_map(|workload| &mut workload.load_hosts) {
            *place = used.range(..*place).count();
        }
        keep(&mut self.hosts.hosts, &used);
        keep(&mut self.hosts.names, &used);
        keep(&mut self.hosts.shares, &used);
        self.hosts
    }
}

/// Keeps what is at these places.
fn keep<T>(all: &mut Vec<T>, places: &BTreeSet<usize>) {
    let mut each = 0..;
    all.retain(|_| each.next().is_some_and(|place| places.contains(&place)));
}

fn refused(name: &str, value: &str, reason: &dyn std::fmt::Display) -> SetError {
    SetError::Invalid {
        name: name.to_owned(),
        value: value.to_owned(),
        reason: reason.to_string(),
    }
}
