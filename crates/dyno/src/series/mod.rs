//! `dyno run` of several experiments: each is planned before any is measured, then one after the other is, and the page
//! of all is written.

mod go;
mod page;
mod progress;
mod resume;

pub use page::{find, report};
pub use resume::{resume, to_resume};

use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::run::{completed, driven, new_seed, request, set_of};
use crate::say;
use dyno_archive::plan::Plan;
use dyno_archive::{SeriesMember, SeriesRecord, SeriesWriter, check_writable};
use dyno_lab::command::redacted;
use dyno_lab::experiment::Experiment;
use dyno_lab::run::{Request, record, rehearse};
use dyno_lab::series::{self, SeriesError};
use dyno_report as report_of;
use dyno_target::target::Environment;
use go::Todo;
use jiff::Zoned;

/// Measures `experiments`, of which the series is called `name` unless the arguments say otherwise.
pub fn run(
    name: String,
    experiments: Vec<Experiment>,
    arguments: &RunArguments,
    environment: Environment<'_>,
) -> Result<(), Failure> {
    let name = arguments.name.clone().unwrap_or(name);
    let experiments = experiments
        .into_iter()
        .map(|experiment| driven(experiment, arguments, environment))
        .collect::<Result<Vec<_>, _>>()?;
    let seed = arguments.seed.unwrap_or_else(new_seed);
    let set = set_of(arguments);
    let planned = series::plan(experiments, &set, &|experiment, set| {
        crate::run::planned(experiment, set, arguments, seed)
    })?;
    let members = planned
        .members
        .into_iter()
        .map(|member| {
            let plan = match member.plan {
                Ok(plan) => Ok(completed(plan, arguments)?),
                Err(why) => Err(why),
            };
            Ok((member.experiment, plan))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    // What can be seen beforehand of the last experiment is not found out after hours.
    let wrong: Vec<String> = members
        .iter()
        .filter_map(|(experiment, plan)| {
            let plan = plan.as_ref().ok()?;
            let error = rehearse(plan, arguments.target.as_deref(), environment).err()?;
            Some(format!("{}: {error}", experiment.name()))
        })
        .collect();
    if !wrong.is_empty() {
        let number = wrong.len();
        return Err(SeriesError::Several { number, wrong }.into());
    }
    if arguments.dry_run {
        let shown: Vec<_> = members
            .iter()
            .map(|(experiment, plan)| {
                let plan = plan.as_ref().map_err(String::as_str);
                (experiment.name(), experiment.title(), plan)
            })
            .collect();
        return say::result(&report_of::series::dry_run(&name, &shown, &planned.notes));
    }
    if members.iter().all(|(_, plan)| plan.is_err()) {
        let why = members.into_iter().find_map(|(_, plan)| plan.err());
        return Err(Failure::SetUp(format!(
            "no experiment of the series is for this database: {}",
            why.unwrap_or_default()
        )));
    }
    planned
        .notes
        .iter()
        .for_each(|note| say::aside(&format!("note: {note}")));
    let archive = &arguments.archive.archive;
    check_writable(archive)?;
    let record = record_of(name, &members, planned.notes, arguments, environment)?;
    let writer = SeriesWriter::create(archive, record)?;
    let id = writer.series().record.id.clone();
    let todo = members.into_iter().map(|(_, plan)| match plan {
        Ok(plan) => Todo::Begin(Box::new(Request {
            label: None,
            series: Some(id.clone()),
            ..request(plan, arguments, environment)
        })),
        Err(_) => Todo::Nothing,
    });
    go::go(writer, todo.collect(), arguments)
}

/// What is archived of the series before anything is measured.
fn record_of(
    name: String,
    members: &[(Experiment, Result<Plan, String>)],
    notes: Vec<String>,
    arguments: &RunArguments,
    environment: Environment<'_>,
) -> Result<SeriesRecord, Failure> {
    let member = |(experiment, plan): &(Experiment, Result<Plan, String>)| {
        let planned = match plan {
            // The label is that of the series, not of its campaigns.
            Ok(plan) => Some(Box::new(record(&Request {
                label: None,
                ..request(plan.clone(), arguments, environment)
            })?)),
            Err(_) => None,
        };
        Ok::<_, Failure>(SeriesMember {
            experiment: experiment.name().to_owned(),
            title: experiment.title().to_owned(),
            group: experiment.group().to_owned(),
            left_out: plan.as_ref().err().cloned(),
            failure: None,
            planned,
        })
    };
    let members = members.iter().map(member).collect::<Result<_, _>>()?;
    let command = redacted(std::env::args_os().map(|word| word.to_string_lossy().into_owned()));
    Ok(SeriesRecord {
        notes,
        ..SeriesRecord::new(name, command, Zoned::now(), members)
    })
}
