//! A campaign from its first step to its last: bring the target up, prepare data, drive the load, keep and sum up what happened.

mod data;
mod progress;
mod recorder;
mod sampling;
mod settings;
mod workload;

pub use progress::{Live, Progress};
pub use workload::CompileError;

use crate::archive::{
    ArchiveError, CampaignRecord, CampaignWriter, PlannedRun, RunRecord, RunState, RunWriter, check_writable,
};
use crate::experiment::Resolved;
use crate::summary::{Summary, SummaryBuilder, TableGrowth, Warning};
use dyno_engine::{DriveError, Ending, Outcome, Stop};
use dyno_target::address::{ConnectError, ConnectionInfo};
use dyno_target::embedded::{self, DatabaseError, Embedded, EmbeddedError, EmbeddedOptions, Server};
use dyno_target::facts::{host_facts, server_facts};
use dyno_target::load::LoadError;
use dyno_target::settings::SizeError;
use dyno_target::sizes::{DatabaseSizes, database_sizes};
use indexmap::IndexMap;
use jiff::Zoned;
use recorder::Recorder;
use sampling::Sampling;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use workload::Compiled;

/// What to do, with nothing left open.
pub struct Request {
    /// The experiment.
    pub experiment: Resolved,
    /// The database to measure.
    pub target: Target,
    /// The folder that gets the campaign's folder.
    pub archive: PathBuf,
    /// How often to measure, at least 1.
    pub repetitions: usize,
    /// Fixes every random number.
    pub seed: u64,
    /// The command line as it may be archived; see [`crate::archive::redacted`].
    pub command: String,
}

/// The database to measure.
pub enum Target {
    /// A private server, made on demand.
    Embedded(EmbeddedOptions),
    /// A server that is there already.
    Address(Box<ConnectionInfo>),
}

/// A run that has ended and is archived.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun {
    /// Its folder.
    pub folder: PathBuf,
    /// Complete or incomplete.
    pub state: RunState,
    /// The database, without passwords.
    pub target: String,
    /// The figures.
    pub summary: Summary,
    /// What ended it before its time, in full; `None` if nothing did, or if that was asked for.
    pub failure: Option<String>,
}

/// Why a campaign could not be made, or not go on. Except with [`RunError::Later`] nothing was measured, and the archive is as it was.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RunError {
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error(transparent)]
    Size(#[from] SizeError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error("cannot {what}: {message}")]
    Server { what: String, message: String },
    #[error("schema \"{schema}\" exists, but was not made by dyno; rename it, or choose another database")]
    ForeignSchema { schema: String },
    #[error(
        "the experiment needs {needed} connections, but the server allows {available} (max_connections less what is reserved); set max_connections to at least {advice}, or use fewer clients with --set clients=N"
    )]
    TooFewConnections {
        needed: usize,
        available: usize,
        advice: usize,
    },
    #[error("stopped before anything was measured")]
    Stopped,
    #[error("run {number} of {planned} could not begin: {cause}\nThe runs before it are kept in {}.", campaign.display())]
    Later {
        number: usize,
        planned: usize,
        campaign: PathBuf,
        cause: Box<RunError>,
    },
}

/// Ends the embedded server of a campaign at once, from anywhere: for a user who does not want to wait for an orderly end.
#[derive(Clone, Debug, Default)]
pub struct Emergency(Arc<Mutex<Option<embedded::ServerHandle>>>);

impl Emergency {
    /// Kills the server if there is one. Its next start recovers.
    pub fn stop_now(&self) {
        if let Ok(guard) = self.0.lock()
            && let Some(handle) = guard.as_ref()
        {
            handle.stop_now();
        }
    }

    fn set(&self, handle: Option<embedded::ServerHandle>) {
        if let Ok(mut guard) = self.0.lock() {
            *guard = handle;
        }
    }
}

/// A target that is up.
enum Ready {
    Embedded(Server),
    Address(ConnectionInfo),
}

/// Runs a campaign. Gives back its runs; the last one is incomplete if it was stopped or failed part-way.
///
/// # Errors
/// Nothing could be measured, or a later run could not begin.
pub fn run(
    request: &Request,
    progress: &mut dyn Progress,
    stop: &Stop,
    emergency: &Emergency,
) -> Result<Vec<FinishedRun>, RunError> {
    // Whatever can be wrong without a server is told before there is one.
    workload::compile(&request.experiment, request.seed)?;
    check_writable(&request.archive)?;
    let plan: Vec<PlannedRun> = (1..=request.repetitions.max(1))
        .map(|number| PlannedRun {
            number,
            cell: IndexMap::new(),
            repetition: number,
        })
        .collect();
    let record = CampaignRecord::new(
        request.experiment.clone(),
        request.command.clone(),
        Zoned::now(),
        request.seed,
        plan.clone(),
    );
    let ready = bring_up(request, progress, stop, emergency)?;
    let campaign = CampaignWriter::create(&request.archive, &record)?;
    let mut finished = Vec::new();
    for planned in &plan {
        let run = match measure(request, &campaign, planned, &ready, progress, stop) {
            Ok(run) => run,
            Err(cause) if finished.is_empty() => {
                campaign.discard();
                return Err(cause);
            }
            Err(cause) => {
                return Err(RunError::Later {
                    number: planned.number,
                    planned: plan.len(),
                    campaign: campaign.path().to_owned(),
                    cause: Box::new(cause),
                });
            }
        };
        progress.finished(&run);
        let goes_on = run.state == RunState::Complete && !stop.requested();
        finished.push(run);
        if !goes_on {
            break;
        }
    }
    if let Ready::Embedded(server) = ready {
        progress.step("Stopping PostgreSQL");
        // A server that crashed cannot drop a database, and need not.
        let _ = data::drop_working(&server);
        emergency.set(None);
        server.stop();
    }
    Ok(finished)
}

fn bring_up(
    request: &Request,
    progress: &mut dyn Progress,
    stop: &Stop,
    emergency: &Emergency,
) -> Result<Ready, RunError> {
    let ready = match &request.target {
        Target::Embedded(options) => {
            let mut told = |event| tell(progress, &event);
            let embedded = Embedded::prepare(options, &mut told)?;
            let wanted = settings::of(&request.experiment, host_facts(None).capacity())?;
            let server = embedded.start(&settings::with_connections(wanted, &request.experiment), &mut told)?;
            emergency.set(Some(server.handle()));
            progress.step(&format!("PostgreSQL {} is running", embedded.version()));
            Ready::Embedded(server)
        }
        Target::Address(info) => {
            progress.step(&format!("Connecting to {info}"));
            let reachable = info.first_reachable()?;
            settings::check_connections(&mut reachable.connect()?, &request.experiment)?;
            Ready::Address(reachable)
        }
    };
    if stop.requested() {
        return Err(RunError::Stopped);
    }
    Ok(ready)
}

fn tell(progress: &mut dyn Progress, event: &embedded::Progress) {
    use embedded::Progress as Event;
    match event {
        Event::Downloading {
            version,
            received_bytes,
            total_bytes,
        } => {
            progress.step(&format!("Fetching PostgreSQL {version}"));
            if let Some(total_bytes) = total_bytes {
                const MEGABYTE: u64 = 1_000_000;
                progress.amount(received_bytes / MEGABYTE, total_bytes.div_ceil(MEGABYTE), "MB");
            }
        }
        Event::Unpacking { version, archive_bytes } => {
            let megabytes = *archive_bytes as f64 / 1e6;
            progress.step(&format!(
                "Unpacking PostgreSQL {version} ({megabytes:.0} MB, checksum verified)"
            ));
        }
        Event::DamagedCache { what } => progress.note(&format!(
            "The cached PostgreSQL is damaged ({what}); it is fetched again."
        )),
        Event::Initialising => progress.step("Initialising the database cluster"),
        Event::HalfInitialised { data } => {
            progress.note(&format!(
                "The initialisation of {} had not finished; it is done again.",
                data.display()
            ));
        }
        Event::Waiting { pid, folder } => {
            let who = pid.map_or_else(
                || "another dyno".to_owned(),
                |pid| format!("the dyno with process id {pid}"),
            );
            progress.step(&format!("Waiting for {who}, which uses {}", folder.display()));
        }
        Event::StoppingLeftover { pid } => {
            progress.note(&format!("Stopping a server that an earlier dyno left (process {pid})."));
        }
        Event::Starting => progress.step("Starting PostgreSQL"),
    }
}

/// One run: fresh data, the load, the summary.
fn measure(
    request: &Request,
    campaign: &CampaignWriter,
    planned: &PlannedRun,
    ready: &Ready,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<FinishedRun, RunError> {
    let experiment = &request.experiment;
    let target = match ready {
        Ready::Embedded(server) => data::embedded(server, experiment, progress, stop)?,
        Ready::Address(info) => data::remote(info, experiment, progress, stop)?,
    };
    if stop.requested() {
        return Err(RunError::Stopped);
    }
    progress.step("Settling: vacuum, analyze, checkpoint");
    let mut control = target.connect()?;
    let mut notes = target.warnings().to_vec();
    notes.append(&mut dyno_target::load::settle(&mut control)?);
    let server = server_facts(&mut control).map_err(|error| RunError::Server {
        what: "describe the server".to_owned(),
        message: error.to_string(),
    })?;
    let data_folder = match ready {
        Ready::Embedded(server) => Some(server.data_folder()),
        Ready::Address(_) => None,
    };
    let host = host_facts(data_folder);
    let mut warnings = settings::durability(&server);
    warnings.append(&mut settings::differences(&mut control, experiment, host.capacity())?);
    let sizes_before = database_sizes(&mut control);

    let compiled = workload::compile(experiment, request.seed.wrapping_add(planned.repetition as u64 - 1))?;
    let facts: Vec<_> = compiled.iter().map(Compiled::facts).collect();
    let builder = SummaryBuilder::new(&facts, experiment.interval);
    let load = workload::load(experiment, compiled, &target)?;
    if let Ready::Address(_) = ready {
        data::mark_used(&target, experiment)?;
    }
    let mut record = RunRecord::new(
        target.to_string(),
        request.command.clone(),
        facts,
        &experiment.phases(),
        experiment.interval,
    );
    record.cell = planned.cell.clone();
    record.repetition = planned.repetition;
    record.server = serde_json::to_value(&server).unwrap_or_default();
    record.host = serde_json::to_value(&host).unwrap_or_default();
    let mut writer = campaign.run(planned, record)?;
    let folder = writer.path().to_owned();
    let sampling = Sampling::prepare(&target, experiment.interval, &writer)?;
    notes.extend_from_slice(&sampling.warnings);

    let clients: usize = experiment.workloads.iter().map(|workload| workload.clients).sum();
    progress.step(&match clients {
        1 => "Connecting 1 client".to_owned(),
        _ => format!("Connecting {clients} clients"),
    });
    let mut recorder = Recorder::new(&mut writer, builder, progress, sampling);
    let driven = dyno_engine::drive(&load, &mut recorder, stop);
    let mut summary = recorder.finish();
    let outcome = match driven {
        Ok(outcome) => outcome,
        Err(error) => {
            // Nothing was measured; the folder says so.
            let _ = writer.finish(RunState::Incomplete, summary);
            return Err(error.into());
        }
    };
    let failure = conclude(&mut summary, &outcome, experiment, ready);
    let state = match outcome.ended_early {
        None => RunState::Complete,
        Some(_) => RunState::Incomplete,
    };
    match sizes_before.and_then(|before| Ok((before, database_sizes(&mut control)?))) {
        Ok((before, after)) => {
            summary.tables = growth(&before, &after);
            writer.record_mut().tables = serde_json::to_value(Tables { before, after }).unwrap_or_default();
        }
        Err(error) if state == RunState::Complete => notes.push(error.to_string()),
        // A server that is gone has said enough.
        Err(_) => {}
    }
    summary.warnings.append(&mut warnings);
    summary
        .warnings
        .extend(notes.into_iter().map(|text| Warning::Note { text }));
    settings::host_warnings(&mut summary, matches!(ready, Ready::Embedded(_)));
    let (state, archived) = finish(writer, state, &mut summary, progress);
    Ok(FinishedRun {
        folder,
        state,
        target: target.to_string(),
        summary,
        failure: failure.or(archived),
    })
}

/// The tables before and after a run, with what the server counted about each.
#[derive(serde::Serialize)]
struct Tables {
    before: DatabaseSizes,
    after: DatabaseSizes,
}

/// Says in the summary how the run ended. Gives back what ended it before its time, unless that was asked for.
fn conclude(summary: &mut Summary, outcome: &Outcome, experiment: &Resolved, ready: &Ready) -> Option<String> {
    // A failure cuts off whatever is under way; only where time was given to finish is it worth a word.
    let had_time = matches!(outcome.ended_early, None | Some(Ending::Stopped));
    let unfinished = outcome.unfinished.iter().filter(|_| had_time);
    for (workload, unfinished) in summary.workloads.iter_mut().zip(unfinished) {
        workload.unfinished = *unfinished;
        if *unfinished > 0 {
            summary.warnings.push(Warning::Unfinished {
                workload: workload.name.clone(),
                count: *unfinished,
            });
        }
    }
    let ending = outcome.ended_early.as_ref()?;
    let mut reason = ending.to_string();
    if let (Ready::Embedded(server), Ending::ConnectionsLost(_)) = (ready, ending) {
        // The server's processes end a moment after its connections.
        std::thread::sleep(std::time::Duration::from_millis(200));
        if server.has_exited() {
            reason = format!(
                "the server ended while it was measured; its log is {}",
                shown(server.log_path())
            );
        }
    }
    summary.warnings.insert(
        0,
        Warning::EndedEarly {
            // The place in a script, drawn with a caret below it, has no room in a paragraph.
            reason: reason.lines().next().unwrap_or_default().to_owned(),
            measured_s: summary.measured_s,
            planned_s: experiment.measure.as_secs_f64(),
        },
    );
    (!matches!(ending, Ending::Stopped)).then_some(reason)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Sizes before and after of every table that is there after the run.
fn growth(before: &DatabaseSizes, after: &DatabaseSizes) -> Vec<TableGrowth> {
    let bytes = |number: i64| u64::try_from(number).unwrap_or(0);
    let each = after.tables.iter().map(|table| {
        let earlier = before
            .tables
            .iter()
            .find(|other| (&other.schema, &other.name) == (&table.schema, &table.name));
        TableGrowth {
            table: table.name.clone(),
            table_before_bytes: earlier.map_or(0, |table| bytes(table.table_bytes)),
            table_after_bytes: bytes(table.table_bytes),
            indexes_before_bytes: earlier.map_or(0, |table| bytes(table.index_bytes)),
            indexes_after_bytes: bytes(table.index_bytes),
        }
    });
    each.collect()
}

/// Writes the run's last word. A run of which the archive could not take everything is not complete; the error says why.
fn finish(
    writer: RunWriter,
    state: RunState,
    summary: &mut Summary,
    progress: &mut dyn Progress,
) -> (RunState, Option<String>) {
    let stopped = |summary: &Summary| {
        summary.warnings.iter().find_map(|warning| match warning {
            Warning::ArchiveStopped { error } => Some(error.clone()),
            _ => None,
        })
    };
    let mut failure = stopped(summary);
    let state = if failure.is_some() { RunState::Incomplete } else { state };
    match writer.finish(state, summary.clone()) {
        Ok(()) => (state, failure),
        Err(error) => {
            let error = error.to_string();
            if failure.is_none() {
                progress.note(&error);
                summary.warnings.push(Warning::ArchiveStopped { error: error.clone() });
                failure = Some(error);
            }
            (RunState::Incomplete, failure)
        }
    }
}
