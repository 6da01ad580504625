//! The cells of a campaign with what was measured in each.

use dyno_lab::archive::{Campaign, Run, RunState, latency_of_runs};
use dyno_lab::summary::{Latency, Pacing, Summary, Warning, WorkloadSummary};
use indexmap::IndexMap;

/// One level for each factor.
pub(crate) type Levels = IndexMap<String, String>;

/// A combination of levels with its complete runs: those alone count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub levels: Levels,
    /// TPS of all workloads together, run by run.
    pub tps: Vec<f64>,
    /// Latency of all transactions of all runs, if any completed.
    pub latency: Option<Latency>,
    /// Variation between the intervals of its only run, in percent.
    pub variation_percent: Option<f64>,
    /// TPS of each workload, run by run.
    pub workloads: IndexMap<String, Vec<f64>>,
    /// The 99th percentile in microseconds, run by run; only of runs with a single workload.
    pub p99_us_of_runs: Vec<f64>,
    /// Each metric of the experiment, run by run.
    pub metrics: IndexMap<String, Vec<f64>>,
    /// What schedules asked for, if every workload has one.
    pub schedule: Option<Schedule>,
}

/// What the schedules of all workloads ask for together. The throughput can but follow them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Schedule {
    /// Transactions per second; `None` where that differs from stage to stage.
    pub asked_per_s: Option<f64>,
    /// Whether every run kept it.
    pub kept: bool,
}

impl Schedule {
    fn of(summaries: &[Summary]) -> Option<Self> {
        let workloads = || summaries.iter().flat_map(|summary| &summary.workloads);
        let open = workloads().all(|workload| workload.pacing.is_open() && !workload.pacing.is_closed());
        let asked = |workload: &WorkloadSummary| match workload.pacing {
            Pacing::Open { rate_per_s } => Some(rate_per_s),
            Pacing::Closed | Pacing::Staged { .. } => None,
        };
        let kept = |summary: &Summary| {
            let mut workloads = summary.workloads.iter();
            let missed = |warning: &Warning| matches!(warning, Warning::RateMissed { .. });
            workloads.all(|workload| workload.kept_rate(summary.measured_s) != Some(false))
                && !summary.warnings.iter().any(missed)
        };
        let first = summaries.first().filter(|_| open && workloads().count() > 0)?;
        Some(Self {
            asked_per_s: first.workloads.iter().map(asked).sum(),
            kept: summaries.iter().all(kept),
        })
    }
}

/// A factor with its levels, numbers in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    pub name: String,
    pub levels: Vec<String>,
}

impl Cell {
    /// Mean TPS; `None` without a complete run.
    pub fn mean_tps(&self) -> Option<f64> {
        mean(&self.tps)
    }

    /// The mean of a metric over the runs that have it.
    pub fn metric(&self, name: &str) -> Option<f64> {
        mean(self.metrics.get(name)?)
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

/// A factor for tests.
#[cfg(test)]
pub(crate) fn factor(name: &str, levels: &[&str]) -> Factor {
    Factor {
        name: name.to_owned(),
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
    }
}

/// The mean; `None` of nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// All workloads together.
pub(crate) fn total_tps(summary: &Summary) -> f64 {
    summary.workloads.iter().map(|workload| workload.tps).sum()
}

/// Levels as a map can be sought by.
type Key<'a> = Vec<(&'a String, &'a String)>;

/// The cells of the plan in its order, also those without a complete run.
pub(crate) fn cells(campaign: &Campaign) -> Vec<Cell> {
    cells_with(campaign, |runs| latency_of_runs(runs.iter().copied()))
}

/// The same, where the latency of several runs together is known by other means than reading it anew.
pub(crate) fn cells_with(campaign: &Campaign, latency_of: impl Fn(&[&Run]) -> Option<Latency>) -> Vec<Cell> {
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
    let cells = runs.into_values();
    cells.map(|(levels, runs)| cell(levels, &runs, &latency_of)).collect()
}

fn cell(levels: &Levels, runs: &[&Run], latency_of: impl Fn(&[&Run]) -> Option<Latency>) -> Cell {
    let summaries: Vec<Summary> = runs.iter().filter_map(|run| run.summary().ok()).collect();
    let mut metrics: IndexMap<String, Vec<f64>> = IndexMap::new();
    for (name, value) in summaries.iter().flat_map(|summary| &summary.metrics) {
        metrics.entry(name.clone()).or_default().push(*value);
    }
    let mut workloads: IndexMap<String, Vec<f64>> = IndexMap::new();
    for workload in summaries.iter().flat_map(|summary| &summary.workloads) {
        workloads.entry(workload.name.clone()).or_default().push(workload.tps);
    }
    let p99_us_of_runs = summaries
        .iter()
        .filter_map(|summary| match summary.workloads.as_slice() {
            [workload] => Some(workload.latency?.p99_us),
            _ => None,
        });
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
        _ => (latency_of(runs), None),
    };
    Cell {
        levels: levels.clone(),
        tps: summaries.iter().map(total_tps).collect(),
        latency,
        variation_percent,
        workloads,
        p99_us_of_runs: p99_us_of_runs.collect(),
        metrics,
        schedule: Schedule::of(&summaries),
    }
}

/// What was varied: as the plans list it, and what else the runs have.
pub(crate) fn factors<'a>(campaigns: impl IntoIterator<Item = &'a Campaign>, cells: &'a [Cell]) -> Vec<Factor> {
    let mut factors: IndexMap<&String, Vec<String>> = IndexMap::new();
    let records = campaigns
        .into_iter()
        .filter_map(|campaign| campaign.record.as_ref().ok());
    for (name, level) in records
        .flat_map(|record| &record.factors)
        .flat_map(|factor| factor.levels.iter().map(move |level| (&factor.name, level)))
    {
        let levels = factors.entry(name).or_default();
        if !levels.contains(level) {
            levels.push(level.clone());
        }
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

impl Factor {
    /// Whether all of its levels are numbers, so that there is a distance between them.
    pub fn is_numeric(&self) -> bool {
        self.levels.iter().all(|level| number(level).is_some())
    }
}

/// A level that is a number, digits grouped or not.
pub(crate) fn number(level: &str) -> Option<f64> {
    level
        .replace('_', "")
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}
