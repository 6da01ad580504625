//! What the source of an experiment published beside what was measured here.
//!
//! A published figure belongs to every cell that has its levels; one that no cell has stands alone. The figures of a
//! cell are those of its complete runs, as everywhere.

use crate::comparison::{Cell, Cells, Pool};
use crate::summary::{over_runs, sum_of, sums};
use dyno_archive::plan::{Levels, PublishedFigure};
use dyno_archive::summary::{Latency, Summary, WorkloadSummary};
use dyno_archive::{Campaign, Run};

/// What can have been published beside the metrics of an experiment, with the unit that it is in unless a file says
/// otherwise.
pub const MEASURES: [(&str, &str); 12] = [
    ("tps", "TPS"),
    ("tps_min", "TPS"),
    ("tps_max", "TPS"),
    ("qps", "QPS"),
    ("latency_mean", "ms"),
    ("latency_stddev", "ms"),
    ("latency_min", "ms"),
    ("latency_p50", "ms"),
    ("latency_p95", "ms"),
    ("latency_p99", "ms"),
    ("latency_p99.9", "ms"),
    ("latency_max", "ms"),
];

/// What the names of latencies begin with.
const LATENCY: &str = "latency_";

/// Those of a workload that runs on each of several servers which add up.
pub const THAT_ADD_UP: [&str; 2] = ["tps", "qps"];

/// The units that a latency can have, with the microseconds in each.
pub const UNITS_OF_LATENCY: [(&str, f64); 4] = [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];

/// Whether a figure of this name is a latency.
#[must_use]
pub fn is_latency(measure: &str) -> bool {
    measure.starts_with(LATENCY)
}

/// A published figure and a cell that has its levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside<'a> {
    /// What was published.
    pub published: &'a PublishedFigure,
    /// The levels of the cell; `None`: no cell with a complete run has them.
    pub cell: Option<Levels>,
    /// What was measured in it, in the unit of what was published; `None`: it was not measured.
    pub here: Option<f64>,
}

impl Beside<'_> {
    /// What was measured here by what was published.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let ratio = self.here? / self.published.value;
        Some(ratio).filter(|ratio| ratio.is_finite())
    }
}

/// Everything that was published of a campaign's experiment, in the order of its file, with the cells of the campaign.
/// With `only` the figures here are those of this run, and what was published of other cells is left out.
#[must_use]
pub fn published_beside<'a>(campaign: &'a Campaign, only: Option<&Run>) -> Vec<Beside<'a>> {
    let Ok(record) = &campaign.record else {
        return Vec::new();
    };
    if record.published.is_empty() {
        return Vec::new();
    }
    let mut cells = Cells::of(&Pool::from(campaign)).cells;
    if let Some(only) = only {
        for cell in &mut cells {
            cell.runs.retain(|(run, _)| run.path == only.path);
        }
        cells.retain(|cell| !cell.runs.is_empty());
    }
    let mut beside = Vec::new();
    for published in &record.published.figures {
        let has_levels = |cell: &&Cell<'_>| {
            let mut levels = published.levels.iter();
            levels.all(|(factor, level)| cell.level(factor).as_deref() == Some(level))
        };
        let mut same: Vec<Beside<'a>> = cells
            .iter()
            .filter(has_levels)
            .map(|cell| Beside {
                published,
                cell: Some(cell.levels.clone()),
                here: measured(published, cell),
            })
            .collect();
        if same.is_empty() && (only.is_none() || record.runs.len() < 2) {
            same.push(Beside {
                published,
                cell: None,
                here: None,
            });
        }
        beside.append(&mut same);
    }
    beside
}

/// What a cell has for a published figure, in the unit of that.
fn measured(published: &PublishedFigure, cell: &Cell<'_>) -> Option<f64> {
    let of_runs = cell.runs.iter().filter_map(|(run, summary)| {
        let sum = published.workload.as_ref().map(|name| sum_of(name));
        let facts = run.record.as_ref().map_or(&[][..], |record| &record.workloads);
        let sums = sums(facts, &summary.workloads);
        let sum = sums.iter().find(|workload| Some(&workload.name) == sum.as_ref());
        match sum {
            Some(sum) => of_workload(published, sum),
            None => of_run(published, summary),
        }
    });
    over_runs(&of_runs.collect::<Vec<_>>())
}

/// What a workload on several servers did, of what adds up.
fn of_workload(published: &PublishedFigure, sum: &WorkloadSummary) -> Option<f64> {
    match published.measure.as_str() {
        "tps" => Some(sum.tps),
        "qps" => Some(sum.statements_per_s),
        _ => None,
    }
}

fn of_run(published: &PublishedFigure, summary: &Summary) -> Option<f64> {
    let measure = published.measure.as_str();
    if let Some(value) = summary.metrics.get(measure) {
        return Some(*value);
    }
    let workload = match (&published.workload, summary.workloads.as_slice()) {
        (Some(name), workloads) => Some(workloads.iter().find(|workload| workload.name == *name)?),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    match (measure, workload, &summary.total) {
        ("tps", Some(workload), _) => Some(workload.tps),
        ("qps", Some(workload), _) => Some(workload.statements_per_s),
        ("tps", None, Some(total)) => Some(total.tps),
        ("qps", None, Some(total)) => Some(total.statements_per_s),
        ("tps_min", Some(workload), _) => Some(workload.steadiness?.tps_min),
        ("tps_max", Some(workload), _) => Some(workload.steadiness?.tps_max),
        (_, Some(workload), _) => latency(published, summary, workload),
        (_, None, _) => None,
    }
}

fn latency(published: &PublishedFigure, summary: &Summary, workload: &WorkloadSummary) -> Option<f64> {
    let of: fn(Latency) -> f64 = match published.measure.strip_prefix(LATENCY)? {
        "mean" => |latency| latency.mean_us,
        "stddev" => |latency| latency.stddev_us,
        "min" => |latency| latency.min_us,
        "p50" => |latency| latency.p50_us,
        "p95" => |latency| latency.p95_us,
        "p99" => |latency| latency.p99_us,
        "p99.9" => |latency| latency.p99_9_us,
        "max" => |latency| latency.max_us,
        _ => return None,
    };
    let unit = UNITS_OF_LATENCY.iter().find(|(unit, _)| *unit == published.unit);
    Some(of(summary.latency_of(workload)?) / unit?.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::summary::{Completion, Pacing, Steadiness, Total, WorkloadFacts};

    fn figure(measure: &str, unit: &str, workload: Option<&str>) -> PublishedFigure {
        PublishedFigure {
            of: String::new(),
            levels: Levels::new(),
            workload: workload.map(str::to_owned),
            measure: measure.to_owned(),
            value: 10.0,
            unit: unit.to_owned(),
            note: String::new(),
        }
    }

    fn workload(name: &str, tps: f64) -> WorkloadSummary {
        let facts = WorkloadFacts::closed(name, 1, 1);
        WorkloadSummary {
            name: facts.name,
            clients: 1,
            threads: 1,
            pacing: Pacing::Closed,
            transactions: 1,
            statements: 1,
            errors: 0,
            unfinished: 0,
            completion: Completion::default(),
            transactions_per_client: None,
            skipped: 0,
            late: 0,
            retried: 0,
            retries: 0,
            tps,
            statements_per_s: 5.0 * tps,
            steadiness: Some(Steadiness {
                intervals: 9,
                tps_min: 1.0,
                tps_max: 99.0,
                variation_percent: None,
            }),
            latency: Some(Latency {
                mean_us: 1_500.0,
                stddev_us: 1.0,
                min_us: 1.0,
                p50_us: 1.0,
                p95_us: 2.0,
                p99_us: 3.0,
                p99_9_us: 4.0,
                max_us: 5.0,
            }),
            lag: None,
            statement_latencies: Vec::new(),
            errors_by_state: Vec::new(),
            scripts: Vec::new(),
        }
    }

    #[test]
    fn every_measure_is_found_in_a_summary() {
        let one = Summary {
            workloads: vec![workload("a", 20.0)],
            ..Summary::default()
        };
        for (measure, unit) in MEASURES {
            assert!(of_run(&figure(measure, unit, None), &one).is_some(), "{measure}");
        }
        assert_eq!(of_run(&figure("latency_mean", "ms", None), &one), Some(1.5));
        assert_eq!(of_run(&figure("latency_mean", "s", Some("a")), &one), Some(0.0015));
        assert_eq!(of_run(&figure("qps", "QPS", Some("a")), &one), Some(100.0));
        assert_eq!(of_run(&figure("tps", "TPS", Some("b")), &one), None);
    }

    #[test]
    fn of_several_workloads_only_the_throughput_has_a_sum() {
        let several = Summary {
            workloads: vec![workload("a", 20.0), workload("b", 30.0)],
            total: Some(Total {
                tps: 50.0,
                statements_per_s: 250.0,
                ..Total::default()
            }),
            metrics: [("rows/s".to_owned(), 7.0)].into(),
            ..Summary::default()
        };
        let found = |measure, workload| of_run(&figure(measure, "ms", workload), &several);
        assert_eq!([found("tps", None), found("qps", None)], [Some(50.0), Some(250.0)]);
        assert_eq!(found("latency_mean", None), None);
        assert_eq!(found("latency_mean", Some("b")), Some(1.5));
        assert_eq!(found("rows/s", None), Some(7.0));
    }

    #[test]
    fn a_ratio_is_of_two_numbers() {
        let published = figure("tps", "TPS", None);
        let with = |here| Beside {
            published: &published,
            cell: None,
            here,
        };
        assert_eq!(with(Some(5.0)).ratio(), Some(0.5));
        assert_eq!(with(None).ratio(), None);
    }
}
