//! The cells of a campaign with what was measured in each.

use dyno_lab::archive::{Campaign, Run, RunState, latency_of_runs};
use dyno_lab::summary::{Latency, Summary};
use indexmap::IndexMap;

/// One level for each factor.
pub(super) type Levels = IndexMap<String, String>;

/// A combination of levels with its complete runs: those alone count.
pub(super) struct Cell {
    pub levels: Levels,
    /// TPS of all workloads together, run by run.
    pub tps: Vec<f64>,
    /// Latency of all transactions of all runs, if any completed.
    pub latency: Option<Latency>,
    /// Variation between the intervals of its only run, in percent.
    pub variation_percent: Option<f64>,
    /// Mean over the runs of each metric of the experiment.
    pub metrics: IndexMap<String, f64>,
}

/// A factor with its levels, numbers in ascending order.
pub(super) struct Factor {
    pub name: String,
    pub levels: Vec<String>,
}

impl Cell {
    /// Mean TPS; `None` without a complete run.
    pub fn mean_tps(&self) -> Option<f64> {
        (!self.tps.is_empty()).then(|| self.tps.iter().sum::<f64>() / self.tps.len() as f64)
    }

    /// The slowest and the fastest run.
    pub fn extremes(&self) -> Option<(f64, f64)> {
        let min = self.tps.iter().copied().min_by(f64::total_cmp)?;
        let max = self.tps.iter().copied().max_by(f64::total_cmp)?;
        Some((min, max))
    }

    /// The coefficient of variation in percent: between its runs, or if there is but one between its intervals.
    pub fn variation_percent(&self) -> Option<f64> {
        let runs: dyno_stats::Running = self.tps.iter().copied().collect();
        match self.tps.len() {
            1 => self.variation_percent,
            _ => runs.variation().map(|share| share * 100.0),
        }
    }

    pub fn p99_us(&self) -> Option<f64> {
        self.latency.map(|latency| latency.p99_us)
    }
}

/// All workloads together.
pub(super) fn total_tps(summary: &Summary) -> f64 {
    summary.workloads.iter().map(|workload| workload.tps).sum()
}

/// Levels as a map can be sought by.
type Key<'a> = Vec<(&'a String, &'a String)>;

/// The cells of the plan in its order, also those without a complete run.
pub(super) fn cells(campaign: &Campaign) -> Vec<Cell> {
    let mut runs: IndexMap<Key, (&Levels, Vec<&Run>)> = IndexMap::new();
    if let Ok(record) = &campaign.record {
        for planned in &record.runs {
            runs.entry(planned.cell.iter().collect())
                .or_insert((&planned.cell, Vec::new()));
        }
    }
    for run in campaign.runs.iter().filter(|run| run.state == RunState::Complete) {
        if let Ok(record) = &run.record {
            let cell = runs
                .entry(record.cell.iter().collect())
                .or_insert((&record.cell, Vec::new()));
            cell.1.push(run);
        }
    }
    runs.into_values().map(|(levels, runs)| cell(levels, &runs)).collect()
}

fn cell(levels: &Levels, runs: &[&Run]) -> Cell {
    let summaries: Vec<Summary> = runs.iter().filter_map(|run| run.summary().ok()).collect();
    let mut metrics: IndexMap<String, f64> = IndexMap::new();
    for (name, value) in summaries.iter().flat_map(|summary| &summary.metrics) {
        *metrics.entry(name.clone()).or_default() += value / summaries.len() as f64;
    }
    let only = summaries
        .first()
        .filter(|_| summaries.len() == 1)
        .map(|summary| summary.workloads.as_slice());
    let (latency, variation_percent) = match only {
        // What a single workload of a single run says is in its summary.
        Some([workload]) => (
            workload.latency,
            workload.steadiness.and_then(|steadiness| steadiness.variation_percent),
        ),
        _ => (latency_of_runs(runs.iter().copied()), None),
    };
    Cell {
        levels: levels.clone(),
        tps: summaries.iter().map(total_tps).collect(),
        latency,
        variation_percent,
        metrics,
    }
}

/// What was varied: as the plan lists it, and what else the runs have.
pub(super) fn factors(campaign: &Campaign, cells: &[Cell]) -> Vec<Factor> {
    let mut factors: IndexMap<&String, Vec<String>> = IndexMap::new();
    for factor in campaign.record.iter().flat_map(|record| &record.factors) {
        factors.insert(&factor.name, factor.levels.clone());
    }
    for (name, level) in cells.iter().flat_map(|cell| &cell.levels) {
        let levels = factors.entry(name).or_default();
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    let factors = factors.into_iter().map(|(name, mut levels)| {
        // A sweep is read from the smallest number on, however its levels were listed.
        if levels.iter().all(|level| number(level).is_some()) {
            levels.sort_by(|one, other| {
                number(one)
                    .partial_cmp(&number(other))
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        Factor {
            name: name.clone(),
            levels,
        }
    });
    factors.collect()
}

/// A level that is a number, digits grouped or not.
pub(super) fn number(level: &str) -> Option<f64> {
    level
        .replace('_', "")
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}
