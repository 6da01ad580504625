//! Results that a program asked for.

/// How much is kept of the rows of one reply, in bytes of memory.
pub const MOST_KEPT: usize = 16 << 20;

/// How much all else of the results of one reply may take, in bytes of memory: more than any that is asked for.
const MOST_DESCRIBED: usize = 16 << 20;

/// A row's values as text, `None` for NULL. Text that is not UTF-8 is kept as [`dyno_text`] says.
pub type Row = Vec<Option<String>>;

/// What was kept of one query's result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedResult {
    /// Whether it is one that returns rows, even if there were none.
    pub is_query: bool,
    /// The columns' names.
    pub columns: Vec<String>,
    /// How many rows there were.
    pub rows: u64,
    /// The rows: all of them, or the last one alone if they take more than [`MOST_KEPT`].
    pub kept: Vec<Row>,
}

/// A result is too large to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the results of one statement take more than {} MiB ({rows} rows in one of them), which is as much as is kept; \
     select fewer rows or columns",
    MOST_KEPT >> 20
)]
pub struct ResultTooLarge {
    /// How many rows it has.
    pub rows: u64,
}

/// What may still be kept of one reply, in bytes of memory.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    rows: usize,
    /// Of the results themselves and the names of their columns.
    descriptions: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            rows: MOST_KEPT,
            descriptions: MOST_DESCRIBED,
        }
    }
}

impl Room {
    /// Makes room for a result; `None`: there is none left.
    pub(crate) fn for_result(&mut self) -> Option<()> {
        self.describe(size_of::<CapturedResult>())
    }

    /// Makes room for a column of this name.
    pub(crate) fn for_column(&mut self, name: &str) -> Option<()> {
        self.describe(size_of::<String>() + name.len())
    }

    fn describe(&mut self, size: usize) -> Option<()> {
        self.descriptions = self.descriptions.checked_sub(size)?;
        Some(())
    }
}

impl CapturedResult {
    /// The values of the last row; empty if there was none.
    pub fn last_row(&self) -> &[Option<String>] {
        self.kept.last().map_or(&[], Vec::as_slice)
    }

    /// All rows.
    ///
    /// # Errors
    /// They were too many.
    pub fn all_rows(&self) -> Result<&[Row], ResultTooLarge> {
        match self.is_whole() {
            true => Ok(&self.kept),
            false => Err(ResultTooLarge { rows: self.rows }),
        }
    }

    fn is_whole(&self) -> bool {
        self.kept.len() as u64 == self.rows
    }

    /// Takes in the next row, as far as there is room.
    pub fn push(&mut self, row: Row, room: &mut Room) {
        let text: usize = row.iter().flatten().map(String::len).sum();
        let size = size_of::<Row>() + row.len() * size_of::<Option<String>>() + text;
        match room.rows.checked_sub(size) {
            Some(left) if self.is_whole() => room.rows = left,
            // The last one is always kept.
            _ if self.kept.len() > 1 => self.kept = Vec::new(),
            _ => self.kept.clear(),
        }
        self.kept.push(row);
        self.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        vec![Some(text.to_owned()), None]
    }

    fn room_for(rows: usize) -> Room {
        Room {
            rows,
            ..Room::default()
        }
    }

    #[test]
    fn all_rows_are_kept_while_there_is_room() {
        let mut result = CapturedResult::default();
        assert_eq!(result.last_row(), []);
        assert_eq!(result.all_rows(), Ok(&[][..]));
        let mut room = room_for(1000);
        for text in ["a", "b", "c"] {
            result.push(row(text), &mut room);
        }
        assert_eq!(result.all_rows(), Ok(&["a", "b", "c"].map(row)[..]));
        assert!(room.rows < 1000);
    }

    #[test]
    fn of_rows_without_room_the_last_one_is_kept_and_all_are_counted() {
        let mut result = CapturedResult::default();
        let mut room = room_for(300);
        for number in 1..=1000_u64 {
            result.push(row(&number.to_string()), &mut room);
            assert_eq!(
                (result.rows, result.last_row()),
                (number, &row(&number.to_string())[..])
            );
        }
        assert_eq!(result.kept.len(), 1);
        let error = result.all_rows().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the results of one statement take more than 16 MiB (1000 rows in one of them), which is as much as is \
             kept; select fewer rows or columns"
        );
        // A later result of the same reply has what room is left.
        let mut next = CapturedResult::default();
        next.push(row(&"x".repeat(1000)), &mut room);
        assert!(next.all_rows().is_ok());
        next.push(row("y"), &mut room_for(0));
        assert!(next.all_rows().is_err());
    }

    #[test]
    fn there_is_room_for_many_results_but_not_for_any_number() {
        let mut room = Room::default();
        let name = "x".repeat(64);
        let columns = (0..).take_while(|_| room.for_column(&name).is_some()).count();
        assert!((100_000..1_000_000).contains(&columns), "{columns}");
        let mut room = Room::default();
        let results = (0..).take_while(|_| room.for_result().is_some()).count();
        assert!((100_000..1_000_000).contains(&results), "{results}");
    }
}
