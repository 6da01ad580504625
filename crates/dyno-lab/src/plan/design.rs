//! What is varied, and which combinations are measured.

use super::{Levels, OnFailure, Order};
use indexmap::IndexMap;

/// Factors and what is said about their combinations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Design {
    /// The levels of each factor, different ones, at least one each.
    pub factors: IndexMap<String, Vec<String>>,
    /// How often each cell is measured, at least once.
    pub repetitions: usize,
    /// In which order.
    pub order: Order,
    /// What to do after a run that failed.
    pub on_failure: OnFailure,
    /// Cells with these levels are what the others are compared with.
    pub baseline: Levels,
    /// Cells with these levels are left out.
    pub exclude: Vec<Levels>,
    /// Cells that are measured although the product does not have them.
    pub include: Vec<Levels>,
}

impl Default for Design {
    fn default() -> Self {
        Self {
            factors: IndexMap::new(),
            repetitions: 1,
            order: Order::default(),
            on_failure: OnFailure::default(),
            baseline: Levels::new(),
            exclude: Vec::new(),
            include: Vec::new(),
        }
    }
}

impl Design {
    /// Gives a factor, new or not, these levels. What was said about levels that it had before no longer applies.
    pub fn vary(&mut self, factor: &str, levels: Vec<String>) {
        let applies = |cell: &Levels| cell.get(factor).is_none_or(|level| levels.contains(level));
        self.exclude.retain(applies);
        self.include.retain(applies);
        if !applies(&self.baseline) {
            self.baseline.clear();
        }
        self.factors.insert(factor.to_owned(), levels);
    }

    /// The cells: the product of all factors, the last of which changes fastest, less what is excluded, then what is included.
    pub fn cells(&self) -> Vec<Levels> {
        let mut cells = vec![Levels::new()];
        for (factor, levels) in &self.factors {
            let each = |cell: Levels| {
                levels.iter().map(move |level| {
                    let mut cell = cell.clone();
                    cell.insert(factor.clone(), level.clone());
                    cell
                })
            };
            cells = cells.into_iter().flat_map(each).collect();
        }
        cells
    }
}
