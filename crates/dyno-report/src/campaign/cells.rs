//! The cells of a campaign with what was measured in each.

use super::latencies::{Percentiles, in_one, stages_of, takes_part};
use crate::figures::rate;
use dyno_analysis::summary::{latency_over_runs, over_runs, summary_of, sums};
use dyno_archive::summary::{Latency, Pacing, Summary, Warning, WorkloadSummary};
use dyno_archive::{Campaign, Measure, Ratio, Run, RunState, Versus};
use dyno_stats::differs;
use indexmap::IndexMap;
use std::cmp::Ordering;

/// One level for each factor.
pub(crate) type Levels = IndexMap<String, String>;

/// A combination of levels with its complete runs: those alone count. Its figures are those of [`over_runs`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub levels: Levels,
    /// How many runs there are.
    pub runs: usize,
    /// TPS of all workloads together, run by run; where loops are mixed, of the closed ones alone. Of runs of which
    /// there is such a figure, see [`Summary::tps`].
    pub tps: Vec<f64>,
    /// How many of these TPS are made of the times of single transactions, at least of a workload.
    pub tps_of_times: usize,
    /// Whether its workloads have rates of different times.
    pub has_times_apart: bool,
    /// What a transaction takes at least of which none was finished in a run, in seconds.
    pub longer_than_s: Option<f64>,
    /// Whether closed loops go beside schedules.
    pub mixed: bool,
    /// Each workload by itself.
    pub workloads: IndexMap<String, OfWorkload>,
    /// Each metric of the experiment, run by run.
    pub metrics: IndexMap<String, Vec<f64>>,
    /// What schedules asked for, if every workload has one.
    pub schedule: Option<Schedule>,
    /// If it was measured in turn with others, what is known of each of its figures beside the first of them.
    pub in_turn: Option<Vec<Ratio>>,
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
    /// Of the workload `only`, or of all of them.
    fn of(summaries: &[Summary], only: Option<&str>) -> Option<Self> {
        let meant = |name: &str| only.is_none_or(|only| only == name);
        let workloads = || {
            let all = summaries.iter().flat_map(|summary| &summary.workloads);
            all.filter(|workload| meant(&workload.name))
        };
        let open = workloads().all(|workload| workload.pacing.is_scheduled());
        let asked = |workload: &WorkloadSummary| match workload.pacing {
            Pacing::Open { rate_per_s } => Some(rate_per_s),
            Pacing::Closed | Pacing::Staged { .. } => None,
        };
        let kept = |summary: &Summary| {
            let missed = |warning: &Warning| matches!(warning, Warning::RateMissed { workload, .. } if meant(workload));
            !summary.warnings.iter().any(missed)
        };
        let first = summaries.first().filter(|_| open && workloads().count() > 0)?;
        Some(Self {
            asked_per_s: first
                .workloads
                .iter()
                .filter(|workload| meant(&workload.name))
                .map(asked)
                .sum(),
            kept: summaries.iter().all(kept),
        })
    }
}

/// A workload in the runs of a cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfWorkload {
    /// TPS, run by run, of those in which anything was finished or failed in the time it had.
    pub tps: Vec<f64>,
    /// Latency, run by run, of those in which any transaction completed; none of several stages.
    pub latencies: Vec<Latency>,
    /// Each stage that it took part in, if the load has several.
    pub stages: IndexMap<String, OfStage>,
    /// Variation between the intervals of its only run, in percent.
    pub variation_percent: Option<f64>,
    /// What its schedule asked for, if it has one.
    pub schedule: Option<Schedule>,
    /// Each script by its name, if it is a mix of several.
    pub scripts: IndexMap<String, OfScript>,
}

/// A script of a mix in the runs of a cell. Its latency is without what it slept.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfScript {
    /// Its share of all weights was to be its share of the transactions.
    pub weight: u64,
    /// TPS, run by run.
    pub tps: Vec<f64>,
    /// Mean latency in microseconds, run by run, of those in which any transaction completed.
    pub latency_mean_us: Vec<f64>,
    /// The 90th percentile in microseconds, run by run, of those that have it.
    pub response_p90_us: Vec<f64>,
}

/// A workload in a stage of the runs of a cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfStage {
    /// TPS, run by run.
    pub tps: Vec<f64>,
    /// Percentiles, run by run, of those in which any transaction completed.
    pub percentiles: Vec<Percentiles>,
    /// Variation between the intervals of its only run, in percent.
    pub variation_percent: Option<f64>,
}

/// What the closed loops among several workloads are called.
pub(crate) const CLOSED_LOOPS: &str = "closed loops";

/// What is told of a cell in a line: one of its workloads, in all of the time or in a stage, or of several all
/// together.
pub(crate) struct Line<'a> {
    /// The workload's name, "all", or where loops are mixed [`CLOSED_LOOPS`].
    pub name: &'a str,
    /// The stage; `None`: all of them.
    pub stage: Option<&'a str>,
    /// TPS, run by run.
    pub tps: &'a [f64],
    /// The coefficient of variation of TPS in percent: between the runs, or if there is but one between its intervals.
    pub variation_percent: Option<f64>,
    /// Latency is of a workload under one load, never of several.
    pub latency: Option<Percentiles>,
    /// Whether it is of all that the cell does.
    pub whole: bool,
}

/// A factor with its levels, numbers in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    pub name: String,
    pub levels: Vec<String>,
}

impl Cell {
    /// Its TPS over all runs; `None` without a complete run.
    pub fn mean_tps(&self) -> Option<f64> {
        over_runs(&self.tps)
    }

    /// What is known of a figure beside the first of those that were measured in turn.
    pub fn known_in_turn(&self, measure: Measure) -> Option<&Ratio> {
        self.in_turn.as_ref()?.iter().find(|ratio| ratio.measure == measure)
    }

    /// Which of the two has more, if they were measured in turn, one of them is the first, and that is known.
    pub fn differs_in_turn(&self, other: &Self, measure: Measure) -> Option<Ordering> {
        let is_first = |cell: &Self| cell.in_turn.as_ref().is_some_and(Vec::is_empty);
        let beside = |cell: &Self| {
            let ratio = cell.known_in_turn(measure)?;
            differs(ratio.low, ratio.high)
        };
        match (is_first(self), is_first(other)) {
            (_, true) => beside(self),
            (true, _) => beside(other).map(Ordering::reverse),
            _ => None,
        }
    }

    /// The same cell with one of its workloads alone.
    pub fn only(&self, name: &str) -> Self {
        let workload = self.workloads.get(name).cloned();
        Self {
            levels: self.levels.clone(),
            runs: self.runs,
            tps: workload.as_ref().map_or_else(Vec::new, |workload| workload.tps.clone()),
            schedule: workload.as_ref().and_then(|workload| workload.schedule),
            workloads: workload
                .map(|workload| (name.to_owned(), workload))
                .into_iter()
                .collect(),
            ..Self::default()
        }
    }

    /// A metric, over the runs that have it.
    pub fn metric(&self, name: &str) -> Option<f64> {
        over_runs(self.metrics.get(name)?)
    }

    /// A workload by its name; without a name the only one.
    pub fn workload(&self, name: Option<&str>) -> Option<&OfWorkload> {
        match name {
            Some(name) => self.workloads.get(name),
            None => self.workloads.values().next().filter(|_| self.workloads.len() == 1),
        }
    }

    /// Whether the load has several stages.
    pub fn is_staged(&self) -> bool {
        self.workloads.values().any(|workload| !workload.stages.is_empty())
    }

    /// The p99 of its workload, or of each with its name: `24.4 ms (update), 15 ms (ingest)`; `None` if no
    /// transaction completed.
    pub fn p99_words(&self) -> Option<String> {
        let latencies = self.workloads.iter().filter_map(|(name, workload)| {
            let stages = workload.stages.values();
            let stages = stages.filter_map(|stage| over_runs(&stage.p99s_us()));
            let p99 = in_one(workload.latency().map(|latency| latency.p99_us), stages)?;
            Some(match self.workloads.len() {
                1 => p99,
                _ => format!("{p99} ({name})"),
            })
        });
        Some(latencies.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
    }

    /// A line for each workload, and where there are several one for all of them; a cell without a complete run has
    /// an empty one.
    pub fn lines(&self) -> Vec<Line<'_>> {
        let several = self.workloads.len() > 1;
        let all = Line {
            stage: None,
            name: match self.workloads.is_empty() {
                true => "-",
                false if self.mixed => CLOSED_LOOPS,
                false => "all",
            },
            tps: &self.tps,
            variation_percent: variation(&self.tps, None),
            latency: None,
            whole: true,
        };
        let each = self.workloads.iter().flat_map(|(name, workload)| {
            let whole = Line {
                name,
                stage: None,
                tps: &workload.tps,
                variation_percent: variation(&workload.tps, workload.variation_percent),
                latency: workload.latency().map(Percentiles::from),
                whole: !several,
            };
            let stages = workload.stages.iter().map(|(stage, of)| Line {
                name,
                stage: Some(stage),
                tps: &of.tps,
                variation_percent: variation(&of.tps, of.variation_percent),
                latency: of.latency(),
                whole: false,
            });
            std::iter::once(whole).chain(stages)
        });
        let all = Some(all).filter(|_| self.workloads.len() != 1 && !self.has_times_apart);
        each.chain(all).collect()
    }
}

impl OfStage {
    /// The 99th percentile in microseconds, run by run.
    pub fn p99s_us(&self) -> Vec<f64> {
        self.percentiles.iter().map(|run| run.p99_us).collect()
    }

    /// Its latency over all runs; `None` if no transaction completed.
    pub fn latency(&self) -> Option<Percentiles> {
        let figure = |of: fn(&Percentiles) -> f64| over_runs(&self.percentiles.iter().map(of).collect::<Vec<_>>());
        Some(Percentiles {
            p50_us: figure(|run| run.p50_us)?,
            p95_us: figure(|run| run.p95_us)?,
            p99_us: figure(|run| run.p99_us)?,
            p99_9_us: None,
            max_us: None,
        })
    }
}

impl OfWorkload {
    /// Its latency; `None` if no transaction completed, or of several stages.
    pub fn latency(&self) -> Option<Latency> {
        latency_over_runs(&self.latencies)
    }
}

/// The least and the greatest of several; `None` of one.
pub(crate) fn extremes(runs: &[f64]) -> Option<(f64, f64)> {
    let least = runs.iter().copied().min_by(f64::total_cmp)?;
    let greatest = runs.iter().copied().max_by(f64::total_cmp)?;
    (runs.len() > 1).then_some((least, greatest))
}

/// The coefficient of variation in percent between runs, or if there is but one `within` it.
pub(crate) fn variation(runs: &[f64], within_percent: Option<f64>) -> Option<f64> {
    match runs {
        [_] => within_percent,
        _ => {
            let runs: dyno_stats::Running = runs.iter().copied().collect();
            runs.variation().map(|share| share * 100.0)
        }
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

/// Whether some TPS of cells are made of the times of single transactions, because nothing was finished in the time
/// measured, and others are over that time: these cannot be compared.
pub(crate) fn mixes_tps(cells: &[Cell]) -> bool {
    let of_times: usize = cells.iter().map(|cell| cell.tps_of_times).sum();
    let all: usize = cells.iter().map(|cell| cell.tps.len()).sum();
    (1..all).contains(&of_times)
}

/// Whose TPS that of cells is, if it is not of all workloads.
pub(crate) fn whose_tps(cells: &[Cell]) -> Option<&'static str> {
    cells.iter().any(|cell| cell.mixed).then_some(CLOSED_LOOPS)
}

/// TPS in one line: of all workloads together, but where that is no sum each with its name: `update 9,000, ingest 300`.
pub(crate) fn tps_words(summary: &Summary) -> String {
    if let Some(tps) = summary.tps().filter(|_| !summary.mixes_loops()) {
        return rate(tps);
    }
    let each = summary
        .workloads
        .iter()
        .filter(|workload| workload.longer_than_s().is_none());
    let each = each.map(|workload| format!("{} {}", workload.name, rate(workload.tps)));
    each.collect::<Vec<_>>().join(", ")
}

/// Levels as a map can be sought by.
type Key<'a> = Vec<(&'a String, &'a String)>;

/// The cells of the plans of `campaigns`, whose runs are taken together, in their order, also those without a complete
/// run.
pub(crate) fn cells(campaigns: &[&Campaign]) -> Vec<Cell> {
    let mut runs: IndexMap<Key, (&Levels, Vec<&Run>)> = IndexMap::new();
    let records = campaigns.iter().filter_map(|campaign| campaign.record.as_ref().ok());
    for planned in records.flat_map(|record| &record.runs) {
        runs.entry(planned.cell.iter().collect())
            .or_insert((&planned.cell, Vec::new()));
    }
    let made = campaigns.iter().flat_map(|campaign| &campaign.runs);
    for run in made.filter(|run| run.state == RunState::Complete) {
        if let Ok(record) = &run.record {
            let cell = runs
                .entry(record.cell.iter().collect())
                .or_insert((&record.cell, Vec::new()));
            cell.1.push(run);
        }
    }
    let cells = runs.into_values();
    let mut cells: Vec<Cell> = cells.map(|(levels, runs)| cell(levels, &runs)).collect();
    if let [campaign] = campaigns {
        in_turn(&mut cells, campaign);
    }
    cells
}

/// Puts on cells that were measured in turn what is known of them: their verdicts, not the means of each, count.
fn in_turn(cells: &mut [Cell], campaign: &Campaign) {
    let turns = campaign.record.as_ref().is_ok_and(|record| record.turns.is_some());
    let versus = Versus::read(&campaign.path);
    if !turns && versus.is_none() {
        return;
    }
    for cell in cells {
        let is_of = |one: &&Versus| cell.levels.get(&one.factor) == Some(&one.candidate);
        let known = versus.as_ref().and_then(|versus| versus.all().find(is_of));
        cell.in_turn = Some(known.map_or_else(Vec::new, |one| one.ratios.clone()));
    }
}

/// A run as if it were a cell.
pub(crate) fn of_run(run: &Run) -> Cell {
    let levels = run.record.as_ref().map(|record| record.cell.clone());
    cell(&levels.unwrap_or_default(), &[run])
}

fn cell(levels: &Levels, runs: &[&Run]) -> Cell {
    let with_summary = runs.iter().filter_map(|run| Some((*run, summary_of(run).ok()?)));
    let (runs, summaries): (Vec<&Run>, Vec<Summary>) = with_summary.unzip();
    let mut cell = Cell {
        levels: levels.clone(),
        runs: runs.len(),
        schedule: Schedule::of(&summaries, None),
        ..Cell::default()
    };
    for (run, summary) in runs.iter().zip(&summaries) {
        cell.mixed |= summary.mixes_loops();
        cell.has_times_apart |= summary.has_times_apart();
        cell.longer_than_s = cell
            .longer_than_s
            .into_iter()
            .chain(summary.longer_than_s())
            .reduce(f64::min);
        cell.tps.extend(summary.tps());
        let of_times = summary.workloads.iter().any(WorkloadSummary::tps_is_of_times);
        cell.tps_of_times += usize::from(summary.tps().is_some() && of_times);
        for (name, value) in &summary.metrics {
            cell.metrics.entry(name.clone()).or_default().push(*value);
        }
        // What the experiment asks to add up is what it is about, so it comes first.
        let facts = run.record.as_ref().map_or(&[][..], |record| &record.workloads);
        for workload in sums(facts, &summary.workloads).iter().chain(&summary.workloads) {
            let of = cell.workloads.entry(workload.name.clone()).or_default();
            of.tps
                .extend(Some(workload.tps).filter(|_| workload.longer_than_s().is_none()));
            of.latencies.extend(summary.latency_of(workload));
            for (stage, figures) in
                stages_of(summary, &workload.name).filter(|(stage, _)| takes_part(run, workload, stage))
            {
                let of = of.stages.entry(stage.name.clone()).or_default();
                of.tps.push(figures.tps);
                of.variation_percent = figures.variation_percent;
                of.percentiles.extend(Percentiles::of_stage(figures));
            }
            for script in workload.scripts.iter().filter(|_| workload.scripts.len() > 1) {
                let of = of.scripts.entry(script.name.clone()).or_default();
                of.weight = script.weight;
                of.tps.push(script.tps);
                of.latency_mean_us.extend(script.latency_mean_us);
                of.response_p90_us.extend(script.response_p90_us);
            }
            of.schedule = Schedule::of(&summaries, Some(&workload.name));
            of.variation_percent = workload.steadiness.and_then(|steadiness| steadiness.variation_percent);
        }
    }
    cell
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
