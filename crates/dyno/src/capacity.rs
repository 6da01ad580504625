//! `dyno capacity`: the highest load that holds limits.

use crate::cli::CapacityArguments;
use crate::failure::Failure;
use crate::run::{make, new_seed};
use dyno_archive::{Archive, Capacity, CapacityAnswer, CapacitySearch};
use dyno_engine::ThreadOptions;
use dyno_lab::command::redacted;
use dyno_lab::experiment;
use dyno_lab::run::capacity::seeking;
use dyno_lab::run::{self, Request};
use dyno_report as report;

/// `dyno capacity`.
pub fn capacity(arguments: &CapacityArguments) -> Result<(), Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    let experiment = experiment::find(&arguments.experiment)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let seed = arguments.seed.unwrap_or_else(new_seed);
    let mut set = arguments.set.clone();
    if let Some(target) = &arguments.target {
        // A comma in it separates hosts, not levels.
        set.push(("target".to_owned(), target.replace(',', "\\,")));
    }
    let plan = experiment.plan(arguments.size.into(), &set, None, seed, cores)?;
    let sought = CapacitySearch {
        limits: arguments.limits.clone(),
        over: arguments.over.into(),
        within: arguments.within,
        shares: Vec::new(),
    };
    let request = Request {
        plan: seeking(plan, sought, arguments.at_most)?,
        target: arguments.target.clone(),
        archive: arguments.archive.archive.clone(),
        command: redacted(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
        restart_command: None,
        leave_settings: false,
        share_server: false,
        sampling: !arguments.no_sampling,
        threads: ThreadOptions {
            transport: arguments.transport,
            cpus: arguments.cpus.clone().unwrap_or_default(),
        },
        environment: &environment,
    };
    let mut made = None;
    make(&request.archive, false, |progress, stop, emergency| {
        let finished = run::run(&request, progress, stop, emergency)?;
        made = Some(finished.campaign.clone());
        Ok(finished)
    })?;
    let campaign = made.and_then(|path| Archive::new(&request.archive).campaign(&path.to_string_lossy()));
    match campaign.and_then(|campaign| Capacity::read(&campaign.path)) {
        Some(known) => judge(arguments, &known),
        None => Ok(()),
    }
}

/// What the caller wants to be told of by the exit code.
fn judge(arguments: &CapacityArguments, known: &Capacity) -> Result<(), Failure> {
    let too_low = |least: f64| known.fails.is_some_and(|fails| fails <= least);
    match arguments.fail_if_below {
        Some(least) if too_low(least) => Err(Failure::Gate(report::capacity(known))),
        _ if arguments.fail_if_unsure && known.answer == CapacityAnswer::Unknown => {
            Err(Failure::Unsure(report::capacity(known)))
        }
        _ => Ok(()),
    }
}
