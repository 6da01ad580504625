//! Messages of the server, one at a time.

use super::authentication::Pairs;
use super::capabilities::{self, Abilities};
use super::column::{Column, skip_place};
use super::reader::{Reader, Reading, Unread};
use super::server_error::NO_DATA;
use crate::Row;

/// The types of messages.
mod kind {
    pub(super) const ERROR: u8 = 4;
    pub(super) const ROW_HEADER: u8 = 6;
    pub(super) const ROW: u8 = 7;
    pub(super) const PARAMETERS: u8 = 8;
    pub(super) const STATUS: u8 = 9;
    pub(super) const VECTOR: u8 = 11;
    pub(super) const WARNING: u8 = 15;
    pub(super) const DESCRIPTION: u8 = 16;
    pub(super) const FLUSH: u8 = 19;
    pub(super) const BITS: u8 = 21;
    pub(super) const PIGGYBACK: u8 = 23;
    pub(super) const END_OF_RESPONSE: u8 = 29;
    pub(super) const TOKEN: u8 = 33;
}

/// The version of fields in which the end of a response became longer.
const WITH_CHECKSUM: u8 = 14;

/// A length that says that values are in pieces.
const PIECES: u8 = 254;

/// In the status of a call: a transaction is open.
const IN_TRANSACTION: u64 = 2;

/// A place of PL/SQL's values that only goes in.
const GOES_IN: u8 = 32;

/// More values than PL/SQL can have.
const MOST_BINDS: usize = 65_536;

/// What a message says.
#[derive(Debug)]
pub(super) enum Message {
    /// Nothing that matters.
    Nothing,
    /// What the server speaks.
    Protocol(Abilities),
    /// How the server represents what.
    DataTypes,
    /// Values of the log-in.
    Pairs(Pairs),
    /// The columns of the rows to come.
    Columns(Vec<Column>),
    /// How many of PL/SQL's values come back.
    GivenBack(usize),
    /// A row, or values that come back; with its text if somebody looks into it.
    Row(Option<Row>),
    /// A row is to come with a column of which nobody knows where its values end.
    Unpassable,
    /// The server waits for us to ask for the values that come back.
    Flush,
    /// Something is to be noticed.
    Warning(u32, Vec<u8>),
    /// A call is over.
    End(End),
    /// A call that says nothing but its status is over.
    Status { in_transaction: bool },
    /// Nothing more comes in response to a request.
    EndOfResponse,
}

/// How a call ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct End {
    pub(super) in_transaction: bool,
    /// The cursor, or 0.
    pub(super) cursor: u32,
    /// The error's number, or 0.
    pub(super) code: u32,
    /// Where in the text the error lies, in bytes, if that is known.
    pub(super) position: Option<u32>,
    /// How many rows were touched.
    pub(super) rows: u64,
    /// What the error says.
    pub(super) text: Vec<u8>,
}

/// What has to be known for rows to be read.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) columns: Vec<Column>,
    /// Whether somebody looks into them.
    pub(super) shown: bool,
    /// Whether the types of some columns are unknown.
    pub(super) is_unpassable: bool,
    /// How many of PL/SQL's values come back.
    pub(super) given_back: usize,
    /// Of the next row, which columns are sent; the others are those of the row before.
    bits: Vec<u8>,
    has_bits: bool,
    /// The row before.
    pub(super) previous: Row,
}

impl Rows {
    /// A response begins, to which nothing of an earlier one belongs.
    pub(super) fn begin(&mut self) {
        self.has_bits = false;
        self.given_back = 0;
    }

    /// The columns of a statement that is over.
    pub(super) fn forget(&mut self) {
        self.columns.clear();
        self.is_unpassable = false;
    }

    fn is_sent(&self, column: usize) -> bool {
        let bits = self.bits.get(column / 8);
        !self.has_bits || bits.is_none_or(|bits| bits & 1 << (column % 8) != 0)
    }

    fn set_bits(&mut self, bits: &[u8]) {
        self.bits.clear();
        self.bits.extend_from_slice(bits);
        self.has_bits = true;
    }

    #[inline]
    fn read(&mut self, reader: &mut Reader<'_>, field_version: u8) -> Reading<Message> {
        if self.given_back > 0 {
            for _ in 0..self.given_back {
                reader.skip_value()?;
                reader.skip_number()?;
            }
            return Ok(Message::Nothing);
        }
        if self.columns.is_empty() {
            return Err(Unread::Malformed("a row comes that nobody has described"));
        }
        let row = match self.shown {
            true => Some(self.read_shown(reader, field_version)?),
            false => {
                for (at, column) in self.columns.iter().enumerate() {
                    if self.is_sent(at) {
                        column.skip(reader, field_version)?;
                    }
                }
                None
            }
        };
        self.has_bits = false;
        Ok(Message::Row(row))
    }

    fn read_shown(&mut self, reader: &mut Reader<'_>, field_version: u8) -> Reading<Row> {
        let mut row = Vec::with_capacity(self.columns.len());
        for (at, column) in self.columns.iter().enumerate() {
            let value = match self.is_sent(at) {
                true if column.is_shown() => column.read_value(reader)?,
                true => {
                    column.skip(reader, field_version)?;
                    None
                }
                false => self.previous.get(at).cloned().flatten(),
            };
            row.push(value);
        }
        self.previous.clone_from(&row);
        Ok(row)
    }
}

/// Reads the next message. Nothing is changed before it is whole.
#[inline]
pub(super) fn read(reader: &mut Reader<'_>, abilities: Abilities, logs_in: bool, rows: &mut Rows) -> Reading<Message> {
    match reader.byte()? {
        kind::ROW if rows.is_unpassable => Ok(Message::Unpassable),
        kind::ROW => rows.read(reader, abilities.field_version),
        kind::END_OF_RESPONSE => Ok(Message::EndOfResponse),
        kind::ERROR => read_end(reader, abilities.field_version).map(Message::End),
        kind::STATUS => {
            let status = reader.number()?;
            reader.skip_number()?;
            Ok(Message::Status {
                in_transaction: status & IN_TRANSACTION != 0,
            })
        }
        kind::ROW_HEADER => read_header(reader, rows),
        kind::BITS => {
            reader.skip_number()?;
            let bits = reader.take(rows.columns.len().div_ceil(8))?;
            rows.set_bits(bits);
            Ok(Message::Nothing)
        }
        kind::PARAMETERS if logs_in => Pairs::read(reader).map(Message::Pairs),
        kind::PARAMETERS => skip_parameters(reader),
        other => read_rare(other, reader, abilities),
    }
}

#[cold]
fn read_rare(kind: u8, reader: &mut Reader<'_>, mut abilities: Abilities) -> Reading<Message> {
    Ok(match kind {
        kind::DESCRIPTION => Message::Columns(Column::read_all(reader, abilities.field_version)?),
        kind::VECTOR => Message::GivenBack(read_vector(reader)?),
        kind::WARNING => {
            let number = reader.number32()?;
            let length = reader.number()?;
            reader.skip_number()?;
            match number > 0 && length > 0 {
                true => Message::Warning(number, reader.value()?.unwrap_or_default().into_owned()),
                false => Message::Nothing,
            }
        }
        kind::FLUSH => Message::Flush,
        kind::PIGGYBACK => {
            skip_piggyback(reader)?;
            Message::Nothing
        }
        kind::TOKEN => {
            reader.skip_number()?;
            Message::Nothing
        }
        capabilities::PROTOCOL => {
            abilities.read_protocol(reader)?;
            Message::Protocol(abilities)
        }
        capabilities::DATA_TYPES => {
            Abilities::read_data_types(reader)?;
            Message::DataTypes
        }
        _ => return Err(Unread::Malformed("a message is of an unknown type")),
    })
}

/// How rows come.
fn read_header(reader: &mut Reader<'_>, rows: &mut Rows) -> Reading<Message> {
    reader.byte()?;
    // Requests, iterations, a buffer's length.
    reader.skip_numbers(4)?;
    let length = reader.count()?;
    let bits = match length {
        0 => None,
        _ => {
            reader.byte()?;
            Some(reader.take(length)?)
        }
    };
    reader.skip_optional()?;
    if let Some(bits) = bits {
        rows.set_bits(bits);
    }
    Ok(Message::Nothing)
}

/// How many of the values of PL/SQL come back.
fn read_vector(reader: &mut Reader<'_>) -> Reading<usize> {
    reader.byte()?;
    let (low, high) = (reader.count()?, reader.count()?);
    reader.skip_numbers(2)?;
    reader.skip_counted()?;
    reader.skip_counted()?;
    let count = high.saturating_mul(256).saturating_add(low);
    if count > MOST_BINDS {
        return Err(Unread::Malformed("PL/SQL has more values than there can be"));
    }
    let ways = reader.take(count)?;
    Ok(ways.iter().filter(|way| **way != GOES_IN).count())
}

fn skip_parameters(reader: &mut Reader<'_>) -> Reading<Message> {
    let count = reader.count()?;
    skip_each(reader, count, Reader::skip_number)?;
    reader.skip_counted()?;
    skip_pairs(reader)?;
    reader.skip_counted()?;
    Ok(Message::Nothing)
}

/// Passes over so many of something. They are not counted before they have come, so no number takes long.
fn skip_each<'a>(
    reader: &mut Reader<'a>,
    count: usize,
    mut skip: impl FnMut(&mut Reader<'a>) -> Reading<()>,
) -> Reading<()> {
    (0..count).try_for_each(|_| skip(reader))
}

fn skip_pairs(reader: &mut Reader<'_>) -> Reading<()> {
    let count = reader.count()?;
    skip_listed_pairs(reader, count)
}

fn skip_listed_pairs(reader: &mut Reader<'_>, count: usize) -> Reading<()> {
    skip_each(reader, count, |reader| {
        reader.skip_optional()?;
        reader.skip_optional()?;
        reader.skip_number()
    })
}

/// Passes over what the server says of its own accord.
fn skip_piggyback(reader: &mut Reader<'_>) -> Reading<()> {
    match reader.byte()? {
        // Invalidated results, traces.
        1 | 3 => Ok(()),
        // The server's process.
        2 => {
            reader.skip_number()?;
            reader.skip_value()
        }
        // The session.
        4 => {
            reader.skip_number()?;
            reader.byte()?;
            let count = reader.count()?;
            if count > 0 {
                reader.byte()?;
            }
            skip_listed_pairs(reader, count)?;
            reader.skip_numbers(3)
        }
        // Settings of the session.
        5 => {
            reader.skip_number()?;
            reader.byte()?;
            let count = reader.count()?;
            reader.byte()?;
            skip_listed_pairs(reader, count)?;
            reader.skip_number()
        }
        // The transaction's identifier.
        7 => reader.skip_optional(),
        // Replays.
        8 => {
            reader.skip_number()?;
            reader.byte()?;
            reader.skip_numbers(2)?;
            reader.byte()?;
            reader.skip_optional()
        }
        9 => {
            reader.skip_number()?;
            reader.byte().map(drop)
        }
        // Signatures of the session.
        10 => {
            reader.skip_number()?;
            reader.byte()?;
            reader.skip_numbers(3)
        }
        _ => Err(Unread::Malformed(
            "the server says something unknown beside the response",
        )),
    }
}

#[inline]
fn read_end(reader: &mut Reader<'_>, field_version: u8) -> Reading<End> {
    let status = reader.number()?;
    // The number of the call, the row, the error in short, elements of arrays.
    reader.skip_numbers(5)?;
    let cursor = reader.number32()?;
    let position = reader.signed()?;
    // The kind of statement, flags.
    reader.take(6)?;
    skip_place(reader)?;
    // The system's error.
    reader.skip_number()?;
    // The numbers of statement and call.
    reader.take(2)?;
    reader.skip_numbers(2)?;
    reader.skip_optional()?;
    skip_batch_errors(reader)?;
    let code = reader.number32()?;
    let rows = reader.number()?;
    if field_version >= WITH_CHECKSUM {
        reader.skip_numbers(2)?;
    }
    let text = match code {
        0 => Vec::new(),
        // It comes with most queries, and says nothing.
        NO_DATA => {
            reader.skip_value()?;
            Vec::new()
        }
        _ => reader.value()?.unwrap_or_default().into_owned(),
    };
    Ok(End {
        in_transaction: status & IN_TRANSACTION != 0,
        cursor,
        code,
        position: u32::try_from(position).ok().filter(|position| *position > 0),
        rows,
        text,
    })
}

/// Passes over the errors of single rows: their codes, the rows, their texts.
#[inline]
fn skip_batch_errors(reader: &mut Reader<'_>) -> Reading<()> {
    for _ in 0..2 {
        let count = reader.count()?;
        if count == 0 {
            continue;
        }
        let pieces = reader.byte()? == PIECES;
        skip_each(reader, count, |reader| {
            if pieces {
                reader.skip_number()?;
            }
            reader.skip_number()
        })?;
        if pieces {
            reader.byte()?;
        }
    }
    let count = reader.count()?;
    if count > 0 {
        reader.byte()?;
    }
    skip_each(reader, count, |reader| {
        reader.skip_number()?;
        reader.skip_value()?;
        reader.take(2).map(drop)
    })
}

#[cfg(test)]
mod tests {
    use super::super::column::oracle_type::{NUMBER, VARCHAR};
    use super::*;

    fn rows(shown: bool) -> Rows {
        Rows {
            columns: vec![Column::of("a", NUMBER), Column::of("b", VARCHAR)],
            shown,
            ..Rows::default()
        }
    }

    fn text(row: Option<Row>) -> String {
        let values = row.unwrap().into_iter().map(|value| value.unwrap_or("NULL".into()));
        values.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn repeated_columns_are_those_of_the_row_before() {
        let stream =
            b"\x07\x02\xc1\x02\x01x\x15\x01\x01\x02\x07\x01y\x15\x01\x01\x01\x07\x02\xc1\x03\x07\x02\xc1\x04\0";
        let mut reader = Reader::new(stream);
        let mut rows = rows(true);
        let mut seen = Vec::new();
        while reader.left() > 0 {
            if let Message::Row(row) = read(&mut reader, Abilities::default(), false, &mut rows).unwrap() {
                seen.push(text(row));
            }
        }
        assert_eq!(seen, ["1 x", "1 y", "2 y", "3 NULL"]);
    }

    #[test]
    fn bits_may_come_with_the_header() {
        let stream = b"\x06\0\0\0\0\0\x01\x01\x01\x02\0\x07\x01y";
        let mut reader = Reader::new(stream);
        let mut rows = rows(true);
        rows.previous = vec![Some("7".into()), Some("x".into())];
        assert!(matches!(
            read(&mut reader, Abilities::default(), false, &mut rows),
            Ok(Message::Nothing)
        ));
        match read(&mut reader, Abilities::default(), false, &mut rows) {
            Ok(Message::Row(row)) => assert_eq!(text(row), "7 y"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_row_needs_columns() {
        let read_row = |mut rows: Rows| {
            read(
                &mut Reader::new(b"\x07\x01\x80"),
                Abilities::default(),
                false,
                &mut rows,
            )
        };
        assert!(matches!(read_row(Rows::default()), Err(Unread::Malformed(_))));
        let unknown = Rows {
            columns: vec![Column::of("a", 111)],
            is_unpassable: true,
            ..Rows::default()
        };
        assert!(matches!(read_row(unknown), Ok(Message::Unpassable)));
        assert!(matches!(read_row(rows(false)), Err(Unread::Short)));
    }

    #[test]
    fn no_number_of_parts_takes_long() {
        for stream in [
            &b"\x08\x08\xff\xff\xff\xff\xff\xff\xff\xff\0"[..],
            b"\x0b\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\0",
            b"\x10\0\0\x08\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let mut reader = Reader::new(stream);
            assert!(read(&mut reader, Abilities::default(), false, &mut Rows::default()).is_err());
        }
    }
}
