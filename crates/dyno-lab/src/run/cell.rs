//! One run: the server up, the data in its state, everything at rest, then the load, and the books kept.

use super::borrowed::Borrowed;
use super::data::{self, Wanted};
use super::reserved::Reserved;
use super::server::Servers;
use super::target::Target;
use super::workload::{self, Compiled};
use super::{Entry, FinishedRun, Ledger, Progress, RunError};
use crate::archive::{CampaignWriter, PlannedRun};
use crate::experiment::{Cache, ErrorLimit, Resolved};
use dyno_engine::{Ending, Outcome, Stop, ThreadOptions};
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::cache::prewarm;
use dyno_target::postgres::load::{LoadError, settle};
use dyno_target::postgres::scope::Scope;
use std::path::{Path, PathBuf};

/// What all runs of a campaign have in common.
pub(super) struct Bench<'a> {
    /// The campaign's folder.
    pub campaign: &'a CampaignWriter,
    /// Its name.
    pub name: String,
    /// The experiments of all cells.
    pub all: Vec<&'a Resolved>,
    /// Whether there are several runs, which are all to begin alike: each with a server that was just started.
    pub several: bool,
    /// Fixes all random numbers.
    pub seed: u64,
    /// The command line as it is archived.
    pub command: &'a str,
    /// With how many errors a run still counts.
    pub max_errors: ErrorLimit,
    /// Whether counters are read while the load runs.
    pub sampling: bool,
    /// How the load's threads work.
    pub threads: ThreadOptions,
    pub servers: Servers<'a>,
    pub borrowed: Borrowed,
    pub reserved: Reserved,
    pub stop: &'a Stop,
}

/// A database that a run can begin on.
struct Ready {
    info: ConnectionInfo,
    scope: Scope,
    settings: Vec<(String, String)>,
    data_folder: Option<PathBuf>,
    log: Option<PathBuf>,
    notes: Vec<String>,
}

impl Bench<'_> {
    /// Makes one run of `experiment` on `target`.
    pub(super) fn run(
        &mut self,
        planned: &PlannedRun,
        experiment: &Resolved,
        target: &Target,
        progress: &mut dyn Progress,
    ) -> Result<FinishedRun, RunError> {
        let stop = self.stop;
        self.attempt(planned, experiment, target, progress)
            .map_err(|error| match error {
                RunError::Archive(_) | RunError::Load(LoadError::Stopped { .. }) => error,
                // What was under way was cancelled, and says so in one way or another.
                _ if stop.requested() => RunError::Stopped,
                error => error,
            })
    }

    fn attempt(
        &mut self,
        planned: &PlannedRun,
        experiment: &Resolved,
        target: &Target,
        progress: &mut dyn Progress,
    ) -> Result<FinishedRun, RunError> {
        // Repetitions draw other numbers, cells the same: they are to differ in nothing but their levels.
        let seed = self.seed.wrapping_add(planned.repetition as u64 - 1);
        let compiled = workload::compile(experiment, seed)?;
        let ready = self.ready(experiment, target, progress)?;
        self.check_stop()?;
        let statements = compiled.iter().map(Compiled::statements).collect();
        let load = workload::load(experiment, compiled, &ready.info, self.threads.clone())?;
        if let Target::Address(_) = target {
            data::remote::mark_used(&ready.info, self.wanted(experiment), self.stop)?;
        }
        let entry = Entry {
            experiment,
            statements,
            settings: &ready.settings,
            target: &ready.info,
            scope: ready.scope,
            command: self.command,
            data_folder: ready.data_folder.as_deref(),
            log: ready.log.as_deref(),
            max_errors: self.max_errors,
            sampling: self.sampling,
            threads: &self.threads,
            notes: ready.notes,
            stop: self.stop,
        };
        let clients: usize = experiment.workloads.iter().map(|workload| workload.clients).sum();
        progress.step(&match clients {
            1 => "Connecting 1 client".to_owned(),
            _ => format!("Connecting {clients} clients"),
        });
        let mut ledger = Ledger::open(self.campaign, planned, entry, progress)?;
        let (driven, lost) = self
            .reserved
            .during(self.stop, |stop| dyno_engine::drive(&load, ledger.observer(), stop));
        match driven {
            Ok(outcome) => {
                let lost = lost.map(|error| error.to_string());
                Ok(ledger.close(&outcome, lost.or_else(|| self.server_end(&outcome))))
            }
            Err(error) => {
                let error = lost.unwrap_or_else(|| error.into());
                ledger.abandon(&error.to_string());
                Err(error)
            }
        }
    }

    fn wanted<'b>(&'b self, experiment: &'b Resolved) -> Wanted<'b> {
        Wanted {
            experiment,
            all: &self.all,
            campaign: &self.name,
        }
    }

    fn check_stop(&self) -> Result<(), RunError> {
        if self.stop.requested() {
            return Err(RunError::Stopped);
        }
        Ok(())
    }

    /// Brings server and data into the state that the experiment asks for.
    fn ready(
        &mut self,
        experiment: &Resolved,
        target: &Target,
        progress: &mut dyn Progress,
    ) -> Result<Ready, RunError> {
        match target {
            Target::Embedded(options) => {
                let (mut notes, scope) = (Vec::new(), Scope::Database);
                let cluster = self
                    .servers
                    .bring(options, experiment, self.several, &mut notes, progress)?;
                if self.stop.requested() {
                    return Err(RunError::Stopped);
                }
                let wanted = Wanted {
                    experiment,
                    all: &self.all,
                    campaign: &self.name,
                };
                data::embedded::prepare(cluster, wanted, self.several, &mut notes, progress, self.stop)?;
                let control = cluster.server()?.connection(data::embedded::WORKING);
                rest(&control, &scope, &mut notes, progress, self.stop)?;
                if experiment.data.cache == Cache::Cold {
                    notes.push(sentence(&cluster.restart_cold(progress)?.to_string()));
                }
                let info = cluster.connection(data::embedded::WORKING, experiment.path)?;
                warm(&info, &scope, experiment, &mut notes, progress, self.stop)?;
                Ok(Ready {
                    info,
                    scope,
                    settings: cluster.settings().to_vec(),
                    data_folder: Some(cluster.data_folder().to_owned()),
                    log: cluster.log().map(Path::to_owned),
                    notes,
                })
            }
            Target::Address(server) => {
                let (mut notes, scope) = (Vec::new(), data::remote::scope(experiment));
                self.servers.stop(progress);
                self.reserved.ensure(server, &mut notes, self.stop, progress)?;
                let set = self.borrowed.set(server, experiment, &mut notes, progress, self.stop)?;
                self.check_stop()?;
                // To be set, the server may have been restarted.
                self.reserved.ensure(server, &mut Vec::new(), self.stop, progress)?;
                super::settings::check_connections(&mut *set.info.connect_until(&self.stop.flag())?, experiment)?;
                let info = data::remote::prepare(&set.info, self.wanted(experiment), &mut notes, progress, self.stop)?;
                self.check_stop()?;
                rest(&info, &scope, &mut notes, progress, self.stop)?;
                warm(&info, &scope, experiment, &mut notes, progress, self.stop)?;
                Ok(Ready {
                    info,
                    scope,
                    settings: set.settings,
                    data_folder: None,
                    log: None,
                    notes,
                })
            }
        }
    }

    /// What to say instead of how the load ended, if it ended because the server did.
    fn server_end(&self, outcome: &Outcome) -> Option<String> {
        match &outcome.ended_early {
            Some(Ending::ConnectionsLost(_)) => self.servers.cluster()?.post_mortem(),
            _ => None,
        }
    }

    /// The campaign is over, or goes on later: nothing of it stays up, and servers that are not ours are as they were.
    pub(super) fn leave(&mut self, complete: bool, progress: &mut dyn Progress) {
        self.borrowed.put_back(progress);
        if let Some(cluster) = self.servers.cluster().filter(|_| complete) {
            // A server that crashed cannot drop a database, and need not.
            let _ = data::embedded::drop_working(cluster);
        }
        self.servers.stop(progress);
    }
}

/// Brings the database to rest.
fn rest(
    info: &ConnectionInfo,
    scope: &Scope,
    notes: &mut Vec<String>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), RunError> {
    progress.step("Settling: vacuum, analyze, checkpoint");
    notes.extend(settle(&mut *info.connect_until(&stop.flag())?, scope)?);
    Ok(())
}

/// Reads the data into the cache if the experiment asks for it.
fn warm(
    info: &ConnectionInfo,
    scope: &Scope,
    experiment: &Resolved,
    notes: &mut Vec<String>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), RunError> {
    if experiment.data.cache == Cache::Warm {
        progress.step("Reading the data into the cache");
        notes.push(sentence(
            &prewarm(&mut *info.connect_until(&stop.flag())?, scope)?.to_string(),
        ));
    }
    Ok(())
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(['.']).collect()
}
