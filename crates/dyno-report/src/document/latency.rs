//! Latency over time and by share of the transactions, from sums of histograms: percentiles of seconds are never
//! averaged.

use super::annotations::Annotations;
use super::heat::HeatColumns;
use super::model::{Curve, Figure, FigureData, Lane, Percentiles, Series, Table};
use super::series::{Grid, rounded_s, significant};
use super::table::{exactly, ms, number, text, value, words};
use super::throughput::{names, seconds_words};
use crate::figures::time;
use dyno_analysis::summary::over_runs;
use dyno_archive::summary::{Pacing, WorkloadFacts};
use dyno_archive::{LatencyCounts, LatencyLine};
use indexmap::IndexMap;

/// The percentiles that are drawn over time; the last is the maximum.
const PERCENTS: [f64; 5] = [50.0, 95.0, 99.0, 99.9, 100.0];
const NAMES: [&str; 5] = ["p50", "p95", "p99", "p99.9", "max"];

/// What is said of percentiles that stages with different loads have together.
pub(super) const OVER_STAGES: &str = " over all stages";

/// The latency of a run in the making: lines of `latency.hlog` are added as they come, in order.
#[derive(Clone, Debug)]
pub struct Latency {
    grid: Grid,
    workloads: IndexMap<String, Workload>,
}

/// What is drawn of a workload.
#[derive(Clone, Debug)]
struct Workload {
    pacing: Option<Pacing>,
    /// Whether it takes part in several stages.
    staged: bool,
    lines: StepPercentiles,
    rows: StepPercentiles,
    heat: HeatColumns,
    measured: LatencyCounts,
}

impl Latency {
    /// Nothing yet, of these workloads. Others may come: then it is not known whether their loop is closed.
    #[must_use]
    pub fn new(grid: Grid, workloads: &[WorkloadFacts]) -> Self {
        let mut latency = Self {
            grid,
            workloads: IndexMap::new(),
        };
        for facts in workloads {
            latency
                .workloads
                .insert(facts.name.clone(), Workload::new(grid, Some(facts)));
        }
        latency
    }

    /// Adds the transactions of an interval, which counts as `measured` or is only shown. Lines of single statements
    /// are left out.
    pub fn push(&mut self, line: &LatencyLine, measured: bool) {
        if line.statement.is_some() {
            return;
        }
        let workload = match self.workloads.get_mut(&line.workload) {
            Some(known) => known,
            None => self
                .workloads
                .entry(line.workload.clone())
                .or_insert_with(|| Workload::new(self.grid, None)),
        };
        // The log rounds to milliseconds; the middle of the interval says where it belongs.
        let middle_s = line.start_s + line.interval_s / 2.0;
        workload.lines.add(middle_s, line);
        workload.rows.add(middle_s, line);
        workload.heat.add(line);
        if measured {
            workload.measured.add(line);
        }
    }

    /// Adds what was gathered of a later stretch of the same run.
    pub fn append(&mut self, later: Self) {
        for (name, more) in later.workloads {
            match self.workloads.get_mut(&name) {
                Some(workload) => workload.append(more),
                None => drop(self.workloads.insert(name, more)),
            }
        }
    }

    /// The figure `id`: percentiles and maximum over time, a lane for each workload. `None` if no transaction
    /// completed.
    #[must_use]
    pub fn figure(&self, id: &str, annotations: &Annotations) -> Option<Figure> {
        let present: Vec<_> = self.present().collect();
        let lanes: Vec<Lane> = present
            .iter()
            .enumerate()
            .map(|(index, (name, workload))| Lane {
                id: format!("latency-{index}"),
                title: if present.len() > 1 {
                    format!("Latency of {name}")
                } else {
                    "Latency".to_owned()
                },
                unit: "µs".to_owned(),
                log: true,
                series: workload.lines.series(),
                ..Lane::default()
            })
            .collect();
        let (_, first) = present.first()?;
        let caption = present.iter().filter_map(|(name, workload)| {
            let [p50_us, _, p99_us, _, max_us] = workload.measured.percentiles_us(PERCENTS)?;
            let of = if present.len() > 1 {
                format!(" of {name}")
            } else {
                String::new()
            };
            let over = if workload.staged { OVER_STAGES } else { "" };
            Some(format!(
                "Latency{of}{over}: p50 {}, p99 {}, maximum {}",
                time(p50_us),
                time(p99_us),
                time(max_us)
            ))
        });
        let caption: Vec<String> = caption.collect();
        let table = Table {
            caption: String::new(),
            columns: std::iter::once(text("workload"))
                .chain([number("from", "s")])
                .chain(NAMES.map(|name| number(name, "ms")))
                .collect(),
            rows: present
                .iter()
                .flat_map(|(name, workload)| {
                    workload.rows.rows().map(move |(from_s, us)| {
                        let row = [words(name.as_str()), value(rounded_s(from_s.max(0.0)))];
                        row.into_iter().chain(us.map(ms)).collect()
                    })
                })
                .collect(),
        };
        Some(Figure {
            id: id.to_owned(),
            title: format!("Latency of {}", names(present.iter().map(|(name, _)| *name))),
            caption: format!(
                "{}. Each percentile covers all transactions of {}. {}",
                caption.join("; "),
                seconds_words(first.lines.step_s),
                self.loop_words(),
            ),
            data: FigureData::Timeline(annotations.timeline(lanes)),
            table: Some(table),
        })
    }

    /// The figures `id-1`, `id-2` and so on: a heat map for each workload.
    #[must_use]
    pub fn heat_maps(&self, id: &str, annotations: &Annotations) -> Vec<Figure> {
        let figures = self.present().enumerate().filter_map(|(index, (name, workload))| {
            let data = workload.heat.heat_map(annotations)?;
            let fastest_us = data.bounds_us.first().copied()?;
            let slowest_us = data.bounds_us.last().copied()?;
            Some(Figure {
                id: format!("{id}-{}", index + 1),
                title: format!("Latencies of {name} over time"),
                caption: format!(
                    "How many transactions per second took how long, from {} to {}; each column covers {}.",
                    time(fastest_us),
                    time(slowest_us),
                    seconds_words(data.step_s),
                ),
                data: FigureData::HeatMap(data),
                table: None,
            })
        });
        figures.collect()
    }

    /// The latencies that were measured, by workload.
    pub fn measured(&self) -> impl Iterator<Item = (&str, &LatencyCounts)> {
        self.present()
            .map(|(name, workload)| (name.as_str(), &workload.measured))
    }

    /// The workloads of which any transaction completed.
    fn present(&self) -> impl Iterator<Item = (&String, &Workload)> {
        self.workloads.iter().filter(|(_, workload)| !workload.lines.is_empty())
    }

    /// What the figures are of, which depends on how transactions began.
    fn loop_words(&self) -> &'static str {
        let pacings = || self.present().filter_map(|(_, workload)| workload.pacing);
        let closed = pacings().any(Pacing::is_closed);
        let open = pacings().any(Pacing::is_open);
        loop_words(closed, open)
    }
}

/// What a percentile is of, if loops are closed, open, or both.
pub(super) fn loop_words(closed: bool, open: bool) -> &'static str {
    match (closed, open) {
        (true, false) => {
            "The loop is closed: this is how long the server took, not how long a user arriving at a random moment \
             would wait."
        }
        (false, true) => "The loop is open: latency counts from the instant at which a transaction was due.",
        (true, true) => {
            "In closed loops this is how long the server took, not how long a user arriving at a random moment would \
             wait; in open loops latency counts from the instant at which a transaction was due."
        }
        (false, false) => "",
    }
}

impl Workload {
    fn new(grid: Grid, facts: Option<&WorkloadFacts>) -> Self {
        Self {
            pacing: facts.map(|facts| facts.pacing),
            staged: facts.is_some_and(|facts| facts.stages.len() > 1),
            lines: StepPercentiles::new(grid, grid.step()),
            rows: StepPercentiles::new(grid, grid.row_s()),
            heat: HeatColumns::new(grid),
            measured: LatencyCounts::default(),
        }
    }

    fn append(&mut self, later: Self) {
        self.lines.append(later.lines);
        self.rows.append(later.rows);
        self.heat.append(later.heat);
        self.measured.merge(&later.measured);
    }
}

/// Percentiles of each step of time. Steps come in order, so only those of the first and the last are kept as counts:
/// that is where two stretches meet.
#[derive(Clone, Debug)]
struct StepPercentiles {
    step_s: f64,
    first_s: f64,
    first: Option<(usize, LatencyCounts)>,
    last: Option<(usize, LatencyCounts)>,
    done: Vec<(usize, [f64; 5])>,
}

impl StepPercentiles {
    fn new(grid: Grid, step_s: f64) -> Self {
        Self {
            step_s,
            first_s: grid.first_s(step_s),
            first: None,
            last: None,
            done: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    fn add(&mut self, at_s: f64, line: &LatencyLine) {
        let step = ((at_s - self.first_s) / self.step_s).max(0.0) as usize;
        self.at(step, |counts| counts.add(line));
    }

    fn at(&mut self, step: usize, add: impl FnOnce(&mut LatencyCounts)) {
        match &mut self.last {
            // What comes late belongs to the step that is open.
            Some((open, counts)) if *open >= step => add(counts),
            Some((open, counts)) => {
                if self.first.is_none() {
                    self.first = Some((*open, counts.clone()));
                } else {
                    self.done.extend(counts.percentiles_us(PERCENTS).map(|us| (*open, us)));
                }
                counts.clear();
                add(counts);
                *open = step;
            }
            None => {
                let mut counts = LatencyCounts::default();
                add(&mut counts);
                self.last = Some((step, counts));
            }
        }
    }

    fn append(&mut self, later: Self) {
        if let Some((step, counts)) = later.first {
            self.at(step, |sum| sum.merge(&counts));
        }
        if let Some((step, counts)) = later.last {
            if !later.done.is_empty() {
                self.at(step, |_| {});
            }
            self.done.extend(later.done);
            self.at(step, |sum| sum.merge(&counts));
        }
    }

    /// Begin and percentiles of each step that has any, in order.
    fn rows(&self) -> impl Iterator<Item = (f64, [f64; 5])> + '_ {
        let of = |kept: &Option<(usize, LatencyCounts)>| {
            kept.as_ref()
                .and_then(|(step, counts)| Some((*step, counts.percentiles_us(PERCENTS)?)))
        };
        let steps = of(&self.first)
            .into_iter()
            .chain(self.done.iter().copied())
            .chain(of(&self.last));
        steps.map(|(step, us)| (self.first_s + step as f64 * self.step_s, us))
    }

    fn series(&self) -> Vec<Series> {
        let first_s = self.rows().next().map_or(0.0, |(from_s, _)| from_s);
        let mut values: [Vec<Option<f64>>; 5] = Default::default();
        for (from_s, us) in self.rows() {
            let step = ((from_s - first_s) / self.step_s).round() as usize;
            for (values, us) in values.iter_mut().zip(us) {
                values.resize(step, None);
                values.push(Some(significant(us)));
            }
        }
        let series = NAMES.into_iter().zip(values).map(|(name, mean)| Series {
            name: name.to_owned(),
            first_s: rounded_s(first_s),
            step_s: rounded_s(self.step_s),
            mean,
            ..Series::default()
        });
        series.collect()
    }
}

/// What is said of curves of cells whose runs are several.
pub(super) const OVER_RUNS: &str =
    "For several runs, each percentile is the mean of theirs, and the maximum the greatest of all.";

/// The figure `id`: the share of transactions that took at most so long, a curve for each of several workloads, of
/// which there are the counts of each run.
pub(super) fn percentile_curves<'a>(
    id: &str,
    subject: &str,
    note: &str,
    workloads: impl Iterator<Item = (String, bool, Vec<&'a LatencyCounts>)>,
) -> Option<Figure> {
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    let mut told = Vec::new();
    for (name, baseline, mut runs) in workloads {
        runs.retain(|counts| counts.count() > 0);
        let Some(us) = percentiles_us(&runs, [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0]) else {
            continue;
        };
        rows.push(
            std::iter::once(words(name.as_str()))
                .chain([exactly(runs.iter().map(|counts| counts.count()).sum())])
                .chain(us.map(ms))
                .collect(),
        );
        told.push(format!("{name} {} and {}", time(us[0]), time(us[4])));
        curves.push(curve(name, baseline, &runs));
    }
    let caption = match rows.as_slice() {
        [] => return None,
        [_] => String::new(),
        _ => format!("p50 and p99: {}. ", told.join("; ")),
    };
    let columns = ["p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max"].map(|name| number(name, "ms"));
    Some(Figure {
        id: id.to_owned(),
        title: format!("Percentiles of latency of {subject}"),
        caption: format!(
            "{caption}The rarest transactions are on the far right; what only a few of them show is \
                          chance. {note}"
        )
        .trim_end()
        .to_owned(),
        table: Some(Table {
            caption: String::new(),
            columns: [text(""), number("transactions", "")]
                .into_iter()
                .chain(columns)
                .collect(),
            rows,
        }),
        data: FigureData::Percentiles(Percentiles {
            curves,
            ..Percentiles::default()
        }),
    })
}

/// What the runs of a cell say together of these percentages, as [`over_runs`] and its like for a maximum do; `None`
/// of no run.
fn percentiles_us<const N: usize>(runs: &[&LatencyCounts], percents: [f64; N]) -> Option<[f64; N]> {
    let of_runs: Vec<[f64; N]> = runs
        .iter()
        .filter_map(|counts| counts.percentiles_us(percents))
        .collect();
    let mut together = [0.0; N];
    for (place, percent) in percents.into_iter().enumerate() {
        let figures: Vec<f64> = of_runs.iter().map(|us| us[place]).collect();
        together[place] = if percent < 100.0 {
            over_runs(&figures)?
        } else {
            figures.into_iter().max_by(f64::total_cmp)?
        };
    }
    Some(together)
}

/// A curve with a point for each twentieth of a nine, as far as there are transactions to tell.
fn curve(name: String, baseline: bool, runs: &[&LatencyCounts]) -> Curve {
    const POINTS_PER_NINE: f64 = 20.0;
    let mut curve = Curve {
        name,
        baseline,
        ..Curve::default()
    };
    // Beyond 1 - 1/n there is but the maximum.
    let fewest = runs.iter().map(|counts| counts.count()).min().unwrap_or(0);
    let nines = (fewest.max(1) as f64).log10();
    let last = (nines * POINTS_PER_NINE).floor() as u32;
    for point in 0..=last {
        let percent = 100.0 * (1.0 - 10_f64.powf(-f64::from(point) / POINTS_PER_NINE));
        let Some([us]) = percentiles_us(runs, [percent]) else {
            break;
        };
        // On the axis of nines only what is left of 100 % matters.
        curve.percentile.push((percent * 1e6).round() / 1e6);
        curve.latency_us.push(significant(us));
    }
    curve
}
