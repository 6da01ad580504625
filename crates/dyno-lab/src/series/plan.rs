//! What is to be done of each experiment of a series.

use super::SeriesError;
use crate::experiment::plan::{PlanError, pieces};
use crate::experiment::{Experiment, SetError, TARGET};
use crate::nearest::nearest;
use dyno_archive::plan::Plan;
use dyno_target::target::without_secrets;

/// More names are not listed.
const MOST_NAMES: usize = 6;

/// A value for a series, or several, as on the command line.
type Assigned = (String, String);

/// Plans an experiment with values that it has.
type Planner<'p> = dyn Fn(&Experiment, &[Assigned]) -> Result<Plan, PlanError> + 'p;

/// All of a series, planned.
#[derive(Debug)]
pub struct Planned {
    /// Its experiments in order.
    pub members: Vec<Member>,
    /// What somebody who asked for something should know: where it does not hold.
    pub notes: Vec<String>,
}

/// An experiment of a series.
#[derive(Debug)]
pub struct Member {
    /// The experiment.
    pub experiment: Experiment,
    /// What is to be done, or why nothing is: it is not for the database that is asked for.
    pub plan: Result<Plan, String>,
}

/// Plans each of `experiments` by `plan`, which is told the experiment and those of the values in `set` that it has.
/// An experiment that is not written for a database that is asked for is measured on the others, or left out.
///
/// # Errors
///
/// What is wrong with each that cannot be planned, or a value that none has.
pub fn plan(experiments: Vec<Experiment>, set: &[Assigned], plan: &Planner<'_>) -> Result<Planned, SeriesError> {
    let mut notes = set
        .iter()
        .filter_map(|assigned| where_not(&experiments, assigned).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    let (mut members, mut wrong) = (Vec::new(), Vec::new());
    for experiment in experiments {
        let its: Vec<_> = set.iter().filter(|(name, _)| experiment.knows(name)).cloned().collect();
        match plan_one(&experiment, its, plan, &mut notes) {
            Ok(plan) => members.push(Member { experiment, plan }),
            Err(error) => wrong.push(format!("{}: {error}", experiment.name())),
        }
    }
    match wrong.is_empty() {
        true => Ok(Planned { members, notes }),
        false => Err(SeriesError::Several {
            number: wrong.len(),
            wrong,
        }),
    }
}

/// Says which experiments do not have a value; nothing if all do.
fn where_not(experiments: &[Experiment], (name, value): &Assigned) -> Result<Option<String>, SeriesError> {
    let without: Vec<&str> = experiments
        .iter()
        .filter(|experiment| !experiment.knows(name))
        .map(Experiment::name)
        .collect();
    if without.is_empty() {
        return Ok(None);
    }
    if without.len() == experiments.len() {
        let known: Vec<String> = experiments.iter().flat_map(Experiment::names).collect();
        return Err(SeriesError::Nobody {
            name: name.clone(),
            nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
        });
    }
    let more = match without.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let value = dyno_target::target::word_without_secrets(value);
    Ok(Some(format!(
        "--set {name}={value} does not hold for {} of {} experiments, which have no `{name}`: {}{more}",
        without.len(),
        experiments.len(),
        without[..without.len().min(MOST_NAMES)].join(", ")
    )))
}

/// The plan of an experiment, or why it is left out.
fn plan_one(
    experiment: &Experiment,
    mut set: Vec<Assigned>,
    plan: &Planner<'_>,
    notes: &mut Vec<String>,
) -> Result<Result<Plan, String>, PlanError> {
    let error = match plan(experiment, &set) {
        Ok(plan) => return Ok(Ok(plan)),
        Err(error) => error,
    };
    let Some(why) = other_database(&error) else {
        return Err(error);
    };
    let Some(place) = set.iter().rposition(|(name, _)| name == TARGET) else {
        return Ok(Err(why));
    };
    let mut possible = Vec::new();
    for target in pieces(&set[place].1) {
        set[place].1 = target.replace(',', "\\,");
        match plan(experiment, &set) {
            Ok(_) => possible.push(set[place].1.clone()),
            Err(error) if other_database(&error).is_some() => {}
            Err(error) => return Err(error),
        }
    }
    if possible.is_empty() {
        return Ok(Err(why));
    }
    let shown: Vec<_> = possible.iter().map(|target| without_secrets(target)).collect();
    notes.push(format!("{why}; it is measured on {}", shown.join(", ")));
    set[place].1 = possible.join(",");
    plan(experiment, &set).map(Ok)
}

/// Says that an experiment is not for this database, if the error does.
fn other_database(error: &PlanError) -> Option<String> {
    let (PlanError::Value(SetError::OtherDatabase(other))
    | PlanError::Cell {
        cause: SetError::OtherDatabase(other),
        ..
    }) = error
    else {
        return None;
    };
    other.to_string().lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::find;
    use dyno_archive::plan::Size;

    fn planned(names: &[&str], set: &[(&str, &str)]) -> Result<Planned, String> {
        let experiments = names.iter().map(|name| find(name).unwrap()).collect();
        let set: Vec<_> = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let plan_each = |experiment: &Experiment, set: &[Assigned]| experiment.plan(Size::Small, set, None, 1, 2);
        plan(experiments, &set, &plan_each).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_holds_where_there_is_one() {
        let series = planned(&["htap-point", "htap-join"], &[("rows", "7"), ("clients", "3")]).unwrap();
        assert_eq!(
            series.notes,
            ["--set rows=7 does not hold for 1 of 2 experiments, which have no `rows`: htap-join"]
        );
        let plans: Vec<_> = series
            .members
            .iter()
            .map(|member| member.plan.as_ref().unwrap())
            .collect();
        assert_eq!(plans[0].cells[0].experiment.parameters["rows"].to_string(), "7");
        assert!(
            plans
                .iter()
                .all(|plan| plan.cells[0].experiment.workloads[0].clients == 3)
        );
        assert_eq!(
            planned(&["htap-point", "htap-join"], &[("rwos", "7")]).unwrap_err(),
            "`rwos` cannot be set in any experiment of the series; did you mean `rows`?"
        );
        let wrong = planned(&["htap-point", "htap-join"], &[("clients", "many")]).unwrap_err();
        assert!(wrong.starts_with("2 of the experiments cannot be measured:\nhtap-point: --set clients=many"));
    }

    #[test]
    fn an_experiment_is_measured_on_the_databases_that_it_is_for() {
        let names = ["htap-point", "htap-notify"];
        let series = planned(&names, &[("target", "embedded:18,embedded:mariadb")]).unwrap();
        let cells: Vec<_> = series
            .members
            .iter()
            .map(|member| member.plan.as_ref().unwrap().cells.len())
            .collect();
        assert_eq!(cells, [2, 1]);
        assert_eq!(
            series.notes,
            ["`htap-notify` runs on PostgreSQL only: MariaDB has no notifications; it is measured on embedded:18"]
        );
        let series = planned(&names, &[("target", "embedded:mariadb")]).unwrap();
        assert_eq!(
            series.members[1].plan,
            Err("`htap-notify` runs on PostgreSQL only: MariaDB has no notifications".to_owned())
        );
    }
}
