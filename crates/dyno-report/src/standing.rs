//! Private servers that run for other tools, in a table.

use crate::table::unbroken;

/// A line for each: its name, what it is, its address, since when it runs, and the experiment whose data it has.
#[must_use]
pub fn servers(rows: &[[String; 5]]) -> String {
    let lines = rows.iter().map(|row| row.to_vec());
    unbroken(
        &["name", "server", "address", "since", "data of"],
        &[0, 1, 2, 3, 4],
        lines,
    )
}
