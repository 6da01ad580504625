//! `dyno server`: private servers for other tools. Each is kept by a dyno of its own, in the background, which says in
//! a file in dyno's home that it is there, and holds a lock on that: so one that was killed is not taken for one that
//! runs.

use crate::announcer::Announcer;
use crate::cli::{NamedServer, ServerAction, ServerArguments, StartArguments};
use crate::failure::Failure;
use crate::terminal::{Results, Terminal};
use crate::{interrupt, say};
use dyno_engine::Stop;
use dyno_lab::experiment;
use dyno_lab::run::{Emergency, StandRequest, Standing, stand};
use dyno_target::embedded::home_folder;
use dyno_target::target::without_secrets;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often it is looked whether a server has stopped.
const LOOK: Duration = Duration::from_millis(50);

/// What is kept of a server that runs.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    name: String,
    server: String,
    /// With its password: the file is for its owner alone.
    url: String,
    pid: i32,
    /// When it was ready.
    since: jiff::Timestamp,
    /// The experiment whose data it has.
    with: Option<String>,
}

/// `dyno server`.
pub fn server(arguments: &ServerArguments) -> Result<(), Failure> {
    match &arguments.action {
        ServerAction::Start(start) if start.foreground => keep(start),
        ServerAction::Start(start) => launch(start),
        ServerAction::Stop(named) => end(named),
        ServerAction::Url(named) => say::result(&find(named)?.url),
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
fn launch(start: &StartArguments) -> Result<(), Failure> {
    if let Some(record) = running()?.into_iter().find(|record| record.name == start.name) {
        return Err(format!(
            "{} is running already: {}; stop it with dyno server stop {}, or give another --name",
            record.name, record.server, record.name
        )
        .into());
    }
    let program = std::env::current_exe().map_err(|error| format!("cannot find the program of this dyno: {error}"))?;
    let mut keeper = Command::new(program)
        .args(std::env::args_os().skip(1))
        .arg("--foreground")
        // Ctrl-C in this terminal is not for it.
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
    let mut url = String::new();
    if let Some(stdout) = keeper.stdout.take() {
        BufReader::new(stdout).read_line(&mut url)?;
    }
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
    say::result(url.trim_end())?;
    say::aside(&format!("Stop it with: dyno server stop{which}"));
    Ok(())
}

/// Keeps a server until it is told to stop it.
fn keep(start: &StartArguments) -> Result<(), Failure> {
    let target = match start.version.as_str() {
        version if version.starts_with("embedded") => version.to_owned(),
        version => format!("embedded:{version}"),
    };
    let resolved = start.with.as_deref().map(|name| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut set = start.set.clone();
        set.push(("target".to_owned(), target.clone()));
        let plan = experiment::find(name)?.plan(start.size.into(), &set, None, 1, cores)?;
        let first = plan.cells.into_iter().next().map(|cell| cell.experiment);
        first.ok_or_else(|| Failure::SetUp("the experiment has nothing to measure".to_owned()))
    });
    let resolved = resolved.transpose()?;
    let folder = folder()?;
    fs::create_dir_all(&folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let path = folder.join(format!("{}.json", start.name));
    let (stop, emergency) = (Stop::new(), Emergency::default());
    interrupt::handle_unmeasured(&stop, &emergency)?;
    let request = StandRequest {
        target: &target,
        name: &start.name,
        experiment: resolved.as_ref(),
        environment: &environment,
    };
    let mut held = None;
    let mut up = |standing: &Standing| {
        let record = Record {
            name: start.name.clone(),
            server: standing.server.clone(),
            url: standing.url.clone(),
            pid: std::process::id().cast_signed(),
            since: jiff::Timestamp::now(),
            with: start.with.clone(),
        };
        held = Some(Held::write(&path, &record)?);
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

/// The file that says that a server runs, locked as long as it does. Dropped, it is removed.
struct Held {
    path: PathBuf,
    _file: File,
}

impl Held {
    fn write(path: &Path, record: &Record) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        let text = serde_json::to_string(record).map_err(|error| error.to_string())?;
        // Whoever reads it while it is written finds it locked, but not whole.
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        file.try_lock()
            .map_err(|_| format!("another dyno holds {}", path.display()))?;
        file.set_len(0)
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            _file: file,
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The servers that run, by name. What one that was killed has left is removed.
fn running() -> Result<Vec<Record>, Failure> {
    let Ok(entries) = fs::read_dir(folder()?) else {
        return Ok(Vec::new());
    };
    let mut records = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Ok(file) = File::open(&path) else { continue };
        match file.try_lock_shared() {
            Ok(()) => {
                let _ = fs::remove_file(&path);
            }
            Err(TryLockError::WouldBlock) => {
                let text = fs::read_to_string(&path).unwrap_or_default();
                records.extend(serde_json::from_str::<Record>(&text));
            }
            Err(TryLockError::Error(_)) => {}
        }
    }
    records.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(records)
}

/// The server that is meant.
fn find(named: &NamedServer) -> Result<Record, Failure> {
    let mut all = running()?;
    let names: Vec<String> = all.iter().map(|record| record.name.clone()).collect();
    let place = match (&named.name, all.len()) {
        (_, 0) => {
            return Err("no server is running; start one with dyno server start"
                .to_owned()
                .into());
        }
        (None, 1) => Some(0),
        (None, _) => return Err(format!("which one? There are: {}", names.join(", ")).into()),
        (Some(name), _) => names.iter().position(|known| known == name),
    };
    match place {
        Some(place) => Ok(all.swap_remove(place)),
        None => Err(format!("no server of that name is running; there are: {}", names.join(", ")).into()),
    }
}

fn end(named: &NamedServer) -> Result<(), Failure> {
    let record = find(named)?;
    Pid::from_raw(record.pid)
        .map_or(Err(rustix::io::Errno::SRCH), |pid| kill_process(pid, Signal::TERM))
        .map_err(|error| format!("cannot stop {} (process {}): {error}", record.name, record.pid))?;
    // What is open is written first, which may take a while.
    while running()?
        .iter()
        .any(|other| other.name == record.name && other.pid == record.pid)
    {
        std::thread::sleep(LOOK);
    }
    say::aside(&format!("{} has stopped ({})", record.name, record.server));
    Ok(())
}

fn list() -> Result<(), Failure> {
    let all = running()?;
    if all.is_empty() {
        return say::result("No server is running. Start one with: dyno server start");
    }
    let rows = all.into_iter().map(|record| {
        let since = record.since.strftime("%F %T UTC").to_string();
        let with = record.with.unwrap_or_default();
        [record.name, record.server, without_secrets(&record.url), since, with]
    });
    say::result(&dyno_report::servers(&rows.collect::<Vec<_>>()))
}
