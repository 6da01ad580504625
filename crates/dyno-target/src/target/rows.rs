//! Rows that a server gives for a statement of an experiment's author, as text and few enough to be kept.

use super::passwords::CUT;

/// Of more rows the others are counted only.
pub const MOST_ROWS: usize = 1_000;

/// A value is kept to this many characters.
const MOST_CHARACTERS: usize = 2_000;

/// The rows of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextRows {
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The first rows, [`MOST_ROWS`] at most; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// How many there were.
    pub number: u64,
}

/// What came of asking for rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The server gave them.
    Rows(TextRows),
    /// It did not, for this reason.
    Refused(String),
}

impl TextRows {
    /// Takes in the next row, as far as it is kept.
    pub(crate) fn push(&mut self, row: impl Iterator<Item = Option<String>>) {
        self.number += 1;
        if self.rows.len() < MOST_ROWS {
            let clipped = row.map(|value| value.map(|value| clipped(&value)));
            self.rows.push(clipped.collect());
        }
    }
}

/// A value of bounded length, in lines as it has them.
fn clipped(value: &str) -> String {
    match value.chars().count() > MOST_CHARACTERS {
        true => value.chars().take(MOST_CHARACTERS).chain([CUT]).collect(),
        false => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_kept_and_all_are_counted() {
        let mut rows = TextRows::default();
        for number in 0..=MOST_ROWS {
            rows.push([Some(number.to_string()), None].into_iter());
        }
        assert_eq!((rows.rows.len(), rows.number), (MOST_ROWS, MOST_ROWS as u64 + 1));
        assert_eq!(rows.rows[7], [Some("7".to_owned()), None]);
        rows.rows.clear();
        rows.push([Some("ä".repeat(MOST_CHARACTERS + 1)), Some("a\nb".to_owned())].into_iter());
        let lengths: Vec<_> = rows.rows[0]
            .iter()
            .flatten()
            .map(|value| value.chars().count())
            .collect();
        assert_eq!(lengths, [MOST_CHARACTERS + 1, 3]);
    }
}
