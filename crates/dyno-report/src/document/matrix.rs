//! Two factors against each other: the ratio of each cell to its baseline.

use super::model::{Figure, FigureData, Matrix, MatrixCell, Table};
use super::series::significant;
use super::table::{number, text, value, words};
use crate::campaign::cells::{Cell, Factor, Levels, of_workload, whose_tps};
use crate::campaign::ratio::{Ratio, has_ratios, ratio_of};
use crate::campaign::{column_cells, column_name, columns, rows_of};
use crate::figures::{counted, one_line};
use dyno_stats::Outcome;

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
    let others: indexmap::IndexSet<&str> = columns
        .iter()
        .flatten()
        .map(|(factor, _)| factor.name.as_str())
        .collect();
    let names: Vec<String> = columns.iter().map(|column| column_name(column)).collect();
    let mut table = Table {
        caption: String::new(),
        columns: vec![text(&rows.name)],
        rows: Vec::new(),
    };
    for name in &names {
        table.columns.extend([number(name, ""), text("95 % interval")]);
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
            column_factor: others.into_iter().collect::<Vec<_>>().join(", "),
            rows: rows.levels.iter().map(|level| one_line(level)).collect(),
            columns: names,
            cells,
        }),
    })
}
