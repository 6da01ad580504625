//! One run: the server up, the data in its state, everything at rest, then the load, and the books kept.

use super::embedded::EmbeddedServers;
use super::external::ExternalServers;
use super::fleet::Agents;
use super::loaded::Loaded;
use super::ready::Ready;
use super::reserved::Reserved;
use super::servers::{CellServer, CellServers};
use super::target::{clients, lexis};
use super::{Entry, Progress, RunError, RunRecording, begun_again, ceiling, data};
use super::{capacity, turns, workload};
use dyno_analysis::progress::FinishedRun;
use dyno_archive::plan::{ErrorLimit, Plan, PlannedRun, Resolved};
use dyno_archive::{ArchiveError, Block, CampaignWriter, CapacitySearch, Turns, Versus, Way};
use dyno_engine::{Ending, Outcome, Part, Stop, ThreadOptions};
use dyno_fleet::protocol::Told;
use dyno_load::{LoadPlan, Ready as Load, Work, no_log};
use dyno_lua::Heard;
use dyno_script::Lexis;
use dyno_target::target::{Environment, Passwords, TargetError};
use dyno_text::one_line;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// How long a server that has closed its connections may take to end.
const ENDING: Duration = Duration::from_millis(200);

/// Writes what cells that are measured in turn say about each other.
pub(super) type Keep<'a> = dyn FnMut(Versus, &[Block]) -> Result<(), ArchiveError> + 'a;

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
    /// Whether the run seeks the highest load that holds limits.
    pub capacity: Option<&'a CapacitySearch>,
    /// Whether counters are read while the load runs.
    pub sampling: bool,
    /// How the load's threads work.
    pub threads: ThreadOptions,
    /// Looks up variables that load hosts depend on.
    pub environment: Environment<'a>,
    pub embedded: EmbeddedServers<'a>,
    pub external: ExternalServers,
    pub reserved: Reserved,
    pub loaded: Loaded,
    pub stop: &'a Stop,
}

impl Bench<'_> {
    /// Makes one run of `experiment` on its servers.
    pub(super) fn run(
        &mut self,
        planned: &PlannedRun,
        experiment: &Resolved,
        servers: &CellServers<'_>,
        progress: &mut dyn Progress,
    ) -> Result<FinishedRun, RunError> {
        let stop = self.stop;
        self.attempt(planned, experiment, servers, progress)
            .map_err(|error| match error {
                RunError::Archive(_) | RunError::Target(TargetError::Stopped(_)) => error,
                // What was under way was cancelled, and says so in one way or another.
                _ if stop.requested() => RunError::Stopped,
                error => error,
            })
    }

    fn attempt(
        &mut self,
        planned: &PlannedRun,
        experiment: &Resolved,
        servers: &CellServers<'_>,
        progress: &mut dyn Progress,
    ) -> Result<FinishedRun, RunError> {
        // Repetitions draw other numbers, cells the same: they are to differ in nothing but their levels.
        let seed = self.seed.wrapping_add(planned.repetition as u64 - 1);
        // A host that cannot be reached is to be known before anything is made.
        let agents = Agents::start(experiment, &self.threads, self.environment, self.stop)?;
        let is_private = |server: &CellServer<'_>| server.target.external().is_none();
        if let Some(host) = agents
            .as_ref()
            .and_then(Agents::elsewhere)
            .filter(|_| servers.all().any(is_private))
        {
            return Err(RunError::Unreachable { host: host.to_owned() });
        }
        let (ready, beside) = self.ready_all(planned, experiment, servers, progress)?;
        let all = || std::iter::once(&ready).chain(&beside);
        let heard = Arc::new(Heard::default());
        let stop = self.stop;
        let scripts = |lexis: &dyn Fn(&str) -> Lexis| workload::scripts(experiment, seed, lexis, stop);
        let mut sharing = None;
        let sought = self.capacity;
        let share = |load: &mut LoadPlan| {
            if sought.is_some() {
                capacity::steer(load);
            }
            sharing = agents
                .map(|agents| agents.share(experiment, load.clone()))
                .transpose()?;
            Ok(match sharing {
                Some(_) => Part::none(load.workloads.len()),
                None => Part::whole(),
            })
        };
        let load = self.load(experiment, servers, &all().collect::<Vec<_>>(), scripts, &heard, share)?;
        let agents = sharing;
        let entry = Entry {
            experiment,
            statements: load.statements(),
            examples: Some(load.examples()),
            settings: &ready.settings,
            database: &*ready.database,
            beside: beside.iter().map(Ready::beside).collect(),
            command: self.command,
            max_errors: self.max_errors,
            sampling: self.sampling,
            threads: &self.threads,
            notes: ready.notes.clone(),
            passwords: Passwords::new(all().flat_map(Ready::passwords)),
            preparation: Some(ready.preparation.clone()),
            stop: self.stop,
        };
        let told = Told {
            counters: self.sampling,
            ceiling: ready
                .database
                .reach()
                .has_ceiling()
                .then(|| ceiling::of(ready.database.route())),
        };
        let connecting = match clients(experiment) {
            1 => "Connecting 1 client".to_owned(),
            clients => format!("Connecting {clients} clients"),
        };
        progress.asks(&connecting);
        let mut recording = RunRecording::open(self.campaign, planned, entry, progress)?;
        // In between the author's questions may have been asked.
        recording.asks(&connecting);
        let folder = recording.folder().to_owned();
        let mut known = None;
        let restarts = || load.counts().iter().map(|counts| counts.errors).collect();
        let (driven, lost) = self.reserved.during(self.stop, |stop| match (agents, sought) {
            (None, None) => {
                let outcome = load.drive(recording.observer(), stop)?;
                Ok((outcome, restarts(), None))
            }
            (None, Some(sought)) => {
                let mut climb = capacity::Climb::new(recording.observer(), sought, experiment);
                let outcome = load.drive(&mut climb, stop)?;
                let (found, is_over) = climb.finish();
                known = Some(found);
                Ok((capacity::outcome_of(is_over, outcome), restarts(), None))
            }
            (Some(agents), _) => {
                let driven = agents.drive(experiment, recording.observer(), &folder, told, stop)?;
                recording.driven_by(driven.hosts);
                driven.notes.into_iter().for_each(|note| recording.note(note));
                Ok((driven.outcome, driven.restarted, driven.loss))
            }
        });
        match driven {
            Ok((outcome, restarted, missing)) => {
                for note in lua_notes(experiment, restarted, &heard) {
                    recording.note(note);
                }
                let lost = lost.map(|error| error.to_string());
                let reason = lost
                    .or_else(|| self.server_end(servers, &outcome))
                    .or_else(|| script_end(experiment, &outcome, &heard))
                    .or_else(|| self.lapse(servers, &outcome))
                    .or(missing);
                let closed = recording.close_when(&outcome, reason, || self.catch_up_after(servers));
                if let Some(known) = known {
                    let kept = capacity::keep(known, self.campaign.path(), &closed, ready.database.is_local());
                    kept.unwrap_or_else(|error| progress.note(&format!("{error}.")));
                }
                Ok(closed)
            }
            Err(error) => {
                let error = lost.unwrap_or(error);
                recording.abandon(&error.to_string());
                Err(error)
            }
        }
    }

    /// The load of `experiment` on its servers, which are `ready`, the main one first: `scripts` makes what its
    /// workloads execute, told by which rules each server reads them, and `change` has the last word on its plan, and
    /// says which part of it is driven here.
    fn load(
        &mut self,
        experiment: &Resolved,
        servers: &CellServers<'_>,
        ready: &[&Ready],
        scripts: impl FnOnce(&dyn Fn(&str) -> Lexis) -> Result<Vec<Work>, RunError>,
        heard: &Arc<Heard>,
        change: impl FnOnce(&mut LoadPlan) -> Result<Part, RunError>,
    ) -> Result<Load, RunError> {
        self.check_stop()?;
        let mut read_by = HashMap::new();
        for (ready, server) in ready.iter().zip(servers.all()) {
            // Only the server knows how it has been told to read SQL.
            let usual = lexis(&server.experiment);
            read_by.insert(&*ready.name, ready.database.lexis(usual, &self.stop.flag())?);
        }
        let lexis = |name: &str| read_by.get(name).copied().unwrap_or_default();
        let scripts = scripts(&lexis)?;
        let reached = experiment.workloads.iter().filter_map(|workload| {
            let server = experiment.server_of(workload);
            let named = ready.iter().find(|ready| ready.name == server);
            let reach = named.or(ready.first())?.database.reach();
            Some(workload::server(reach, workload.driver))
        });
        let reached: Vec<_> = reached.collect();
        let mut load = workload::plan(experiment, scripts, &reached, self.threads.clone());
        let part = change(&mut load)?;
        // Before scripts do anything.
        for ready in ready.iter().filter(|ready| !ready.is_replica) {
            ready.database.mark_used(&self.stop.flag())?;
        }
        let (load, lost) = self.reserved.during(self.stop, |stop| {
            Load::heard_by(&heard.voice(), load, &part, &no_log, stop)
        });
        match lost {
            Some(lost) => Err(lost),
            None => Ok(load?),
        }
    }

    /// Makes the runs of the cells of `plan` in turn, on `servers`, which are those of all together, until all that was
    /// asked is `answered`. What they say about each other is `keep`'s to write.
    pub(super) fn in_turns(
        &mut self,
        plan: &Plan,
        turns: &Turns,
        servers: &CellServers<'_>,
        answered: fn(&Versus) -> bool,
        keep: &mut Keep<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<FinishedRun>, RunError> {
        let one = turns::one(plan)?;
        let (Some(planned), [cell]) = (plan.runs.first(), one.cells.as_slice()) else {
            return Err(RunError::NothingPlanned);
        };
        let experiment = &cell.experiment;
        let (ready, beside) = self.ready_all(planned, experiment, servers, progress)?;
        let all: Vec<&Ready> = std::iter::once(&ready).chain(&beside).collect();
        let division = turns::Division::of(plan);
        // Several may share a server.
        let server = |side: usize| {
            let workload = experiment.workloads.get(division.workloads(side).start);
            workload.map_or(experiment.main_server(), |workload| experiment.server_of(workload))
        };
        let order = turns::Order::of(plan, turns, experiment.warmup);
        let heard = Arc::new(Heard::default());
        // Each side with its own parameters, and all with the same random numbers.
        let (seed, stop) = (self.seed, self.stop);
        let scripts = |lexis: &dyn Fn(&str) -> Lexis| {
            let each = plan.cells.iter().enumerate();
            let each =
                each.map(|(side, cell)| workload::scripts(&cell.experiment, seed, |_| lexis(server(side)), stop));
            Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        let load = self.load(experiment, servers, &all, scripts, &heard, |load| {
            turns::take_turns(load, &division, experiment.warmup, turns, &order);
            Ok(Part::whole())
        })?;
        let statements = load.statements();
        let told = RefCell::new(&mut *progress);
        let mut quiet: Vec<_> = plan.runs.iter().map(|_| turns::Quiet(&told)).collect();
        let mut recordings = Vec::new();
        for (side, (planned, quiet)) in plan.runs.iter().zip(&mut quiet).enumerate() {
            let cell = plan.cell_of(planned).ok_or(RunError::NothingPlanned)?;
            let statements = division.own(side, &statements);
            let own = all.iter().find(|ready| ready.name == server(side));
            let ready = own.copied().unwrap_or(&ready);
            let entry = Entry {
                experiment: &cell.experiment,
                statements,
                examples: None,
                settings: &ready.settings,
                database: &*ready.database,
                beside: Vec::new(),
                command: self.command,
                max_errors: self.max_errors,
                // A server's counters go on while it rests.
                sampling: false,
                threads: &self.threads,
                notes: ready.notes.clone(),
                passwords: Passwords::new(all.iter().flat_map(|ready| ready.passwords())),
                preparation: Some(ready.preparation.clone()),
                stop: self.stop,
            };
            let mut recording = RunRecording::open(self.campaign, planned, entry, quiet)?;
            recording.of_part(division.workloads(side).start);
            recordings.push(recording);
        }
        let at_most = experiment.measure.unwrap_or_default();
        let mut watch = |known: &Versus, end: Duration| {
            let measured = end.saturating_sub(experiment.warmup);
            told.borrow_mut().versus(known, measured, at_most);
            match answered(known) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let recorders = recordings.iter_mut().map(RunRecording::observer).collect();
        // On a server that sides share nobody rests, nor where all work at once.
        let rests = all.len() == plan.cells.len() && turns.way == Way::InSlices;
        let folders = all.iter().filter(|_| rests);
        let flag = self.stop.flag();
        let folders: Vec<_> = folders.map(|ready| turns::folder_of(&*ready.database, &flag)).collect();
        let observer = turns::Sides::new(plan, turns, order, recorders, &mut watch);
        let mut observer = observer.watching(&folders);
        let (driven, lost) = self.reserved.during(self.stop, |stop| load.drive(&mut observer, stop));
        let is_over = observer.is_over();
        let (versus, blocks) = (observer.versus(), observer.blocks());
        drop(observer);
        let outcome = match driven {
            Ok(outcome) => outcome,
            Err(error) => {
                let error = lost.unwrap_or_else(|| error.into());
                recordings
                    .into_iter()
                    .for_each(|recording| recording.abandon(&error.to_string()));
                return Err(error);
            }
        };
        let is_known = is_over && matches!(outcome.ended_early, None | Some(Ending::Stopped));
        let failure = match &outcome.ended_early {
            None | Some(Ending::Stopped) => None,
            Some(ending) => Some(ending.to_string()),
        };
        let reason = lost
            .map(|error| error.to_string())
            .or_else(|| self.server_end(servers, &outcome))
            .or_else(|| script_end(experiment, &outcome, &heard))
            .or_else(|| self.lapse(servers, &outcome))
            .or(failure);
        // What was measured is kept all the same.
        if let Err(error) = keep(versus, &blocks) {
            recordings
                .iter_mut()
                .for_each(|recording| recording.note(format!("{error}.")));
        }
        let closed = recordings.into_iter().enumerate().map(|(side, recording)| {
            let outcome = turns::outcome_of(side, &division, is_known, &outcome);
            recording.close(&outcome, reason.clone())
        });
        Ok(closed.collect())
    }

    pub(super) fn check_stop(&self) -> Result<(), RunError> {
        if self.stop.requested() {
            return Err(RunError::Stopped);
        }
        Ok(())
    }

    /// What to say instead of how the load ended, if one of the servers has ended: without it another load was measured
    /// than the one asked for, even if no client was connected to it.
    fn server_end(&mut self, servers: &CellServers<'_>, outcome: &Outcome) -> Option<String> {
        let mut patience = match &outcome.ended_early {
            Some(Ending::ConnectionsLost(_)) => ENDING,
            // What was waited for has ended in good order.
            _ => Duration::ZERO,
        };
        let said = servers.all().find_map(|server| {
            let instance = self.embedded.held(&server.target.to_string())?;
            let said = instance.post_mortem(std::mem::take(&mut patience))?;
            Some((server, said))
        });
        said.map(|(server, said)| match servers.is_one() {
            true => said,
            false => format!("server {}: {said}", server.name),
        })
    }

    /// What to say of a run that took its time if a server is no more what it was brought as: without it another load
    /// was measured, what was read from a replica that does not follow is old, and a server that stands still would be
    /// waited for with each question.
    fn lapse(&self, servers: &CellServers<'_>, outcome: &Outcome) -> Option<String> {
        if outcome.ended_early.is_some() {
            return None;
        }
        servers.all().find_map(|server| {
            let instance = self.embedded.held(&server.target.to_string())?;
            let said = instance.lapse(&self.stop.flag())?;
            Some(match servers.is_one() {
                true => said,
                false => format!("server {}: {said}", server.name),
            })
        })
    }

    /// The campaign is over, or goes on later: nothing of it stays up, and servers that are not ours are as they were.
    pub(super) fn leave(&mut self, complete: bool, progress: &mut dyn Progress) {
        self.external.put_back(progress);
        for instance in self.embedded.all().filter(|_| complete) {
            // A server that crashed cannot drop a database, and need not.
            let _ = instance.clear();
        }
        self.embedded.stop(progress);
    }
}

/// What is to be known of the scripts in Lua of a load that is over.
/// `restarted` has for each workload how many events began again after an error which the script ignores.
fn lua_notes(experiment: &Resolved, restarted: Vec<u64>, heard: &Heard) -> Vec<String> {
    let said = heard.said().into_iter();
    let said = said.map(|said| format!("Of the script was said: {}.", said.trim_end_matches('.')));
    let restarted = restarted.into_iter().zip(&experiment.workloads);
    let begun_again = restarted.filter_map(|(events, workload)| begun_again(&workload.name, events));
    begun_again.chain(said).collect()
}

/// What sysbench's API says where it has said before what the server said.
const UNSAID: [&str; 3] = ["SQL API error", "connection creation failed", "reconnection failed"];

/// What to say instead of how the load ended, if a script in Lua ended it: what the server said, if the error does not
/// say it, and what is missing if that is a table.
fn script_end(experiment: &Resolved, outcome: &Outcome, heard: &Heard) -> Option<String> {
    let mut reason = match &outcome.ended_early {
        Some(Ending::Program(error)) => error.to_string(),
        // A load host said it.
        Some(Ending::Elsewhere(said)) => said.clone(),
        _ => return None,
    };
    if UNSAID.iter().any(|unsaid| reason.ends_with(unsaid)) {
        for said in heard.said() {
            reason.push_str("; ");
            reason.push_str(said.trim_end());
        }
    }
    let script = experiment
        .workloads
        .iter()
        .find_map(|workload| workload.scripts.lua())?;
    if lacks_table(&reason) {
        let data = data::of(experiment);
        let name = one_line(&script.script.script_name, 80);
        reason.push_str(&match data.is_some() {
            false => format!(
                ". The experiment has no [data], so nothing makes that table: add [data] with lua = \"{name}\" and the \
                 options of the workload, or measure a database that has it"
            ),
            true => ". [data] does not make that table: compare its options with those of the workload".to_owned(),
        });
    }
    Some(reason)
}

/// Whether this is what a server says of a table that is not there.
fn lacks_table(said: &str) -> bool {
    const MYSQL: [&str; 3] = ["MySQL error: 1146 ", "errno = 1146,", "returned error 1146 "];
    MYSQL.iter().any(|words| said.contains(words)) || said.contains("relation \"") && said.contains("\" does not exist")
}
