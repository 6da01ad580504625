//! Values to and from PostgreSQL: sent as text, which its types read, received in their binary form.

use crate::executor::OracleError;
use crate::value::{Kind, Value};
use bytes::BytesMut;
use jiff::SignedDuration;
use jiff::civil::date;
use postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};
use std::error::Error;

/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

/// The type that a bind is declared to have; unknown, so that it becomes what the statement needs, for text.
pub(super) fn bind_type(kind: Kind) -> Type {
    match kind {
        Kind::Number => Type::NUMERIC,
        Kind::Varchar | Kind::Char => Type::UNKNOWN,
        Kind::Raw => Type::BYTEA,
        Kind::Double => Type::FLOAT8,
        Kind::Date | Kind::Timestamp => Type::TIMESTAMP,
        Kind::TimestampTz => Type::TIMESTAMPTZ,
        // No client can bind it.
        Kind::Rare(_) => Type::UNKNOWN,
    }
}

/// The type of a column, if Oracle has one for it.
pub(super) fn column_kind(of: &Type, modifier: i32) -> Option<Kind> {
    Some(match *of {
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID | Type::NUMERIC | Type::BOOL => Kind::Number,
        Type::FLOAT4 | Type::FLOAT8 => Kind::Double,
        Type::TEXT | Type::VARCHAR | Type::NAME | Type::UNKNOWN | Type::CHAR => Kind::Varchar,
        Type::BPCHAR => Kind::Char,
        Type::BYTEA => Kind::Raw,
        // As tables have their DATEs here.
        Type::TIMESTAMP if modifier == 0 => Kind::Date,
        Type::DATE => Kind::Date,
        Type::TIMESTAMP => Kind::Timestamp,
        Type::TIMESTAMPTZ => Kind::TimestampTz,
        _ => return None,
    })
}

/// A value on its way to PostgreSQL.
#[derive(Debug)]
pub(super) struct Sent<'a>(pub(super) &'a Value);

impl ToSql for Sent<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let text = match self.0 {
            Value::Null | Value::Rare(_) => return Ok(IsNull::Yes),
            Value::Number(text) | Value::Text(text) => text.clone(),
            Value::Raw(bytes) => format!("\\x{}", hex::encode(bytes)),
            Value::Double(number) => number.to_string(),
            Value::Time(at) => at.to_string(),
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// A value as PostgreSQL sent it.
pub(super) struct Received<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Received<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Received<'_> {
    /// As a value of a column of this type.
    pub(super) fn value(&self, of: &Type) -> Result<Value, OracleError> {
        let raw = self.0;
        let value = match *of {
            Type::INT2 => fixed(raw).map(|raw| Value::number(i16::from_be_bytes(raw).into())),
            Type::INT4 => fixed(raw).map(|raw| Value::number(i32::from_be_bytes(raw).into())),
            Type::INT8 => fixed(raw).map(|raw| Value::number(i64::from_be_bytes(raw))),
            Type::OID => fixed(raw).map(|raw| Value::number(u32::from_be_bytes(raw).into())),
            Type::BOOL => raw.first().map(|byte| Value::number((*byte).into())),
            Type::NUMERIC => numeric(raw).map(Value::Number),
            Type::FLOAT4 => fixed(raw).map(|raw| Value::Double(f32::from_be_bytes(raw).into())),
            Type::FLOAT8 => fixed(raw).map(|raw| Value::Double(f64::from_be_bytes(raw))),
            Type::BYTEA => Some(Value::Raw(raw.to_vec())),
            Type::DATE => fixed(raw).and_then(|raw| moment(i64::from(i32::from_be_bytes(raw)).checked_mul(DAY_US)?)),
            Type::TIMESTAMP | Type::TIMESTAMPTZ => fixed(raw).and_then(|raw| moment(i64::from_be_bytes(raw))),
            // Empty text is null in Oracle.
            _ if raw.is_empty() => Some(Value::Null),
            _ => Some(Value::Text(crate::codec::text(raw))),
        };
        value.ok_or_else(|| OracleError::new(1426, &format!("numeric overflow (a {of} that Oracle cannot have)")))
    }
}

fn fixed<const N: usize>(raw: &[u8]) -> Option<[u8; N]> {
    raw.try_into().ok()
}

fn moment(microseconds: i64) -> Option<Value> {
    let epoch = date(2000, 1, 1).at(0, 0, 0, 0);
    let at = epoch.checked_add(SignedDuration::from_micros(microseconds)).ok()?;
    Some(Value::Time(at))
}

/// Digits of base 10,000 behind a header: how many, the power of the first, the sign, digits behind the point.
fn numeric(raw: &[u8]) -> Option<String> {
    let mut parts = raw.chunks(2).map(|part| fixed(part).map(u16::from_be_bytes));
    let mut part = || parts.next().flatten();
    let (count, weight, sign, scale) = (part()?, part()?, part()?, usize::from(part()?));
    let digits: Vec<u16> = (0..count).map(|_| part()).collect::<Option<_>>()?;
    let weight = i32::from(weight.cast_signed());
    let sign = match sign {
        0 => "",
        0x4000 => "-",
        _ => return None,
    };
    let digit = |power: i32| {
        let at = usize::try_from(weight - power).ok();
        at.and_then(|at| digits.get(at)).copied().unwrap_or(0)
    };
    let mut whole = String::new();
    for power in (0..=weight.max(0)).rev() {
        whole.push_str(&format!("{:04}", digit(power)));
    }
    let mut fraction = String::new();
    let mut power = -1;
    while fraction.len() < scale {
        fraction.push_str(&format!("{:04}", digit(power)));
        power -= 1;
    }
    fraction.truncate(scale);
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    Some(if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numerics() {
        let raw = |parts: &[u16]| -> Vec<u8> { parts.iter().flat_map(|part| part.to_be_bytes()).collect() };
        assert_eq!(numeric(&raw(&[0, 0, 0, 0])).as_deref(), Some("0"));
        assert_eq!(numeric(&raw(&[2, 0, 0x4000, 2, 12, 7500])).as_deref(), Some("-12.75"));
        assert_eq!(numeric(&raw(&[1, 0xffff, 0, 6, 5])).as_deref(), Some("0.000500"));
        assert_eq!(numeric(&raw(&[1, 1, 0, 0, 3])).as_deref(), Some("30000"));
        assert_eq!(numeric(&raw(&[0, 0, 0xc000, 0])), None);
        assert_eq!(numeric(&raw(&[3, 0, 0])), None);
    }
}
