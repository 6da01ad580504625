//! The servers that a campaign reserves, so that no other dyno measures or changes them meanwhile.

use super::servers::CellServers;
use super::{Progress, RunError, data, preflight};
use dyno_archive::plan::Plan;
use dyno_engine::Stop;
use dyno_target::target::{External, Lock, TargetError, while_held};
use std::sync::Arc;

/// Servers with their locks. Dropped, it gives them free.
pub(super) struct Reserved {
    shared: bool,
    servers: Vec<Server>,
    lost: bool,
}

struct Server {
    /// Of the first cell that is measured there, in words.
    levels: String,
    address: String,
    server: Arc<dyn External>,
    /// The experiments that bring data there.
    experiments: Vec<String>,
    lock: Option<Box<dyn Lock>>,
}

impl Reserved {
    /// Reserves the servers of all cells. With `shared` other dynos that share them, too, may
    /// measure at the same time.
    pub(super) fn take(
        plan: &Plan,
        cells: &[CellServers<'_>],
        shared: bool,
        stop: &Stop,
        progress: &mut dyn Progress,
    ) -> Result<Self, RunError> {
        let mut servers: Vec<Server> = Vec::new();
        let each = plan.cells.iter().zip(cells);
        let each = each.flat_map(|(cell, servers)| servers.external().map(move |external| (cell, external)));
        for (cell, (server, external)) in each {
            let address = external.to_string();
            let index = servers.iter().position(|server| server.address == address);
            let index = index.unwrap_or_else(|| {
                servers.push(Server {
                    levels: preflight::levels(cell),
                    address,
                    server: Arc::clone(external),
                    experiments: Vec::new(),
                    lock: None,
                });
                servers.len() - 1
            });
            let name = &server.experiment.name;
            let experiments = &mut servers[index].experiments;
            if data::of_server(server).needs_place() && !experiments.contains(name) {
                experiments.push(name.clone());
            }
        }
        // Campaigns with the same servers reserve them in the same order, so that none waits for another that waits
        // for it.
        servers.sort_by(|a, b| a.address.cmp(&b.address));
        for server in &mut servers {
            progress.asks(&format!("Connecting to {}", server.address));
            server.take(shared, stop, progress).map_err(|cause| match cause {
                RunError::Target(TargetError::Connect(_)) if !server.levels.is_empty() => RunError::Cell {
                    cell: server.levels.clone(),
                    cause: Box::new(cause),
                },
                cause => cause,
            })?;
        }
        Ok(Self {
            shared,
            servers,
            lost: false,
        })
    }

    /// Makes sure that the server is reserved before it is worked on: it may have been restarted since. Who shares
    /// it is said in `notes`.
    pub(super) fn ensure(
        &mut self,
        external: &dyn External,
        notes: &mut Vec<String>,
        stop: &Stop,
        progress: &mut dyn Progress,
    ) -> Result<(), RunError> {
        let address = external.to_string();
        let Some(server) = self.servers.iter_mut().find(|server| server.address == address) else {
            return Ok(());
        };
        server.take(self.shared, stop, progress)?;
        let sharers = server.lock.as_ref().map(|lock| lock.sharers()).unwrap_or_default();
        notes.extend(sharers.iter().map(|other| {
            format!("{other} shared the server when this run began: the two influenced each other's results.")
        }));
        Ok(())
    }

    /// Does `work`, which the flag that it gets ends: that is raised with `stop`, and when a lock is lost. Gives
    /// back what it does, and the error if a lock was lost.
    pub(super) fn during<T>(&mut self, stop: &Stop, work: impl FnOnce(&Stop) -> T) -> (T, Option<RunError>) {
        let locks = self.servers.iter().filter_map(|server| server.lock.as_deref());
        let locks: Vec<&dyn Lock> = locks.collect();
        if locks.is_empty() {
            return (work(stop), None);
        }
        let run = stop.within();
        let (done, held) = while_held(&locks, &stop.flag(), &run.flag(), || work(&run));
        self.lost |= !held;
        (done, (!held).then_some(RunError::Unreserved))
    }

    /// Whether a lock was lost during a run.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }
}

impl Server {
    fn take(&mut self, shared: bool, stop: &Stop, progress: &mut dyn Progress) -> Result<(), RunError> {
        let flag = stop.flag();
        let mut waiting = |holder: &str| {
            progress.step(&format!("Waiting for {holder}, which is using this server"));
        };
        let taken = match &self.lock {
            Some(lock) => lock.ensure(&flag, &mut waiting),
            None => self
                .server
                .lock(shared, &self.experiments, &flag, &mut waiting)
                .map(|lock| self.lock = Some(lock)),
        };
        taken.map_err(|error| match error {
            // What was cancelled failed for no other reason.
            _ if stop.requested() => RunError::Stopped,
            TargetError::Stopped(_) => RunError::Stopped,
            error => error.into(),
        })
    }
}
