//! Several factors against each other: what was measured in each cell, and its ratio to that of its baseline.

use super::model::{Column as Headed, Figure, FigureData, Matrix, MatrixCell, Table, Value};
use super::series::significant;
use super::table::{ms, number, text, value, words};
use crate::campaign::cells::{Cell, Factor, Levels, whose_tps};
use crate::campaign::ratio::{Ratio, has_ratios, ratio_of};
use crate::campaign::whose::{Whose, of_workload, workload_names};
use crate::campaign::{Column, column_cells, column_name, columns, rows_of};
use crate::figures::{LATENCY_DIGITS, counted, one_line};
use dyno_analysis::summary::over_runs;
use dyno_stats::Outcome;
use indexmap::IndexSet;

/// More columns or rows cannot be read.
const MOST_COLUMNS: usize = 30;

/// The figure of the ratio of TPS to the `baseline` in all `cells`. `None` if fewer than two factors are `varied`, or
/// nothing is to be compared.
pub(super) fn figure(id: &str, cells: &[Cell], varied: &[&Factor], baseline: &Levels) -> Option<Figure> {
    let rows = rows_of(varied).filter(|_| has_ratios(cells, baseline))?;
    let columns = columns(varied, rows);
    if columns.len() > MOST_COLUMNS {
        return None;
    }
    let whose = whose_tps(cells);
    let ratio = |cell: &Cell| ratio_of(cells, baseline, cell);
    let by_column: Vec<Vec<Option<Ratio>>> = columns
        .iter()
        .map(|column| {
            column_cells(cells, rows, column)
                .into_iter()
                .map(|cell| cell.and_then(ratio))
                .collect()
        })
        .collect();
    let matrix_cell = |ratio: Option<Ratio>| {
        let interval = ratio.and_then(|ratio| ratio.interval);
        let baseline = ratio.is_some_and(|ratio| ratio.is_baseline);
        MatrixCell {
            value: ratio.map(|ratio| significant(ratio.value)),
            interval: interval.map_or_else(String::new, |(low, high)| format!("{low:.2} to {high:.2}")),
            unproven: !baseline && ratio.is_none_or(|ratio| matches!(ratio.outcome, Outcome::Unknown { .. })),
            baseline,
        }
    };
    let cells: Vec<Vec<MatrixCell>> = (0..rows.levels.len())
        .map(|row| by_column.iter().map(|column| matrix_cell(column[row])).collect())
        .collect();
    let compared = cells
        .iter()
        .flatten()
        .filter(|cell| cell.value.is_some() && !cell.baseline);
    let proven = compared.clone().filter(|cell| !cell.unproven).count();
    let caption = format!(
        "{} of the {} compared with a baseline differ from it significantly; the others are greyed out. Baselines \
         have a frame.",
        proven,
        counted(compared.count() as u64, "cell")
    );
    let to: Vec<String> = baseline
        .iter()
        .map(|(factor, level)| format!("{factor} = {level}"))
        .collect();
    let title = format!("{}, ratio to {}", of_workload("TPS", whose), one_line(&to.join(", ")));
    let names: Vec<String> = columns.iter().map(|column| column_name(column)).collect();
    let mut table = Table {
        caption: String::new(),
        columns: vec![text(&rows.name)],
        rows: Vec::new(),
    };
    for name in &names {
        table
            .columns
            .extend([number(name, ""), text("95 % confidence interval")]);
    }
    table.rows = rows
        .levels
        .iter()
        .zip(&cells)
        .map(|(level, cells)| {
            let cells = cells
                .iter()
                .flat_map(|cell| [value(cell.value), words(cell.interval.as_str())]);
            std::iter::once(words(one_line(level))).chain(cells).collect()
        })
        .collect();
    Some(Figure {
        id: id.to_owned(),
        title: title.clone(),
        caption,
        table: Some(table),
        data: FigureData::Matrix(Matrix {
            title,
            unit: String::new(),
            ratio: true,
            less_is_better: Vec::new(),
            row_factor: rows.name.clone(),
            column_factor: others(&columns),
            rows: rows.levels.iter().map(|level| one_line(level)).collect(),
            columns: names,
            cells,
        }),
    })
}

/// The factors of the columns.
fn others(columns: &[Column]) -> String {
    let others = columns.iter().flatten().map(|(factor, _)| factor.name.as_str());
    let others: IndexSet<&str> = others.collect();
    others.into_iter().collect::<Vec<_>>().join(", ")
}

/// TPS and the 99th percentile, the factor `rows` by the combinations of the others; of several workloads each by
/// itself.
pub(super) fn tables(cells: &[Cell], rows: &Factor, columns: &[Column]) -> Vec<Table> {
    let by_column: Vec<_> = columns.iter().map(|column| column_cells(cells, rows, column)).collect();
    let table = |what: &str, digits: Option<u8>, show: &dyn Fn(&Cell) -> Value| {
        let corner = format!("{what}: {} \\ {}", rows.name, others(columns));
        let columns = columns.iter().map(|column| Headed {
            digits,
            ..number(&column_name(column), "")
        });
        let lines = rows.levels.iter().enumerate().map(|(row, level)| {
            // A combination that was left out is not a failure.
            let cells = by_column.iter().map(|column| column[row].map_or(words(""), show));
            std::iter::once(words(one_line(level))).chain(cells).collect()
        });
        Table {
            caption: String::new(),
            columns: std::iter::once(text(&one_line(&corner))).chain(columns).collect(),
            rows: lines.collect(),
        }
    };
    let tps = of_workload("TPS", whose_tps(cells));
    let mut tables = vec![table(&tps, None, &|cell| value(cell.mean_tps()))];
    for name in workload_names(cells).into_iter().filter(Option::is_some) {
        let tps = |cell: &Cell| value(cell.workload(name).and_then(|workload| over_runs(&workload.tps)));
        tables.push(table(&of_workload("TPS", name), None, &tps));
    }
    for whose in Whose::all(cells) {
        tables.push(table(&whose.words("p99 in ms"), Some(LATENCY_DIGITS), &|cell| {
            ms(cell.p99_us(&whose))
        }));
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::cells::factor;
    use crate::campaign::knees_by_column;
    use crate::table::Page;
    use crate::terminal;
    use insta::assert_snapshot;

    /// Cells of all combinations but one, with a TPS that follows from them.
    fn three_factors() -> (Vec<Cell>, Vec<Factor>) {
        let factors = vec![
            factor("workload", &["ro", "rw"]),
            factor("clients", &["1", "4", "16"]),
            factor("profile", &["32 GB", "200 GB"]),
        ];
        let refs: Vec<&Factor> = factors.iter().collect();
        let mut cells = Vec::new();
        for column in columns(&refs, &factors[1]) {
            for (row, clients) in factors[1].levels.iter().enumerate() {
                let mut levels: Levels = column
                    .iter()
                    .map(|(f, level)| (f.name.clone(), (*level).to_owned()))
                    .collect();
                levels.insert("clients".to_owned(), clients.clone());
                let tps = match levels["workload"].as_str() {
                    "ro" => [1_000.0, 4_000.0, 4_100.0][row],
                    _ => [100.0, 200.0, 400.0][row],
                };
                cells.push(Cell {
                    tps: vec![tps; usize::from(cells.len() != 4)],
                    levels,
                    ..Cell::default()
                });
            }
        }
        cells.remove(11);
        (cells, factors)
    }

    #[test]
    fn several_factors_are_a_matrix_of_the_longest_by_the_others() {
        let (cells, factors) = three_factors();
        let refs: Vec<&Factor> = factors.iter().collect();
        let rows = rows_of(&refs).unwrap();
        let columns = columns(&refs, rows);
        let knees = |rows: &Factor, columns: &[Column]| knees_by_column(&cells, rows, columns).concat();
        assert_snapshot!(terminal::table(&tables(&cells, rows, &columns)[0], Page::default()), @r"
          TPS: clients \ workload, profile  ro, 32 GB  ro, 200 GB  rw, 32 GB  rw, 200 GB
          1                                     1,000       1,000        100         100
          4                                     4,000           -        200         200
          16                                    4,100       4,100        400
        ");
        assert_snapshot!(knees(rows, &columns), @"Knee, the first clients within 5 % of the best TPS: \
            ro, 32 GB: 4; rw, 32 GB: none so far.");
        assert_eq!(knees(&factors[2], &super::columns(&refs, &factors[2])), "");
        assert!(rows_of(&refs[..1]).is_none());
    }
}
