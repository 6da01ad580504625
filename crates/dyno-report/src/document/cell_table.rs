//! Cells of a campaign as tables.

use super::layout::{Facet, position};
use super::measures::Measure;
use super::model::{Column, Table, Value};
use super::table::{exactly, interval_end, mark_extremes, ms, number, text, value, with_details};
use super::table::{without_empty_columns, words};
use crate::campaign::cells::{Cell, Factor, Levels, Line};
use crate::campaign::kept::{follow_schedules, varied_rate};
use crate::campaign::latencies::ALL_STAGES;
use crate::campaign::level;
use crate::campaign::ratio::{has_ratios, ratio_of};
use crate::figures::one_line;
use dyno_analysis::summary::over_runs;
use indexmap::IndexSet;

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
/// one for all. Of several stages each has a row, and latencies.
pub(super) fn cells(cells: &[Cell], factors: &[&Factor], baseline: &Levels) -> Table {
    let metrics: IndexSet<&String> = cells.iter().flat_map(|cell| cell.metrics.keys()).collect();
    let several = cells.iter().any(|cell| cell.workloads.len() > 1);
    let factor_column = |factor: &&Factor| Column {
        numeric: factor.is_numeric(),
        ..text(&factor.name)
    };
    let mut columns: Vec<Column> = factors.iter().map(factor_column).collect();
    columns.extend(several.then(|| text("workload")));
    let staged = cells.iter().any(Cell::is_staged);
    columns.extend(staged.then(|| text("stage")));
    columns.extend([
        number("runs", ""),
        number("mean", "TPS"),
        interval_end("lowest run", "TPS"),
        interval_end("highest run", "TPS"),
        number("variation", "%"),
    ]);
    columns.extend(["p50", "p95", "p99", "p99.9", "max"].map(|name| Column {
        digits: Some(3),
        ..number(name, "ms")
    }));
    columns.extend(metrics.iter().map(|name| number(&one_line(name), "")));
    let shows_ratio = has_ratios(cells, baseline);
    if shows_ratio {
        let three = |column: Column| Column {
            digits: Some(3),
            ..column
        };
        columns.push(three(number("ratio to baseline", "")));
        columns.extend(["ratio, lower limit", "ratio, upper limit"].map(|name| three(interval_end(name, ""))));
    }
    let row = |cell: &Cell, line: &Line<'_>| {
        let mut row: Vec<Value> = factors
            .iter()
            .map(|factor| words(one_line(level(cell, factor))))
            .collect();
        row.extend(several.then(|| words(line.name)));
        row.extend(staged.then(|| words(line.stage.unwrap_or(ALL_STAGES))));
        row.push(exactly(line.tps.len() as u64));
        let extremes = line.extremes();
        let tps = [
            over_runs(line.tps),
            extremes.map(|(min, _)| min),
            extremes.map(|(_, max)| max),
            line.variation_percent,
        ];
        row.extend(tps.map(value));
        let latency = line.latency.map(|latency| {
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
        let whole = Some(cell).filter(|_| line.whole);
        row.extend(
            metrics
                .iter()
                .map(|name| value(whole.and_then(|cell| cell.metric(name)))),
        );
        if shows_ratio {
            let ratio = whole.and_then(|cell| ratio_of(cells, baseline, cell));
            let interval = ratio.and_then(|ratio| ratio.interval);
            let ends = [interval.map(|(low, _)| low), interval.map(|(_, high)| high)];
            row.push(value(ratio.map(|ratio| ratio.value)));
            row.extend(ends.map(value));
        }
        row
    };
    let rows = cells.iter().flat_map(|cell| {
        let lines = cell.lines();
        lines.iter().map(|line| row(cell, line)).collect::<Vec<_>>()
    });
    let between = if cells.iter().any(|cell| cell.tps.len() > 1) {
        "between the runs"
    } else {
        "between the intervals of the run"
    };
    let rows: Vec<Vec<Value>> = rows.collect();
    let upper = columns.len().saturating_sub(1);
    let bounded = |row: &Vec<Value>| matches!(row.get(upper), Some(Value::Number(_)));
    let ratio = if shows_ratio && rows.iter().any(bounded) {
        "; a ratio has its 95 % confidence interval beside it"
    } else {
        ""
    };
    let lowest = match between {
        "between the runs" => " (and the lowest and the highest of them)",
        _ => "",
    };
    let mut table = Table {
        caption: format!("Cells: means over their complete runs{lowest}; variation is {between}{ratio}"),
        columns,
        rows,
    };
    let lines = cells
        .iter()
        .flat_map(|cell| cell.lines().into_iter().map(move |line| (cell, line)));
    let groups = lines.map(|(_, line)| format!("{}/{}", line.name, line.stage.unwrap_or_default()));
    let groups: Vec<String> = groups.collect();
    for (name, less_is_better) in [("mean", false), ("p50", true), ("p95", true), ("p99", true)] {
        // What schedules asked for is nobody's merit.
        let scheduled = !less_is_better && (follow_schedules(cells) || varied_rate(cells).is_some());
        let place = table
            .columns
            .iter()
            .position(|column| column.name == name && !scheduled);
        if let Some(place) = place {
            mark_extremes(&mut table, &groups, place, less_is_better);
        }
    }
    with_details(table, &["p99.9", "max"])
}
