//! A run before it is made.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A run of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Position in the plan, from 1.
    pub number: usize,
    /// The levels of the factors in this run; empty without factors.
    pub cell: IndexMap<String, String>,
    /// Which repetition of its cell it is, from 1.
    pub repetition: usize,
}

impl PlannedRun {
    /// A cell of its own, measured once or several times: repetition `number` of as many runs.
    #[must_use]
    pub fn repetition(number: usize) -> Self {
        Self {
            number,
            cell: IndexMap::new(),
            repetition: number,
        }
    }

    /// The name of its folder, such as `003-clients=16-rep1`.
    #[must_use]
    pub fn folder(&self) -> String {
        // File systems limit a name to 255 bytes; the number in front keeps it unique when it is cut.
        const LONGEST_CELL: usize = 180;
        let levels: Vec<_> = self
            .cell
            .iter()
            .map(|(factor, level)| format!("{factor}={level}"))
            .collect();
        let cell: String = levels.join(",").chars().map(harmless).take(LONGEST_CELL).collect();
        let cell = if cell.is_empty() { cell } else { format!("{cell}-") };
        format!("{:03}-{cell}rep{}", self.number, self.repetition)
    }
}

/// A character as it may stand in the name of a file anywhere.
pub(crate) fn harmless(character: char) -> char {
    if character.is_ascii_alphanumeric() || "-_=.,+%".contains(character) {
        character
    } else {
        '_'
    }
}
