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
    /// These, each with the file and the line that say so.
    These(Vec<(HostWord, String)>),
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
    /// Whether they take the place of others that the file has.
    are_replaced: bool,
}

impl CellHosts {
    /// The first `number` of these; `None`: all. `are_replaced` says whether the file has others.
    pub fn of(mut all: LoadHosts, number: Option<usize>, are_replaced: bool) -> Result<Self, SetError> {
        let named = hosts(all.hosts.iter().map(String::as_str)).map_err(|error| refused("hosts", "", &error))?;
        // A host has the name that it has among all, whichever of them a cell has.
        all.names = named.into_iter().map(|host| host.name).collect();
        if let Some(number) = number {
            if number > all.names.len() {
                let reason = match all.names.len() {
                    0 => NO_HOSTS.to_owned(),
                    1 => "1 load host is named".to_owned(),
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
            are_replaced,
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
        let by_number = |(word, _): &(HostWord, String)| matches!(word, HostWord::Number(_));
        if self.hosts.names.is_empty() && (self.is_left_out || words.iter().all(by_number)) {
            return Ok(Vec::new());
        }
        let places = words.iter().map(|(word, line)| {
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
                let replaced = match self.are_replaced {
                    true => " (those of the command line, which take the place of those under [load])",
                    false => "",
                };
                refused(
                    &format!("{workload}.hosts"),
                    &shown,
                    &format!("(at {line}) {reason}{replaced}"),
                )
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]
mod tests {
    use crate::experiment::Experiment;
    use dyno_archive::plan::Size;
    use std::path::Path;

    const FILE: &str = "title = \"t\"\n[load]\nhosts = [\"me@a\", \"b\"]\nshares = [1, 2]\n[[workload]]\n\
                        clients = 3\nscript = \"select 1\"\n";

    /// Why an experiment that ends so cannot be measured, with these hosts of the command line and values.
    fn refused(end: &str, hosts: &[&str], set: &[(&str, &str)]) -> String {
        let mut experiment = Experiment::parse(Path::new("mine.toml"), &format!("{FILE}{end}")).unwrap();
        if !hosts.is_empty() {
            let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
            assert!(experiment.drive_from(hosts).unwrap());
        }
        let set = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let set: Vec<_> = set.collect();
        experiment.plan(Size::Full, &set, None, 7, 4).unwrap_err().to_string()
    }

    #[test]
    fn a_host_that_is_not_there_is_told_with_its_place() {
        assert_eq!(
            refused("hosts = [\"a\",\n\"c\"]\n", &[], &[]),
            "`main.hosts` cannot be `c`: (at mine.toml:9) the load hosts here are 1 to 2: a, b"
        );
        assert_eq!(
            refused("hosts = [\"b\"]\n", &["c", "local"], &[]),
            "`main.hosts` cannot be `b`: (at mine.toml:8) the load hosts here are 1 to 2: c, local (those of the \
             command line, which take the place of those under [load])"
        );
    }

    #[test]
    fn fewer_hosts_than_levels_are_told_with_those_that_can_be() {
        let levels = "[factors]\nhosts = [0, 1, 2]\n";
        assert_eq!(
            refused(levels, &["local"], &[]),
            "hosts=2 cannot be measured: `hosts` cannot be `2`: 1 load host is named\n\
             Measure with as many as there are: --set hosts=0,1"
        );
        assert!(refused("", &[], &[("hosts", "3,4")]).ends_with("--set hosts=2"));
    }
}
