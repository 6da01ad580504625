//! What is varied, and which combinations are measured.

use crate::experiment::plan::MOST_CELLS;
use dyno_archive::plan::{ErrorLimit, Levels, OnFailure, Order};
use indexmap::{IndexMap, IndexSet};

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
    /// With how many errors a run still counts.
    pub max_errors: ErrorLimit,
    /// Cells with these levels are what the others are compared with.
    pub baseline: Levels,
    /// Cells with these levels are left out.
    pub exclude: Vec<Levels>,
    /// Cells that are measured although the product does not have them.
    pub include: Vec<Levels>,
}

/// Why there are no cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCells {
    /// There are more combinations than can be planned.
    #[error(
        "the levels of the factors have {combinations} combinations, but a campaign can have at most {MOST_CELLS} \
         cells; reduce the number of factors or levels"
    )]
    TooMany {
        /// How many.
        combinations: usize,
    },
    /// Nothing is left.
    #[error("every combination of levels is excluded, so there is nothing to measure")]
    AllExcluded,
}

impl Default for Design {
    fn default() -> Self {
        Self {
            factors: IndexMap::new(),
            repetitions: 1,
            order: Order::default(),
            on_failure: OnFailure::default(),
            max_errors: ErrorLimit::default(),
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

    /// The cells: the product of all factors, the last of which changes fastest, less what is excluded, then what
    /// is included. An included cell that does not name a factor is one with each of its levels.
    pub fn cells(&self) -> Result<Vec<Levels>, NoCells> {
        let mut cells: IndexSet<Vec<&String>> = IndexSet::new();
        let free = Levels::new();
        for cell in self.product(&free)? {
            if !self.exclude.iter().any(|excluded| self.matches(excluded, &cell)) {
                cells.insert(cell);
            }
        }
        for included in &self.include {
            cells.extend(self.product(included)?);
            self.check(cells.len())?;
        }
        if cells.is_empty() {
            return Err(NoCells::AllExcluded);
        }
        let named = |cell: Vec<&String>| self.factors.keys().cloned().zip(cell.into_iter().cloned()).collect();
        Ok(cells.into_iter().map(named).collect())
    }

    /// Whether `levels` are among those of `cell`, which has a level for each factor in their order.
    fn matches(&self, levels: &Levels, cell: &[&String]) -> bool {
        levels.iter().all(|(factor, level)| {
            let position = self.factors.get_index_of(factor);
            position.and_then(|position| cell.get(position)) == Some(&level)
        })
    }

    /// The product of all factors but those that `fixed` gives a level.
    fn product<'a>(&'a self, fixed: &'a Levels) -> Result<Vec<Vec<&'a String>>, NoCells> {
        let levels_of = |(factor, levels): (&String, &'a Vec<String>)| -> Vec<&'a String> {
            fixed
                .get(factor)
                .map_or_else(|| levels.iter().collect(), |level| vec![level])
        };
        let levels: Vec<_> = self.factors.iter().map(levels_of).collect();
        self.check(
            levels
                .iter()
                .fold(1, |count: usize, levels| count.saturating_mul(levels.len())),
        )?;
        let mut cells = vec![Vec::new()];
        for levels in levels {
            let each = |cell: Vec<&'a String>| {
                let with = |level: &&'a String| [cell.as_slice(), &[*level]].concat();
                levels.iter().map(with).collect::<Vec<_>>()
            };
            cells = cells.into_iter().flat_map(each).collect();
        }
        Ok(cells)
    }

    fn check(&self, combinations: usize) -> Result<(), NoCells> {
        if combinations > MOST_CELLS {
            return Err(NoCells::TooMany { combinations });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels<const N: usize>(levels: [(&str, &str); N]) -> Levels {
        levels.map(|(name, level)| (name.to_owned(), level.to_owned())).into()
    }

    fn design() -> Design {
        let mut design = Design::default();
        design.vary("a", vec!["1".to_owned(), "2".to_owned()]);
        design.vary("b", vec!["x".to_owned(), "y".to_owned()]);
        design
    }

    fn cells(design: &Design) -> String {
        let text = |cell: Levels| cell.into_values().collect::<String>();
        design
            .cells()
            .unwrap()
            .into_iter()
            .map(text)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn cells_are_the_product_less_exclusions_plus_inclusions() {
        let mut design = design();
        assert_eq!(cells(&Design::default()), "");
        assert_eq!(cells(&design), "1x 1y 2x 2y");
        design.exclude = vec![levels([("a", "1"), ("b", "y")])];
        design.include = vec![levels([("a", "3"), ("b", "x")]), levels([("a", "2"), ("b", "x")])];
        assert_eq!(cells(&design), "1x 2x 2y 3x");
        design.exclude = vec![levels([("b", "y")]), levels([("b", "x")])];
        assert_eq!(cells(&design), "3x 2x");
        design.include.clear();
        assert_eq!(design.cells(), Err(NoCells::AllExcluded));
    }

    #[test]
    fn what_was_said_of_levels_ends_with_them() {
        let mut design = design();
        design.exclude = vec![levels([("a", "1")])];
        design.include = vec![levels([("a", "3"), ("b", "x")])];
        design.baseline = levels([("a", "2")]);
        design.vary("b", vec!["x".to_owned()]);
        assert_eq!(cells(&design), "2x 3x");
        design.vary("a", vec!["1".to_owned(), "3".to_owned()]);
        assert_eq!((cells(&design).as_str(), design.baseline.len()), ("3x", 0));
        design.vary("a", vec!["4".to_owned()]);
        assert_eq!(cells(&design), "4x");
    }

    #[test]
    fn a_new_factor_multiplies_included_cells() {
        let mut design = design();
        design.include = vec![levels([("a", "3"), ("b", "x")])];
        design.vary("c", vec!["p".to_owned(), "q".to_owned()]);
        assert!(cells(&design).ends_with(" 3xp 3xq"));
    }

    #[test]
    fn the_product_is_limited() {
        let mut design = Design::default();
        let many: Vec<_> = (0..200).map(|number| number.to_string()).collect();
        design.vary("a", many.clone());
        design.vary("b", many);
        assert_eq!(design.cells(), Err(NoCells::TooMany { combinations: 40_000 }));
    }
}
