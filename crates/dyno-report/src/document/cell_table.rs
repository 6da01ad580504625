//! Cells of a campaign as tables.

use super::layout::{CAMPAIGN, Facet, position};
use super::measures::Measure;
use super::model::{Column, Table, Value};
use super::table::{exactly, interval_end, latency, mark_extremes, ms, number, text, value, with_details};
use super::table::{without_empty_columns, words};
use crate::campaign::cells::{Cell, Factor, Levels, Line, extremes, variation};
use crate::campaign::kept::{follow_schedules, varied_rate};
use crate::campaign::latencies::{ALL_STAGES, Percentiles};
use crate::campaign::level;
use crate::campaign::ratio::{has_ratios, ratio_of};
use crate::figures::one_line;
use dyno_analysis::summary::over_runs;
use dyno_archive::Measure as Measured;
use dyno_stats::{Outcome, judge};
use indexmap::IndexSet;
use std::cmp::Ordering;

/// The points of a chart.
pub(super) fn points(facet: &Facet, measures: &[&Measure]) -> Table {
    let numeric = facet.axis.is_numeric();
    let lines = facet.lines.iter().any(|(name, _)| !name.is_empty());
    let mut columns = vec![if numeric {
        number(&facet.axis.name, "")
    } else {
        text(&facet.axis.name)
    }];
    columns.extend(lines.then(|| text("")));
    columns.push(number("runs", ""));
    for measure in measures {
        let least = format!("{}, least", measure.title);
        let greatest = format!("{}, greatest", measure.title);
        columns.extend([measure.title.as_str(), &least, &greatest].map(|name| number(name, measure.unit)));
    }
    let rows = facet.lines.iter().flat_map(|(name, cells)| {
        cells.iter().map(move |(level, cell)| {
            let mut row = vec![if numeric {
                Value::Number(position(level))
            } else {
                words(one_line(level))
            }];
            row.extend(lines.then(|| words(name.as_str())));
            row.push(exactly(cell.runs as u64));
            for measure in measures {
                let range = measure.range(cell);
                row.extend(
                    [
                        measure.value(cell),
                        range.map(|(low, _)| low),
                        range.map(|(_, high)| high),
                    ]
                    .map(value),
                );
            }
            row
        })
    });
    without_empty_columns(Table {
        caption: String::new(),
        columns,
        rows: rows.collect(),
    })
}

/// All cells with all that was measured: a row each, or where there are several workloads a row for each of them and
/// one for all. Below a workload that is a mix each of its scripts has a row. Of several stages each has a row, and
/// latencies.
pub(super) fn cells(cells: &[Cell], factors: &[&Factor], baseline: &Levels) -> Table {
    let table = CellTable {
        metrics: cells.iter().flat_map(|cell| cell.metrics.keys()).collect(),
        named: cells.iter().any(|cell| cell.workloads.len() > 1) || cells.iter().any(is_mixed),
        mixed: cells.iter().any(is_mixed),
        staged: cells.iter().any(Cell::is_staged),
        has_ratio: has_ratios(cells, baseline),
        cells,
        factors,
        baseline,
    };
    table.made()
}

/// Whether a workload of the cell is a mix of scripts.
fn is_mixed(cell: &Cell) -> bool {
    cell.workloads.values().any(|workload| !workload.scripts.is_empty())
}

/// What stands before the name of a script below its workload; without a space, at which it might be broken.
pub(super) const BELOW: &str = "└─";

struct CellTable<'a> {
    cells: &'a [Cell],
    factors: &'a [&'a Factor],
    baseline: &'a Levels,
    metrics: IndexSet<&'a String>,
    /// Whether rows name their workloads.
    named: bool,
    /// Whether workloads have scripts.
    mixed: bool,
    staged: bool,
    has_ratio: bool,
}

/// What a row is of, beside the cell.
struct Of<'a> {
    /// The workload, or that of which it is a script.
    workload: &'a str,
    name: String,
    stage: Option<&'a str>,
    weight: Option<u64>,
    tps: &'a [f64],
    variation_percent: Option<f64>,
    latency_mean_us: Option<f64>,
    response_p90_us: Option<f64>,
    latency: Option<Percentiles>,
    whole: bool,
}

impl CellTable<'_> {
    fn made(&self) -> Table {
        let all = self.cells.iter();
        let all = all.flat_map(|cell| rows_of(cell).into_iter().map(move |of| (cell, of)));
        let all: Vec<(&Cell, Of<'_>)> = all.collect();
        let groups: Vec<String> = all.iter().map(|(cell, of)| group_of(cell, of)).collect();
        let rows: Vec<Vec<Value>> = all.iter().map(|(cell, of)| self.row(cell, of)).collect();
        let columns = self.columns();
        let upper = columns.len().saturating_sub(1);
        let bounded = |row: &Vec<Value>| matches!(row.get(upper), Some(Value::Number(_)));
        let in_turn = self.cells.iter().any(|cell| cell.in_turn.is_some());
        let ratio = match self.has_ratio && rows.iter().any(bounded) {
            true if in_turn => {
                "; a ratio is that of the verdict, of slices next to each other, with its interval at 95 %"
            }
            true => "; a ratio has its 95 % confidence interval beside it",
            false => "",
        };
        let over = match self.cells.iter().any(|cell| cell.tps.len() > 1) {
            true => " (and the lowest and the highest of them); variation is between the runs",
            false => "; variation is between the intervals of the run",
        };
        let mut table = Table {
            caption: format!("Cells: means over their complete runs{over}{ratio}"),
            columns,
            rows,
        };
        for measure in Measured::ALL {
            let less_is_better = measure != Measured::Throughput;
            let name = match measure {
                Measured::Throughput => "mean",
                Measured::P50 => "p50",
                Measured::P95 => "p95",
                Measured::P99 => "p99",
            };
            // What schedules asked for is nobody's merit.
            let scheduled = !less_is_better && (follow_schedules(self.cells) || varied_rate(self.cells).is_some());
            let place = table
                .columns
                .iter()
                .position(|column| column.name == name && !scheduled);
            if let Some(place) = place {
                mark_extremes(&mut table, &groups, place, less_is_better, &|best, worst, of| {
                    differ(&all[best], &all[worst], of, measure)
                });
            }
        }
        with_details(table, &["p99.9", "max"])
    }

    fn columns(&self) -> Vec<Column> {
        let factor_column = |factor: &&Factor| Column {
            numeric: factor.is_numeric(),
            ..text(&factor.name)
        };
        let three = |column: Column| Column {
            digits: Some(3),
            ..column
        };
        let mut columns: Vec<Column> = self.factors.iter().map(factor_column).collect();
        // A factor may be called like it.
        let taken = self.factors.iter().any(|factor| factor.name == "workload");
        let of = if taken { "of workload" } else { "workload" };
        columns.extend(self.named.then(|| text(of)));
        columns.extend(self.staged.then(|| text("stage")));
        columns.extend(self.mixed.then(|| number("weight", "")));
        columns.extend([
            number("runs", ""),
            number("mean", "TPS"),
            interval_end("lowest run", "TPS"),
            interval_end("highest run", "TPS"),
            number("variation", "%"),
        ]);
        let of_mixes = ["mean latency", "p90 response"].into_iter().filter(|_| self.mixed);
        let latencies = of_mixes.chain(["p50", "p95", "p99", "p99.9", "max"]);
        columns.extend(latencies.map(latency));
        columns.extend(self.metrics.iter().map(|name| number(&one_line(name), "")));
        if self.has_ratio {
            columns.push(three(number("ratio to baseline", "")));
            columns.extend(["ratio, lower limit", "ratio, upper limit"].map(|name| three(interval_end(name, ""))));
        }
        columns
    }

    fn row(&self, cell: &Cell, of: &Of<'_>) -> Vec<Value> {
        let factors = self.factors.iter();
        let mut row: Vec<Value> = factors.map(|factor| words(one_line(level(cell, factor)))).collect();
        row.extend(self.named.then(|| words(of.name.as_str())));
        row.extend(self.staged.then(|| words(of.stage.unwrap_or(ALL_STAGES))));
        row.extend(self.mixed.then(|| of.weight.map_or(Value::Nothing(()), exactly)));
        row.push(exactly(of.tps.len() as u64));
        let runs = extremes(of.tps);
        let tps = [
            over_runs(of.tps),
            runs.map(|(min, _)| min),
            runs.map(|(_, max)| max),
            of.variation_percent,
        ];
        row.extend(tps.map(value));
        if self.mixed {
            row.extend([of.latency_mean_us, of.response_p90_us].map(ms));
        }
        let latency = of.latency.map(|latency| {
            [
                Some(latency.p50_us),
                Some(latency.p95_us),
                Some(latency.p99_us),
                latency.p99_9_us,
                latency.max_us,
            ]
        });
        row.extend(latency.map_or([const { Value::Nothing(()) }; 5], |latency| latency.map(ms)));
        // Metrics and ratios are of the cell, not of one of its workloads.
        let whole = Some(cell).filter(|_| of.whole);
        let metrics = self.metrics.iter();
        row.extend(metrics.map(|name| value(whole.and_then(|cell| cell.metric(name)))));
        if self.has_ratio {
            let ratio = whole.and_then(|cell| ratio_of(self.cells, self.baseline, cell));
            let interval = ratio.and_then(|ratio| ratio.interval);
            let ends = [interval.map(|(low, _)| low), interval.map(|(_, high)| high)];
            row.push(value(ratio.map(|ratio| ratio.value)));
            row.extend(ends.map(value));
        }
        row
    }
}

/// What rows have in common that are compared with each other: rows of the same kind, for the scripts of one mix say
/// nothing of those of another, and of several campaigns those of the same cell.
fn group_of(cell: &Cell, of: &Of<'_>) -> String {
    let stage = of.stage.unwrap_or_default();
    let several = cell.levels.contains_key(CAMPAIGN);
    let levels = cell.levels.iter().filter(|(factor, _)| several && *factor != CAMPAIGN);
    let levels: Vec<&str> = levels.map(|(_, level)| level.as_str()).collect();
    format!("{}/{}/{stage}/{}", of.workload, of.name, levels.join("/"))
}

/// Rows that are so many are read as a series, of which everybody sees which are the ends.
const MANY_ROWS: usize = 3;

/// Whether the best of so many rows is known to be better than the worst, or may be marked all the same.
fn differ((best, in_best): &(&Cell, Of), (worst, in_worst): &(&Cell, Of), of: usize, measure: Measured) -> bool {
    let (better, outcome) = match measure {
        Measured::Throughput => (Ordering::Greater, Outcome::Higher),
        _ => (Ordering::Less, Outcome::Lower),
    };
    if best.in_turn.is_some() || worst.in_turn.is_some() {
        return best.differs_in_turn(worst, measure) == Some(better);
    }
    let judged = || judge(&runs_of(best, in_best, measure), &runs_of(worst, in_worst, measure));
    of >= MANY_ROWS || judged().is_some_and(|judged| judged.outcome == outcome)
}

/// A figure of a row, run by run.
fn runs_of(cell: &Cell, of: &Of<'_>, measure: Measured) -> Vec<f64> {
    let figure: fn(&Percentiles) -> f64 = match measure {
        Measured::Throughput => return of.tps.to_vec(),
        Measured::P50 => |run| run.p50_us,
        Measured::P95 => |run| run.p95_us,
        Measured::P99 => |run| run.p99_us,
    };
    let workload = cell.workloads.get(of.workload);
    let stage = |stage| Some(workload?.stages.get(stage)?.percentiles.clone());
    let percentiles = match of.stage {
        Some(name) => stage(name),
        None => workload.map(|workload| workload.latencies.iter().copied().map(Percentiles::from).collect()),
    };
    percentiles.iter().flatten().map(figure).collect()
}

/// The rows of a cell: its lines, and below a workload its scripts.
fn rows_of(cell: &Cell) -> Vec<Of<'_>> {
    let lines = cell.lines().into_iter();
    lines.flat_map(|line| rows_of_line(cell, line)).collect()
}

fn rows_of_line<'a>(cell: &'a Cell, line: Line<'a>) -> Vec<Of<'a>> {
    let workload = cell.workloads.get(line.name).filter(|_| line.stage.is_none());
    let scripts = workload.into_iter().flat_map(|workload| &workload.scripts);
    let scripts = scripts.map(|(name, script)| Of {
        workload: line.name,
        name: format!("{BELOW}{}", one_line(name)),
        stage: None,
        weight: Some(script.weight),
        tps: &script.tps,
        variation_percent: variation(&script.tps, None),
        latency_mean_us: over_runs(&script.latency_mean_us),
        response_p90_us: over_runs(&script.response_p90_us),
        latency: None,
        whole: false,
    });
    let whole = Of {
        workload: line.name,
        name: line.name.to_owned(),
        stage: line.stage,
        weight: None,
        tps: line.tps,
        variation_percent: line.variation_percent,
        latency_mean_us: workload.and_then(|workload| Some(workload.latency()?.mean_us)),
        response_p90_us: None,
        latency: line.latency,
        whole: line.whole,
    };
    std::iter::once(whole).chain(scripts).collect()
}
