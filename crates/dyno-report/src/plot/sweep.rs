//! Throughput and latency over a factor whose levels are numbers, with a line for each combination of the other
//! factors.

use super::Screen;
use super::axis::Axis;
use super::chart::{Chart, Curve, Row, draw};
use crate::campaign::cells::{Cell, Factor, cells, factors, number, whose_tps};
use crate::campaign::whose::{Whose, of_workload};
use crate::campaign::{column_cells, column_name, columns, knee_of};
use crate::figures::one_line;
use dyno_archive::Campaign;

/// What a point is drawn with where there is one line.
const POINT: char = 'o';

/// More lines are not told apart.
const MOST_LINES: usize = 26;

/// About as many ticks on the vertical axes.
const TICKS: usize = 4;

/// Draws `campaign`; see [`super::campaign`].
pub(super) fn campaign(campaign: &Campaign, screen: Screen) -> Result<String, String> {
    let cells = cells(&[campaign]);
    let factors = factors([campaign], &cells);
    let varied: Vec<&Factor> = factors.iter().filter(|factor| factor.levels.len() > 1).collect();
    let over = varied
        .iter()
        .copied()
        .filter(|factor| factor.levels.iter().all(|level| number(level).is_some()));
    // Of several the one with the most levels is the axis, of equals the first.
    let over = over.rev().max_by_key(|factor| factor.levels.len());
    let Some(over) = over else {
        return Err(format!(
            "there is no sweep to draw: no factor of {0} has numbers as levels; to draw a run: dyno show --plot {0} \
             RUN",
            campaign.name()
        ));
    };
    let levels: Vec<(f64, String)> = over
        .levels
        .iter()
        .filter_map(|level| Some((number(level)?, one_line(level))))
        .collect();
    let lines: Vec<Line<'_>> = columns(&varied, over)
        .iter()
        .map(|column| Line {
            name: column_name(column),
            cells: column_cells(&cells, over, column),
        })
        .filter(|line| line.cells.iter().flatten().any(|cell| cell.runs > 0))
        .take(MOST_LINES)
        .collect();
    if lines.is_empty() {
        return Err(format!(
            "there is nothing to draw: {} has no complete run",
            campaign.name()
        ));
    }
    let symbols: Vec<char> = if lines.len() == 1 {
        vec![POINT]
    } else {
        ('a'..='z').take(lines.len()).collect()
    };
    let curves = |figure: &dyn Fn(&Cell) -> Option<f64>| {
        let each = lines.iter().zip(&symbols);
        each.map(|(line, symbol)| line.curve(&levels, *symbol, figure))
            .collect::<Vec<_>>()
    };
    let mut charts = Vec::new();
    let tps = curves(&Cell::mean_tps);
    if tps.iter().any(|curve| !curve.points.is_empty()) {
        charts.push(chart(of_workload("TPS", whose_tps(&cells)), tps));
    }
    for whose in Whose::all(&cells) {
        let p99 = curves(&|cell| cell.p99_us(&whose).map(|time_us| time_us / 1e3));
        if p99.iter().any(|curve| !curve.points.is_empty()) {
            let title = format!("{} (ms)", one_line(&whose.words("p99")));
            charts.push(chart(title, p99));
        }
    }
    if charts.is_empty() {
        return Err(format!(
            "there is nothing to draw: {} has no throughput of all workloads together, and no latencies",
            campaign.name()
        ));
    }
    let knees = lines.iter().zip(&symbols).filter_map(|(line, symbol)| {
        let level = levels[line.knee(over)?].0;
        Some(Row {
            name: "knee".to_owned(),
            spans: vec![(level, level)],
            symbol: Some(if lines.len() == 1 { '^' } else { *symbol }),
        })
    });
    let rows: Vec<Row> = knees.collect();
    let x = |_: usize| Axis::of_levels(&levels);
    let mut text = draw(&charts, x, |_| one_line(&over.name), &rows, screen);
    if lines.len() > 1 {
        let others: Vec<_> = varied
            .iter()
            .filter(|factor| factor.name != over.name)
            .map(|factor| factor.name.as_str())
            .collect();
        text.push_str(&format!("\nLines by {}:\n", one_line(&others.join(", "))));
        for (line, symbol) in lines.iter().zip(&symbols) {
            text.push_str(&format!("  {symbol}  {}\n", line.name));
        }
    }
    Ok(text)
}

/// A line of a sweep: its cells level by level, where there are any.
struct Line<'a> {
    name: String,
    cells: Vec<Option<&'a Cell>>,
}

impl Line<'_> {
    fn curve(&self, levels: &[(f64, String)], symbol: char, figure: &dyn Fn(&Cell) -> Option<f64>) -> Curve {
        let points = levels.iter().zip(&self.cells);
        Curve {
            points: points
                .filter_map(|((level, _), cell)| Some((*level, figure((*cell)?)?)))
                .collect(),
            symbol: Some(symbol),
        }
    }

    /// The position of the level at which more brings no more throughput.
    fn knee(&self, factor: &Factor) -> Option<usize> {
        let cells: Option<Vec<&Cell>> = self.cells.iter().copied().collect();
        knee_of(&cells?, factor)
    }
}

fn chart(title: String, lines: Vec<Curve>) -> Chart {
    let most = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|(_, value)| *value)
        .fold(0.0, f64::max);
    Chart {
        title,
        y: Axis::from_zero(most, TICKS),
        lines,
    }
}
