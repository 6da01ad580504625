//! From an experiment to the runs of a campaign.
//!
//! What an experiment varies are its *factors*, each with its *levels*. A *cell* is one combination of levels and
//! the exact work that follows from them; the cells are the product of all factors, less what the file excludes,
//! plus what it includes. Each cell is run once per *repetition*. The order of the runs follows from the seed
//! alone, so that it is the same on every machine.

mod build;
mod design;
mod error;
mod order;
mod range;
#[cfg(test)]
mod tests;

pub(crate) use build::{is_count_of, rank};
pub(crate) use design::Design;
pub use design::NoCells;
pub use error::PlanError;
pub(crate) use range::{pieces, range};

/// More cells than any campaign measures, and few enough to be kept in memory and in `campaign.json`.
pub(crate) const MOST_CELLS: usize = 10_000;

/// More runs than any campaign makes.
const MOST_RUNS: usize = 100_000;
