//! The chapter of a report that compares one campaign with another.

use super::model::{BarSeries, Bars, Block, Column, Figure, FigureData, Matrix, MatrixCell, Section, Table, Value};
use super::parts::{self, list, paragraph};
use super::table::{facts, interval_end, number, text, words};
use crate::compare::{change, excerpts, loss, named, p_value, pacing, ratio, unmatched, verdict};
use crate::figures::{counted, ms, one_line, rounded};
use dyno_analysis::comparison::{
    CellComparison, Comparison, Loss, Measure, MeasureComparison, Side, Verdict, WorkloadComparison,
};

/// Of more cells and workloads a caption says nothing.
const MOST_TOLD: usize = 4;

/// More measures that became worse are not read one by one; they stand in the tables.
const MOST_LOSSES: usize = 10;

/// What differs, the ratio of each measure with its verdict, and the throughput of both sides. The baseline is called
/// A, the other campaign B. The section, those within it (one for each workload and cell) and its figures have ids
/// that begin with `id`, because a document may compare several campaigns with one baseline.
pub(super) fn section(id: &str, comparison: &Comparison) -> Section {
    let sides = [("A (baseline)", &comparison.baseline), ("B", &comparison.candidate)];
    let mut blocks = vec![
        Block::Table(facts("", sides.map(|(name, side)| (name, about(side))))),
        differences(comparison),
    ];
    let sides = [("A", &comparison.baseline), ("B", &comparison.candidate)];
    blocks.extend(sides.into_iter().filter_map(|(name, side)| settings(name, side)));
    let losses = comparison.losses(f64::NEG_INFINITY);
    let mut told: Vec<String> = losses.iter().take(MOST_LOSSES).map(loss_with_interval).collect();
    let more = losses.len().saturating_sub(MOST_LOSSES);
    told.extend((more > 0).then(|| format!("{more} more are in the tables")));
    blocks.extend(list(told));
    let measured: Vec<(&CellComparison, &WorkloadComparison)> = comparison.workloads().collect();
    let measures = || measured.iter().flat_map(|(_, workload)| &workload.measures);
    if measures().next().is_some() {
        blocks.push(Block::Figure(ratios(id, comparison, &measured)));
        blocks.push(Block::Figure(throughput(id, comparison, &measured)));
        blocks.push(paragraph(
            "Each table: means over runs, their ratio with its 95 % confidence interval, and the verdict on B.",
        ));
    }
    let unknown = |verdict: &Verdict| matches!(verdict, Verdict::CannotTellYet { more_runs: Some(_) });
    if measures().any(|compared| unknown(&compared.verdict)) {
        blocks.push(paragraph(
            "\"n more runs\": about how many more runs on each side would give a verdict four times out of five, if \
             the difference is what it seems.",
        ));
    }
    blocks.extend(list(
        sides
            .into_iter()
            .filter_map(|(name, side)| unmatched(name, side))
            .collect(),
    ));
    let title = format!("{} against {}", comparison.candidate.name, comparison.baseline.name);
    let of_workload = |(number, (cell, workload)): (usize, &(&CellComparison, &WorkloadComparison))| Section {
        folded: measured.len() > 1,
        ..parts::section(
            format!("{id}-{}", number + 1),
            named(cell, workload),
            of_workload(workload),
        )
    };
    Section {
        sections: measured.iter().enumerate().map(of_workload).collect(),
        cautions: comparison.cautions.iter().map(|caution| one_line(caution)).collect(),
        ..parts::in_answer(parts::section(id, title, blocks))
    }
}

/// The id of the section that judges `comparison` among others.
pub(super) fn id_among_others(comparison: &Comparison) -> String {
    format!("compare-{}", id_of(&comparison.candidate.name))
}

fn about(side: &Side) -> String {
    format!("{}: {}", side.name, counted(side.complete_runs as u64, "complete run"))
}

/// What became worse, by how much, and how certain that is.
fn loss_with_interval(lost: &Loss<'_>) -> String {
    let between = lost.measure.interval.map_or_else(String::new, |interval| {
        format!(" (between {} and {})", change(interval.low), change(interval.high))
    });
    format!("{}{between}", loss(lost))
}

/// The runs of a workload, every measure with its verdict, and what is to be known of them.
fn of_workload(workload: &WorkloadComparison) -> Vec<Block> {
    let mut blocks = vec![paragraph(format!(
        "{} of A against {} of B, {}.",
        counted(workload.baseline_runs.len() as u64, "run"),
        workload.candidate_runs.len(),
        pacing(workload)
    ))];
    blocks.extend(parts::table(results(workload)));
    let within = |compared: &MeasureComparison| compared.interval.is_some_and(|interval| interval.within_a_run);
    if workload.measures.iter().any(within) {
        blocks.push(paragraph(
            "The interval says how TPS varied within the only run of each; another run may differ by more.",
        ));
    }
    blocks.extend(workload.notes.iter().map(|note| paragraph(one_line(note))));
    blocks
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
        return paragraph("The recorded conditions are the same.");
    }
    let rows = comparison.differences.iter().map(|difference| {
        let (baseline, candidate) = excerpts(&difference.baseline, &difference.candidate);
        Vec::from([one_line(&difference.what), baseline, candidate].map(Value::Text))
    });
    Block::Table(Table {
        caption: "Differences".to_owned(),
        columns: ["what", "A", "B"].map(text).into(),
        rows: rows.collect(),
    })
}

/// What the servers of one side are set to, where those of the other are of another kind.
fn settings(name: &str, side: &Side) -> Option<Block> {
    let rows = side.settings.iter();
    parts::table(Table {
        caption: format!("Settings of {name} that differ from its defaults"),
        columns: ["setting", "value"].map(text).into(),
        rows: rows
            .map(|(setting, value)| vec![words(one_line(setting)), words(one_line(value))])
            .collect(),
    })
}

/// The ratio of each measure of each workload and cell, greyed where it is not significant.
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
        table: None,
    }
}

/// Every measure with its verdict.
fn results(workload: &WorkloadComparison) -> Table {
    let row = |compared: &MeasureComparison| {
        let is_latency = compared.measure.is_latency();
        let unit = if is_latency { " (ms)" } else { "" };
        let side = |value: f64| match is_latency {
            true => words(ms(value)),
            false => Value::Number(rounded(value)),
        };
        let end = |end: Option<f64>| end.map_or(Value::Nothing(()), |end| Value::Number(rounded(end)));
        vec![
            words(format!("{}{unit}", compared.measure.name())),
            side(compared.baseline),
            side(compared.candidate),
            Value::Number(rounded(compared.ratio)),
            end(compared.interval.map(|interval| interval.low)),
            end(compared.interval.map(|interval| interval.high)),
            words(p_value(compared.p_value)),
            words(verdict(compared.verdict)),
        ]
    };
    let mut columns = vec![text("measure")];
    let three = |column: Column| Column {
        digits: Some(3),
        ..column
    };
    columns.extend(["A", "B"].map(|name| number(name, "")));
    columns.push(three(number("ratio", "")));
    columns.extend(["from", "to"].map(|name| three(interval_end(name, ""))));
    columns.extend(["p", "verdict on B"].map(text));
    Table {
        caption: String::new(),
        columns,
        rows: workload.measures.iter().map(row).collect(),
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
            ..Bars::default()
        }),
        table: None,
    }
}
