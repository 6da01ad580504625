//! How a cell compares with the one that the experiment declares to be the baseline.

use super::cells::{Cell, Levels, mixes_tps};
use super::kept::{follow_schedules, varied_rate};
use dyno_archive::Measure;
use dyno_stats::{Outcome, differs, judge};
use std::cmp::Ordering;

/// Of fewer runs an interval says nothing.
const FEWEST_RUNS: usize = 3;

/// The TPS of a cell in proportion to that of its baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    /// The ratio of the means; 1 of the baseline itself.
    pub value: f64,
    /// The interval that contains it at 95 % confidence; `None` if there are too few runs.
    pub interval: Option<(f64, f64)>,
    /// What may be concluded.
    pub outcome: Outcome,
    /// Whether the cell is its own baseline.
    pub is_baseline: bool,
}

/// Whether cells are compared with a baseline: there is one, and their TPS is of one kind, and not what schedules asked
/// for.
pub(crate) fn has_ratios(cells: &[Cell], baseline: &Levels) -> bool {
    let known = |cell: &Cell| cell.in_turn.is_none() || cell.known_in_turn(Measure::Throughput).is_some();
    cells.iter().any(known)
        && !baseline.is_empty()
        && !follow_schedules(cells)
        && varied_rate(cells).is_none()
        && !mixes_tps(cells)
}

/// The baseline of `cell`: the cell that has the `baseline` levels and else the same.
pub(crate) fn baseline_of<'a>(cells: &'a [Cell], baseline: &Levels, cell: &Cell) -> Option<&'a Cell> {
    let is_baseline = |other: &&Cell| {
        other
            .levels
            .iter()
            .all(|(factor, level)| baseline.get(factor).or_else(|| cell.levels.get(factor)) == Some(level))
    };
    cells.iter().find(is_baseline)
}

/// The TPS of `cell` as a ratio to that of its baseline. With enough runs of both an interval follows. `None` where
/// there is nothing to compare.
pub(crate) fn ratio_of(cells: &[Cell], baseline: &Levels, cell: &Cell) -> Option<Ratio> {
    let base = baseline_of(cells, baseline, cell)?;
    let is_baseline = base.levels == cell.levels;
    if cell.in_turn.is_some() && !is_baseline {
        return cell.known_in_turn(Measure::Throughput).map(of_turns);
    }
    let judgement = judge(&cell.tps, &base.tps)?;
    let enough = cell.tps.len().min(base.tps.len()) >= FEWEST_RUNS && !is_baseline;
    let interval = judgement.interval.filter(|_| enough);
    Some(Ratio {
        value: judgement.ratio,
        interval: interval.map(|estimate| (estimate.low, estimate.high)),
        outcome: judgement.outcome,
        is_baseline,
    })
}

/// What is known of cells that were measured in turn: a ratio of slices next to each other, not of means.
fn of_turns(known: &dyno_archive::Ratio) -> Ratio {
    Ratio {
        value: known.ratio,
        interval: Some((known.low, known.high)),
        outcome: match differs(known.low, known.high) {
            Some(Ordering::Greater) => Outcome::Higher,
            Some(Ordering::Less) => Outcome::Lower,
            _ => Outcome::Unknown { more_runs: None },
        },
        is_baseline: false,
    }
}
