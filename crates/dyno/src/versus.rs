//! `dyno versus`: variants measured in turn.

use crate::cli::VersusArguments;
use crate::failure::Failure;
use crate::{one_load, pipeline};
use dyno_archive::{Campaign, Turns, Versus, Way};
use dyno_lab::run::turns::{SLICE, compared};
use dyno_report::{self as report, Checks, Limits, is_worse};
use std::time::Duration;

/// How long a slice is in which all work.
const SLICE_OF_ALL: Duration = Duration::from_secs(1);

/// `dyno versus`.
pub fn versus(arguments: &VersusArguments) -> Result<(), Failure> {
    let plan = one_load::plan(&arguments.experiment, &arguments.set, &arguments.load)?;
    let (way, slice) = match arguments.simultaneous {
        true => (Way::AtOnce, SLICE_OF_ALL),
        false => (Way::InSlices, SLICE),
    };
    let turns = Turns {
        slice: arguments.slice.unwrap_or(slice),
        may_grow: arguments.slice.is_none() && way == Way::InSlices,
        way,
        detect: arguments.detect,
    };
    let plan = compared(plan, turns, arguments.at_most)?;
    pipeline::check(&arguments.pipeline)?;
    let (made, campaign) = one_load::measure(plan, &arguments.load, false);
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
        Some(least) if versus.all().any(|one| is_worse(one, limits.worse)) => Err(Failure::Gate(format!(
            "worse by at least {} %: {answer}",
            least * 100.0
        ))),
        _ if limits.unsure && !versus.is_decided() => Err(Failure::Unsure(answer)),
        _ => Ok(()),
    }
}
