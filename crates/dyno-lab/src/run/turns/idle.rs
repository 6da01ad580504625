//! What the server does whose turn it is not: nothing, if the other one is to be measured alone. What works there all
//! the same, such as a checkpoint, takes time from the other side, and is told.

use dyno_target::host::{Worked, WorkingIn};
use dyno_target::target::{Database, StopFlag};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A server is busy if it uses more than this share of a core.
const BUSY: f64 = 0.05;

/// The system counts CPU time in ticks of this length: a single one says nothing.
const TICK: Duration = Duration::from_millis(10);

/// Watches the servers of all sides, which are on this machine.
pub(super) struct Idle {
    servers: Vec<WorkingIn>,
    /// How many slices were watched.
    slices: usize,
    /// In how many slices what was the greatest part of the work.
    busy: BTreeMap<String, usize>,
}

impl Idle {
    /// `None` unless each side has a server of its own here, with its data in one of these folders.
    pub fn new(folders: &[Option<PathBuf>]) -> Option<Self> {
        if folders.is_empty() {
            return None;
        }
        let servers = folders.iter().map(|folder| WorkingIn::new(folder.as_ref()?).ok());
        Some(Self {
            servers: servers.collect::<Option<_>>()?,
            slices: 0,
            busy: BTreeMap::new(),
        })
    }

    /// What counts of a slice of this side begins.
    pub fn begins(&mut self, side: usize) {
        self.others(side).for_each(|server| drop(server.read()));
    }

    fn others(&mut self, side: usize) -> impl Iterator<Item = &mut WorkingIn> {
        let all = self.servers.iter_mut().enumerate();
        all.filter(move |(other, _)| *other != side).map(|(_, server)| server)
    }

    /// It is over, after so long: what the others' servers did for the most part, if they were busy.
    pub fn ends(&mut self, side: usize, lasted: Duration) -> Option<String> {
        self.slices += 1;
        let worked: Vec<Worked> = self.others(side).flat_map(WorkingIn::read).collect();
        let work = most(&worked, lasted)?;
        *self.busy.entry(work.clone()).or_default() += 1;
        Some(work)
    }

    /// What to say of all slices; `None` if the servers were at rest in all of them.
    pub fn said(&self) -> Option<String> {
        let busy: usize = self.busy.values().sum();
        let each: Vec<String> = self
            .busy
            .iter()
            .map(|(work, slices)| format!("{work} in {slices}"))
            .collect();
        (busy > 0).then(|| {
            format!(
                "In {busy} of {} slices a server whose turn it was not was busy: {}.",
                self.slices,
                each.join(", ")
            )
        })
    }
}

/// Where the server of `database` has its data on this machine; `None` if it is elsewhere, or does not say. One that is
/// reached through a tunnel says it as well, but has no such folder here.
pub(in crate::run) fn folder_of(database: &dyn Database, stop: &StopFlag) -> Option<PathBuf> {
    if let Some(own) = database.data_folder() {
        return Some(own.to_owned());
    }
    let mut control = database.is_local().then(|| database.control(stop).ok())??;
    let facts = control.describe().ok()?.facts;
    facts["data_folder"].as_str().map(PathBuf::from)
}

/// The greatest part of what was done, if that was more than nothing to speak of.
fn most(worked: &[Worked], lasted: Duration) -> Option<String> {
    let mut works: BTreeMap<&str, Duration> = BTreeMap::new();
    for one in worked {
        *works.entry(&one.work).or_default() += one.cpu;
    }
    let all: Duration = works.values().sum();
    let (most, _) = works.into_iter().max_by_key(|(_, cpu)| *cpu)?;
    (all > lasted.mul_f64(BUSY).max(TICK)).then(|| most.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_worth_it_is_told() {
        let worked = |work: &str, ms: u64| Worked {
            work: work.to_owned(),
            cpu: Duration::from_millis(ms),
        };
        let slice = Duration::from_millis(400);
        assert_eq!(most(&[], slice), None);
        assert_eq!(most(&[worked("checkpointer", 20)], slice), None);
        assert_eq!(most(&[worked("checkpointer", 10)], slice / 4), None);
        let several = [worked("clients", 10), worked("checkpointer", 15), worked("clients", 10)];
        assert_eq!(most(&several, slice).as_deref(), Some("clients"));
    }

    #[test]
    fn all_slices_are_summed_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut idle = Idle::new(&[0, 1].map(|_| Some(folder.path().to_owned()))).unwrap();
        idle.begins(0);
        assert_eq!(idle.ends(0, Duration::from_millis(400)), None);
        assert_eq!(idle.said(), None);
        idle.slices = 120;
        idle.busy = [("checkpointer".to_owned(), 5), ("autovacuum worker".to_owned(), 2)].into();
        assert_eq!(
            idle.said().unwrap(),
            "In 7 of 120 slices a server whose turn it was not was busy: autovacuum worker in 2, checkpointer in 5."
        );
        assert!(Idle::new(&[Some(folder.path().to_owned()), None]).is_none());
    }
}
