//! Experiments: which there are, and what one would do.

use crate::figures::{count, counted, duration, one_line, rate};
use crate::table::{facts, paragraph, table};
use dyno_lab::experiment::{Experiment, Resolved};

/// The experiments that can be run by name.
#[must_use]
pub fn experiments(experiments: &[Experiment]) -> String {
    let rows = experiments.iter().map(|experiment| {
        [experiment.name(), experiment.title(), experiment.question()]
            .map(str::to_owned)
            .to_vec()
    });
    table(&["name", "title", "question"], &[0, 1, 2], rows)
}

/// What a run of an experiment would do, for `--dry-run`.
#[must_use]
pub fn plan(experiment: &Resolved) -> String {
    let mut text = format!("{} ({}): {}\n", experiment.name, experiment.size, experiment.title);
    text.push_str(&paragraph("", &experiment.question));
    text.push('\n');
    let parameters = experiment
        .parameters
        .iter()
        .map(|(name, value)| vec!["parameter".to_owned(), name.clone(), value.to_string()]);
    let settings = experiment
        .settings
        .iter()
        .map(|(name, value)| vec!["setting".to_owned(), name.clone(), value.clone()]);
    let fill = experiment.data.fill.iter().map(|fill| {
        vec![
            "data".to_owned(),
            fill.table.clone(),
            format!("{} rows", count(fill.rows)),
        ]
    });
    let workloads = experiment.workloads.iter().map(|workload| {
        let pacing = workload.rate_per_s.map_or("closed loop".to_owned(), |rate_per_s| {
            format!("{} transactions/s", rate(rate_per_s))
        });
        let script = one_line(&workload.script);
        let how = format!(
            "{}, {}, {}, {pacing}: {script}",
            counted(workload.clients as u64, "client"),
            counted(workload.threads as u64, "thread"),
            workload.protocol
        );
        vec!["workload".to_owned(), workload.name.clone(), how]
    });
    let phases = experiment
        .phases()
        .into_iter()
        .map(|phase| vec!["phase".to_owned(), phase.name.to_owned(), duration(phase.duration)]);
    text.push_str(&table(
        &[],
        &[0, 1, 2],
        parameters.chain(settings).chain(fill).chain(workloads).chain(phases),
    ));
    text.push('\n');
    let total = format!(
        "{} for the phases; preparing the server and loading the data come on top",
        duration(experiment.duration())
    );
    text.push_str(&facts([("expected", total)]));
    text
}

#[cfg(test)]
mod tests {
    use crate::table::WIDTH;
    use dyno_lab::experiment::{Size, builtin, find};
    use insta::assert_snapshot;

    #[test]
    fn all_that_come_with_dyno() {
        let experiments: Vec<_> = builtin().iter().map(|builtin| find(builtin.name).unwrap()).collect();
        assert_snapshot!(super::experiments(&experiments));
    }

    #[test]
    fn what_a_run_would_do() {
        let experiment = find("pk-update").unwrap().resolve(Size::Small, &[], 2).unwrap();
        let text = super::plan(&experiment);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_snapshot!(text);
    }
}
