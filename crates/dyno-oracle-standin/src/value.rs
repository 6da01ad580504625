//! Values and columns, between the protocol and what executes statements.

use crate::rare::{Rare, RareValue};
use jiff::civil::DateTime;

/// A value as an executor takes and gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A number as decimal text, which loses no digit.
    Number(String),
    /// Text.
    Text(String),
    /// Bytes.
    Raw(Vec<u8>),
    /// A binary double.
    Double(f64),
    /// A DATE or one of the TIMESTAMPs; in UTC.
    Time(DateTime),
    /// What only a rare type has.
    Rare(RareValue),
}

impl Value {
    /// Text, for rows written by hand.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A whole number, for rows written by hand.
    #[must_use]
    pub fn number(number: i64) -> Self {
        Self::Number(number.to_string())
    }
}

/// The types that the stand-in knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// VARCHAR2.
    Varchar,
    /// NUMBER.
    Number,
    /// DATE.
    Date,
    /// RAW.
    Raw,
    /// CHAR.
    Char,
    /// BINARY_DOUBLE.
    Double,
    /// TIMESTAMP.
    Timestamp,
    /// TIMESTAMP WITH TIME ZONE.
    TimestampTz,
    /// A rare one.
    Rare(Rare),
}

impl Kind {
    /// The number by which the protocol calls it.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Varchar => 1,
            Self::Number => 2,
            Self::Date => 12,
            Self::Raw => 23,
            Self::Char => 96,
            Self::Double => 101,
            Self::Timestamp => 180,
            Self::TimestampTz => 181,
            Self::Rare(rare) => rare.code(),
        }
    }

    /// What a client may bind: for some types it has further codes.
    pub(crate) fn of_bind(code: u8) -> Option<Self> {
        Some(match code {
            1 | 8 => Self::Varchar,
            2 | 3 | 6 => Self::Number,
            12 => Self::Date,
            23 | 24 => Self::Raw,
            96 => Self::Char,
            101 => Self::Double,
            180 => Self::Timestamp,
            181 | 231 => Self::TimestampTz,
            _ => return None,
        })
    }

    /// Whether its values are text.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Varchar | Self::Char)
    }
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, as Oracle shows it: upper case unless it was quoted.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// How long its values may be: characters of text, bytes of the others.
    pub size: u32,
    /// Digits of a NUMBER; 0: as many as there are.
    pub precision: u8,
    /// Digits behind the point, of a NUMBER or of a TIMESTAMP's seconds; -127 with precision 0: any.
    pub scale: i8,
    /// Whether it may be null.
    pub nullable: bool,
}

impl Column {
    /// A column that may be null, with the usual size of its type.
    #[must_use]
    pub fn new(name: &str, kind: Kind) -> Self {
        let (size, scale) = match kind {
            Kind::Varchar => (4000, 0),
            Kind::Char => (1, 0),
            Kind::Number => (22, -127),
            Kind::Date => (7, 0),
            Kind::Raw => (2000, 0),
            Kind::Double => (8, 0),
            Kind::Timestamp => (11, 6),
            Kind::TimestampTz => (13, 6),
            Kind::Rare(Rare::TimestampLtz) => (11, 6),
            Kind::Rare(rare) => (rare.size(), 0),
        };
        Self {
            name: name.to_owned(),
            kind,
            size,
            precision: 0,
            scale,
            nullable: true,
        }
    }

    /// Whether its values come only once a client has said how it wants them, or fetches them.
    pub(crate) fn comes_late(&self) -> bool {
        matches!(self.kind, Kind::Rare(rare) if rare.comes_late())
    }

    /// Whether a client has to say in what form it wants its values.
    pub(crate) fn must_be_told(&self) -> bool {
        matches!(self.kind, Kind::Rare(rare) if rare.must_be_told())
    }

    /// The same with another size.
    #[must_use]
    pub fn sized(mut self, size: u32) -> Self {
        self.size = size;
        self
    }
}
