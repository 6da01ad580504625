//! The command `run`: from a script to its report.

mod archive;
mod load;
mod watch;

pub use load::servers;

use crate::message::{Level, Log, complain, print};
use crate::options::Options;
use crate::options::declared::Resolved;
use crate::report::Manner;
use crate::script::Script;
use dyno_archive::RunState;
use dyno_engine::{DriveError, Ending, Outcome, Signals, allow_descriptors};
use dyno_lab::run::{Both, RunRecording, begun_again};
use dyno_load::has_asked_for_exit;
use dyno_lua::{Environment, Function, LuaError, LuaProgram, Settings, Statistics, Tally};
use std::path::Path;
use std::sync::Arc;
use watch::{FORCED, Watch};

/// Exit codes, as sysbench's: of what cannot be done, and of events that were given up.
const FAILED: u8 = 1;
const UNFINISHED: u8 = 2;

/// Runs the script, and gives the exit code.
pub fn run(options: &Options, script: &Script, resolved: &[Resolved], log: &Arc<Log>, signals: &Signals) -> u8 {
    match measure(options, script, resolved, log, signals) {
        Ok(code) => code,
        Err(failure) => failure.tell(log),
    }
}

/// Why nothing can be done.
pub enum Failure {
    /// A script failed, or ended the program.
    Lua(LuaError),
    /// Anything else, in words.
    Other(String),
}

impl From<LuaError> for Failure {
    fn from(error: LuaError) -> Self {
        Self::Lua(error)
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl Failure {
    /// Says it, and gives the exit code.
    pub fn tell(&self, log: &Log) -> u8 {
        match self {
            Self::Lua(error) => tell_of(error, log),
            Self::Other(text) => {
                log.fatal(text);
                FAILED
            }
        }
    }
}

/// Says what a script failed with, and gives the exit code: its own if it asked for one.
pub fn tell_of(error: &LuaError, log: &Log) -> u8 {
    match error {
        LuaError::Exit { code, .. } => {
            log.warning(&error.to_string());
            *code
        }
        error => {
            log.fatal(&error.to_string());
            FAILED
        }
    }
}

fn measure(
    options: &Options,
    script: &Script,
    resolved: &[Resolved],
    log: &Arc<Log>,
    signals: &Signals,
) -> Result<u8, Failure> {
    let functions = &script.declared;
    if !functions.has(Function::Event) && !functions.has(Function::ThreadRun) {
        // As sysbench names it: without the folder.
        let name = Path::new(&script.name).file_name().unwrap_or_default();
        return Err(LuaError::NoEvent(name.to_string_lossy().into_owned()).into());
    }
    let threads = options.limits.threads;
    allow_descriptors(threads, load::worker_threads(threads), 64).map_err(|error| error.to_string())?;
    let settings = Settings {
        stop: signals.stop().clone(),
        ..script.settings(options, resolved, log)
    };
    let servers = servers(options, log)?;
    let mut environment = Environment::load(&script.source, &settings, 0, servers.for_commands())?;
    environment.call(Function::Init)?;
    if log.says(Level::Notice) {
        print(&announcement(options));
    }
    tell_of_threads(options, log);
    let program = LuaProgram::new(&script.source, &settings, 0..threads)?;
    let manner = Manner {
        version: options.format,
        percentile: options.telling.percentile,
        has_rate: options.limits.rate_per_s.is_some(),
        has_database: false,
    };
    let line = move |statistics: &Statistics| print(&manner.default_line(statistics));
    environment.on_default_report(line)?;
    let leave = |code: u8| {
        signals.die_of_it();
        std::process::exit(code.into());
    };
    let tally = program.tally();
    let mut watch = Watch::new(
        options,
        log,
        manner,
        tally.clone(),
        &mut environment,
        signals.stop(),
        &leave,
    );
    let mut notes = archive::Notes(Arc::clone(log));
    let folder = options.archive.as_deref();
    let opened = folder.map(|folder| archive::open(folder, options, script, &mut notes, signals.stop()));
    let mut recording = opened.transpose()?;
    let mut both = Both {
        watch: &mut watch,
        recorder: recording.as_mut().map(RunRecording::observer),
    };
    let driven = servers.drive(options, program, &mut both, signals.stop());
    let (code, has_left) = match driven {
        Ok(outcome) => {
            let code = ended(&mut watch, &outcome, options, log);
            let code = match recording.map(|recording| keep(recording, &outcome, &tally, log)) {
                None | Some(true) => code,
                Some(false) => code.max(FAILED),
            };
            (code, has_asked_for_exit(&outcome))
        }
        Err(error) => {
            if let Some(recording) = recording {
                recording.abandon(&error.to_string());
            }
            log.fatal(&not_begun(&error));
            log.fatal("Thread initialization failed!");
            return Ok(FAILED);
        }
    };
    watch.end_lists();
    let failure = watch.failure.take();
    // Who has asked for the end of the program does not expect to be called again.
    let done = match has_left || matches!(failure, Some(LuaError::Exit { .. })) {
        true => None,
        false => environment.call(Function::Done).err(),
    };
    let failures = failure.iter().chain(&done);
    Ok(failures.fold(code, |code, failure| and_failure(code, failure, log)))
}

/// Says what a function beside the events failed with, and gives the exit code with that: its own if it asked for one.
fn and_failure(code: u8, failure: &LuaError, log: &Log) -> u8 {
    match tell_of(failure, log) {
        told if matches!(failure, LuaError::Exit { .. }) => told,
        told => code.max(told),
    }
}

/// Keeps a run that is over, and says where. `false`: the archive could not take all of it.
fn keep(mut recording: RunRecording<'_>, outcome: &Outcome, tally: &Tally, log: &Log) -> bool {
    if let Some(note) = begun_again(load::WORKLOAD, tally.counts().errors) {
        recording.note(note);
    }
    let kept = recording.close(outcome, None);
    let state = match kept.state {
        RunState::Complete => String::new(),
        other => format!(" as {other}"),
    };
    // Whoever reads the report does not expect it there.
    complain(&format!("archived{state} in {}\n", kept.folder.display()));
    let error = kept.archive_error();
    if let Some(error) = error {
        log.fatal(&format!("the archived run is incomplete: {error}"));
    }
    error.is_none()
}

/// What is said before the clients begin.
fn announcement(options: &Options) -> String {
    let (limits, telling) = (&options.limits, &options.telling);
    let mut text = format!(
        "Running the test with following options:\nNumber of threads: {}\n",
        limits.threads
    );
    if limits.warmup_s > 0 {
        text += &format!("Warmup time: {}s\n", limits.warmup_s);
    }
    if let Some(rate_per_s) = limits.rate_per_s {
        text += &format!("Target transaction rate: {rate_per_s}/sec\n");
    }
    if let Some(interval_s) = telling.interval_s {
        text += &format!("Report intermediate results every {interval_s} second(s)\n");
    }
    if !telling.checkpoints_s.is_empty() {
        let each: Vec<_> = telling.checkpoints_s.iter().map(u64::to_string).collect();
        text += &format!("Report checkpoint(s) at {} seconds\n", each.join(", "));
    }
    if telling.debug {
        text += "Debug mode enabled.\n\n";
    }
    if telling.validate {
        text += "Validation checks: on.\n\n";
    }
    text += &match telling.seed {
        Some(seed) => format!("Initializing random number generator from seed ({seed}).\n\n"),
        None => "Initializing random number generator from current time\n\n".to_owned(),
    };
    if let (Some(after_s), Some(time_s)) = (limits.forced_shutdown_s, limits.time_s) {
        text += &format!("Forcing shutdown in {} seconds\n", time_s.saturating_add(after_s));
    }
    text + "\nInitializing worker threads...\n\n"
}

/// What sysbench says of each of its threads. Here they are clients, or part of the others' work.
fn tell_of_threads(options: &Options, log: &Log) {
    let (limits, telling) = (&options.limits, &options.telling);
    let others = [
        (telling.interval_s.is_some(), "Reporting"),
        (limits.rate_per_s.is_some(), "Event generating"),
        (!telling.checkpoints_s.is_empty(), "Checkpoints report"),
    ];
    for (_, name) in others.iter().filter(|(is_there, _)| *is_there) {
        log.say(Level::Debug, &format!("{name} thread started"));
    }
    for number in 0..limits.threads {
        log.say(Level::Debug, &format!("Worker thread (#{number}) started"));
    }
}

/// Why a load could not begin.
fn not_begun(error: &DriveError) -> String {
    error.to_string()
}

/// Says why a load has ended before its time, and gives the exit code.
fn tell_ending(ending: &Ending, has_begun: bool, log: &Log) -> u8 {
    match ending {
        Ending::Stopped => FAILED,
        Ending::Program(error) => {
            let own = error.of::<LuaError>();
            let code = match own {
                Some(error) => tell_of(error, log),
                None => Failure::Other(error.to_string()).tell(log),
            };
            if let Some(traceback) = own.and_then(LuaError::traceback) {
                log.say(Level::Debug, traceback);
            }
            if !has_begun && !matches!(own, Some(LuaError::Exit { .. })) {
                log.fatal("Thread initialization failed!");
            }
            code
        }
        other => {
            log.fatal(&other.to_string());
            FAILED
        }
    }
}

/// Tells of a run that is over, and gives the exit code.
fn ended(watch: &mut Watch<'_>, outcome: &Outcome, options: &Options, log: &Log) -> u8 {
    let unfinished: u64 = outcome.unfinished.iter().sum();
    let is_early = outcome.ended_early.is_some();
    let code = match &outcome.ended_early {
        None if !watch.has_given_up() && options.limits.events.is_some_and(|events| watch.events >= events) => {
            log.say(Level::Info, "Event limit exceeded, exiting...");
            0
        }
        None if unfinished > 0 => {
            log.fatal(FORCED);
            UNFINISHED
        }
        // As where it fails: all events are complete, but not what comes after them.
        None if watch.has_given_up() => FAILED,
        None => {
            log.say(Level::Info, "Time limit exceeded, exiting...");
            0
        }
        Some(ending) => tell_ending(ending, watch.has_begun, log),
    };
    if code == 0 {
        log.say(Level::Info, "Done.\n\n");
    }
    // The reports of intervals are a list of their own.
    watch.end_lists();
    // Of a run that failed at once there is nothing to report.
    if !is_early || watch.events > 0 {
        watch.report(if code == UNFINISHED && !is_early { unfinished } else { 0 });
    }
    code
}
