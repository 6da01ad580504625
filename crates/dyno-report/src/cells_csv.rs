//! The cells of campaigns as CSV: a row for each cell and workload, and for each stage, for those who go on with
//! other tools. `docs/report-format.md` lists the columns.

use crate::campaign::latencies::{stages_of, takes_part};
use crate::export::Made;
use crate::figures::folder_name;
use dyno_analysis::published::{Beside, published_beside};
use dyno_analysis::summary::{latency_over_runs, over_runs, sum_of, summary_of, sums};
use dyno_archive::plan::PublishedFigure;
use dyno_archive::summary::{Latency, StageWorkload, Summary, WorkloadSummary};
use dyno_archive::{Campaign, Run, RunState};
use dyno_stats::Running;
use indexmap::{IndexMap, IndexSet};

/// A cell of a campaign: its levels, and the figures of its complete runs.
type Cell<'a> = (&'a IndexMap<String, String>, Vec<(&'a Run, Summary)>);

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
        if let (Ok(record), Ok(mut summary)) = (&run.record, summary_of(run)) {
            let sums = sums(&record.workloads, &summary.workloads);
            summary.workloads.extend(sums);
            let key = record.cell.iter().collect();
            cells
                .entry(key)
                .or_insert_with(|| (&record.cell, Vec::new()))
                .1
                .push((run, summary));
        }
    }
    let published = published_beside(campaign, None);
    let rows = cells.values().flat_map(|cell| cell_rows(campaign, cell, &published));
    rows.collect()
}

fn cell_rows(campaign: &Campaign, (levels, runs): &Cell, published: &[Beside<'_>]) -> Vec<Row> {
    let names: IndexSet<&String> = runs
        .iter()
        .flat_map(|(_, summary)| &summary.workloads)
        .map(|workload| &workload.name)
        .collect();
    let begin = |name: &String| {
        let mut row = Row::from([
            ("campaign".to_owned(), folder_name(&campaign.name())),
            ("workload".to_owned(), name.clone()),
        ]);
        row.extend(
            levels
                .iter()
                .map(|(factor, level)| (format!("{FACTOR}{factor}"), level.clone())),
        );
        row
    };
    let whole = |name: &String| {
        let of: Vec<(&Summary, &WorkloadSummary)> = runs
            .iter()
            .flat_map(|(_, summary)| summary.workloads.iter().map(move |workload| (summary, workload)))
            .filter(|(_, workload)| workload.name == *name)
            .collect();
        let mut row = begin(name);
        if of.iter().any(|(summary, _)| !summary.stages.is_empty()) {
            row.insert("stage".to_owned(), String::new());
        }
        let figures: Vec<f64> = of.iter().map(|(_, workload)| workload.tps).collect();
        let sum = |value: fn(&WorkloadSummary) -> u64| {
            let values = of.iter().map(|(_, workload)| value(workload));
            Some(values.sum::<u64>() as f64)
        };
        put(&mut row, "runs", Some(of.len() as f64));
        put(
            &mut row,
            "clients",
            of.first().map(|(_, workload)| workload.clients as f64),
        );
        put(&mut row, "transactions", sum(|workload| workload.transactions));
        put(&mut row, "errors", sum(|workload| workload.errors));
        put_tps(&mut row, &figures);
        let latencies: Vec<Latency> = of
            .iter()
            .filter_map(|(summary, workload)| summary.latency_of(workload))
            .collect();
        let latency = latency_over_runs(&latencies);
        put(&mut row, "latency_mean_us", latency.map(|latency| latency.mean_us));
        put(&mut row, "latency_p50_us", latency.map(|latency| latency.p50_us));
        put(&mut row, "latency_p95_us", latency.map(|latency| latency.p95_us));
        put(&mut row, "latency_p99_us", latency.map(|latency| latency.p99_us));
        put(&mut row, "latency_p99_9_us", latency.map(|latency| latency.p99_9_us));
        put(&mut row, "latency_max_us", latency.map(|latency| latency.max_us));
        let made: Vec<Made> = runs.iter().map(|(run, summary)| Made::of(run, summary, name)).collect();
        let mean = |value: &dyn Fn(&Made) -> Option<f64>| over_runs(&made.iter().filter_map(value).collect::<Vec<_>>());
        put(&mut row, "preparation_s", mean(&|made| made.preparation_s));
        put(&mut row, "load_s", mean(&|made| made.load_s));
        put(
            &mut row,
            "load_rows",
            mean(&|made| made.load_rows.map(|rows| rows as f64)),
        );
        for (place, (size, _)) in made.first().map(|made| made.bytes).into_iter().flatten().enumerate() {
            put(
                &mut row,
                size,
                mean(&|made| made.bytes[place].1.map(|bytes| bytes as f64)),
            );
        }
        let metrics: IndexSet<&String> = runs.iter().flat_map(|(_, summary)| summary.metrics.keys()).collect();
        for metric in metrics {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|(_, summary)| summary.metrics.get(metric).copied())
                .collect();
            put(&mut row, &format!("metric_{metric}"), over_runs(&values));
        }
        // What was measured on something else has no column beside what is measured here.
        let its = |published: &PublishedFigure| {
            let workload = published.workload.as_ref();
            published.of.is_empty() && workload.is_none_or(|of| of == name || sum_of(of) == *name)
        };
        for beside in published
            .iter()
            .filter(|beside| beside.cell.as_ref() == Some(*levels) && its(beside.published))
        {
            let measure = &beside.published.measure;
            let unit = match beside.published.unit.as_str() {
                "" => String::new(),
                unit => format!("_{unit}"),
            };
            put(
                &mut row,
                &format!("published_{measure}{unit}"),
                Some(beside.published.value),
            );
        }
        row
    };
    // Latencies are of one load, so of several stages each has a row.
    let stages = |name: &String| {
        let mut stages: IndexMap<&String, Vec<&StageWorkload>> = IndexMap::new();
        for (run, summary) in runs {
            let Some(workload) = summary.workloads.iter().find(|workload| workload.name == *name) else {
                continue;
            };
            for (stage, figures) in stages_of(summary, name).filter(|(stage, _)| takes_part(run, workload, stage)) {
                stages.entry(&stage.name).or_default().push(figures);
            }
        }
        let row = |(stage, of): (&String, Vec<&StageWorkload>)| {
            let mut row = begin(name);
            row.insert("stage".to_owned(), stage.clone());
            put(&mut row, "runs", Some(of.len() as f64));
            put_tps(&mut row, &of.iter().map(|figures| figures.tps).collect::<Vec<_>>());
            let percentile = |value: fn(&StageWorkload) -> Option<f64>| {
                over_runs(&of.iter().filter_map(|figures| value(figures)).collect::<Vec<_>>())
            };
            put(&mut row, "latency_p50_us", percentile(|figures| figures.p50_us));
            put(&mut row, "latency_p95_us", percentile(|figures| figures.p95_us));
            put(&mut row, "latency_p99_us", percentile(|figures| figures.p99_us));
            row
        };
        stages.into_iter().map(row).collect::<Vec<_>>()
    };
    names
        .into_iter()
        .flat_map(|name| std::iter::once(whole(name)).chain(stages(name)))
        .collect()
}

/// A figure, exact; nothing if there is none.
fn put(row: &mut Row, name: &str, value: Option<f64>) {
    let text = value
        .filter(|value| value.is_finite())
        .map_or_else(String::new, |value| value.to_string());
    row.insert(name.to_owned(), text);
}

/// The TPS of the runs together, and how they differ.
fn put_tps(row: &mut Row, figures: &[f64]) {
    let tps: Running = figures.iter().copied().collect();
    put(row, "tps_mean", over_runs(figures));
    put(row, "tps_min", tps.min());
    put(row, "tps_max", tps.max());
    put(row, "tps_variation_percent", tps.variation().map(|share| share * 100.0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::write_archive;
    use dyno_archive::Archive;

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

    #[test]
    fn each_stage_has_a_row_with_its_latencies() {
        let folder = tempfile::tempdir().unwrap();
        let campaign = crate::terminal::campaign_tests::campaign(folder.path(), "", |_| {
            crate::terminal::campaign_tests::Fate::Found(Box::new(crate::fixture::staged()))
        });
        let csv = cells_csv(&[campaign]).unwrap();
        let mut reader = csv::Reader::from_reader(csv.as_slice());
        let columns = reader.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let of = |name: &str| -> Vec<&str> {
            let place = columns.iter().position(|column| column == name).unwrap();
            rows.iter().map(|row| &row[place]).collect()
        };
        assert_eq!(&columns[2], "stage");
        assert_eq!(of("stage"), ["", "calm", "storm"]);
        assert_eq!(of("latency_p99_us"), ["", "900", "40000"]);
        assert_eq!(of("tps_mean"), ["10250", "500", "20000"]);
    }
}
