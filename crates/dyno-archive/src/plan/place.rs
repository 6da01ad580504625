//! Where the SQL of the data stands in its file, and texts from whose beginning lines are counted as in theirs.

use serde::{Deserialize, Serialize};

/// Where a text stands. Needed for messages only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// What messages call it: the experiment file, with the text's key if the lines are counted in the text.
    pub name: String,
    /// Lines, and characters in the line it begins in, that stand before the text in the file of that name.
    pub offset: (usize, usize),
}

/// `text` with blanks for the lines and characters that stand before it in its file: messages then count lines as
/// an editor does.
#[must_use]
pub fn padded(text: &str, (lines, characters): (usize, usize)) -> String {
    ["\n".repeat(lines), " ".repeat(characters), text.to_owned()].concat()
}
