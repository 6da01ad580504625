//! Cells of a campaign as tables.

use super::layout::{Facet, position};
use super::measures::Measure;
use super::model::{Column, Table, Value};
use super::table::{exactly, number, text, value, without_empty_columns, words};
use crate::campaign::cells::{Cell, Factor, Levels};
use crate::campaign::level;
use crate::campaign::ratio::ratio_of;
use crate::figures::one_line;
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
            row.push(exactly(cell.tps.len() as u64));
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

/// All cells with all that was measured, a row each.
pub(super) fn cells(cells: &[Cell], factors: &[&Factor], baseline: &Levels) -> Table {
    let metrics: IndexSet<&String> = cells.iter().flat_map(|cell| cell.metrics.keys()).collect();
    let several = cells.iter().any(|cell| cell.workloads.len() > 1);
    let workloads: IndexSet<&String> = cells
        .iter()
        .flat_map(|cell| cell.workloads.keys())
        .filter(|_| several)
        .collect();
    let factor_column = |factor: &&Factor| Column {
        numeric: factor.is_numeric(),
        ..text(&factor.name)
    };
    let mut columns: Vec<Column> = factors.iter().map(factor_column).collect();
    columns.extend([
        number("runs", ""),
        number("mean", "TPS"),
        number("least run", "TPS"),
        number("greatest run", "TPS"),
        number("variation", "%"),
    ]);
    columns.extend(workloads.iter().map(|name| number(name, "TPS")));
    columns.extend(["p50", "p95", "p99", "p99.9", "max"].map(|name| number(name, "µs")));
    columns.extend(metrics.iter().map(|name| number(&one_line(name), "")));
    if !baseline.is_empty() {
        columns.extend(["ratio to baseline", "ratio at least", "ratio at most"].map(|name| number(name, "")));
    }
    let rows = cells.iter().map(|cell| {
        let mut row: Vec<Value> = factors
            .iter()
            .map(|factor| words(one_line(level(cell, factor))))
            .collect();
        row.push(exactly(cell.tps.len() as u64));
        let extremes = cell.extremes().filter(|_| cell.tps.len() > 1);
        let tps = [
            cell.mean_tps(),
            extremes.map(|(min, _)| min),
            extremes.map(|(_, max)| max),
            cell.variation_percent(),
        ];
        row.extend(tps.map(value));
        row.extend(workloads.iter().map(|name| {
            let runs = cell.workloads.get(*name);
            value(runs.and_then(|runs| crate::campaign::cells::mean(runs)))
        }));
        let latency = cell.latency.map(|latency| {
            [
                latency.p50_us,
                latency.p95_us,
                latency.p99_us,
                latency.p99_9_us,
                latency.max_us,
            ]
        });
        row.extend(latency.map_or([const { Value::Nothing(()) }; 5], |latency| latency.map(value)));
        row.extend(metrics.iter().map(|name| value(cell.metric(name))));
        if !baseline.is_empty() {
            let ratio = ratio_of(cells, baseline, cell);
            let interval = ratio.and_then(|ratio| ratio.interval);
            let ends = [interval.map(|(low, _)| low), interval.map(|(_, high)| high)];
            row.push(value(ratio.map(|ratio| ratio.value)));
            row.extend(ends.map(value));
        }
        row
    });
    Table {
        caption: if baseline.is_empty() {
            "Cells: means over their complete runs, and latency of all their transactions".to_owned()
        } else {
            "Cells: means over their complete runs, latency of all their transactions, and the ratio of TPS with its 95 % interval".to_owned()
        },
        columns,
        rows: rows.collect(),
    }
}
