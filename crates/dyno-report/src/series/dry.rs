//! What a series would do, for `--dry-run`.

use crate::figures::{counted, duration};
use crate::table::{INDENT, WIDTH, paragraph_within, table};
use dyno_archive::plan::Plan;
use indexmap::IndexMap;
use std::time::Duration;

/// The experiments of the series `name`: the name of each, its title, and what is to be done, or why nothing is.
/// `notes` say where something that was asked for does not hold.
#[must_use]
pub fn dry_run(name: &str, members: &[(&str, &str, Result<&Plan, &str>)], notes: &[String]) -> String {
    let plans = || members.iter().filter_map(|(.., plan)| plan.ok());
    let runs: usize = plans().map(|plan| plan.runs.len()).sum();
    let total = plans().map(phases).sum::<Option<Duration>>();
    let mut text = format!(
        "{name}: {}, {} with phases of {}\n\n",
        counted(members.len() as u64, "experiment"),
        counted(runs as u64, "run"),
        lasting(total)
    );
    let rows = members.iter().map(|(experiment, title, plan)| {
        let (cells, runs, phases) = match plan {
            Ok(plan) => (
                plan.cells.len().to_string(),
                plan.runs.len().to_string(),
                lasting(phases(plan)),
            ),
            Err(_) => ("-".to_owned(), "-".to_owned(), "left out".to_owned()),
        };
        vec![(*experiment).to_owned(), (*title).to_owned(), cells, runs, phases]
    });
    text.push_str(&table(
        &["experiment", "title", "cells", "runs", "phases"],
        &[0, 1, 4],
        rows,
    ));
    let mut shared: IndexMap<String, Vec<&str>> = IndexMap::new();
    for (experiment, _, plan) in members {
        let Ok(plan) = plan else { continue };
        for (key, value) in &plan.defaults.values {
            let line = format!("{key} = {value} (from {})", plan.defaults.file);
            shared.entry(line).or_default().push(experiment);
        }
    }
    if !shared.is_empty() {
        text.push_str("\nShared by the folder:\n");
    }
    for (line, experiments) in &shared {
        let whose = match experiments.len() == members.len() {
            true => "all".to_owned(),
            false => experiments.join(", "),
        };
        text.push_str(&paragraph_within(INDENT, &format!("{line}: {whose}"), WIDTH));
    }
    let left_out = members.iter().filter_map(|(experiment, _, plan)| match plan {
        Err(why) => Some(format!("{experiment} is left out: {why}")),
        Ok(_) => None,
    });
    let all: Vec<String> = left_out.chain(notes.iter().cloned()).collect();
    if !all.is_empty() {
        text.push('\n');
    }
    all.iter()
        .for_each(|note| text.push_str(&paragraph_within("note: ", note, WIDTH)));
    text
}

/// How long all phases last; `None` if until work is done.
fn phases(plan: &Plan) -> Option<Duration> {
    let runs = plan.cells_of_runs().map(|cell| cell.experiment.duration());
    runs.sum()
}

fn lasting(time: Option<Duration>) -> String {
    time.map_or_else(|| "no known end".to_owned(), duration)
}
