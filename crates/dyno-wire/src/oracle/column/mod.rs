//! Columns as the server describes them, and their values.
//!
//! A result is fetched whatever types its columns have: values that nobody looks into are passed over ([`pass`]), which
//! takes no more than to know where they end. Some types come only once the server has been told in what form they are
//! wanted ([`define`]).

mod define;
mod pass;

pub(super) use define::Wanted;
pub(super) use pass::skip_place;

use std::borrow::Cow;

use super::moment;
use super::number;
use super::reader::{Reader, Reading, Unread};

/// The types of columns, by Oracle's numbers.
pub(super) mod oracle_type {
    pub(in super::super) const VARCHAR: u8 = 1;
    pub(in super::super) const NUMBER: u8 = 2;
    pub(in super::super) const LONG: u8 = 8;
    pub(in super::super) const ROWID: u8 = 11;
    pub(in super::super) const DATE: u8 = 12;
    pub(in super::super) const RAW: u8 = 23;
    pub(in super::super) const LONG_RAW: u8 = 24;
    pub(in super::super) const CHAR: u8 = 96;
    pub(in super::super) const BINARY_FLOAT: u8 = 100;
    pub(in super::super) const BINARY_DOUBLE: u8 = 101;
    pub(in super::super) const CURSOR: u8 = 102;
    pub(in super::super) const OBJECT: u8 = 109;
    pub(in super::super) const CLOB: u8 = 112;
    pub(in super::super) const BLOB: u8 = 113;
    pub(in super::super) const BFILE: u8 = 114;
    pub(in super::super) const JSON: u8 = 119;
    pub(in super::super) const VECTOR: u8 = 127;
    pub(in super::super) const TIMESTAMP: u8 = 180;
    pub(in super::super) const TIMESTAMP_TZ: u8 = 181;
    pub(in super::super) const INTERVAL_YM: u8 = 182;
    pub(in super::super) const INTERVAL_DS: u8 = 183;
    pub(in super::super) const UROWID: u8 = 208;
    pub(in super::super) const TIMESTAMP_LTZ: u8 = 231;
    pub(in super::super) const BOOLEAN: u8 = 252;
}

/// The versions of fields in which descriptions became longer.
const WITH_COLUMN_ID: u8 = 8;
const WITH_DOMAIN: u8 = 17;
const WITH_ANNOTATIONS: u8 = 20;
const WITH_VECTOR: u8 = 24;

/// Text of this form is UTF-16.
const NATIONAL: u8 = 2;

/// More columns than a table or a query can have.
const MOST_COLUMNS: usize = 4096;

/// A column of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: Box<str>,
    kind: u8,
    form: u8,
    /// The longest value, in bytes.
    size: u64,
    /// Whether it is always NULL and takes no room in rows.
    is_empty: bool,
    /// The identifier of an object type, and its version.
    object: Option<(Box<[u8]>, u64)>,
}

impl Column {
    /// Reads the description of a query's columns, behind its type.
    pub(super) fn read_all(reader: &mut Reader<'_>, field_version: u8) -> Reading<Vec<Self>> {
        reader.skip_value()?;
        Self::read_described(reader, field_version)
    }

    /// Reads the description of columns, whosever they are.
    fn read_described(reader: &mut Reader<'_>, field_version: u8) -> Reading<Vec<Self>> {
        // The length of a row.
        reader.skip_number()?;
        let count = reader.count()?;
        if count > MOST_COLUMNS {
            return Err(Unread::Malformed("a result has more columns than there can be"));
        }
        if count > 0 {
            reader.byte()?;
        }
        let columns = (0..count)
            .map(|_| Self::read(reader, field_version))
            .collect::<Reading<_>>()?;
        // The current date, flags, the key of a cache.
        reader.skip_optional()?;
        reader.skip_numbers(4)?;
        reader.skip_optional()?;
        Ok(columns)
    }

    fn read(reader: &mut Reader<'_>, field_version: u8) -> Reading<Self> {
        let kind = reader.byte()?;
        // Flags, precision, scale.
        reader.take(3)?;
        let size = reader.number()?;
        // Elements of an array, flags.
        reader.skip_numbers(2)?;
        let identifier = reader.optional()?;
        let version = reader.number()?;
        // The character set.
        reader.skip_number()?;
        let form = reader.byte()?;
        reader.skip_number()?;
        if field_version >= WITH_COLUMN_ID {
            reader.skip_number()?;
        }
        // Whether it may be NULL, the length of its name.
        reader.take(2)?;
        let name = text(&reader.optional()?, 0);
        // The schema and the name of its type; its position, flags.
        reader.skip_optional()?;
        reader.skip_optional()?;
        reader.skip_numbers(2)?;
        if field_version >= WITH_DOMAIN {
            reader.skip_optional()?;
            reader.skip_optional()?;
        }
        if field_version >= WITH_ANNOTATIONS {
            skip_annotations(reader)?;
        }
        if field_version >= WITH_VECTOR {
            reader.skip_number()?;
            reader.take(2)?;
        }
        let takes_room = matches!(kind, oracle_type::LONG | oracle_type::LONG_RAW | oracle_type::UROWID);
        Ok(Self {
            name: name.into(),
            kind,
            form,
            size,
            is_empty: size == 0 && !takes_room,
            object: (!identifier.is_empty()).then(|| (identifier.into(), version)),
        })
    }

    /// Whether its values can be shown as text. Those of LOBs can, as they come as LONG and LONG RAW.
    pub(super) fn is_shown(&self) -> bool {
        use oracle_type::{
            BINARY_DOUBLE, BINARY_FLOAT, BLOB, CHAR, CLOB, DATE, LONG, LONG_RAW, NUMBER, RAW, TIMESTAMP, TIMESTAMP_TZ,
            VARCHAR,
        };
        matches!(
            self.kind,
            VARCHAR
                | NUMBER
                | LONG
                | DATE
                | RAW
                | LONG_RAW
                | CHAR
                | BINARY_FLOAT
                | BINARY_DOUBLE
                | CLOB
                | BLOB
                | TIMESTAMP
                | TIMESTAMP_TZ
        )
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> Cow<'static, str> {
        let name = match self.kind {
            oracle_type::ROWID => "ROWID",
            oracle_type::CURSOR => "REF CURSOR",
            oracle_type::OBJECT => "XMLTYPE or another object type",
            oracle_type::CLOB => "CLOB",
            oracle_type::BLOB => "BLOB",
            oracle_type::BFILE => "BFILE",
            oracle_type::JSON => "JSON",
            oracle_type::VECTOR => "VECTOR",
            oracle_type::INTERVAL_YM => "INTERVAL YEAR TO MONTH",
            oracle_type::INTERVAL_DS => "INTERVAL DAY TO SECOND",
            oracle_type::UROWID => "UROWID",
            oracle_type::TIMESTAMP_LTZ => "TIMESTAMP WITH LOCAL TIME ZONE",
            oracle_type::BOOLEAN => "BOOLEAN",
            other => return format!("number {other}").into(),
        };
        name.into()
    }

    /// Reads a value that can be shown.
    pub(super) fn read_value(&self, reader: &mut Reader<'_>) -> Reading<Option<String>> {
        if self.is_empty {
            return Ok(None);
        }
        let value = reader.value()?;
        if matches!(self.kind, oracle_type::LONG | oracle_type::LONG_RAW) {
            reader.skip_numbers(2)?;
        }
        let Some(value) = value else {
            return Ok(None);
        };
        let shown = match self.kind {
            oracle_type::NUMBER => number::decode(&value),
            oracle_type::DATE | oracle_type::TIMESTAMP | oracle_type::TIMESTAMP_TZ => moment::decode(&value),
            oracle_type::BINARY_DOUBLE => value.as_array().map(|bytes| double(*bytes).to_string()),
            oracle_type::BINARY_FLOAT => value.as_array().map(|bytes| float(*bytes).to_string()),
            oracle_type::RAW | oracle_type::LONG_RAW => Some(hex::encode_upper(&value)),
            _ => Some(text(&value, self.form)),
        };
        shown.map(Some).ok_or(Unread::Malformed("a value is none of its type"))
    }
}

/// Passes over what is said about a column for people and programs.
fn skip_annotations(reader: &mut Reader<'_>) -> Reading<()> {
    if reader.count()? == 0 {
        return Ok(());
    }
    reader.byte()?;
    let count = reader.count()?;
    reader.byte()?;
    for _ in 0..count {
        // The key, the value, flags.
        reader.skip_optional()?;
        reader.skip_optional()?;
        reader.skip_number()?;
    }
    reader.skip_number()
}

/// Text in the session's character set, or in UTF-16.
fn text(bytes: &[u8], form: u8) -> String {
    if form != NATIONAL {
        return dyno_text::decode(bytes).into_owned();
    }
    let units = bytes.chunks(2).map(|unit| match *unit {
        [high, low] => u16::from_be_bytes([high, low]),
        _ => 0xFFFD,
    });
    char::decode_utf16(units)
        .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// A number in floating point; its bytes are in the order of the numbers.
fn double(mut bytes: [u8; 8]) -> f64 {
    in_order(&mut bytes);
    f64::from_be_bytes(bytes)
}

fn float(mut bytes: [u8; 4]) -> f32 {
    in_order(&mut bytes);
    f32::from_be_bytes(bytes)
}

fn in_order(bytes: &mut [u8]) {
    match bytes.first_mut() {
        Some(first) if *first & 0x80 != 0 => *first &= 0x7F,
        _ => bytes.iter_mut().for_each(|byte| *byte = !*byte),
    }
}

#[cfg(test)]
impl Column {
    /// A column of this name and type.
    pub(super) fn of(name: &str, kind: u8) -> Self {
        Self {
            name: name.into(),
            kind,
            form: 1,
            size: 22,
            is_empty: false,
            object: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kind: u8, bytes: &[u8]) -> Reading<Option<String>> {
        let column = Column::of("a", kind);
        let mut reader = Reader::new(bytes);
        let mut skipping = reader;
        let value = column.read_value(&mut reader);
        if value.is_ok() {
            assert_eq!(column.skip(&mut skipping, 24), Ok(()));
            assert_eq!((reader.left(), skipping.left()), (0, 0));
        }
        value
    }

    fn some(text: &str) -> Reading<Option<String>> {
        Ok(Some(text.to_owned()))
    }

    #[test]
    fn values_are_shown_as_text() {
        assert_eq!(shown(oracle_type::VARCHAR, b"\x02ab"), some("ab"));
        assert_eq!(shown(oracle_type::VARCHAR, b"\0"), Ok(None));
        assert_eq!(shown(oracle_type::NUMBER, b"\x02\xc1\x02"), some("1"));
        assert_eq!(shown(oracle_type::RAW, b"\x02\x00\xff"), some("00FF"));
        assert_eq!(
            shown(oracle_type::BINARY_DOUBLE, b"\x08\xbf\xf8\0\0\0\0\0\0"),
            some("1.5")
        );
        assert_eq!(
            shown(oracle_type::BINARY_DOUBLE, b"\x08\x40\x07\xff\xff\xff\xff\xff\xff"),
            some("-1.5")
        );
        assert_eq!(shown(oracle_type::BINARY_FLOAT, b"\x04\xbf\xc0\0\0"), some("1.5"));
        assert_eq!(shown(oracle_type::LONG, b"\x02ab\0\0"), some("ab"));
        assert!(matches!(
            shown(oracle_type::NUMBER, b"\x01\xc1"),
            Err(Unread::Malformed(_))
        ));
        let national = Column {
            form: NATIONAL,
            ..Column::of("a", oracle_type::VARCHAR)
        };
        assert_eq!(national.read_value(&mut Reader::new(b"\x04\0\xe9\x20\xac")), some("é€"));
    }
}
