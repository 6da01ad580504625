//! Private servers that run for other tools, in a table.

use crate::table::{Page, listed};

/// A line for each: its name, what it is, since when it runs, the experiment whose data it has, and its address; on a
/// `page` that is not so wide more.
#[must_use]
pub fn servers(rows: &[[String; 5]], page: Option<Page>) -> String {
    let lines = rows.iter().map(|row| row.to_vec());
    listed(
        &["name", "server", "since", "data of", "address"],
        &[0, 1, 2, 3, 4],
        lines,
        page,
    )
}
