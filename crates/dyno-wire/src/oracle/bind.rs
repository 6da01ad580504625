//! The values of an execution, as they travel.
//!
//! Oracle is told the types of values apart from the values, and parses a statement's new types anew. So a value is
//! given the type that its place has had on this connection, as far as that can hold it: a text never becomes a number
//! again. What looks like a number is one at first, because a column of numbers compared with text, or the other way
//! round, is compared as numbers, and the index of a text column then cannot be used: a script that looks one up by
//! digits writes `to_char(:x)`. All texts up to 4,000 bytes are announced as one type, so that their lengths make no
//! versions of a statement.

use super::column::oracle_type;
use super::number;
use super::writer::{insert_length, write_number};
use crate::Parameters;

/// The type of a value's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bind {
    /// NULL so far.
    Null,
    /// A number.
    Number,
    /// A text as long as any column of usual servers holds.
    Text,
    /// A text as long as PL/SQL holds, and columns of servers that are set so.
    LongText,
    /// A longer one.
    Stream,
}

impl Bind {
    /// The type for a text of this length, in bytes.
    fn of_text(length: usize) -> Self {
        match length {
            0..=4000 => Self::Text,
            4001..=32_767 => Self::LongText,
            _ => Self::Stream,
        }
    }

    /// Its number and the longest value, in bytes.
    fn announced(self) -> (u8, u64) {
        match self {
            Self::Number => (oracle_type::NUMBER, 22),
            Self::Null | Self::Text => (oracle_type::VARCHAR, 4000),
            Self::LongText => (oracle_type::VARCHAR, 32_767),
            Self::Stream => (oracle_type::LONG, 0x7FFF_FFFF),
        }
    }

    /// Appends what the server is told of it.
    pub(super) fn write(self, field_version: u8, out: &mut Vec<u8>) {
        let (kind, size) = self.announced();
        // With indicators; precision and scale.
        out.extend_from_slice(&[kind, 1, 0, 0]);
        write_number(out, size);
        // No array; flags, the type's identifier and version.
        out.extend_from_slice(&[0, 0, 0, 0]);
        match kind {
            oracle_type::NUMBER => out.extend_from_slice(&[0, 0]),
            _ => {
                write_number(out, super::capabilities::UTF8.into());
                out.push(1);
            }
        }
        out.push(0);
        if field_version >= 8 {
            out.push(0);
        }
    }
}

/// One execution's values and their types.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Binds {
    /// The types of all places.
    pub(super) types: Vec<Bind>,
    /// The values in the order of their places, but for those that come last.
    values: Vec<u8>,
    /// Values that are longer than columns can hold, which Oracle wants last.
    late: Vec<u8>,
}

impl Binds {
    /// No values yet, of these types.
    pub(super) fn of_types(types: Vec<Bind>) -> Self {
        Self {
            types,
            ..Self::default()
        }
    }

    pub(super) fn clear(&mut self) {
        self.types.clear();
        self.values.clear();
        self.late.clear();
    }

    /// Takes in the values of an execution, whose places had these types before. `order` says which value each place
    /// has. Values beyond `longest` bytes come last.
    #[inline]
    pub(super) fn fill(&mut self, parameters: &impl Parameters, order: &[usize], before: &[Bind], longest: usize) {
        self.clear();
        for (place, &value) in order.iter().enumerate() {
            let before = before.get(place).copied().unwrap_or(Bind::Null);
            let kind = self.push(parameters, value, before, longest);
            self.types.push(kind);
        }
    }

    #[inline]
    fn push(&mut self, parameters: &impl Parameters, value: usize, before: Bind, longest: usize) -> Bind {
        let out = &mut self.values;
        let at = out.len();
        out.push(0);
        // A value that was not given is NULL: the statement is made for as many as there are.
        if value >= parameters.len() || !parameters.write(value, out) {
            out.truncate(at);
            out.push(0);
            return before;
        }
        if before <= Bind::Number && !parameters.is_text(value) {
            let mut digits = [0; number::LONGEST];
            if let Some(length) = number::encode(&out[at + 1..], &mut digits) {
                out.truncate(at + 1);
                out.extend_from_slice(&digits[..length]);
                insert_length(out, at);
                return Bind::Number;
            }
        }
        let length = out.len() - at - 1;
        let kind = Bind::of_text(length).max(before);
        insert_length(out, at);
        if length > longest {
            let late = out.split_off(at);
            self.late.extend_from_slice(&late);
        }
        kind
    }

    /// Takes in one more row of values, whose types are fixed.
    pub(super) fn push_row(&mut self, row: &impl Parameters) {
        for (value, kind) in self.types.iter().enumerate() {
            let out = &mut self.values;
            let at = out.len();
            out.push(0);
            if value >= row.len() || !row.write(value, out) {
                out.truncate(at);
                out.push(0);
                continue;
            }
            if *kind == Bind::Number {
                let mut digits = [0; number::LONGEST];
                let length = number::encode(&out[at + 1..], &mut digits).unwrap_or(0);
                out.truncate(at + 1);
                out.extend_from_slice(&digits[..length]);
            }
            insert_length(out, at);
        }
    }

    pub(super) fn push_byte(&mut self, byte: u8) {
        self.values.push(byte);
    }

    pub(super) fn clear_values(&mut self) {
        self.values.clear();
    }

    /// How much room the values take, in bytes.
    pub(super) fn size(&self) -> usize {
        self.values.len() + self.late.len()
    }

    /// Appends the values.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.values);
        out.extend_from_slice(&self.late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Values(&'static [Option<&'static str>], bool);

    impl Parameters for Values {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn is_text(&self, _index: usize) -> bool {
            self.1
        }

        fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
            out.extend_from_slice(self.0[index].unwrap_or("left over").as_bytes());
            self.0[index].is_some()
        }
    }

    fn filled(values: &Values, before: &[Bind]) -> (Vec<Bind>, Vec<u8>) {
        let order: Vec<usize> = (0..values.len()).collect();
        let mut binds = Binds::default();
        binds.fill(values, &order, before, 4000);
        let mut out = Vec::new();
        binds.write(&mut out);
        (binds.types, out)
    }

    #[test]
    fn values_are_numbers_or_texts() {
        let values = Values(&[Some("7"), Some("abc"), None, Some("-12.75")], false);
        let (types, out) = filled(&values, &[]);
        assert_eq!(types, [Bind::Number, Bind::Text, Bind::Null, Bind::Number]);
        assert_eq!(out, b"\x02\xc1\x08\x03abc\0\x04\x3e\x59\x1a\x66");
        assert_eq!(
            filled(&Values(&[Some("7")], true), &[]),
            (vec![Bind::Text], b"\x017".to_vec())
        );
    }

    #[test]
    fn a_place_that_had_a_text_gets_texts() {
        let values = Values(&[Some("7"), Some("x"), None, Some("x")], false);
        let before = [Bind::Text, Bind::Number, Bind::Number, Bind::LongText];
        let (types, out) = filled(&values, &before);
        assert_eq!(types, [Bind::Text, Bind::Text, Bind::Number, Bind::LongText]);
        assert_eq!(out, b"\x017\x01x\0\x01x");
    }

    #[test]
    fn long_values_come_last() {
        let long = "y".repeat(4001);
        let values = Values(vec![Some(&*long.leak()), Some("x")].leak(), false);
        let (types, out) = filled(&values, &[]);
        assert_eq!(types, [Bind::LongText, Bind::Text]);
        assert_eq!(out[..5], [1, b'x', 254, 2, 0x0F]);
    }

    #[test]
    fn a_value_that_was_not_given_is_null() {
        let mut binds = Binds::default();
        binds.fill(&(), &[0], &[], 4000);
        assert_eq!((binds.types, binds.values), (vec![Bind::Null], vec![0]));
    }
}
