//! Whose latency is told: that of one workload under one load.

use super::cells::{Cell, OfStage};
use dyno_analysis::summary::over_runs;
use indexmap::IndexSet;

/// Whose latency there is to tell apart: that of each workload by its name where any cell has several, and in each
/// stage where any has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whose {
    /// `None`: the only one of each cell.
    pub workload: Option<String>,
    /// `None`: all of the time measured, with one load.
    pub stage: Option<String>,
}

impl Whose {
    /// `what`, and of which workload in which stage.
    pub fn words(&self, what: &str) -> String {
        let what = of_workload(what, self.workload.as_deref());
        match &self.stage {
            Some(stage) => format!("{what} in {stage}"),
            None => what,
        }
    }

    /// The workload, the stage, or both; `None` where nothing tells them from others.
    pub fn name(&self) -> Option<String> {
        match (&self.workload, &self.stage) {
            (Some(workload), Some(stage)) => Some(format!("{workload} in {stage}")),
            (only, None) | (None, only) => only.clone(),
        }
    }

    /// Everybody's among `cells`.
    pub fn all(cells: &[Cell]) -> Vec<Self> {
        let of_workload = |name: Option<&str>| {
            let workloads = || cells.iter().filter_map(move |cell| cell.workload(name));
            let stages: IndexSet<&String> = workloads().flat_map(|workload| workload.stages.keys()).collect();
            let whole = stages.is_empty() || workloads().any(|workload| !workload.latencies.is_empty());
            let stages = stages.into_iter().map(|stage| Some(stage.clone()));
            let all: Vec<Self> = whole
                .then_some(None)
                .into_iter()
                .chain(stages)
                .map(|stage| Self {
                    workload: name.map(str::to_owned),
                    stage,
                })
                .collect();
            all
        };
        workload_names(cells).into_iter().flat_map(of_workload).collect()
    }
}

impl Cell {
    /// The 99th percentile in microseconds, run by run.
    pub fn p99s_us(&self, whose: &Whose) -> Vec<f64> {
        let Some(workload) = self.workload(whose.workload.as_deref()) else {
            return Vec::new();
        };
        match &whose.stage {
            None => workload.latencies.iter().map(|latency| latency.p99_us).collect(),
            Some(stage) => workload.stages.get(stage).map_or_else(Vec::new, OfStage::p99s_us),
        }
    }

    /// The same over all runs.
    pub fn p99_us(&self, whose: &Whose) -> Option<f64> {
        over_runs(&self.p99s_us(whose))
    }
}

/// Whose latencies there are to tell apart: each workload by its name where any cell has several, else the only one
/// of each cell, without a name.
pub(crate) fn workload_names(cells: &[Cell]) -> Vec<Option<&str>> {
    if cells.iter().all(|cell| cell.workloads.len() < 2) {
        return vec![None];
    }
    let names: IndexSet<&str> = cells
        .iter()
        .flat_map(|cell| cell.workloads.keys().map(String::as_str))
        .collect();
    names.into_iter().map(Some).collect()
}

/// `what`, and of which workload where there are several.
pub(crate) fn of_workload(what: &str, workload: Option<&str>) -> String {
    workload.map_or_else(|| what.to_owned(), |workload| format!("{what} of {workload}"))
}
