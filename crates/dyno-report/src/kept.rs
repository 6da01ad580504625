//! What dyno keeps for later runs, as a table.

use crate::figures::{bytes, duration};
use crate::table::unbroken;
use std::time::Duration;

/// Something that is kept.
#[derive(Clone, Debug)]
pub struct KeptRow {
    /// Its name.
    pub name: String,
    /// What it is.
    pub what: &'static str,
    /// Room that it takes.
    pub bytes: u64,
    /// For how long no run has used it, if that is known.
    pub unused: Option<Duration>,
    /// Whether a dyno uses it now.
    pub in_use: bool,
    /// Whether its bytes are counted by another row already.
    pub is_part: bool,
    /// Whether it will go, if that is said.
    pub goes: bool,
}

/// A line for each, and the sum.
#[must_use]
pub fn kept(title: &str, rows: impl Iterator<Item = KeptRow>) -> String {
    let rows: Vec<KeptRow> = rows.collect();
    if rows.is_empty() {
        return format!("{title}: nothing\n");
    }
    let total: u64 = rows.iter().filter(|row| !row.is_part).map(|row| row.bytes).sum();
    let lines = rows.iter().map(|row| {
        let used = match (row.in_use, row.unused) {
            (true, _) => "in use".to_owned(),
            (false, Some(unused)) => format!("{} ago", duration(Duration::from_secs(unused.as_secs()))),
            (false, None) => "not known".to_owned(),
        };
        let mark = if row.goes { "*" } else { "" };
        vec![
            mark.to_owned(),
            row.name.clone(),
            row.what.to_owned(),
            bytes(row.bytes),
            used,
        ]
    });
    let table = unbroken(&["", "name", "what", "size", "last used"], &[0, 1, 2], lines);
    format!("{title}: {}\n\n{table}", bytes(total))
}
