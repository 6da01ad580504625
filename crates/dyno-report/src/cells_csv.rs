//! The cells of campaigns as CSV: a row for each cell and workload, for those who go on with other tools. `docs/report-format.md` lists the columns.

use dyno_lab::archive::{Campaign, RunState};
use dyno_lab::summary::{Latency, Summary, WorkloadSummary, over_runs};
use dyno_stats::Running;
use indexmap::{IndexMap, IndexSet};

/// A cell of a campaign: its levels, and the figures of its complete runs.
type Cell<'a> = (&'a IndexMap<String, String>, Vec<Summary>);

/// A field for each column.
type Row = IndexMap<String, String>;

/// The cells of `campaigns` that have a complete run.
///
/// # Errors
///
/// Into memory there are none but of the machine itself.
pub fn cells_csv(campaigns: &[Campaign]) -> Result<Vec<u8>, csv::Error> {
    let rows: Vec<Row> = campaigns.iter().flat_map(rows_of).collect();
    // Columns that only some campaigns have, factors and metrics, stand where the first that has them has them.
    let names: IndexSet<&String> = rows.iter().flat_map(|row| row.keys()).collect();
    let (factors, others): (Vec<&String>, Vec<&String>) = names.into_iter().partition(|name| name.starts_with(FACTOR));
    let names: Vec<&String> = others
        .iter()
        .take(1)
        .chain(&factors)
        .chain(others.iter().skip(1))
        .copied()
        .collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    if !names.is_empty() {
        writer.write_record(&names)?;
    }
    for row in &rows {
        writer.write_record(names.iter().map(|name| row.get(*name).map_or("", String::as_str)))?;
    }
    writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))
}

/// What precedes the name of a factor among the columns, so that it is never taken for a figure.
const FACTOR: &str = "factor_";

fn rows_of(campaign: &Campaign) -> Vec<Row> {
    let mut cells: IndexMap<Vec<(&String, &String)>, Cell> = IndexMap::new();
    for run in campaign.runs.iter().filter(|run| run.state == RunState::Complete) {
        if let (Ok(record), Ok(summary)) = (&run.record, run.summary()) {
            let key = record.cell.iter().collect();
            cells
                .entry(key)
                .or_insert_with(|| (&record.cell, Vec::new()))
                .1
                .push(summary);
        }
    }
    cells.values().flat_map(|cell| cell_rows(campaign, cell)).collect()
}

fn cell_rows(campaign: &Campaign, (levels, runs): &Cell) -> Vec<Row> {
    let names: IndexSet<&String> = runs
        .iter()
        .flat_map(|summary| &summary.workloads)
        .map(|workload| &workload.name)
        .collect();
    let row = |name: &String| {
        let of: Vec<&WorkloadSummary> = runs
            .iter()
            .flat_map(|summary| &summary.workloads)
            .filter(|workload| workload.name == *name)
            .collect();
        let mut row = Row::from([("campaign".to_owned(), campaign.name())]);
        row.extend(
            levels
                .iter()
                .map(|(factor, level)| (format!("{FACTOR}{factor}"), level.clone())),
        );
        let mut put = |name: &str, value: Option<f64>| {
            let text = value
                .filter(|value| value.is_finite())
                .map_or_else(String::new, |value| value.to_string());
            row.insert(name.to_owned(), text);
        };
        let figures: Vec<f64> = of.iter().map(|workload| workload.tps).collect();
        let tps: Running = figures.iter().copied().collect();
        let sum =
            |value: fn(&WorkloadSummary) -> u64| Some(of.iter().map(|workload| value(workload)).sum::<u64>() as f64);
        put("runs", Some(of.len() as f64));
        put("clients", of.first().map(|workload| workload.clients as f64));
        put("transactions", sum(|workload| workload.transactions));
        put("errors", sum(|workload| workload.errors));
        put("tps_mean", over_runs(&figures));
        put("tps_min", tps.min());
        put("tps_max", tps.max());
        put("tps_variation_percent", tps.variation().map(|share| share * 100.0));
        let latencies: Vec<Latency> = of.iter().filter_map(|workload| workload.latency).collect();
        let latency = Latency::over_runs(&latencies);
        put("latency_mean_us", latency.map(|latency| latency.mean_us));
        put("latency_p50_us", latency.map(|latency| latency.p50_us));
        put("latency_p95_us", latency.map(|latency| latency.p95_us));
        put("latency_p99_us", latency.map(|latency| latency.p99_us));
        put("latency_p99_9_us", latency.map(|latency| latency.p99_9_us));
        put("latency_max_us", latency.map(|latency| latency.max_us));
        let metrics: IndexSet<&String> = runs.iter().flat_map(|summary| summary.metrics.keys()).collect();
        for metric in metrics {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|summary| summary.metrics.get(metric).copied())
                .collect();
            put(&format!("metric_{metric}"), over_runs(&values));
        }
        row.shift_insert(1, "workload".to_owned(), name.clone());
        row
    };
    names.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::write_archive;
    use dyno_lab::archive::Archive;

    #[test]
    fn a_row_for_each_cell_and_workload() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        let campaigns = Archive::new(folder.path()).campaigns().unwrap();
        let csv = String::from_utf8(cells_csv(&campaigns).unwrap()).unwrap();
        // Of the three runs of the archive one is complete.
        insta::assert_snapshot!(csv);
        assert!(cells_csv(&[]).unwrap().is_empty());
    }
}
