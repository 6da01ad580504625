//! What is measured in each cell of a campaign, as it is drawn over factors.

use super::throughput::names;
use crate::campaign::cells::{Cell, extremes, of_workload, whose_tps, workload_names};
use crate::figures::rate;
use dyno_lab::summary::over_runs;
use indexmap::IndexSet;

/// One measure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    /// Part of the ids of its figures.
    pub id: String,
    /// What is on its axis.
    pub title: String,
    /// Its unit; empty if that is not known.
    pub unit: &'static str,
    /// Whether it is drawn on a logarithmic axis.
    pub log: bool,
    of: Of,
}

#[derive(Clone, Debug, PartialEq)]
enum Of {
    Total,
    Workload(String),
    /// Of the workload of that name; without a name of the only one of each cell.
    P99(Option<String>),
    Metric(String),
}

impl Measure {
    /// Transactions per second of all workloads together; where loops are mixed, of the closed ones.
    pub fn tps(cells: &[Cell]) -> Self {
        let title = of_workload("Throughput", whose_tps(cells));
        Self::new("tps".to_owned(), title, "TPS", Of::Total)
    }

    /// The 99th percentile of the latency of each workload.
    pub fn p99s(cells: &[Cell]) -> Vec<Self> {
        let of = |(number, name): (usize, Option<&str>)| {
            let id = name.map_or_else(|| "p99".to_owned(), |_| format!("p99-of-{}", number + 1));
            let title = match name {
                Some(_) => of_workload("p99", name),
                None => "p99 of latency".to_owned(),
            };
            Self {
                log: true,
                ..Self::new(id, title, "ms", Of::P99(name.map(str::to_owned)))
            }
        };
        workload_names(cells).into_iter().enumerate().map(of).collect()
    }

    /// Where cells have several workloads, the throughput of each.
    pub fn of_workloads(cells: &[Cell]) -> Vec<Self> {
        let several = cells.iter().any(|cell| cell.workloads.len() > 1);
        let names: IndexSet<&String> = cells
            .iter()
            .flat_map(|cell| cell.workloads.keys())
            .filter(|_| several)
            .collect();
        let of = |(number, name): (usize, &String)| {
            let title = format!("Throughput of {name}");
            Self::new(
                format!("workload-{}", number + 1),
                title,
                "TPS",
                Of::Workload(name.clone()),
            )
        };
        names.into_iter().enumerate().map(of).collect()
    }

    /// The metrics of the experiment.
    pub fn of_metrics(cells: &[Cell]) -> Vec<Self> {
        let names: IndexSet<&String> = cells.iter().flat_map(|cell| cell.metrics.keys()).collect();
        let of = |(number, name): (usize, &String)| {
            Self::new(
                format!("metric-{}", number + 1),
                crate::figures::one_line(name),
                "",
                Of::Metric(name.clone()),
            )
        };
        names.into_iter().enumerate().map(of).collect()
    }

    fn new(id: String, title: String, unit: &'static str, of: Of) -> Self {
        Self {
            id,
            title,
            unit,
            log: false,
            of,
        }
    }

    /// What it is of: a workload or a metric; else what is on its axis.
    pub fn name(&self) -> &str {
        match &self.of {
            Of::Workload(name) | Of::P99(Some(name)) => name,
            Of::Total | Of::P99(None) | Of::Metric(_) => &self.title,
        }
    }

    /// What several are called together.
    pub fn title_of(measures: &[&Self]) -> String {
        let all = || names(measures.iter().map(|measure| measure.name()));
        match measures {
            [] => String::new(),
            [first, _, ..] => match first.of {
                Of::Workload(_) => format!("Throughput of {}", all()),
                Of::P99(Some(_)) => format!("p99 of {}", all()),
                Of::Metric(_) => all(),
                Of::Total | Of::P99(None) => first.title.clone(),
            },
            [only] => only.title.clone(),
        }
    }

    /// A value of it with its unit, in words.
    pub fn words(&self, value: f64) -> String {
        match self.unit {
            "" => rate(value),
            unit => format!("{} {unit}", rate(value)),
        }
    }

    /// What it is in `cell`.
    pub fn value(&self, cell: &Cell) -> Option<f64> {
        over_runs(&self.runs(cell))
    }

    /// The least and the greatest of its runs, if there are several.
    pub fn range(&self, cell: &Cell) -> Option<(f64, f64)> {
        extremes(&self.runs(cell))
    }

    fn runs(&self, cell: &Cell) -> Vec<f64> {
        match &self.of {
            Of::Total => cell.tps.clone(),
            Of::P99(name) => {
                let latencies = cell
                    .workload(name.as_deref())
                    .map_or(&[][..], |of| of.latencies.as_slice());
                latencies.iter().map(|latency| latency.p99_us / 1e3).collect()
            }
            Of::Workload(name) => cell.workload(Some(name)).map_or_else(Vec::new, |of| of.tps.clone()),
            Of::Metric(name) => cell.metrics.get(name).cloned().unwrap_or_default(),
        }
    }
}
