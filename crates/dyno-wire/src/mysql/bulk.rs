//! Many rows of values for one execution of a statement, as MariaDB takes them: nothing is parsed, and each row costs
//! the server about half of what it costs as text.

use super::packet::{begin, finish};
use super::statement::STRING;
use super::{MySession, MyStatement};

/// MariaDB documentation, "COM_STMT_BULK_EXECUTE".
const BULK_EXECUTE: u8 = 0xFA;

/// The types of the values are told.
const SEND_TYPES: u16 = 128;

/// An id that no statement has: the server says so.
const NONE: [u8; 4] = [0; 4];

impl MySession {
    /// Whether the server takes many rows of values at a time from a session that is [`to_load`](Self::to_load).
    #[must_use]
    pub fn takes_rows(&self) -> bool {
        self.takes_rows
    }

    /// Appends an execution of a statement, which was prepared before, with rows of values that `write` appends: for
    /// each value a byte, 0 or else 1 for NULL, and behind a 0 its text with its length before it, as the protocol has
    /// lengths.
    pub fn load_rows(&mut self, statement: &MyStatement, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        let start = begin(out);
        out.push(BULK_EXECUTE);
        out.extend_from_slice(&self.id_of(statement).unwrap_or(NONE));
        out.extend_from_slice(&SEND_TYPES.to_le_bytes());
        for _ in 0..statement.parameter_count() {
            out.extend_from_slice(&STRING);
        }
        write(out);
        finish(out, start, 0);
        self.sent_alone();
    }
}
