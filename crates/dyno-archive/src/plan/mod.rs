//! What is to be measured, with nothing left open: the cells of a campaign, the exact work of each, and the order
//! of its runs.
//!
//! Experiment files and command lines are resolved into this before anything starts. The archive keeps it, so that
//! a campaign can be resumed, shown and compared without the file that it came from.

mod address;
mod asked;
mod choice;
mod error_limit;
mod exact;
mod load_hosts;
mod place;
mod planned_run;
mod published;
mod resolved;
mod scripts;
mod secret;
mod server;
mod shared;
mod value;

pub use address::Address;
pub use asked::{Check, Expect, Limit, Question, When, rows_in_words};
pub use choice::{Cache, Driver, OnFailure, Order, Path, Protocol, Size, State};
pub use error_limit::ErrorLimit;
pub use load_hosts::{LoadHosts, OnLostHost};
pub use place::{Place, padded};
pub use planned_run::PlannedRun;
pub(crate) use planned_run::harmless;
pub use published::{Publication, PublishedFigure};
pub use resolved::{Data, Fill, GRACE, MEASURE, Phase, Prepare, Resolved, RowFile, RowLayout, Stage, WARMUP, Workload};
pub use scripts::{LuaScript, LuaSettings, Script, Scripts, WeightedScript};
pub use secret::{shown_option, shown_parameter};
pub use server::{Foreign, FurtherServer, Instances, MAIN};
pub use shared::SharedDefaults;
pub use value::{Span, Value};

use crate::{CapacitySearch, Screening, Turns};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

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
    /// What the experiment's source published.
    pub published: Publication,
    /// What the experiment has from the file that its folder shares.
    pub defaults: SharedDefaults,
    /// Whether cells are measured in turn rather than one after the other: all of them, in a run each, or those of each
    /// pair of a screening.
    pub turns: Option<Turns>,
    /// Whether the runs are made in pairs, each measured in turn, one pair after the other: the two runs of a pair
    /// follow each other, that of the mirror image first. A cell may be measured in several pairs.
    pub screen: Option<Screening>,
    /// Whether its only run seeks the highest load that holds limits.
    pub capacity: Option<CapacitySearch>,
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
