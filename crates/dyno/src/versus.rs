//! `dyno versus`: two variants measured in turn.

use crate::cli::VersusArguments;
use crate::failure::Failure;
use crate::pipeline;
use crate::run::{make, new_seed};
use dyno_archive::{Archive, Campaign, Turns, Verdict, Versus};
use dyno_engine::ThreadOptions;
use dyno_lab::command::redacted;
use dyno_lab::experiment;
use dyno_lab::run::turns::in_turns;
use dyno_lab::run::{self, Request};
use dyno_report::{self as report, Checks, Limits, is_worse};

/// `dyno versus`.
pub fn versus(arguments: &VersusArguments) -> Result<(), Failure> {
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
    let turns = Turns {
        slice: arguments.slice,
        detect: arguments.detect,
    };
    let request = Request {
        plan: in_turns(plan, turns, arguments.at_most)?,
        target: arguments.target.clone(),
        archive: arguments.archive.archive.clone(),
        command: redacted(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
        restart_command: None,
        leave_settings: false,
        share_server: false,
        sampling: false,
        threads: ThreadOptions {
            transport: arguments.transport,
            cpus: arguments.cpus.clone().unwrap_or_default(),
        },
        environment: &environment,
    };
    pipeline::check(&arguments.pipeline)?;
    let mut folder = None;
    let made = make(&request.archive, false, |progress, stop, emergency| {
        let finished = run::run(&request, progress, stop, emergency)?;
        folder = Some(finished.campaign.clone());
        Ok(finished)
    });
    let campaign = folder.and_then(|path| Archive::new(&request.archive).campaign(&path.to_string_lossy()));
    let known = campaign.and_then(|campaign| Versus::read(&campaign.path).map(|versus| (campaign, versus)));
    let Some((campaign, versus)) = known else {
        return made;
    };
    let limits = Limits {
        worse: arguments.fail_if_worse,
        unsure: arguments.fail_if_unsure,
    };
    let mut checks = Checks::of_versus(&campaign, &versus, limits);
    if let Err(failure) = &made {
        checks.broken(failure.message().unwrap_or("interrupted"));
    }
    let told = pipeline::tell(&arguments.pipeline, &checks).map_err(Failure::part_way);
    pipeline::both(made.and_then(|()| judge(&campaign, &versus, limits)), told)
}

/// What the caller wants to be told of by the exit code.
fn judge(campaign: &Campaign, versus: &Versus, limits: Limits) -> Result<(), Failure> {
    let answer = report::answer(campaign).unwrap_or_default();
    match limits.worse {
        Some(least) if is_worse(versus, limits.worse) => Err(Failure::Gate(format!(
            "worse by at least {} %: {answer}",
            least * 100.0
        ))),
        _ if limits.unsure && versus.answer == Verdict::Unknown => Err(Failure::Unsure(answer)),
        _ => Ok(()),
    }
}
