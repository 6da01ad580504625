//! Values on their way to Oracle's crate, and rows from it as dyno's own sessions show them.

use super::error::Failure;
use super::session::Given;
use oracledb::{OracleNumber, OracleTimestamp, Row, ToDbValue};
use std::fmt::Write;

/// The type that a place of a statement has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// NULL so far.
    Null,
    /// A number.
    Number,
    /// A text: it never becomes a number again, as the server parses a statement's new types anew.
    Text,
}

/// A value as the crate takes it.
pub enum Bound {
    /// As NUMBER.
    Number(Option<OracleNumber>),
    /// As VARCHAR2.
    Text(Option<String>),
}

impl Bound {
    /// A value of this place. `number` says what a text is as a number.
    pub fn of(
        value: Option<&Given>,
        place: &mut Place,
        number: impl FnOnce(&[u8]) -> Option<String>,
    ) -> Result<Self, Failure> {
        let Some(value) = value else {
            return Ok(match place {
                Place::Number => Self::Number(None),
                Place::Null | Place::Text => Self::Text(None),
            });
        };
        if *place != Place::Text
            && !value.is_text
            && let Some(digits) = number(&value.text)
            && let Ok(number) = digits.parse()
        {
            *place = Place::Number;
            return Ok(Self::Number(Some(number)));
        }
        *place = Place::Text;
        let text = str::from_utf8(&value.text).map_err(|_| Failure::not_utf8("a value"))?;
        Ok(Self::Text(Some(text.to_owned())))
    }

    /// The same for the crate.
    pub fn as_value(&self) -> &dyn ToDbValue {
        match self {
            Self::Number(number) => number,
            Self::Text(text) => text,
        }
    }
}

/// The values of a row as text; `None` is NULL.
pub fn text_of(row: &Row) -> Result<Vec<Option<String>>, Failure> {
    (0..row.columns().len()).map(|index| value_of(row, index)).collect()
}

fn value_of(row: &Row, index: usize) -> Result<Option<String>, Failure> {
    let column = &row.columns()[index];
    let name = column.db_type().name().trim_start_matches("DB_TYPE_");
    Ok(match name {
        "NUMBER" | "BINARY_INTEGER" => row.get::<Option<OracleNumber>>(index)?.map(|number| number.to_string()),
        "BINARY_DOUBLE" => row.get::<Option<f64>>(index)?.map(|number| number.to_string()),
        "BINARY_FLOAT" => row.get::<Option<f32>>(index)?.map(|number| number.to_string()),
        "BOOLEAN" => row.get::<Option<bool>>(index)?.map(|value| value.to_string()),
        "RAW" | "LONG_RAW" => row.get::<Option<Vec<u8>>>(index)?.map(|bytes| digits(&bytes)),
        _ if column.db_type().is_date_type() => row.get::<Option<OracleTimestamp>>(index)?.map(moment),
        "CHAR" | "VARCHAR" | "NCHAR" | "NVARCHAR" | "LONG" | "LONG_NVARCHAR" => row.get(index)?,
        other => return Err(Failure::not_shown(column.name(), other)),
    })
}

/// Bytes in hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Never fails.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

/// A point in time, with no more of a fraction than there is. One with a time zone is in UTC.
fn moment(moment: OracleTimestamp) -> String {
    let sign = if moment.year() < 0 { "-" } else { "" };
    let fraction = match moment.nanoseconds() {
        0 => String::new(),
        nanoseconds => format!(".{nanoseconds:09}").trim_end_matches('0').to_owned(),
    };
    format!(
        "{sign}{:04}-{:02}-{:02} {:02}:{:02}:{:02}{fraction}{}",
        moment.year().unsigned_abs(),
        moment.month(),
        moment.day(),
        moment.hour(),
        moment.minute(),
        moment.second(),
        if moment.is_utc() { " +00:00" } else { "" }
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]
mod tests {
    use super::*;
    use dyno_wire::OraStatement;

    /// What a value becomes in a place.
    fn bound(text: Option<&str>, is_text: bool, place: &mut Place) -> String {
        let given = text.map(|text| Given {
            text: text.as_bytes().to_vec(),
            is_text,
        });
        match Bound::of(given.as_ref(), place, OraStatement::number) {
            Ok(Bound::Number(number)) => format!("number {}", number.map_or("NULL".to_owned(), |n| n.to_string())),
            Ok(Bound::Text(text)) => format!("text {}", text.unwrap_or("NULL".to_owned())),
            Err(_) => "refused".to_owned(),
        }
    }

    #[test]
    fn a_place_that_once_had_a_text_keeps_that_type() {
        let place = &mut Place::Null;
        assert_eq!(bound(None, false, place), "text NULL");
        assert_eq!(bound(Some("1e+20"), false, place), "number 100000000000000000000");
        assert_eq!(bound(None, false, place), "number NULL");
        assert_eq!(bound(Some("007"), false, place), "text 007");
        assert_eq!(bound(Some("7"), false, place), "text 7");
        assert_eq!(bound(Some("7"), true, &mut Place::Null), "text 7");
    }

    #[test]
    fn numbers_that_none_can_hold_are_texts() {
        let long = format!("1{}", "0".repeat(130));
        assert_eq!(bound(Some(&long), false, &mut Place::Null), format!("text {long}"));
        for number in [
            "0",
            "-0.05",
            "123.456",
            &"9".repeat(38),
            &format!("1{}", "0".repeat(100)),
        ] {
            assert_eq!(bound(Some(number), false, &mut Place::Null), format!("number {number}"));
        }
    }

    #[test]
    fn what_is_not_utf_8_is_refused() {
        let given = Given {
            text: vec![0xE9],
            is_text: false,
        };
        assert!(Bound::of(Some(&given), &mut Place::Null, OraStatement::number).is_err());
    }

    #[test]
    fn moments_are_shown_as_by_sessions() {
        let at = |nanoseconds| OracleTimestamp::new_timestamp(2026, 11, 24, 16, 25, 55, nanoseconds);
        assert_eq!(moment(at(0)), "2026-11-24 16:25:55");
        assert_eq!(moment(at(123_456_000)), "2026-11-24 16:25:55.123456");
        let utc = OracleTimestamp::new_utc_timestamp(2026, 1, 2, 3, 4, 5, 1);
        assert_eq!(moment(utc), "2026-01-02 03:04:05.000000001 +00:00");
        assert_eq!(moment(OracleTimestamp::new_date(-4712, 1, 1)), "-4712-01-01 00:00:00");
        assert_eq!(digits(&[0, 255]), "00FF");
    }
}
