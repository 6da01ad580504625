//! One run: the server up, the data in its state, everything at rest, then the load, and the books kept.

use super::embedded::EmbeddedServers;
use super::external::ExternalServers;
use super::fleet::Agents;
use super::loaded::Loaded;
use super::ready::Ready;
use super::reserved::Reserved;
use super::servers::{CellServer, CellServers};
use super::target::{clients, lexis};
use super::workload;
use super::{Entry, Progress, RunError, RunRecording, begun_again, data};
use crate::lua::Heard;
use dyno_analysis::progress::FinishedRun;
use dyno_archive::CampaignWriter;
use dyno_archive::plan::PlannedRun;
use dyno_archive::plan::{ErrorLimit, Resolved};
use dyno_engine::{Ending, Outcome, Stop, ThreadOptions};
use dyno_load::{Ready as Load, no_log};
use dyno_target::target::{Passwords, TargetError};
use dyno_text::one_line;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a server that has closed its connections may take to end.
const ENDING: Duration = Duration::from_millis(200);

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
        let agents = Agents::start(experiment, &self.threads, self.stop)?;
        let is_private = |server: &CellServer<'_>| server.target.external().is_none();
        if let Some(host) = agents
            .as_ref()
            .and_then(Agents::elsewhere)
            .filter(|_| servers.all().any(is_private))
        {
            return Err(RunError::Unreachable { host: host.to_owned() });
        }
        let (ready, beside) = self.ready_all(planned, experiment, servers, progress)?;
        self.check_stop()?;
        let all = || std::iter::once(&ready).chain(&beside);
        let of = |name: &str| all().find(|ready| ready.name == name).unwrap_or(&ready);
        let mut read_by = HashMap::new();
        for (ready, server) in all().zip(servers.all()) {
            // Only the server knows how it has been told to read SQL.
            let usual = lexis(&server.experiment);
            read_by.insert(&*ready.name, ready.database.lexis(usual, &self.stop.flag())?);
        }
        let lexis = |name: &str| read_by.get(name).copied().unwrap_or_default();
        let scripts = workload::scripts(experiment, seed, lexis, self.stop)?;
        let workloads = experiment.workloads.iter();
        let reached: Vec<_> = workloads
            .map(|workload| of(experiment.server_of(workload)).database.reach().into())
            .collect();
        let load = workload::plan(experiment, scripts, &reached, self.threads.clone());
        let agents = agents.map(|agents| agents.share(load.clone())).transpose()?;
        // Before scripts do anything.
        for ready in all().filter(|ready| !ready.is_replica) {
            ready.database.mark_used(&self.stop.flag())?;
        }
        let heard = Arc::new(Heard::default());
        let (load, lost) = self
            .reserved
            .during(self.stop, |stop| Load::heard_by(&heard.voice(), load, &no_log, stop));
        if let Some(lost) = lost {
            return Err(lost);
        }
        let load = load?;
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
        let connecting = match clients(experiment) {
            1 => "Connecting 1 client".to_owned(),
            clients => format!("Connecting {clients} clients"),
        };
        progress.asks(&connecting);
        let mut recording = RunRecording::open(self.campaign, planned, entry, progress)?;
        // In between the author's questions may have been asked.
        recording.asks(&connecting);
        let folder = recording.folder().to_owned();
        let (driven, lost) = self.reserved.during(self.stop, |stop| match agents {
            None => Ok((load.drive(recording.observer(), stop)?, None)),
            Some(agents) => {
                let driven = agents.drive(experiment, recording.observer(), &folder, self.sampling, stop)?;
                recording.driven_by(driven.hosts);
                driven.notes.into_iter().for_each(|note| recording.note(note));
                Ok((driven.outcome, driven.loss))
            }
        });
        match driven {
            Ok((outcome, missing)) => {
                for note in lua_notes(experiment, &load, &heard) {
                    recording.note(note);
                }
                let lost = lost.map(|error| error.to_string());
                let reason = lost
                    .or_else(|| self.server_end(servers, &outcome))
                    .or_else(|| script_end(experiment, &outcome, &heard))
                    .or_else(|| self.lapse(servers, &outcome))
                    .or(missing);
                Ok(recording.close_when(&outcome, reason, || self.catch_up_after(servers)))
            }
            Err(error) => {
                let error = lost.unwrap_or(error);
                recording.abandon(&error.to_string());
                Err(error)
            }
        }
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
fn lua_notes(experiment: &Resolved, load: &Load, heard: &Heard) -> Vec<String> {
    let said = heard.said().into_iter();
    let said = said.map(|said| format!("Of the script was said: {}.", said.trim_end_matches('.')));
    let counts = load.counts().into_iter().zip(&experiment.workloads);
    let begun_again = counts.filter_map(|(counts, workload)| begun_again(&workload.name, counts.errors));
    begun_again.chain(said).collect()
}

/// What sysbench's API says where it has said before what the server said.
const UNSAID: [&str; 3] = ["SQL API error", "connection creation failed", "reconnection failed"];

/// What to say instead of how the load ended, if a script in Lua ended it: what the server said, if the error does not
/// say it, and what is missing if that is a table.
fn script_end(experiment: &Resolved, outcome: &Outcome, heard: &Heard) -> Option<String> {
    let Some(Ending::Program(error)) = &outcome.ended_early else {
        return None;
    };
    let mut reason = error.to_string();
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
