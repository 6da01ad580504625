//! What is measured in each cell of a campaign, as it is drawn over factors.

use super::throughput::names;
use crate::campaign::cells::{Cell, mean};
use crate::figures::{rate, time};
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
    P99,
    Metric(String),
}

impl Measure {
    /// Transactions per second of all workloads together.
    pub fn tps() -> Self {
        Self::new("tps".to_owned(), "Throughput".to_owned(), "TPS", Of::Total)
    }

    /// The 99th percentile of the latency of all transactions.
    pub fn p99() -> Self {
        Self {
            log: true,
            ..Self::new("p99".to_owned(), "p99 of latency".to_owned(), "µs", Of::P99)
        }
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
            Of::Workload(name) => name,
            Of::Total | Of::P99 | Of::Metric(_) => &self.title,
        }
    }

    /// What several are called together.
    pub fn title_of(measures: &[&Self]) -> String {
        let all = || names(measures.iter().map(|measure| measure.name()));
        match measures {
            [] => String::new(),
            [first, _, ..] => match first.of {
                Of::Workload(_) => format!("Throughput of {}", all()),
                Of::Metric(_) => all(),
                Of::Total | Of::P99 => first.title.clone(),
            },
            [only] => only.title.clone(),
        }
    }

    /// A value of it with its unit, in words.
    pub fn words(&self, value: f64) -> String {
        match self.unit {
            "µs" => time(value),
            "" => rate(value),
            unit => format!("{} {unit}", rate(value)),
        }
    }

    /// What it is in `cell`: a mean over its runs, or the percentile of all their transactions.
    pub fn value(&self, cell: &Cell) -> Option<f64> {
        match self.of {
            Of::P99 => cell.p99_us(),
            _ => mean(self.runs(cell)),
        }
    }

    /// The least and the greatest of its runs, if there are several.
    pub fn range(&self, cell: &Cell) -> Option<(f64, f64)> {
        let runs = self.runs(cell);
        let low = runs.iter().copied().min_by(f64::total_cmp)?;
        let high = runs.iter().copied().max_by(f64::total_cmp)?;
        (runs.len() > 1).then_some((low, high))
    }

    fn runs<'a>(&self, cell: &'a Cell) -> &'a [f64] {
        let of = match &self.of {
            Of::Total => Some(&cell.tps),
            Of::P99 => Some(&cell.p99_us_of_runs),
            Of::Workload(name) => cell.workloads.get(name),
            Of::Metric(name) => cell.metrics.get(name),
        };
        of.map_or(&[], Vec::as_slice)
    }
}
