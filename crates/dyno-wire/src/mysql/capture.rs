//! Results that someone looks into.
//!
//! Rows are skipped as a rule; these are kept as text, whether they came as text or in the binary form of prepared
//! statements. Formats: MySQL source documentation, "Protocol::ColumnDefinition41", "Text Resultset Row", "Binary
//! Protocol Resultset".

use std::fmt::{Display, LowerExp};

use mysql_common::constants::ColumnType;

use super::malformed;
use super::packet::{read_number, read_text, take, take_array};
use crate::results::Room;
use crate::{CapturedResult, Row, WireError};

/// The first byte of a text that is NULL.
const NULL: u8 = 0xFB;
/// Set among a column's flags if its numbers have no sign.
const UNSIGNED: u16 = 32;
/// The number of decimals that means "as many as there are".
const NOT_FIXED: u8 = 31;

/// A reply has more results, or more columns, than any that is asked for.
const TOO_MANY: WireError = malformed("a reply has more results or columns than are kept");

/// What has been kept of the reply under way, or of the last one.
#[derive(Debug, Default)]
pub(super) struct Capture {
    /// The results that are complete.
    pub(super) results: Vec<CapturedResult>,
    /// The one under way.
    current: CapturedResult,
    /// What may still be kept.
    room: Room,
    columns: Vec<Column>,
}

/// What the values of a column look like in binary form.
#[derive(Debug, Clone, Copy)]
struct Column {
    kind: u8,
    unsigned: bool,
    decimals: u8,
}

impl Capture {
    /// A reply to be kept is to come.
    pub(super) fn start(&mut self) {
        // A result under way that an error has broken off is none of the next reply.
        self.current = CapturedResult::default();
        self.results.clear();
        self.room = Room::default();
    }

    /// A result with rows begins.
    pub(super) fn begin(&mut self) {
        self.columns.clear();
        self.current = CapturedResult {
            is_query: true,
            ..CapturedResult::default()
        };
    }

    /// Takes in a column's description, or the end of the descriptions.
    pub(super) fn describe(&mut self, body: &[u8]) -> Result<(), WireError> {
        if matches!(body, [0xFE, _, _, _, _]) {
            return Ok(());
        }
        let (name, column) = description(body).ok_or(malformed("a column's description is cut short"))?;
        self.room.for_column(&name).ok_or(TOO_MANY)?;
        self.current.columns.push(name);
        self.columns.push(column);
        Ok(())
    }

    /// Takes in a row.
    pub(super) fn row(&mut self, body: &[u8], binary: bool) -> Result<(), WireError> {
        let values = match binary {
            true => binary_row(body, &self.columns),
            false => text_row(body, self.columns.len()),
        };
        let row = values.ok_or(malformed("a row is cut short"))?;
        self.current.push(row, &mut self.room);
        Ok(())
    }

    /// The rows of a result are complete. Returns their number.
    pub(super) fn complete(&mut self) -> Result<u64, WireError> {
        let rows = self.current.rows;
        self.room.for_result().ok_or(TOO_MANY)?;
        self.results.push(std::mem::take(&mut self.current));
        Ok(rows)
    }

    /// A statement is done that has no rows. Behind results with rows that is how a server ends a CALL, and no result.
    pub(super) fn done(&mut self) -> Result<(), WireError> {
        if self.results.last().is_none_or(|result| !result.is_query) {
            self.room.for_result().ok_or(TOO_MANY)?;
            self.results.push(CapturedResult::default());
        }
        Ok(())
    }
}

fn description(mut rest: &[u8]) -> Option<(String, Column)> {
    let rest = &mut rest;
    // Catalogue, schema, table's alias and name.
    for _ in 0..4 {
        read_text(rest)?;
    }
    let name = text(read_text(rest)?);
    let _own_name = read_text(rest)?;
    // The length of what follows; character set, longest value.
    read_number(rest)?;
    take(rest, 6)?;
    let [kind, f1, f2, decimals] = take_array(rest)?;
    let unsigned = u16::from_le_bytes([f1, f2]) & UNSIGNED != 0;
    Some((
        name,
        Column {
            kind,
            unsigned,
            decimals,
        },
    ))
}

fn text_row(mut rest: &[u8], columns: usize) -> Option<Row> {
    let rest = &mut rest;
    (0..columns)
        .map(|_| match rest.first()? {
            &NULL => take(rest, 1).map(|_| None),
            _ => read_text(rest).map(|value| Some(text(value))),
        })
        .collect()
}

fn binary_row(mut rest: &[u8], columns: &[Column]) -> Option<Row> {
    let rest = &mut rest;
    take(rest, 1)?;
    // The first two bits are reserved.
    let nulls = take(rest, (columns.len() + 2).div_ceil(8))?;
    let values = columns.iter().enumerate().map(|(place, &column)| {
        let bit = place + 2;
        let null = nulls.get(bit / 8)? & (1 << (bit % 8)) != 0;
        if null {
            Some(None)
        } else {
            value(rest, column).map(Some)
        }
    });
    values.collect()
}

/// Takes a value in binary form off `rest`, as the text the server would have sent (of a FLOAT, all digits).
fn value(rest: &mut &[u8], column: Column) -> Option<String> {
    let is = |kind: ColumnType| column.kind == kind as u8;
    let number = if is(ColumnType::MYSQL_TYPE_TINY) {
        let byte = take_array::<1>(rest)?;
        signed(column, i8::from_le_bytes(byte).into(), u8::from_le_bytes(byte).into())
    } else if is(ColumnType::MYSQL_TYPE_SHORT) || is(ColumnType::MYSQL_TYPE_YEAR) {
        let bytes = take_array(rest)?;
        signed(
            column,
            i16::from_le_bytes(bytes).into(),
            u16::from_le_bytes(bytes).into(),
        )
    } else if is(ColumnType::MYSQL_TYPE_LONG) || is(ColumnType::MYSQL_TYPE_INT24) {
        let bytes = take_array(rest)?;
        signed(
            column,
            i32::from_le_bytes(bytes).into(),
            u32::from_le_bytes(bytes).into(),
        )
    } else if is(ColumnType::MYSQL_TYPE_LONGLONG) {
        let bytes = take_array(rest)?;
        signed(column, i64::from_le_bytes(bytes), u64::from_le_bytes(bytes))
    } else if is(ColumnType::MYSQL_TYPE_FLOAT) {
        let number = f32::from_le_bytes(take_array(rest)?);
        decimal(column, number, number.abs().into())
    } else if is(ColumnType::MYSQL_TYPE_DOUBLE) {
        let number = f64::from_le_bytes(take_array(rest)?);
        decimal(column, number, number.abs())
    } else if is(ColumnType::MYSQL_TYPE_DATE) {
        moment(rest, column)?.chars().take(10).collect()
    } else if is(ColumnType::MYSQL_TYPE_DATETIME) || is(ColumnType::MYSQL_TYPE_TIMESTAMP) {
        moment(rest, column)?
    } else if is(ColumnType::MYSQL_TYPE_TIME) {
        duration(rest, column)?
    } else {
        text(read_text(rest)?)
    };
    Some(number)
}

fn signed(column: Column, signed: i64, unsigned: u64) -> String {
    match column.unsigned {
        true => unsigned.to_string(),
        false => signed.to_string(),
    }
}

/// A floating-point number, with the column's decimals if it has a fixed number of them, else with as many as it takes;
/// from 10^15 on, and where it would begin with fifteen zeros, with an exponent, as servers write them.
fn decimal(column: Column, number: impl Display + LowerExp, size: f64) -> String {
    match (column.decimals, size) {
        (NOT_FIXED.., 1e15.. | ..1e-15) if size > 0.0 => format!("{number:e}"),
        (NOT_FIXED.., _) => number.to_string(),
        (decimals, _) => format!("{number:.*}", usize::from(decimals)),
    }
}

/// A date with a time; what is left out at its end is zero.
fn moment(rest: &mut &[u8], column: Column) -> Option<String> {
    let [y, y2, month, day, hour, minute, second, u, u2, u3, u4] = padded(rest)?;
    let year = u16::from_le_bytes([y, y2]);
    let fraction = fraction(column, u32::from_le_bytes([u, u2, u3, u4]));
    Some(format!(
        "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}"
    ))
}

/// A time, which may be longer than a day, and negative.
fn duration(rest: &mut &[u8], column: Column) -> Option<String> {
    let [negative, d, d2, d3, d4, hour, minute, second, u, u2, u3, u4] = padded(rest)?;
    let days = u64::from(u32::from_le_bytes([d, d2, d3, d4]));
    let hours = days * 24 + u64::from(hour);
    let sign = if negative == 0 { "" } else { "-" };
    let fraction = fraction(column, u32::from_le_bytes([u, u2, u3, u4]));
    Some(format!("{sign}{hours:02}:{minute:02}:{second:02}{fraction}"))
}

/// Takes a length and so many bytes off `rest`, and fills them up with zeros.
fn padded<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let [length] = take_array(rest)?;
    let bytes = take(rest, length.into())?;
    let mut padded = [0; N];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(padded)
}

/// The microseconds, with as many digits as the column has.
fn fraction(column: Column, micros: u32) -> String {
    match usize::from(column.decimals) {
        0 => String::new(),
        digits => format!(".{micros:06}").chars().take(1 + digits).collect(),
    }
}

fn text(bytes: &[u8]) -> String {
    dyno_text::decode(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: ColumnType, flags: u8, decimals: u8) -> Vec<u8> {
        let mut body = b"\x03def\x01b\x01t\x01t".to_vec();
        body.push(name.len() as u8);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&[0, 0x0c, 45, 0, 11, 0, 0, 0, kind as u8, flags, 0, decimals, 0, 0]);
        body
    }

    /// The texts of one binary value each.
    fn shown(kind: ColumnType, flags: u8, decimals: u8, value: &[u8]) -> Option<String> {
        let mut capture = Capture::default();
        capture.begin();
        capture.describe(&column("c", kind, flags, decimals)).unwrap();
        let row = [&[0, 0], value].concat();
        for length in 0..row.len() {
            assert!(capture.row(&row[..length], true).is_err(), "{length}");
        }
        capture.row(&row, true).unwrap();
        assert_eq!(capture.complete(), Ok(1));
        capture.results[0].last_row()[0].clone()
    }

    #[test]
    fn binary_values_are_shown_as_text() {
        use ColumnType::*;
        let double = |number: f64| number.to_le_bytes().to_vec();
        for (kind, flags, decimals, value, text) in [
            (MYSQL_TYPE_TINY, 0, 0, vec![0xFF], "-1"),
            (MYSQL_TYPE_TINY, 32, 0, vec![0xFF], "255"),
            (MYSQL_TYPE_YEAR, 32, 0, vec![0xEA, 7], "2026"),
            (MYSQL_TYPE_LONG, 0, 0, vec![0xFE, 0xFF, 0xFF, 0xFF], "-2"),
            (MYSQL_TYPE_LONGLONG, 32, 0, vec![0xFF; 8], "18446744073709551615"),
            (MYSQL_TYPE_FLOAT, 0, 31, 0.1_f32.to_le_bytes().to_vec(), "0.1"),
            (MYSQL_TYPE_DOUBLE, 0, 2, double(1.5), "1.50"),
            (MYSQL_TYPE_DOUBLE, 0, 31, double(1e14), "100000000000000"),
            (MYSQL_TYPE_DOUBLE, 0, 31, double(-1.5e15), "-1.5e15"),
            (MYSQL_TYPE_DOUBLE, 0, 31, double(1e-15), "0.000000000000001"),
            (MYSQL_TYPE_DOUBLE, 0, 31, double(1e-16), "1e-16"),
            (MYSQL_TYPE_DOUBLE, 0, 31, double(0.0), "0"),
            (MYSQL_TYPE_NEWDECIMAL, 0, 2, b"\x041.50".to_vec(), "1.50"),
            (MYSQL_TYPE_DATE, 128, 0, vec![4, 0xE8, 7, 2, 1], "2024-02-01"),
            (MYSQL_TYPE_DATE, 128, 0, vec![0], "0000-00-00"),
            (
                MYSQL_TYPE_DATETIME,
                128,
                0,
                vec![7, 0xE8, 7, 1, 31, 10, 11, 12],
                "2024-01-31 10:11:12",
            ),
            (
                MYSQL_TYPE_TIMESTAMP,
                128,
                3,
                vec![11, 0xE8, 7, 1, 31, 10, 11, 12, 0xA8, 0x43, 5, 0],
                "2024-01-31 10:11:12.345",
            ),
            (MYSQL_TYPE_TIME, 128, 0, vec![8, 1, 1, 0, 0, 0, 1, 1, 2], "-25:01:02"),
            (MYSQL_TYPE_TIME, 128, 1, vec![0], "00:00:00.0"),
            (MYSQL_TYPE_BLOB, 128, 0, b"\x03a\xe9b".to_vec(), "a\u{10ffe9}b"),
        ] {
            assert_eq!(shown(kind, flags, decimals, &value).as_deref(), Some(text), "{kind:?}");
        }
    }

    #[test]
    fn impossible_moments_are_refused() {
        let mut capture = Capture::default();
        capture.begin();
        capture
            .describe(&column("c", ColumnType::MYSQL_TYPE_DATETIME, 0, 6))
            .unwrap();
        assert!(capture.row(&[&[0, 0, 12][..], &[0; 12]].concat(), true).is_err());
    }

    #[test]
    fn nulls_are_told_by_bits_or_a_byte() {
        let mut capture = Capture::default();
        capture.begin();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            capture
                .describe(&column(name, ColumnType::MYSQL_TYPE_TINY, 0, 0))
                .unwrap();
        }
        capture.row(&[0, 0b1000_1000, 0b01, 1, 3, 4, 5, 7], true).unwrap();
        let expected = [Some("1"), None, Some("3"), Some("4"), Some("5"), None, None, Some("7")];
        let values = |capture: &Capture| -> Vec<Option<String>> { capture.current.last_row().to_vec() };
        assert_eq!(values(&capture), expected.map(|value| value.map(String::from)));
        let row = b"\x011\xfb\x013\x014\x015\xfb\xfb\x017";
        for length in 0..row.len() {
            assert!(capture.row(&row[..length], false).is_err(), "{length}");
        }
        capture.row(row, false).unwrap();
        assert_eq!(values(&capture), expected.map(|value| value.map(String::from)));
    }

    #[test]
    fn a_description_cut_short_anywhere_is_refused() {
        let body = column("name", ColumnType::MYSQL_TYPE_LONG, 0, 0);
        let mut capture = Capture::default();
        for length in 0..body.len() - 2 {
            assert!(capture.describe(&body[..length]).is_err(), "{length}");
        }
        capture.describe(&body).unwrap();
        assert_eq!(capture.current.columns, ["name"]);
    }
}
