//! What `dyno versus`, `dyno screen` and `dyno capacity` have in common: an experiment is made to measure something in
//! particular, and its campaign found again.

use crate::cli::OneLoadArguments;
use crate::failure::Failure;
use crate::run::{make, new_seed};
use crate::terminal::Results;
use dyno_archive::plan::Plan;
use dyno_archive::{Archive, Campaign};
use dyno_engine::ThreadOptions;
use dyno_lab::command::redacted;
use dyno_lab::experiment;
use dyno_lab::run::{self, Request};

/// What is to be done of the experiment called `name`, with these values.
pub fn plan(name: &str, set: &[(String, String)], arguments: &OneLoadArguments) -> Result<Plan, Failure> {
    let experiment = experiment::find(name)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let seed = arguments.seed.unwrap_or_else(new_seed);
    let mut set = set.to_vec();
    if let Some(target) = &arguments.target {
        // A comma in it separates hosts, not levels.
        set.push(("target".to_owned(), target.replace(',', "\\,")));
    }
    Ok(experiment.plan(arguments.size.into(), &set, None, seed, cores)?)
}

/// Measures it. Gives how that ended, and what the archive has of it, if anything.
pub fn measure(plan: Plan, arguments: &OneLoadArguments, sampling: bool) -> (Result<(), Failure>, Option<Campaign>) {
    let environment = |name: &str| std::env::var(name).ok();
    let request = Request {
        plan,
        label: arguments.name.clone(),
        series: None,
        target: arguments.target.clone(),
        archive: arguments.archive.archive.clone(),
        command: redacted(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
        restart_command: arguments.restart_command.clone(),
        leave_settings: false,
        share_server: false,
        sampling,
        threads: ThreadOptions {
            transport: arguments.transport,
            cpus: arguments.cpus.clone().unwrap_or_default(),
        },
        environment: &environment,
    };
    let mut folder = None;
    let made = make(
        &request.archive,
        false,
        Results::Standard,
        |progress, stop, emergency| {
            let finished = run::run(&request, progress, stop, emergency)?;
            folder = Some(finished.campaign.clone());
            Ok(finished)
        },
    );
    let campaign = folder.and_then(|path| Archive::new(&request.archive).campaign(&path.to_string_lossy()));
    (made, campaign)
}
