//! `dyno server`: private servers for other tools. Each is kept by a dyno of its own, in the background.

use crate::announcer::Announcer;
use crate::cli::{NamedServer, ServerAction, ServerArguments, StartArguments};
use crate::failure::Failure;
use crate::terminal::{Results, Terminal};
use crate::{interrupt, say};
use dyno_engine::Stop;
use dyno_lab::experiment;
use dyno_lab::run::{Emergency, StandRequest, Standing, stand};
use dyno_lab::standing::{Claim, Record, find, standing};
use dyno_target::embedded::home_folder;
use dyno_target::target::without_secrets;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often it is looked whether a server has stopped.
const LOOK: Duration = Duration::from_millis(50);

/// `dyno server`.
///
/// `words` are those of the command line, as they were typed.
pub fn server(arguments: &ServerArguments, words: &[OsString]) -> Result<(), Failure> {
    match &arguments.action {
        ServerAction::Start(start) if start.foreground => keep(start),
        ServerAction::Start(start) => launch(start, words),
        ServerAction::Stop(named) => end(named),
        ServerAction::Url(named) => say::result(&find(&folder()?, named.name.as_deref())?.url),
        ServerAction::List => list(),
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The folder with what is known of servers.
fn folder() -> Result<PathBuf, Failure> {
    Ok(home_folder(&environment)?.join("servers"))
}

/// Starts a dyno in the background that keeps the server, and waits until that is up.
fn launch(start: &StartArguments, words: &[OsString]) -> Result<(), Failure> {
    let stop = Stop::new();
    interrupt::handle_unmeasured(&stop, &Emergency::default())?;
    let program = std::env::current_exe().map_err(|error| format!("cannot find the program of this dyno: {error}"))?;
    let mut keeper = Command::new(program)
        .args(words.iter().skip(1))
        .arg("--foreground")
        // Ctrl-C in this terminal is not for it once it is up.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start a dyno in the background: {error}"))?;
    let stderr = keeper.stderr.take();
    let told = std::thread::spawn(move || {
        for line in stderr
            .into_iter()
            .flat_map(|stderr| BufReader::new(stderr).lines())
            .map_while(Result::ok)
        {
            say::aside(&line);
        }
    });
    let (is_told, pid) = (Arc::new(AtomicBool::new(false)), Pid::from_child(&keeper));
    let is_over = Arc::clone(&is_told);
    let watched = std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            if stop.requested() {
                let _ = kill_process(pid, Signal::TERM);
                return;
            }
            std::thread::sleep(LOOK);
        }
    });
    let mut url = String::new();
    if let Some(stdout) = keeper.stdout.take() {
        BufReader::new(stdout).read_line(&mut url)?;
    }
    is_told.store(true, Ordering::Relaxed);
    let _ = watched.join();
    if url.is_empty() {
        // It has said why.
        keeper.wait()?;
        let _ = told.join();
        return Err(Failure::Said);
    }
    let which = match start.name.as_str() {
        "server" => String::new(),
        name => format!(" {name}"),
    };
    if let Err(unsaid) = say::result(url.trim_end()) {
        // Who started it does not know of it.
        let _ = kill_process(pid, Signal::TERM);
        return Err(unsaid);
    }
    say::aside(&format!("Stop it with: dyno server stop{which}"));
    Ok(())
}

/// Keeps a server until it is told to stop it.
fn keep(start: &StartArguments) -> Result<(), Failure> {
    let target = match start.version.as_str() {
        version if version.starts_with("embedded") => version.to_owned(),
        version => format!("embedded:{version}"),
    };
    let experiment = match &start.with {
        Some(name) => Some(experiment::find(name)?),
        None if start.set.is_empty() => None,
        // Only settings of it are wanted.
        None => Some(experiment::one_off("select 1")?),
    };
    let resolved = experiment.map(|experiment| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut set = start.set.clone();
        set.push(("target".to_owned(), target.clone()));
        let plan = experiment.plan(start.size.into(), &set, None, 1, cores)?;
        let first = plan.cells.into_iter().next().map(|cell| cell.experiment);
        first.ok_or_else(|| Failure::SetUp("the experiment has nothing to measure".to_owned()))
    });
    let resolved = resolved.transpose()?;
    let claim = Claim::new(&folder()?, &start.name)?;
    let (stop, emergency) = (Stop::new(), Emergency::default());
    interrupt::handle_unmeasured(&stop, &emergency)?;
    let request = StandRequest {
        target: &target,
        name: &start.name,
        experiment: resolved.as_ref(),
        environment: &environment,
    };
    let mut up = |standing: &Standing| {
        let record = Record {
            name: start.name.clone(),
            server: standing.server.clone(),
            url: standing.url.clone(),
            pid: std::process::id().cast_signed(),
            since: jiff::Timestamp::now(),
            with: start.with.clone(),
        };
        claim.tell(&record).map_err(|error| error.to_string())?;
        for note in &standing.notes {
            say::aside(&format!("note: {note}"));
        }
        // Who started it may have gone.
        let _ = say::result(&standing.url);
        Ok(())
    };
    let mut announcer = Announcer::start(Terminal::new(Results::Standard))?;
    let stood = stand(&request, &mut up, &mut announcer, &stop, &emergency);
    announcer.close().close()?;
    Ok(stood?)
}

fn end(named: &NamedServer) -> Result<(), Failure> {
    let folder = folder()?;
    let record = find(&folder, named.name.as_deref())?;
    Pid::from_raw(record.pid)
        .map_or(Err(rustix::io::Errno::SRCH), |pid| kill_process(pid, Signal::TERM))
        .map_err(|error| format!("cannot stop {} (process {}): {error}", record.name, record.pid))?;
    // What is open is written first, which may take a while.
    while standing(&folder)
        .iter()
        .any(|other| other.name == record.name && other.pid == record.pid)
    {
        std::thread::sleep(LOOK);
    }
    say::aside(&format!("{} has stopped ({})", record.name, record.server));
    Ok(())
}

fn list() -> Result<(), Failure> {
    let all = standing(&folder()?);
    if all.is_empty() {
        return say::result("No server is running. Start one with: dyno server start");
    }
    let rows = all.into_iter().map(|record| {
        let since = record.since.strftime("%F %T UTC").to_string();
        let with = record.with.unwrap_or_default();
        [record.name, record.server, since, with, without_secrets(&record.url)]
    });
    say::result(&dyno_report::servers(
        &rows.collect::<Vec<_>>(),
        crate::page::of_lists(),
    ))
}
