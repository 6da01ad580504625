//! Experiments: which there are, and what one would do.

use crate::figures::{count, counted, duration, rate};
use crate::table::{facts, paragraph, table};
use dyno_lab::experiment::{Experiment, Resolved};
use std::time::Duration;

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

/// Rows that a server on two cores of a virtual machine was seen to load per second, indexes included: good for the order of magnitude.
const ROWS_PER_S: f64 = 500_000.0;

/// What a campaign would do, for `--dry-run`. `target` and `archive` say where, without passwords.
#[must_use]
pub fn plan(experiment: &Resolved, repetitions: usize, target: &str, archive: &str) -> String {
    let row = |kind: &str, name: &str, what: String| vec![kind.to_owned(), name.to_owned(), what];
    let mut rows = vec![row("target", "", target.to_owned())];
    rows.extend(
        experiment
            .parameters
            .iter()
            .map(|(name, value)| row("parameter", name, value.to_string())),
    );
    rows.extend(
        experiment
            .settings
            .iter()
            .map(|(name, value)| row("setting", name, value.clone())),
    );
    let data = &experiment.data;
    let sql = |name: &str, text: &str| (!text.trim().is_empty()).then(|| row("data", name, text.trim().to_owned()));
    rows.extend(sql("setup", &data.setup));
    rows.extend(
        data.fill
            .iter()
            .map(|fill| row("data", &fill.table, format!("{} rows", count(fill.rows)))),
    );
    rows.extend(sql("finish", &data.finish));
    for workload in &experiment.workloads {
        let pacing = workload.rate_per_s.map_or("closed loop".to_owned(), |rate_per_s| {
            format!("open loop at {} transactions/s", rate(rate_per_s))
        });
        let mut how = format!(
            "{}, {}, {}, {pacing}",
            counted(workload.clients as u64, "client"),
            counted(workload.threads as u64, "thread"),
            workload.protocol,
        );
        for (script, _) in workload.scripts.iter() {
            how.push('\n');
            how.push_str(script.script.trim());
        }
        rows.push(row("workload", &workload.name, how));
    }
    let phases = experiment.phases();
    rows.extend(
        phases
            .iter()
            .map(|phase| row("phase", &phase.name, lasting(phase.duration))),
    );
    rows.push(row("archive", "", archive.to_owned()));

    let size = experiment.size.map_or_else(String::new, |size| format!(" ({size})"));
    let mut text = format!("{}{size}: {}\n", experiment.name, experiment.title);
    text.push_str(&paragraph("", &experiment.question));
    text.push('\n');
    text.push_str(&table(&[], &[0, 1, 2], rows));
    text.push('\n');
    let times = u32::try_from(repetitions).unwrap_or(u32::MAX);
    let mut expected = vec![format!(
        "{} for the phases",
        lasting(experiment.duration().map(|each| each.saturating_mul(times)))
    )];
    if repetitions > 1 {
        expected.push(format!("in {repetitions} runs"));
    }
    let loaded: u64 = data.fill.iter().map(|fill| fill.rows).sum();
    if loaded > 0 {
        let load_s = (loaded as f64 / ROWS_PER_S).ceil();
        expected.push(format!(
            "about {} to load the data if it is not kept from an earlier run",
            duration(Duration::from_secs(load_s as u64))
        ));
    }
    expected.push("some seconds to bring up the server".to_owned());
    text.push_str(&facts([("expected", expected.join(", "))]));
    text
}

/// How long phases last.
fn lasting(planned: Option<Duration>) -> String {
    planned.map_or_else(|| "as long as the transactions take".to_owned(), duration)
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
        let text = super::plan(&experiment, 1, "embedded", "archive");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_snapshot!(text);
    }
}
