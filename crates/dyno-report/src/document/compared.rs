//! The report on a comparison: what follows from it, and of each workload both sides over time and their
//! distributions of latency.

use super::comparison::section;
use super::latency::{OVER_RUNS, loop_words, percentile_curves};
use super::model::{
    Block, Caution, Document, Figure, FigureData, Gravity, Headline, Lane, Section, Span, SpanKind, Timeline,
};
use super::series::{Grid, Steps};
use super::table::{Cells, time_table};
use crate::answer::answer_of_comparison;
use crate::compare::{conclusion, named, overall, ratio, verdict};
use crate::figures::{one_line, rate, time};
use dyno_analysis::comparison::{CellComparison, Comparison, Measure, MeasureComparison, Pool, WorkloadComparison};
use dyno_archive::plan::WARMUP;
use dyno_archive::summary::Pacing;
use dyno_archive::{LatencyCounts, Run, is_measured};

/// Of more measures only the verdict on all together is a headline.
const MOST_HEADLINES: usize = 8;

/// The report that judges `candidate` against `baseline`, as `comparison` does.
#[must_use]
pub fn of_comparison<'a>(
    baseline: impl Into<Pool<'a>>,
    candidate: impl Into<Pool<'a>>,
    comparison: &Comparison,
) -> Document {
    let (baseline, candidate) = (baseline.into(), candidate.into());
    let mut document = in_brief(&baseline, &candidate, comparison);
    let shared = comparison.workloads().count();
    let chapters = document.sections.iter_mut().flat_map(|section| &mut section.sections);
    for ((_, workload), chapter) in comparison.workloads().zip(chapters) {
        let sides = [
            Side::new(&comparison.baseline.name, &baseline, &workload.baseline_runs),
            Side::new(&comparison.candidate.name, &candidate, &workload.candidate_runs),
        ];
        let figures = [
            throughput(&chapter.id, &chapter.title, &workload.name, &sides, shared),
            percentiles(&chapter.id, &chapter.title, workload, &sides),
        ];
        chapter.blocks.extend(figures.into_iter().flatten().map(Block::Figure));
    }
    super::finished(document)
}

/// The same without anything over time, and without distributions.
#[must_use]
pub fn in_brief<'a>(
    baseline: impl Into<Pool<'a>>,
    candidate: impl Into<Pool<'a>>,
    comparison: &Comparison,
) -> Document {
    let (baseline, candidate) = (baseline.into(), candidate.into());
    let campaigns = [baseline.campaigns(), candidate.campaigns()].concat();
    Document {
        title: format!("{} against {}", comparison.candidate.name, comparison.baseline.name),
        answer: Some(answer_of_comparison(comparison)),
        headlines: headlines(comparison),
        warnings: cautions(comparison, "").collect(),
        sections: vec![Section {
            title: "Comparison".to_owned(),
            ..section("compared", comparison)
        }],
        ..super::document(&campaigns)
    }
}

/// What to keep in mind of a comparison that is called `name`.
pub(super) fn cautions(comparison: &Comparison, name: &str) -> impl Iterator<Item = Caution> {
    comparison.cautions.iter().map(move |caution| Caution {
        subject: name.to_owned(),
        text: one_line(caution),
        gravity: Gravity::Uncertain,
        ..Caution::default()
    })
}

/// The verdict on everything, and where there are few measures that on the throughput and the p99 of each workload.
fn headlines(comparison: &Comparison) -> Vec<Headline> {
    let all = Headline {
        subject: "Verdict on B".to_owned(),
        figure: overall(comparison).to_owned(),
        verdict: conclusion(comparison),
        ..Headline::default()
    };
    let measures = comparison.workloads().flat_map(|(cell, workload)| {
        let told = workload
            .measures
            .iter()
            .filter(|compared| matches!(compared.measure, Measure::Tps | Measure::P99));
        told.map(move |compared| headline(cell, workload, compared))
    });
    let measures: Vec<Headline> = measures.collect();
    let few = measures.len() <= MOST_HEADLINES;
    std::iter::once(all)
        .chain(measures.into_iter().filter(|_| few))
        .collect()
}

fn headline(cell: &CellComparison, workload: &WorkloadComparison, compared: &MeasureComparison) -> Headline {
    let show = |value: f64| match compared.measure {
        Measure::Tps => rate(value),
        _ => time(value),
    };
    Headline {
        subject: format!("{} of {}", compared.measure.name(), named(cell, workload)),
        figure: format!(
            "{} against {}: {} times",
            show(compared.candidate),
            show(compared.baseline),
            ratio(compared.ratio)
        ),
        interval: compared.interval.map_or_else(String::new, |interval| {
            let what = if interval.within_a_run {
                "within one run of each"
            } else {
                "at 95 % confidence"
            };
            format!("{} to {} {what}", ratio(interval.low), ratio(interval.high))
        }),
        verdict: sentence(&verdict(compared.verdict)),
    }
}

/// Words as a sentence of their own.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// The runs of one side that were compared.
struct Side<'a> {
    name: String,
    runs: Vec<&'a Run>,
}

impl<'a> Side<'a> {
    fn new(name: &str, pool: &Pool<'a>, names: &[String]) -> Self {
        Self {
            name: name.to_owned(),
            runs: pool.runs().filter(|run| names.contains(&pool.name_of(run))).collect(),
        }
    }

    /// TPS of a workload in the steps of `grid`, all runs together.
    fn throughput(&self, workload: &str, grid: Grid) -> Steps {
        let mut steps = Steps::of_intervals(grid, grid.step());
        let rows = self.runs.iter().flat_map(|run| run.intervals()).flatten();
        for row in rows.filter(|row| row.workload == workload) {
            steps.push(row.interval_start_s, row.interval_start_s + row.interval_s, row.tps);
        }
        steps
    }

    /// How often each latency of a workload was measured, run by run.
    fn latencies(&self, workload: &str) -> Vec<LatencyCounts> {
        let of = |run: &&Run| {
            let mut counts = LatencyCounts::default();
            let phases = run.record.as_ref().map_or(&[][..], |record| record.phases.as_slice());
            run.latencies(0.0..f64::INFINITY, |line| {
                if line.workload == workload && is_measured(phases, line.start_s) {
                    counts.add(line);
                }
            });
            counts
        };
        self.runs.iter().map(of).collect()
    }
}

/// TPS of both sides over time.
fn throughput(id: &str, subject: &str, workload: &str, sides: &[Side<'_>; 2], shared: usize) -> Option<Figure> {
    let records = || {
        sides
            .iter()
            .flat_map(|side| &side.runs)
            .filter_map(|run| run.record.as_ref().ok())
    };
    let phases = || records().flat_map(|record| &record.phases);
    let end_s = phases().filter_map(|phase| phase.end_s).fold(0.0, f64::max);
    let warm_up_s = phases()
        .filter(|phase| phase.name == WARMUP)
        .filter_map(|phase| phase.end_s)
        .fold(0.0, f64::max);
    let grid = Grid::new(records().next()?.interval_s, end_s).measured_from(warm_up_s);
    let grid = grid.shared_by(shared);
    let steps = [0, 1].map(|side: usize| sides[side].throughput(workload, grid));
    if steps.iter().all(Steps::is_empty) {
        return None;
    }
    let both = || sides.iter().zip(&steps);
    let table = time_table(
        grid.row_s(),
        both().map(|(side, steps)| (side.name.as_str(), "TPS", steps, Cells::Range)),
    );
    let warm_up = Span {
        kind: SpanKind::Warmup,
        start_s: 0.0,
        end_s: warm_up_s,
        label: String::new(),
        weight: 100.0,
    };
    Some(Figure {
        id: format!("{id}-throughput"),
        title: format!("Throughput of {subject}, both sides"),
        caption: "The mean over the runs of each side, with a band from the slowest to the fastest. Times count from \
                  the start of each run's load."
            .to_owned(),
        data: FigureData::Timeline(Timeline {
            group: id.to_owned(),
            start_s: 0.0,
            end_s,
            lanes: vec![Lane {
                id: "tps".to_owned(),
                title: "Throughput".to_owned(),
                unit: "TPS".to_owned(),
                series: both().map(|(side, steps)| steps.series(side.name.clone())).collect(),
                ..Lane::default()
            }],
            spans: Some(warm_up).filter(|_| warm_up_s > 0.0).into_iter().collect(),
            marks: Vec::new(),
            names: both().map(|(side, _)| side.name.clone()).collect(),
        }),
        table: Some(table),
    })
}

/// The distributions of latency of both sides over each other.
fn percentiles(id: &str, subject: &str, workload: &WorkloadComparison, sides: &[Side<'_>; 2]) -> Option<Figure> {
    let pacings = [workload.baseline_pacing, workload.candidate_pacing];
    // What cannot be compared is not drawn over each other.
    if workload.measures.is_empty() {
        return None;
    }
    let note = loop_words(
        pacings.into_iter().any(Pacing::is_closed),
        pacings.into_iter().any(Pacing::is_open),
    );
    let counts = [0, 1].map(|side: usize| sides[side].latencies(&workload.name));
    let curves = sides.iter().zip(&counts).enumerate();
    let curves = curves.map(|(position, (side, runs))| (side.name.clone(), position == 0, runs.iter().collect()));
    let note = format!("{OVER_RUNS} {note}");
    let mut figure = percentile_curves(&format!("{id}-percentiles"), subject, &note, curves)?;
    if let FigureData::Percentiles(percentiles) = &mut figure.data {
        percentiles.names = sides.iter().map(|side| side.name.clone()).collect();
    }
    Some(figure)
}
