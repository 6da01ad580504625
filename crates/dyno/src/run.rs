//! `dyno run`: from words to a request.

use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::{interrupt, say};
use dyno_engine::Stop;
use dyno_lab::archive::{RunState, redacted, without_password};
use dyno_lab::experiment;
use dyno_lab::run::{Emergency, Request, RunError, Target};
use dyno_report as report;
use dyno_target::address::ConnectionInfo;
use dyno_target::embedded::{EmbeddedOptions, home_folder};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The word that asks for a private server.
const EMBEDDED: &str = "embedded";

/// `dyno run`.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let experiment = experiment::find(&arguments.experiment)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let resolved = experiment.resolve(arguments.size.into(), &arguments.set, cores)?;
    if arguments.dry_run {
        let target = without_password(&arguments.target);
        let archive = arguments.archive.archive.display().to_string();
        say::result(&report::plan(&resolved, arguments.repeat as usize, &target, &archive));
        return Ok(());
    }
    let stop = Stop::new();
    let emergency = Emergency::default();
    interrupt::handle(&stop, &emergency)?;
    let request = Request {
        experiment: resolved,
        target: target(&arguments.target, &stop)?,
        archive: arguments.archive.archive.clone(),
        repetitions: arguments.repeat as usize,
        seed: arguments.seed.unwrap_or_else(new_seed),
        command: redacted(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
    };
    let mut terminal = Terminal::new();
    let finished = dyno_lab::run::run(&request, &mut terminal, &stop, &emergency);
    terminal.close();
    let finished = match finished {
        Err(error @ RunError::Later { .. }) => return Err(Failure::PartWay(Some(error.to_string()))),
        finished => finished?,
    };
    match finished.into_iter().find(|run| run.state != RunState::Complete) {
        None => Ok(()),
        Some(run) => {
            let message = run.failure.map(|why| format!("the run ended early: {why}"));
            Err(Failure::PartWay(message))
        }
    }
}

fn target(text: &str, stop: &Stop) -> Result<Target, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let version = match text.strip_prefix(EMBEDDED) {
        Some("") => None,
        Some(rest) if rest.starts_with(':') => Some(rest[1..].to_owned()),
        _ => {
            let info = ConnectionInfo::resolve(Some(text), &variable)?;
            return Ok(Target::Address(Box::new(info)));
        }
    };
    let mut options = EmbeddedOptions::new(home_folder(&variable)?);
    options.stop = Arc::clone(&stop.flag());
    if let Some(version) = version {
        options.version = version;
    }
    Ok(Target::Embedded(options))
}

/// A seed that is not the same twice: the time in nanoseconds.
fn new_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Short enough to be typed again, and exact as a JSON number.
    (now.as_nanos() % (1 << 48)) as u64
}
