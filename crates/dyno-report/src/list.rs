//! The list of what is in an archive.

use crate::figures::{rate, time};
use crate::table::table;
use dyno_lab::archive::{Campaign, Run};
use dyno_lab::summary::WorkloadSummary;

/// The campaigns of an archive, one line per run, the newest last.
#[must_use]
pub fn campaigns(campaigns: &[Campaign]) -> String {
    if campaigns.is_empty() {
        return "There are no runs yet. Begin with `dyno run pk-update`; `dyno list experiments` shows what else there is.\n".to_owned();
    }
    let rows = campaigns.iter().flat_map(|campaign| {
        let (when, experiment) = match &campaign.record {
            Ok(record) => {
                let experiment = &record.experiment;
                let when = record.started.strftime("%Y-%m-%d %H:%M").to_string();
                (when, format!("{} {}", experiment.name, experiment.size))
            }
            Err(_) => ("-".to_owned(), "-".to_owned()),
        };
        campaign.runs.iter().map(move |run| {
            let [tps, p99] = figures(run);
            let folder = format!("{}/{}", campaign.name(), run.name());
            vec![
                when.clone(),
                experiment.clone(),
                run.state.to_string(),
                tps,
                p99,
                folder,
            ]
        })
    });
    table(
        &["when", "experiment", "state", "TPS", "p99", "folder"],
        &[0, 1, 2, 5],
        rows,
    )
}

/// TPS over all workloads and the 99th percentile of the slowest; `-` where there is none.
fn figures(run: &Run) -> [String; 2] {
    let Ok(summary) = run.summary() else {
        return ["-".to_owned(), "-".to_owned()];
    };
    let tps: f64 = summary.workloads.iter().map(|workload| workload.tps).sum();
    let p99_us = |workload: &WorkloadSummary| workload.latency.map(|latency| latency.p99_us);
    let p99_us = summary.workloads.iter().filter_map(p99_us).max_by(f64::total_cmp);
    [rate(tps), p99_us.map_or("-".to_owned(), time)]
}
