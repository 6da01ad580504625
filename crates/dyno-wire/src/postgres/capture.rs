//! Results that someone looks into: column names and the rows of each query. Rows are skipped as a rule.
//!
//! Layout of RowDescription and DataRow: PostgreSQL documentation, "Message Formats".

use super::malformed;
use crate::results::Room;
use crate::{CapturedResult, Row, WireError};

/// A reply has more results, or more columns, than any that is asked for.
const TOO_MANY: WireError = malformed("a reply has more results or columns than are kept");

/// What has been kept of the reply under way, or of the last one.
#[derive(Debug, Default)]
pub(super) struct Capture {
    /// The queries that are complete.
    pub(super) results: Vec<CapturedResult>,
    /// The one under way.
    current: CapturedResult,
    /// What may still be kept.
    room: Room,
}

impl Capture {
    /// A reply to be kept is to come.
    pub(super) fn start(&mut self) {
        // A result under way that an error has broken off is none of the next reply.
        self.current = CapturedResult::default();
        self.results.clear();
        self.room = Room::default();
    }

    /// Takes in a RowDescription.
    pub(super) fn describe(&mut self, body: &[u8]) -> Result<(), WireError> {
        let malformed = malformed("a row description is cut short");
        let (count, mut rest) = body.split_first_chunk::<2>().ok_or(malformed.clone())?;
        let count = u16::from_be_bytes(*count);
        self.current = CapturedResult {
            is_query: true,
            ..CapturedResult::default()
        };
        for _ in 0..count {
            let end = rest.iter().position(|&byte| byte == 0).ok_or(malformed.clone())?;
            let name = text(&rest[..end]);
            self.room.for_column(&name).ok_or(TOO_MANY)?;
            self.current.columns.push(name);
            // Table, column, type, length, modifier and format of the column follow its name.
            rest = rest.get(end + 1 + 18..).ok_or(malformed.clone())?;
        }
        Ok(())
    }

    /// Takes in a DataRow.
    pub(super) fn row(&mut self, body: &[u8]) -> Result<(), WireError> {
        let malformed = malformed("a row is cut short");
        let (count, mut rest) = body.split_first_chunk::<2>().ok_or(malformed.clone())?;
        let mut row = Row::new();
        for _ in 0..u16::from_be_bytes(*count) {
            let (length, after) = rest.split_first_chunk::<4>().ok_or(malformed.clone())?;
            rest = after;
            // A negative length stands for NULL.
            let value = match usize::try_from(i32::from_be_bytes(*length)) {
                Err(_) => None,
                Ok(length) => {
                    let (value, after) = rest.split_at_checked(length).ok_or(malformed.clone())?;
                    rest = after;
                    Some(text(value))
                }
            };
            row.push(value);
        }
        self.current.push(row, &mut self.room);
        Ok(())
    }

    /// A query is complete.
    pub(super) fn complete(&mut self) -> Result<(), WireError> {
        self.room.for_result().ok_or(TOO_MANY)?;
        self.results.push(std::mem::take(&mut self.current));
        Ok(())
    }
}

fn text(bytes: &[u8]) -> String {
    dyno_text::decode(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_cut_short_anywhere_are_refused() {
        let description = b"\0\x02a\0tttt##TTTTllmmmmffb\0tttt##TTTTllmmmmff";
        let row = b"\0\x02\0\0\0\x01x\xff\xff\xff\xff";
        let mut capture = Capture::default();
        capture.describe(description).unwrap();
        capture.row(row).unwrap();
        capture.complete().unwrap();
        let result = &capture.results[0];
        assert_eq!(result.columns, ["a", "b"]);
        assert_eq!(result.last_row(), [Some("x".into()), None]);
        for length in 0..description.len() {
            assert!(capture.describe(&description[..length]).is_err(), "{length}");
        }
        for length in 0..row.len() {
            assert!(capture.row(&row[..length]).is_err(), "{length}");
        }
    }
}
