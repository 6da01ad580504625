//! One run: the server up, the data in its state, everything at rest, then the load, and the books kept.

use super::embedded::EmbeddedServers;
use super::external::ExternalServers;
use super::progress::Told;
use super::reserved::Reserved;
use super::target::{clients, lexis, needs, settings};
use super::workload;
use super::{Entry, Progress, RunError, RunRecording, begun_again, data};
use crate::lua::Heard;
use dyno_analysis::progress::FinishedRun;
use dyno_archive::CampaignWriter;
use dyno_archive::plan::PlannedRun;
use dyno_archive::plan::{Cache, ErrorLimit, Path as Way, Resolved};
use dyno_engine::{Ending, Outcome, Stop, ThreadOptions};
use dyno_load::{Ready as Load, no_log};
use dyno_target::target::{Data, Database, Embedded, External, Route, Target, TargetError, Wanted};
use dyno_text::one_line;
use std::sync::Arc;

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
    pub stop: &'a Stop,
}

/// A database that a run can begin on.
struct Ready {
    database: Box<dyn Database>,
    settings: Vec<(String, String)>,
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
        target: &Target,
        progress: &mut dyn Progress,
    ) -> Result<FinishedRun, RunError> {
        // Repetitions draw other numbers, cells the same: they are to differ in nothing but their levels.
        let seed = self.seed.wrapping_add(planned.repetition as u64 - 1);
        let ready = self.ready(experiment, target, progress)?;
        self.check_stop()?;
        // Only the server knows how it has been told to read SQL.
        let lexis = ready.database.lexis(lexis(experiment), &self.stop.flag())?;
        let scripts = workload::scripts(experiment, seed, lexis, self.stop)?;
        let server = ready.database.reach().into();
        let load = workload::plan(experiment, scripts, &server, self.threads.clone());
        // Before scripts do anything.
        ready.database.mark_used(&self.stop.flag())?;
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
            command: self.command,
            max_errors: self.max_errors,
            sampling: self.sampling,
            threads: &self.threads,
            notes: ready.notes,
            stop: self.stop,
        };
        progress.asks(&match clients(experiment) {
            1 => "Connecting 1 client".to_owned(),
            clients => format!("Connecting {clients} clients"),
        });
        let mut recording = RunRecording::open(self.campaign, planned, entry, progress)?;
        let (driven, lost) = self
            .reserved
            .during(self.stop, |stop| load.drive(recording.observer(), stop));
        match driven {
            Ok(outcome) => {
                for note in lua_notes(experiment, &load, &heard) {
                    recording.note(note);
                }
                let lost = lost.map(|error| error.to_string());
                let reason = lost
                    .or_else(|| self.server_end(&outcome))
                    .or_else(|| script_end(experiment, &outcome, &heard));
                Ok(recording.close(&outcome, reason))
            }
            Err(error) => {
                let error = lost.unwrap_or_else(|| error.into());
                recording.abandon(&error.to_string());
                Err(error)
            }
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
            Target::Embedded(embedded) => self.ready_embedded(experiment, &**embedded, progress),
            Target::External(server) => self.ready_external(experiment, &**server, progress),
        }
    }

    fn ready_embedded(
        &mut self,
        experiment: &Resolved,
        embedded: &dyn Embedded,
        progress: &mut dyn Progress,
    ) -> Result<Ready, RunError> {
        let mut notes = Vec::new();
        let all = self.all_data();
        let stop = self.stop.flag();
        let instance = self.embedded.hold(embedded, progress)?;
        let settings = settings(experiment);
        let needs = needs(experiment, &settings);
        instance.bring(needs, self.several, &mut notes, &mut Told(progress))?;
        if self.stop.requested() {
            return Err(RunError::Stopped);
        }
        let wanted = Wanted {
            data: &data::of(experiment),
            all: &all,
            campaign: &self.name,
        };
        instance.prepare(wanted, self.several, &mut notes, &mut Told(progress), &stop)?;
        rest(&*instance.database(None)?, &mut notes, progress, self.stop)?;
        if experiment.data.cache == Cache::Cold {
            notes.push(sentence(&instance.restart_cold(&mut Told(progress))?));
        }
        let route = experiment.path.map(|path| match path {
            Way::Unix => Route::Unix,
            Way::Tcp => Route::Tcp,
        });
        let database = instance.database(route)?;
        warm(&*database, experiment, &mut notes, progress, self.stop)?;
        Ok(Ready {
            database,
            settings: instance.settings().to_vec(),
            notes,
        })
    }

    fn ready_external(
        &mut self,
        experiment: &Resolved,
        server: &dyn External,
        progress: &mut dyn Progress,
    ) -> Result<Ready, RunError> {
        let mut notes = Vec::new();
        let stop = self.stop.flag();
        self.embedded.stop(progress);
        self.reserved.ensure(server, &mut notes, self.stop, progress)?;
        let set = self.external.set(server, experiment, &mut notes, progress, self.stop)?;
        self.check_stop()?;
        // To be set, the server may have been restarted.
        self.reserved.ensure(server, &mut Vec::new(), self.stop, progress)?;
        set.server.check_connections(clients(experiment), &[], &stop)?;
        let wanted = Wanted {
            data: &data::of(experiment),
            all: &self.all_data(),
            campaign: &self.name,
        };
        let (prepared, lost) = self.reserved.during(self.stop, |stop| {
            set.server
                .prepare(wanted, &mut notes, &mut Told(progress), &stop.flag())
        });
        if let Some(lost) = lost {
            return Err(lost);
        }
        let database = prepared?;
        self.check_stop()?;
        rest(&*database, &mut notes, progress, self.stop)?;
        warm(&*database, experiment, &mut notes, progress, self.stop)?;
        Ok(Ready {
            database,
            settings: set.settings,
            notes,
        })
    }

    /// The data of all cells.
    fn all_data(&self) -> Vec<Data> {
        self.all.iter().map(|experiment| data::of(experiment)).collect()
    }

    /// What to say instead of how the load ended, if it ended because the server did.
    fn server_end(&mut self, outcome: &Outcome) -> Option<String> {
        match &outcome.ended_early {
            Some(Ending::ConnectionsLost(_)) => self.embedded.held()?.post_mortem(),
            _ => None,
        }
    }

    /// The campaign is over, or goes on later: nothing of it stays up, and servers that are not ours are as they were.
    pub(super) fn leave(&mut self, complete: bool, progress: &mut dyn Progress) {
        self.external.put_back(progress);
        if let Some(instance) = self.embedded.held().filter(|_| complete) {
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

/// Brings the database to rest.
fn rest(
    database: &dyn Database,
    notes: &mut Vec<String>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), RunError> {
    progress.step("Settling the database");
    notes.extend(database.control(&stop.flag())?.settle()?);
    Ok(())
}

/// Reads the data into the cache if the experiment asks for it.
fn warm(
    database: &dyn Database,
    experiment: &Resolved,
    notes: &mut Vec<String>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), RunError> {
    if experiment.data.cache == Cache::Warm {
        progress.step("Reading the data into the cache");
        notes.push(sentence(&database.control(&stop.flag())?.warm()?));
    }
    Ok(())
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(['.']).collect()
}
