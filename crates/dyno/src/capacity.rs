//! `dyno capacity`: the highest load that holds limits.

use crate::cli::CapacityArguments;
use crate::failure::Failure;
use crate::one_load;
use dyno_archive::{Capacity, CapacityAnswer, CapacitySearch};
use dyno_lab::run::capacity::seeking;
use dyno_report as report;

/// What is said if the caller wants to be told of an answer that was not kept.
const UNJUDGED: &str = "capacity.json was not written or cannot be read, so --fail-if-below and --fail-if-unsure \
                        cannot be judged; make room in the archive and measure again";

/// `dyno capacity`.
pub fn capacity(arguments: &CapacityArguments) -> Result<(), Failure> {
    let plan = one_load::plan(&arguments.experiment, &arguments.set, &arguments.load)?;
    let sought = CapacitySearch {
        limits: arguments.limits.clone(),
        over: arguments.over.into(),
        within: arguments.within,
        shares: Vec::new(),
    };
    let plan = seeking(plan, sought, arguments.at_most)?;
    let (made, campaign) = one_load::measure(plan, &arguments.load, !arguments.no_sampling);
    made?;
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
