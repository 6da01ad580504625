//! Which of several factors matter: cells are measured in pairs, one pair after the other, each in turn with its mirror
//! image, in which every factor has its other value.
//!
//! A pair is what [`turns`] measures, for a fixed time: its servers are up together and its two runs are kept as any
//! others. What pairs say about the factors is worked out when all are there, and what is known is written
//! after each, so that a campaign goes on where it was interrupted.

mod kept;
mod plan;
mod told;

pub use dyno_stats::MOST_FACTORS;
pub(super) use kept::Kept;
pub use plan::{MeasuringTime, ScreenError, screening};
pub(super) use told::OfPair;

use super::turns;
use dyno_archive::plan::{Cell, Plan};
use std::time::Duration;

/// Slices in a block.
const BLOCK: u32 = 4;

/// How many whole blocks of slices fit into `time`.
fn blocks_in(time: Duration, slice: Duration) -> u32 {
    let block = slice.as_nanos().saturating_mul(u128::from(BLOCK)).max(1);
    u32::try_from(time.as_nanos() / block).unwrap_or(u32::MAX)
}

/// How many pairs a plan has.
pub(super) fn pairs(plan: &Plan) -> usize {
    plan.runs.len() / 2
}

/// A pair as a plan of its own: the mirror image first, with which the variant is compared.
pub(super) fn pair(plan: &Plan, number: usize) -> Plan {
    let runs: Vec<_> = plan.runs.iter().skip(2 * number).take(2).cloned().collect();
    Plan {
        factors: plan.factors.clone(),
        cells: runs.iter().filter_map(|run| plan.cell_of(run).cloned()).collect(),
        runs,
        baseline: plan.baseline.clone(),
        published: plan.published.clone(),
        defaults: plan.defaults.clone(),
        capacity: None,
        turns: plan.turns.clone(),
        // Each pair has its own draw of whose turn it is.
        seed: plan.seed.wrapping_add(number as u64),
        ..*plan
    }
}

/// What is driven at once: of each pair one cell that has both, with the levels of the variant.
pub(super) fn driven(plan: &Plan) -> Result<Plan, turns::TurnsError> {
    let both = |number: usize| {
        let pair = pair(plan, number);
        let levels = pair.cells.last().map(|cell| cell.levels.clone()).unwrap_or_default();
        let one = turns::one(&pair)?.cells.into_iter();
        Ok(one.map(move |cell| Cell {
            levels: levels.clone(),
            ..cell
        }))
    };
    let cells = (0..pairs(plan)).map(both).collect::<Result<Vec<_>, _>>()?;
    Ok(Plan {
        cells: cells.into_iter().flatten().collect(),
        ..plan.clone()
    })
}
