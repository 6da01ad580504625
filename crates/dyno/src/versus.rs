//! `dyno versus`: two variants measured in turn.

use crate::cli::VersusArguments;
use crate::failure::Failure;
use crate::run::{make, new_seed};
use dyno_archive::{Archive, Turns, Verdict, Versus};
use dyno_engine::ThreadOptions;
use dyno_lab::command::redacted;
use dyno_lab::experiment;
use dyno_lab::run::turns::in_turns;
use dyno_lab::run::{self, Request};
use dyno_report as report;

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
    let mut made = None;
    make(&request.archive, false, |progress, stop, emergency| {
        let finished = run::run(&request, progress, stop, emergency)?;
        made = Some(finished.campaign.clone());
        Ok(finished)
    })?;
    let campaign = made.and_then(|path| Archive::new(&request.archive).campaign(&path.to_string_lossy()));
    match campaign.and_then(|campaign| Versus::read(&campaign.path)) {
        Some(versus) => judge(arguments, &versus),
        None => Ok(()),
    }
}

/// What the caller wants to be told of by the exit code.
fn judge(arguments: &VersusArguments, versus: &Versus) -> Result<(), Failure> {
    let sentence = report::versus(versus);
    let worse = match versus.ratio(versus.measure) {
        Some(ratio) if versus.measure == dyno_archive::Measure::Throughput => 1.0 - ratio.ratio,
        Some(ratio) => ratio.ratio - 1.0,
        None => 0.0,
    };
    let decided = matches!(versus.answer, Verdict::Higher | Verdict::Lower);
    match arguments.fail_if_worse {
        Some(least) if decided && worse > 0.0 && worse >= least => Err(Failure::Gate(format!(
            "worse by at least {} %: {sentence}",
            least * 100.0
        ))),
        _ if arguments.fail_if_unsure && versus.answer == Verdict::Unknown => Err(Failure::Unsure(sentence)),
        _ => Ok(()),
    }
}
