//! In what form values are wanted, which the server has to be told of some types before it sends any.
//!
//! LOBs come whole, as LONG and LONG RAW, so that a value takes no message of its own, as other databases send theirs.
//! JSON and vectors come as they are, with their locators. A server that executes such a query sends its columns but no
//! rows; it is told the forms with the first fetch, once for each cursor. From then on each execution is followed by a
//! fetch, as with Oracle's own drivers.

use super::{Column, oracle_type};
use crate::oracle::capabilities::UTF8;
use crate::oracle::writer::{write_number, write_optional};

/// The longest LONG, and the longest JSON or vector, in bytes.
const LONGEST_LONG: u64 = 0x7FFF_FFFF;
const LONGEST_JSON: u64 = 32 << 20;
const LONGEST_VECTOR: u64 = 1 << 20;

/// The room for a locator, in bytes.
const LOCATOR: u64 = 4000;

/// Values come with their locators.
const WITH_VALUE: u64 = 0x200_0000;

/// The version of fields in which descriptions became longer.
const WITH_COLUMN_ID: u8 = 8;

/// Whether the server has to be told in what form a query's columns are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::oracle) enum Wanted {
    /// It sends them without.
    #[default]
    AsTheyAre,
    /// It has to be.
    Untold,
    /// It was told, for this cursor.
    Told,
}

impl Wanted {
    /// What has to be told of these columns.
    pub(in crate::oracle) fn of(columns: &[Column]) -> Self {
        match columns.iter().any(Column::needs_form) {
            true => Self::Untold,
            false => Self::AsTheyAre,
        }
    }

    /// Whether rows come with an execution by the cursor.
    #[inline]
    pub(in crate::oracle) fn comes_at_once(self) -> bool {
        self == Self::AsTheyAre
    }
}

impl Column {
    /// Whether the server has to be told in what form it is wanted.
    fn needs_form(&self) -> bool {
        use oracle_type::{BLOB, CLOB, JSON, VECTOR};
        matches!(self.kind, CLOB | BLOB | JSON | VECTOR)
    }

    /// Takes note of the form that the server is told.
    pub(in crate::oracle) fn take_form(&mut self) {
        self.kind = match self.kind {
            oracle_type::CLOB => oracle_type::LONG,
            oracle_type::BLOB => oracle_type::LONG_RAW,
            other => other,
        };
    }

    /// Takes note of what the column was at an earlier execution by the same cursor: a server that finds a LOB where a
    /// text was sends it as LONG, without having been told.
    pub(in crate::oracle) fn take_after(&mut self, before: &Self) {
        use oracle_type::{BLOB, CHAR, CLOB, LONG, LONG_RAW, RAW, VARCHAR};
        if let (CLOB, CHAR | LONG | VARCHAR) | (BLOB, RAW | LONG_RAW) = (self.kind, before.kind) {
            self.take_form();
            self.form = before.form;
        }
    }

    /// Appends the form in which it is wanted, which it has taken.
    pub(in crate::oracle) fn write_form(&self, field_version: u8, out: &mut Vec<u8>) {
        use oracle_type::{BFILE, CHAR, JSON, LONG, LONG_RAW, VARCHAR, VECTOR};
        let (kind, size, with_value) = match self.kind {
            LONG | LONG_RAW => (self.kind, LONGEST_LONG, 0),
            JSON => (JSON, LONGEST_JSON, LONGEST_JSON),
            VECTOR => (VECTOR, LONGEST_VECTOR, LONGEST_VECTOR),
            BFILE => (BFILE, LOCATOR, 0),
            other => (other, self.size, 0),
        };
        let is_text = matches!(self.kind, VARCHAR | CHAR | LONG);
        // With indicators; precision and scale.
        out.extend_from_slice(&[kind, 1, 0, 0]);
        write_number(out, size);
        // No array.
        out.push(0);
        write_number(out, if with_value > 0 { WITH_VALUE } else { 0 });
        let (identifier, version) = match &self.object {
            Some((identifier, version)) => (&**identifier, *version),
            None => (&[][..], 0),
        };
        write_optional(out, identifier);
        write_number(out, version);
        write_number(out, if is_text { UTF8.into() } else { 0 });
        out.push(if is_text { self.form } else { 0 });
        write_number(out, with_value);
        if field_version >= WITH_COLUMN_ID {
            out.push(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: u8, field_version: u8) -> Vec<u8> {
        let mut column = Column::of("a", kind);
        column.take_form();
        let mut out = Vec::new();
        column.write_form(field_version, &mut out);
        out
    }

    #[test]
    fn lobs_are_wanted_whole_and_others_as_they_are() {
        assert_eq!(told(oracle_type::NUMBER, 24), b"\x02\x01\0\0\x01\x16\0\0\0\0\0\0\0\0");
        assert_eq!(
            told(oracle_type::CLOB, 24),
            b"\x08\x01\0\0\x04\x7f\xff\xff\xff\0\0\0\0\x02\x03\x69\x01\0\0"
        );
        assert_eq!(
            told(oracle_type::BLOB, 7),
            b"\x18\x01\0\0\x04\x7f\xff\xff\xff\0\0\0\0\0\0\0"
        );
        assert_eq!(
            told(oracle_type::JSON, 24),
            b"\x77\x01\0\0\x04\x02\0\0\0\0\x04\x02\0\0\0\0\0\0\0\x04\x02\0\0\0\0"
        );
    }

    #[test]
    fn only_some_types_have_to_be_told() {
        let wanted = |kinds: &[u8]| {
            let columns: Vec<_> = kinds.iter().map(|kind| Column::of("a", *kind)).collect();
            Wanted::of(&columns)
        };
        assert_eq!(wanted(&[oracle_type::NUMBER, oracle_type::BFILE]), Wanted::AsTheyAre);
        assert_eq!(wanted(&[oracle_type::NUMBER, oracle_type::VECTOR]), Wanted::Untold);
        let mut now = Column::of("a", oracle_type::CLOB);
        now.take_after(&Column::of("a", oracle_type::NUMBER));
        assert!(now.needs_form());
        now.take_after(&Column::of("a", oracle_type::VARCHAR));
        assert_eq!((now.needs_form(), now.kind), (false, oracle_type::LONG));
    }
}
