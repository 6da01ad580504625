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

/// What is said if the caller wants to be told of an answer that was not kept.
const UNJUDGED: &str = "capacity.json was not written or cannot be read, so --fail-if-below and --fail-if-unsure \
                        cannot be judged; make room in the archive and measure again";

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
    let known = campaign.and_then(|campaign| Capacity::read(&campaign.path));
    judge(arguments.fail_if_below, arguments.fail_if_unsure, known.as_ref())
}

/// What the caller wants to be told of by the exit code.
fn judge(fail_if_below: Option<f64>, fail_if_unsure: bool, known: Option<&Capacity>) -> Result<(), Failure> {
    let Some(known) = known else {
        return match fail_if_below.is_some() || fail_if_unsure {
            true => Err(Failure::PartWay(Some(UNJUDGED.to_owned()))),
            false => Ok(()),
        };
    };
    match fail_if_below {
        Some(least) if known.fails.is_some_and(|fails| fails <= least) => Err(Failure::Gate(report::capacity(known))),
        _ if fail_if_unsure && known.answer == CapacityAnswer::Unknown => Err(Failure::Unsure(report::capacity(known))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_kept_is_not_taken_for_good() {
        assert!(judge(None, false, None).is_ok());
        assert!(matches!(judge(Some(100.0), false, None), Err(Failure::PartWay(_))));
        assert!(matches!(judge(None, true, None), Err(Failure::PartWay(_))));
    }
}
