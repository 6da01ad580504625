//! A campaign from its first step to its last: bring the target up, prepare data, drive the load, keep and sum up what happened.

mod data;
mod gateway;
mod ledger;
mod progress;
mod recorder;
mod sampling;
mod settings;
mod workload;

pub use gateway::Gateway;
pub use ledger::{Entry, Ledger};
pub use progress::{Live, Progress};
pub use recorder::Recorder;
pub use workload::CompileError;

use crate::archive::{ArchiveError, CampaignRecord, CampaignWriter, PlannedRun, RunState, check_writable};
use crate::experiment::Resolved;
use crate::summary::Summary;
use dyno_engine::{DriveError, Ending, Outcome, Stop};
use dyno_target::address::{ConnectError, ConnectionInfo};
use dyno_target::embedded::{self, DatabaseError, Embedded, EmbeddedError, EmbeddedOptions, Server};
use dyno_target::facts::host_facts;
use dyno_target::load::LoadError;
use dyno_target::settings::SizeError;
use jiff::Zoned;
use std::path::PathBuf;
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
    Address(Box<ConnectionInfo>),
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
    let plan: Vec<PlannedRun> = (1..=request.repetitions.max(1)).map(PlannedRun::repetition).collect();
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
            Ready::Address(Box::new(reachable))
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
    let notes = dyno_target::load::settle(&mut target.connect()?)?;
    let compiled = workload::compile(experiment, request.seed.wrapping_add(planned.repetition as u64 - 1))?;
    let statements = compiled.iter().map(Compiled::statements).collect();
    let load = workload::load(experiment, compiled, &target)?;
    if let Ready::Address(_) = ready {
        data::mark_used(&target, experiment)?;
    }
    let entry = Entry {
        experiment,
        statements,
        target: &target,
        command: &request.command,
        data_folder: match ready {
            Ready::Embedded(server) => Some(server.data_folder()),
            Ready::Address(_) => None,
        },
        log: match ready {
            Ready::Embedded(server) => Some(server.log_path()),
            Ready::Address(_) => None,
        },
        sampling: true,
        notes,
    };
    let clients: usize = experiment.workloads.iter().map(|workload| workload.clients).sum();
    progress.step(&match clients {
        1 => "Connecting 1 client".to_owned(),
        _ => format!("Connecting {clients} clients"),
    });
    let mut ledger = Ledger::open(campaign, planned, entry, progress)?;
    match dyno_engine::drive(&load, ledger.observer(), stop) {
        Ok(outcome) => {
            let reason = server_end(&outcome, ready);
            Ok(ledger.close(&outcome, reason))
        }
        Err(error) => {
            ledger.abandon();
            Err(error.into())
        }
    }
}

/// What to say instead of how the load ended, if it ended because the server did.
fn server_end(outcome: &Outcome, ready: &Ready) -> Option<String> {
    let (Ready::Embedded(server), Some(Ending::ConnectionsLost(_))) = (ready, &outcome.ended_early) else {
        return None;
    };
    // The server's processes end a moment after its connections.
    std::thread::sleep(std::time::Duration::from_millis(200));
    server.has_exited().then(|| {
        format!(
            "the server ended while it was measured; its log is {}",
            server.log_path().display()
        )
    })
}
