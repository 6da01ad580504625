//! `dyno screen`: which of several factors matter.

use crate::cli::ScreenArguments;
use crate::failure::Failure;
use crate::one_load;
use dyno_archive::plan::Plan;
use dyno_lab::run::screen::{MOST_FACTORS, MeasuringTime, ScreenError, screening};
use std::collections::HashSet;
use std::time::Duration;

/// How long each pair is measured, if nothing else is asked for.
const EACH: Duration = Duration::from_secs(10);

/// `dyno screen`.
pub fn screen(arguments: &ScreenArguments) -> Result<(), Failure> {
    check_number(&arguments.set)?;
    let plan = one_load::plan(&arguments.experiment, &arguments.set, &arguments.load)?;
    check_levels(&plan, &arguments.set)?;
    let time = match arguments.at_most {
        Some(all) => MeasuringTime::All(all),
        None => MeasuringTime::Each(arguments.each.unwrap_or(EACH)),
    };
    let plan = screening(plan, arguments.slice, time)?;
    one_load::measure(plan, &arguments.load, false).0
}

/// Whether these are several values.
fn is_several(text: &str) -> bool {
    text.replace("\\,", "").contains(',')
}

/// Makes sure that there are not too many factors before all their combinations are planned.
fn check_number(set: &[(String, String)]) -> Result<(), ScreenError> {
    let several = set.iter().filter(|(_, text)| is_several(text));
    let names: HashSet<&str> = several.map(|(name, _)| name.as_str()).collect();
    match names.len() {
        ..=MOST_FACTORS => Ok(()),
        factors => Err(ScreenError::TooManyFactors { factors }),
    }
}

/// Makes sure that values which were given as different are.
fn check_levels(plan: &Plan, set: &[(String, String)]) -> Result<(), ScreenError> {
    let several = |name: &str| {
        let given = set.iter().find(|(given, _)| given == name);
        given.is_some_and(|(_, text)| is_several(text))
    };
    match plan
        .factors
        .iter()
        .find(|factor| factor.levels.len() == 1 && several(&factor.name))
    {
        Some(factor) => Err(ScreenError::NotTwoLevels {
            factor: factor.name.clone(),
            levels: 1,
        }),
        None => Ok(()),
    }
}
