//! Many rows of values for one execution of a statement: nothing is parsed, and one message carries them all.

use super::bind::{Bind, Binds};
use super::session::OraSession;
use super::statement::OraStatement;
use crate::Parameters;

/// Begins a row of values, but for the first.
const ROW: u8 = 7;

/// Rows of values, all of whose columns keep their types: text, or numbers.
#[derive(Debug, Clone)]
pub struct OraRows {
    binds: Binds,
    rows: u64,
}

impl OraRows {
    /// No rows yet, of columns that are numbers or else text.
    #[must_use]
    pub fn new(numbers: &[bool]) -> Self {
        let types = numbers
            .iter()
            .map(|number| if *number { Bind::Number } else { Bind::Text });
        Self {
            binds: Binds::of_types(types.collect()),
            rows: 0,
        }
    }

    /// Takes in a row. What is no number, in a column of numbers, becomes NULL there, and so does a missing value.
    pub fn push(&mut self, row: &impl Parameters) {
        if self.rows > 0 {
            self.binds.push_byte(ROW);
        }
        self.binds.push_row(row);
        self.rows += 1;
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.rows
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// How much room they take, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.binds.size()
    }

    /// Drops all rows, and keeps their room.
    pub fn clear(&mut self) {
        self.binds.clear_values();
        self.rows = 0;
    }
}

impl OraSession {
    /// Appends an execution of a statement of the prepared protocol with many rows of values, of which there is at
    /// least one. One that fails leaves the rows before it, unless a transaction is open that is rolled back.
    pub fn load_rows(&mut self, statement: &OraStatement, rows: &OraRows, out: &mut Vec<u8>) {
        self.load(statement, &rows.binds, rows.rows, out);
    }
}
