//! From an experiment to the runs of a campaign.
//!
//! What an experiment varies are its *factors*, each with its *levels*. A *cell* is one combination of levels and the exact work that follows from
//! them; the cells are the product of all factors, less what the file excludes, plus what it includes. Each cell is run once per *repetition*. The
//! order of the runs follows from the seed alone, so that it is the same on every machine.

mod build;
mod design;
mod error;
mod order;
mod range;
pub mod room;
#[cfg(test)]
mod tests;

pub(crate) use build::{is_count_of, rank};
pub(crate) use design::Design;
pub use design::NoCells;
pub use error::PlanError;
pub(crate) use range::range;

pub use crate::experiment::{ErrorLimit, OnFailure, Order};

use crate::archive::PlannedRun;
use crate::experiment::Resolved;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// More cells than any campaign measures, and few enough to be kept in memory and in `campaign.json`.
pub(crate) const MOST_CELLS: usize = 10_000;

/// More runs than any campaign makes.
const MOST_RUNS: usize = 100_000;

/// One level for each of some factors, in the order of the factors.
pub type Levels = IndexMap<String, String>;

/// Everything a campaign is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is varied; empty if nothing is.
    pub factors: Vec<Factor>,
    /// The different things to measure, at least one, as listed.
    pub cells: Vec<Cell>,
    /// The runs in the order in which they are to be made, at least one per cell.
    pub runs: Vec<PlannedRun>,
    /// How that order came about.
    pub order: Order,
    /// What to do after a run that failed.
    pub on_failure: OnFailure,
    /// With how many errors a run still counts.
    pub max_errors: ErrorLimit,
    /// Cells with these levels are what the others are compared with; empty: none are.
    pub baseline: Levels,
    /// What the order, and all random numbers of the runs, follow from.
    pub seed: u64,
}

/// Something that is varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// What it is called in the file: a parameter, setting and so on.
    pub name: String,
    /// Its different values, without passwords, in the order of the file.
    pub levels: Vec<String>,
    /// What each level stands for, if levels are names; else empty.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub meanings: IndexMap<String, Levels>,
}

/// One combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The level of each factor; empty without factors.
    pub levels: Levels,
    /// What is to be done, with nothing left open.
    pub experiment: Resolved,
}

impl Plan {
    /// The cell that `run` measures; `None` if it is no run of this plan.
    #[must_use]
    pub fn cell_of(&self, run: &PlannedRun) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.levels == run.cell)
    }

    /// The cell of each run, in the order of the runs. Each cell is looked at once, however many runs there are.
    pub fn cells_of_runs(&self) -> impl Iterator<Item = &Cell> {
        // Cells name the same factors in the same order.
        fn key(levels: &Levels) -> Vec<&str> {
            levels.values().map(String::as_str).collect()
        }
        let cells: HashMap<_, _> = self.cells.iter().map(|cell| (key(&cell.levels), cell)).collect();
        self.runs
            .iter()
            .filter_map(move |run| cells.get(&key(&run.cell)).copied())
    }
}
