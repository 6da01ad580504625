//! Types beside those of usual tables: LOBs, JSON, vectors, rowids, intervals, national text, objects, cursors.
//!
//! Their values are made by hand for [`Instant`](crate::Instant); PostgreSQL has no part in them. How they look was
//! taken from what Oracle's drivers read.

use crate::codec::Writer;
use crate::codec::encode_timestamp;
use crate::value::{Column, Value};
use jiff::SignedDuration;
use std::sync::Arc;

/// The number of the character set AL16UTF16.
const UTF16: u64 = 2000;
const UTF8: u64 = 873;
/// Text of the database's character set, and of the national one.
const USUAL: u8 = 1;
const NATIONAL: u8 = 2;
/// The middle of the numbers that intervals are written with.
const MIDDLE: i64 = 0x8000_0000;
const MIDDLE_OF_PARTS: i64 = 60;
/// How long a piece of a LOB is on a server's disk.
const LOB_PIECE: u64 = 8132;
/// The code of LONG and LONG RAW, in which LOBs may be wanted.
const LONG: u8 = 8;
const LONG_RAW: u8 = 24;

/// One of these types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rare {
    /// LONG; its values are text.
    Long,
    /// LONG RAW; bytes.
    LongRaw,
    /// CLOB; text.
    Clob,
    /// NCLOB; text.
    Nclob,
    /// BLOB; bytes.
    Blob,
    /// BFILE; the name of a file in the directory `DIR`.
    Bfile,
    /// JSON; a text, which is all that these documents are.
    Json,
    /// VECTOR of 32-bit floats.
    Vector,
    /// ROWID; a place.
    Rowid,
    /// UROWID; the bytes of a logical one.
    Urowid,
    /// INTERVAL YEAR TO MONTH; months.
    IntervalYm,
    /// INTERVAL DAY TO SECOND; a duration.
    IntervalDs,
    /// TIMESTAMP WITH LOCAL TIME ZONE; a time.
    TimestampLtz,
    /// NCHAR; text.
    Nchar,
    /// NVARCHAR2; text.
    Nvarchar,
    /// BOOLEAN.
    Boolean,
    /// XMLTYPE; text.
    Xml,
    /// An object type; the bytes that an object is packed into.
    Object,
    /// A cursor with rows of its own.
    Cursor,
    /// REF, of which no driver knows how it looks.
    Unknown,
}

/// A value of one of these types that no other value can stand for.
#[derive(Clone, Debug, PartialEq)]
pub enum RareValue {
    /// A vector.
    Vector(Vec<f32>),
    /// A row's place: object, file, block, row.
    Place(u32, u16, u32, u16),
    /// So many months.
    Months(i32),
    /// A duration.
    Duration(SignedDuration),
    /// A truth value.
    Boolean(bool),
    /// A cursor.
    Cursor(Arc<[Column]>, Arc<[Vec<Value>]>),
}

/// In what form a client wants a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) code: u8,
    /// Whether a value comes beside its locator.
    pub(crate) with_value: bool,
}

impl Rare {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Nvarchar => 1,
            Self::Long => LONG,
            Self::Rowid => 11,
            Self::LongRaw => LONG_RAW,
            Self::Nchar => 96,
            Self::Cursor => 102,
            Self::Xml | Self::Object => 109,
            Self::Unknown => 111,
            Self::Clob | Self::Nclob => 112,
            Self::Blob => 113,
            Self::Bfile => 114,
            Self::Json => 119,
            Self::Vector => 127,
            Self::IntervalYm => 182,
            Self::IntervalDs => 183,
            Self::Urowid => 208,
            Self::TimestampLtz => 231,
            Self::Boolean => 252,
        }
    }

    /// How long its values may be, as columns say.
    pub(crate) fn size(self) -> u32 {
        match self {
            Self::Long | Self::LongRaw | Self::Urowid => 0,
            Self::Clob | Self::Nclob | Self::Blob | Self::Bfile | Self::Nvarchar => 4000,
            Self::Json | Self::Vector => 8200,
            Self::Rowid => 18,
            Self::IntervalYm => 5,
            Self::IntervalDs | Self::TimestampLtz => 11,
            Self::Nchar => 20,
            Self::Boolean | Self::Cursor => 4,
            Self::Xml | Self::Object | Self::Unknown => 2000,
        }
    }

    /// The form of text and its character set; 0: it is none.
    pub(crate) fn characters(self) -> (u8, u64) {
        match self {
            Self::Long | Self::Clob => (USUAL, UTF8),
            Self::Nclob | Self::Nchar | Self::Nvarchar => (NATIONAL, UTF16),
            _ => (0, 0),
        }
    }

    /// The identifier of an object type, its schema and its name.
    pub(crate) fn object(self) -> Option<(&'static [u8], &'static str, &'static str)> {
        match self {
            Self::Xml => Some((b"\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\x01\0", "SYS", "XMLTYPE")),
            Self::Object => Some((b"0123456789abcdef", "BENCH", "POINT")),
            _ => None,
        }
    }

    /// Whether its values come only to a fetch: behind an execution the client is to say first how it wants them.
    pub(crate) fn comes_late(self) -> bool {
        self.must_be_told() || self == Self::Bfile
    }

    /// Whether a client has to say in what form it wants them.
    pub(crate) fn must_be_told(self) -> bool {
        matches!(self, Self::Clob | Self::Nclob | Self::Blob | Self::Json | Self::Vector)
    }
}

/// Writes a value in the form that the client wants; a cursor's number was opened for it.
pub(crate) fn write(writer: &mut Writer, rare: Rare, value: &Value, form: Option<Form>, cursor: u32) {
    let is_null = *value == Value::Null;
    match rare {
        Rare::Rowid => match value {
            Value::Rare(RareValue::Place(object, file, block, row)) => {
                writer.u8(13).number(u64::from(*object)).number(u64::from(*file)).u8(0);
                writer.number(u64::from(*block)).number(u64::from(*row))
            }
            _ => writer.u8(0),
        },
        Rare::Urowid if is_null => writer.u8(0),
        Rare::Urowid => {
            let bytes = plain(rare, value);
            writer.u8(1).u8(1).bytes(&bytes)
        }
        Rare::Long | Rare::LongRaw => write_long(writer, rare, value),
        Rare::Clob | Rare::Nclob | Rare::Blob
            if matches!(
                form,
                Some(Form {
                    code: LONG | LONG_RAW,
                    ..
                })
            ) =>
        {
            write_long(writer, rare, value)
        }
        Rare::Clob | Rare::Nclob | Rare::Blob | Rare::Bfile | Rare::Json | Rare::Vector if is_null => writer.u8(0),
        Rare::Clob | Rare::Nclob | Rare::Blob | Rare::Json | Rare::Vector => {
            let bytes = plain(rare, value);
            let length = match value {
                Value::Text(text) if rare != Rare::Json => text.chars().count(),
                _ => bytes.len(),
            };
            writer.length(LOCATOR.len()).length(length).number(LOB_PIECE);
            if form.is_some_and(|form| form.with_value) {
                writer.bytes(&bytes);
            }
            writer.bytes(&LOCATOR)
        }
        Rare::Bfile => {
            let locator = plain(rare, value);
            writer.length(locator.len()).bytes(&locator)
        }
        Rare::Xml | Rare::Object => write_object(writer, rare, value),
        Rare::Cursor => match value {
            Value::Rare(RareValue::Cursor(..)) => writer.number(u64::from(cursor)),
            _ => writer.u8(0),
        },
        _ if is_null => writer.u8(0),
        _ => writer.bytes(&plain(rare, value)),
    };
}

/// A locator whose flags say nothing.
const LOCATOR: [u8; 40] = [0; 40];

fn write_long<'a>(writer: &'a mut Writer, rare: Rare, value: &Value) -> &'a mut Writer {
    match value {
        // NULL, and why.
        Value::Null => writer.u8(0).integer(-1).number(1405),
        _ => writer.bytes(&plain(rare, value)).zeros(2),
    }
}

fn write_object<'a>(writer: &'a mut Writer, rare: Rare, value: &Value) -> &'a mut Writer {
    let identifier = rare.object().map_or(&[][..], |(identifier, ..)| identifier);
    match value {
        Value::Null => writer.optional_bytes(identifier).zeros(5),
        _ => {
            let image = plain(rare, value);
            // No identifier of its own; the moment it was read, a version.
            writer
                .optional_bytes(identifier)
                .u8(0)
                .optional_bytes(b"snapshot")
                .number(1);
            writer.length(image.len()).number(1).bytes(&image)
        }
    }
}

/// A value's bytes; none: it is none of this type.
fn plain(rare: Rare, value: &Value) -> Vec<u8> {
    match (rare, value) {
        (Rare::Nclob | Rare::Nchar | Rare::Nvarchar, Value::Text(text)) => {
            text.encode_utf16().flat_map(u16::to_be_bytes).collect()
        }
        (Rare::Json, Value::Text(text)) => oson(text),
        (Rare::Xml, Value::Text(text)) => xml(text),
        (Rare::Bfile, Value::Text(name)) => {
            let part = |text: &str| [&[0, u8::try_from(text.len()).unwrap_or(u8::MAX)], text.as_bytes()].concat();
            [&[0; 16][..], &part("DIR"), &part(name)].concat()
        }
        (_, Value::Text(text)) => text.as_bytes().to_vec(),
        (_, Value::Raw(bytes)) => bytes.clone(),
        (_, Value::Time(at)) => encode_timestamp(*at),
        (_, Value::Rare(RareValue::Boolean(is))) => vec![1, u8::from(*is)],
        (_, Value::Rare(RareValue::Months(months))) => {
            let years = i64::from(months / 12) + MIDDLE;
            [&lower(years)[..], &[part(i64::from(months % 12))]].concat()
        }
        (_, Value::Rare(RareValue::Duration(duration))) => interval(*duration),
        (_, Value::Rare(RareValue::Vector(numbers))) => vector(numbers),
        _ => Vec::new(),
    }
}

/// The lower half of a number.
fn lower(number: i64) -> [u8; 4] {
    let [.., a, b, c, d] = number.to_be_bytes();
    [a, b, c, d]
}

/// A part of an interval, which is not far from zero.
fn part(number: i64) -> u8 {
    u8::try_from(number + MIDDLE_OF_PARTS).unwrap_or_default()
}

fn interval(duration: SignedDuration) -> Vec<u8> {
    let seconds = duration.as_secs();
    let mut bytes = lower(seconds / 86_400 + MIDDLE).to_vec();
    bytes.extend([part(seconds / 3600 % 24), part(seconds / 60 % 60), part(seconds % 60)]);
    bytes.extend(lower(i64::from(duration.subsec_nanos()) + MIDDLE));
    bytes
}

/// A text as a JSON document in Oracle's binary form.
fn oson(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
    // The form's name and version; a document that is one value; the length of what follows.
    let mut bytes = vec![0xff, 0x4a, 0x5a, 1, 0, 0x12, 0, length.saturating_add(2), 0x33, length];
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// A document of XML as an object is packed.
fn xml(text: &str) -> Vec<u8> {
    let whole = u8::try_from(text.len() + 8).unwrap_or(u8::MAX);
    // An object without a head of its own, its version and length; a version of XML, and that it is text.
    let mut bytes = vec![0x84, 1, whole, 1, 0, 0, 0, 4];
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn vector(numbers: &[f32]) -> Vec<u8> {
    // The form's name and version; there is a norm; 32-bit floats.
    let mut bytes = vec![0xdb, 0, 0, 0x12, 2];
    bytes.extend(u32::try_from(numbers.len()).unwrap_or_default().to_be_bytes());
    bytes.extend([0; 8]);
    for number in numbers {
        let bits = number.to_bits();
        let bits = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        bytes.extend(bits.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rare: Rare, value: &Value, form: Option<Form>) -> Vec<u8> {
        let mut writer = Writer::new();
        write(&mut writer, rare, value, form, 7);
        writer.into_bytes()
    }

    #[test]
    fn writes_what_the_formats_say() {
        let months = Value::Rare(RareValue::Months(-14));
        assert_eq!(
            written(Rare::IntervalYm, &months, None),
            [5, 0x7f, 0xff, 0xff, 0xff, 58]
        );
        let day = Value::Rare(RareValue::Duration(SignedDuration::new(90_061, 5)));
        assert_eq!(
            written(Rare::IntervalDs, &day, None),
            [11, 0x80, 0, 0, 1, 61, 61, 61, 0x80, 0, 0, 5]
        );
        assert_eq!(written(Rare::Nvarchar, &Value::text("é"), None), [2, 0, 0xe9]);
        assert_eq!(written(Rare::Boolean, &Value::Null, None), [0]);
    }

    #[test]
    fn lobs_come_in_the_form_that_is_wanted() {
        let text = Value::text("abc");
        let long = Form {
            code: 8,
            with_value: false,
        };
        assert_eq!(written(Rare::Clob, &text, Some(long)), [3, b'a', b'b', b'c', 0, 0]);
        assert_eq!(written(Rare::Clob, &Value::Null, Some(long)), [0, 0x81, 1, 2, 5, 0x7d]);
        let locator = Form {
            code: 112,
            with_value: false,
        };
        let bytes = written(Rare::Clob, &text, Some(locator));
        assert_eq!(bytes[..9], [1, 40, 1, 3, 2, 0x1f, 0xc4, 40, 0]);
        assert_eq!(bytes.len(), 8 + 40);
    }
}
