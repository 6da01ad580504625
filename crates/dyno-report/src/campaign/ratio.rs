//! How a cell compares with the one that the experiment declares to be the baseline.

use super::cells::{Cell, Levels};
use crate::figures::decimal;
use dyno_stats::{CONFIDENCE, ratio_of_means};

/// Of fewer runs an interval says nothing.
const FEWEST_RUNS: usize = 3;

/// The TPS of `cell` as a ratio to that of its baseline: the cell that has the `baseline` levels and else the same. With enough runs of both an
/// interval follows. `-` where there is nothing to compare.
pub(super) fn ratio(cells: &[Cell], baseline: &Levels, cell: &Cell) -> String {
    let is_baseline = |other: &&Cell| {
        other
            .levels
            .iter()
            .all(|(factor, level)| baseline.get(factor).or_else(|| cell.levels.get(factor)) == Some(level))
    };
    let Some(base) = cells.iter().find(is_baseline) else {
        return "-".to_owned();
    };
    if base.levels == cell.levels {
        return "1".to_owned();
    }
    match (cell.mean_tps(), base.mean_tps()) {
        (Some(tps), Some(base_tps)) if base_tps > 0.0 => {
            let ratio = decimal(tps / base_tps, 2);
            let enough = cell.tps.len().min(base.tps.len()) >= FEWEST_RUNS;
            match ratio_of_means(&cell.tps, &base.tps, CONFIDENCE).filter(|_| enough) {
                Some(interval) => format!("{ratio} [{}–{}]", decimal(interval.low, 2), decimal(interval.high, 2)),
                None => ratio,
            }
        }
        _ => "-".to_owned(),
    }
}
