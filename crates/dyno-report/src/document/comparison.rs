//! The chapter of a report that compares one campaign with another.

use super::model::{BarSeries, Bars, Block, Figure, FigureData, Matrix, MatrixCell, Section, Table, Value};
use super::parts::{self, list, paragraph};
use super::table::{number, rounded, text};
use crate::compare::words::{change, conclusion, excerpts, loss, named, overall, p_value, ratio, unmatched, verdict};
use dyno_analysis::comparison::{CellComparison, Comparison, Measure, MeasureComparison, Verdict, WorkloadComparison};

/// Of more cells and workloads a caption says nothing.
const MOST_TOLD: usize = 4;

/// What differs, the ratio of each measure with its verdict, and the throughput of both sides. Its figures and the
/// section itself have the name of the campaign that is judged in their ids, so that a document may compare several
/// with one baseline.
#[must_use]
pub fn section(comparison: &Comparison) -> Section {
    let id = format!("compare-{}", id_of(&comparison.candidate.name));
    let mut blocks = vec![
        paragraph(format!(
            "{} is judged against the baseline {}. Verdict: {}. {}",
            comparison.candidate.name,
            comparison.baseline.name,
            overall(comparison),
            conclusion(comparison)
        )),
        differences(comparison),
    ];
    let losses = comparison.losses(f64::NEG_INFINITY);
    blocks.extend(list(losses.iter().map(loss).collect()));
    let measured: Vec<(&CellComparison, &WorkloadComparison)> = comparison.workloads().collect();
    if measured.iter().any(|(_, workload)| !workload.measures.is_empty()) {
        blocks.push(Block::Figure(ratios(&id, comparison, &measured)));
        blocks.push(Block::Figure(throughput(&id, comparison, &measured)));
    }
    blocks.extend(list(notes(comparison, &measured)));
    let title = format!("{} against {}", comparison.candidate.name, comparison.baseline.name);
    parts::section(id, title, blocks)
}

/// A name as an id may have it.
fn id_of(name: &str) -> String {
    let harmless = |character: char| {
        if character.is_ascii_alphanumeric() {
            character
        } else {
            '-'
        }
    };
    name.chars().map(harmless).collect()
}

fn differences(comparison: &Comparison) -> Block {
    if comparison.differences.is_empty() {
        return paragraph("The recorded conditions of the two are the same.");
    }
    let rows = comparison.differences.iter().map(|difference| {
        let (baseline, candidate) = excerpts(&difference.baseline, &difference.candidate);
        Vec::from([difference.what.clone(), baseline, candidate].map(Value::Text))
    });
    Block::Table(Table {
        caption: "Differences between the two".to_owned(),
        columns: vec![
            text("what"),
            text(&comparison.baseline.name),
            text(&comparison.candidate.name),
        ],
        rows: rows.collect(),
    })
}

/// The ratio of each measure of each workload and cell, greyed where it proves nothing.
fn ratios(id: &str, comparison: &Comparison, measured: &[(&CellComparison, &WorkloadComparison)]) -> Figure {
    let cell = |compared: &MeasureComparison| MatrixCell {
        value: Some(compared.ratio),
        interval: compared.interval.map_or_else(String::new, |interval| {
            let within = if interval.within_a_run {
                ", within one run of each"
            } else {
                ""
            };
            format!("{} to {}{within}", ratio(interval.low), ratio(interval.high))
        }),
        unproven: matches!(compared.verdict, Verdict::CannotTellYet { .. }),
        baseline: false,
    };
    let row = |workload: &WorkloadComparison| {
        let of_measure = |measure: Measure| workload.measures.iter().find(|compared| compared.measure == measure);
        Vec::from(Measure::ALL.map(|measure| of_measure(measure).map_or_else(MatrixCell::default, cell)))
    };
    Figure {
        id: format!("{id}-ratios"),
        title: format!(
            "{} as a ratio to {}",
            comparison.candidate.name, comparison.baseline.name
        ),
        caption: "Higher TPS and lower latency are better: blue is better, orange is worse, and grey cannot be judged \
                  yet."
            .to_owned(),
        data: FigureData::Matrix(Matrix {
            title: format!("ratio to {}", comparison.baseline.name),
            unit: String::new(),
            ratio: true,
            less_is_better: Measure::ALL.map(Measure::is_latency).into(),
            row_factor: "workload and cell".to_owned(),
            column_factor: "measure".to_owned(),
            rows: measured.iter().map(|(cell, workload)| named(cell, workload)).collect(),
            columns: Measure::ALL.map(|measure| measure.name().to_owned()).into(),
            cells: measured.iter().map(|(_, workload)| row(workload)).collect(),
        }),
        table: Some(results(measured)),
    }
}

/// Every measure with its verdict.
fn results(measured: &[(&CellComparison, &WorkloadComparison)]) -> Table {
    let columns = [
        text("workload and cell"),
        text("measure"),
        text("runs"),
        number("baseline", ""),
        number("other", ""),
        number("ratio", ""),
        number("from", ""),
        number("to", ""),
        text("p"),
        text("verdict"),
    ];
    let row = |cell: &CellComparison, workload: &WorkloadComparison, compared: &MeasureComparison| {
        let unit = if compared.measure.is_latency() { " (ms)" } else { "" };
        let figure = |figure: f64| match compared.measure.is_latency() {
            true => Value::Number(rounded(figure / 1e3)),
            false => Value::Number(rounded(figure)),
        };
        let end = |end: Option<f64>| end.map_or(Value::Nothing(()), |end| Value::Number(rounded(end)));
        vec![
            Value::Text(named(cell, workload)),
            Value::Text(format!("{}{unit}", compared.measure.name())),
            Value::Text(format!(
                "{} and {}",
                workload.baseline_runs.len(),
                workload.candidate_runs.len()
            )),
            figure(compared.baseline),
            figure(compared.candidate),
            Value::Number(rounded(compared.ratio)),
            end(compared.interval.map(|interval| interval.low)),
            end(compared.interval.map(|interval| interval.high)),
            Value::Text(p_value(compared.p_value)),
            Value::Text(verdict(compared.verdict)),
        ]
    };
    let rows = measured.iter().flat_map(|(cell, workload)| {
        let each = workload.measures.iter();
        each.map(move |compared| row(cell, workload, compared))
    });
    Table {
        caption: "Means over runs, their ratio with its 95 % interval, and the verdict".to_owned(),
        columns: columns.into(),
        rows: rows.collect(),
    }
}

/// TPS of both sides, and where there are several runs the slowest and the fastest.
fn throughput(id: &str, comparison: &Comparison, measured: &[(&CellComparison, &WorkloadComparison)]) -> Figure {
    let tps = |workload: &WorkloadComparison| {
        let mut measures = workload.measures.iter();
        measures.find(|compared| compared.measure == Measure::Tps).cloned()
    };
    let series = |name: &str, mean: fn(&MeasureComparison) -> f64, runs: fn(&MeasureComparison) -> &[f64]| {
        let all = |figure: &dyn Fn(&MeasureComparison) -> Option<f64>| -> Vec<Option<f64>> {
            let of = |(_, workload): &(_, &WorkloadComparison)| figure(&tps(workload)?).map(rounded);
            measured.iter().map(of).collect()
        };
        let range = |end: fn(f64, f64) -> f64| {
            all(&|compared| {
                let runs = runs(compared);
                runs.iter().copied().reduce(end).filter(|_| runs.len() > 1)
            })
        };
        BarSeries {
            name: name.to_owned(),
            values: all(&|compared| Some(mean(compared))),
            low: range(f64::min),
            high: range(f64::max),
        }
    };
    let sides = [&comparison.baseline.name, &comparison.candidate.name];
    let mut seen = measured.iter().filter_map(|(cell, workload)| {
        let tps = tps(workload)?;
        let (change, verdict) = (change(tps.ratio), verdict(tps.verdict));
        Some(format!("{} {change} ({verdict})", named(cell, workload)))
    });
    // More of them are read in the table above.
    let seen = match measured.len() {
        ..=MOST_TOLD => format!(" {}.", seen.by_ref().collect::<Vec<_>>().join("; ")),
        _ => String::new(),
    };
    Figure {
        id: format!("{id}-throughput"),
        title: format!("Throughput of {} and {}", sides[0], sides[1]),
        caption: format!("Means over runs; whiskers span the runs, from the slowest to the fastest.{seen}"),
        data: FigureData::Bars(Bars {
            title: "Throughput".to_owned(),
            unit: "TPS".to_owned(),
            categories: measured.iter().map(|(cell, workload)| named(cell, workload)).collect(),
            series: vec![
                series(
                    sides[0],
                    |compared| compared.baseline,
                    |compared| &compared.baseline_values,
                ),
                series(
                    sides[1],
                    |compared| compared.candidate,
                    |compared| &compared.candidate_values,
                ),
            ],
        }),
        table: None,
    }
}

/// What is to be known of single workloads, of cells that only one side has, and of the comparison as a whole.
fn notes(comparison: &Comparison, measured: &[(&CellComparison, &WorkloadComparison)]) -> Vec<String> {
    let of_workloads = measured.iter().flat_map(|(cell, workload)| {
        let notes = workload.notes.iter();
        notes.map(move |note| format!("{}: {note}", named(cell, workload)))
    });
    let sides = [&comparison.baseline, &comparison.candidate];
    let only = sides.into_iter().filter_map(|side| unmatched(&side.name, side));
    of_workloads
        .chain(only)
        .chain(comparison.cautions.iter().cloned())
        .collect()
}
