//! What is measured in each cell of a campaign, as it is drawn over factors.

use super::throughput::names;
use crate::campaign::cells::{Cell, extremes, whose_tps};
use crate::campaign::whose::{Whose, of_workload};
use crate::figures::{in_unit, rate};
use dyno_analysis::summary::over_runs;
use dyno_stats::{Outcome, judge};
use indexmap::IndexSet;
use std::cmp::Ordering;

/// One measure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    /// Part of the ids of its figures.
    pub id: String,
    /// What is on its axis.
    pub title: String,
    /// What it is of: a workload, a stage or a metric; else what is on its axis.
    pub name: String,
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
    P99(Whose),
    Metric(String),
}

impl Measure {
    /// Transactions per second of all workloads together; where loops are mixed, of the closed ones.
    pub fn tps(cells: &[Cell]) -> Self {
        let title = of_workload("Throughput", whose_tps(cells));
        Self::new("tps".to_owned(), title, "TPS", Of::Total)
    }

    /// The 99th percentile of the latency of each workload, of several stages in each.
    pub fn p99s(cells: &[Cell]) -> Vec<Self> {
        let all = Whose::all(cells);
        let several = all.len() > 1;
        let of = |(number, whose): (usize, Whose)| {
            let id = if several || whose.workload.is_some() {
                format!("p99-of-{}", number + 1)
            } else {
                "p99".to_owned()
            };
            let title = match whose.workload {
                Some(_) => whose.words("p99"),
                None => whose.words("p99 of latency"),
            };
            let measure = Self::new(id, title, "ms", Of::P99(whose.clone()));
            Self {
                log: true,
                name: whose.name().unwrap_or_else(|| measure.title.clone()),
                ..measure
            }
        };
        all.into_iter().enumerate().map(of).collect()
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
            let (id, title) = (format!("workload-{}", number + 1), format!("Throughput of {name}"));
            Self {
                name: name.clone(),
                ..Self::new(id, title, "TPS", Of::Workload(name.clone()))
            }
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
            name: title.clone(),
            title,
            unit,
            log: false,
            of,
        }
    }

    /// Whether its values stand on an axis of the same kind as those of `other`.
    pub fn is_like(&self, other: &Self) -> bool {
        self.unit == other.unit && self.log == other.log
    }

    /// Whether it is a metric of the experiment.
    pub fn is_metric(&self) -> bool {
        matches!(self.of, Of::Metric(_))
    }

    /// What schedules asked for in `cell`, if they can be what this is.
    pub fn asked(&self, cell: &Cell) -> Option<f64> {
        match &self.of {
            Of::Total => cell.schedule?.asked_per_s,
            Of::Workload(name) => cell.workload(Some(name))?.schedule?.asked_per_s,
            Of::P99(_) | Of::Metric(_) => None,
        }
    }

    /// What several are called together.
    pub fn title_of(measures: &[&Self]) -> String {
        let all = || names(measures.iter().map(|measure| &measure.name));
        match measures {
            [] => String::new(),
            [first, _, ..] => match first.of {
                Of::Workload(_) => format!("Throughput of {}", all()),
                Of::P99(_) if first.name != first.title => {
                    format!("p99 of {}", all())
                }
                Of::P99(_) | Of::Metric(_) => all(),
                Of::Total => first.title.clone(),
            },
            [only] => only.title.clone(),
        }
    }

    /// A value of it with its unit, in words.
    pub fn words(&self, value: f64) -> String {
        match self.unit {
            "" => rate(value),
            unit => format!("{} {unit}", in_unit(value, unit)),
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

    /// Whether the greatest of it among `cells` is known to be greater than the next.
    pub fn is_highest_known(&self, cells: &[&Cell]) -> bool {
        let known = cells.iter().filter_map(|cell| Some((*cell, self.value(cell)?)));
        let mut known: Vec<(&Cell, f64)> = known.collect();
        known.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let [(greatest, _), (next, _), ..] = known.as_slice() else {
            return true;
        };
        if greatest.in_turn.is_none() && next.in_turn.is_none() {
            let judged = judge(&self.runs(greatest), &self.runs(next));
            return judged.is_some_and(|judged| judged.outcome == Outcome::Higher);
        }
        let measure = match &self.of {
            Of::P99(_) => dyno_archive::Measure::P99,
            _ => dyno_archive::Measure::Throughput,
        };
        greatest.differs_in_turn(next, measure) == Some(Ordering::Greater)
    }

    fn runs(&self, cell: &Cell) -> Vec<f64> {
        match &self.of {
            Of::Total => cell.tps.clone(),
            Of::P99(whose) => cell.p99s_us(whose).into_iter().map(|p99_us| p99_us / 1e3).collect(),
            Of::Workload(name) => cell.workload(Some(name)).map_or_else(Vec::new, |of| of.tps.clone()),
            Of::Metric(name) => cell.metrics.get(name).cloned().unwrap_or_default(),
        }
    }
}
