//! Values of variables and how text becomes a typed value.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a variable holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A double-precision number.
    Double(f64),
    /// Text given from outside (`-D`, a query's result). It is sent to the server unchanged, and read as NULL, a truth
    /// value, an integer or a double when an expression uses it. It need not be UTF-8.
    Text(Arc<[u8]>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

/// Characters that stand for bytes ([`dyno_text`]) become these.
impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(dyno_text::encode(value).into())
    }
}

impl From<Scalar> for Value {
    fn from(value: Scalar) -> Value {
        match value {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => Value::Int(value),
            Scalar::Double(value) => Value::Double(value),
        }
    }
}

/// A typed value: what expressions compute with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Int,
    Double,
}

impl Kind {
    /// The name as pgbench's messages have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Boolean => "boolean",
            Kind::Int => "int",
            Kind::Double => "double",
        }
    }
}

impl Scalar {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Scalar::Null => Kind::Null,
            Scalar::Bool(_) => Kind::Boolean,
            Scalar::Int(_) => Kind::Int,
            Scalar::Double(_) => Kind::Double,
        }
    }

    /// Whether a condition holds: numbers other than zero and `true` do.
    pub(crate) fn is_true(self) -> bool {
        match self {
            Scalar::Null => false,
            Scalar::Bool(value) => value,
            Scalar::Int(value) => value != 0,
            Scalar::Double(value) => value != 0.0,
        }
    }

    /// The typed value of a variable, or `None` for text that is no value.
    pub(crate) fn of(value: &Value) -> Option<Scalar> {
        match value {
            Value::Null => Some(Scalar::Null),
            Value::Bool(value) => Some(Scalar::Bool(*value)),
            Value::Int(value) => Some(Scalar::Int(*value)),
            Value::Double(value) => Some(Scalar::Double(*value)),
            Value::Text(text) => Scalar::read(str::from_utf8(text).ok()?),
        }
    }

    /// Reads text by pgbench's rules: `null`; unambiguous beginnings of true, yes, false and no; on, off, of; an
    /// integer; a double.
    fn read(text: &str) -> Option<Scalar> {
        let begins = |word: &str| {
            !text.is_empty()
                && word
                    .get(..text.len())
                    .is_some_and(|head| head.eq_ignore_ascii_case(text))
        };
        if text.eq_ignore_ascii_case("null") {
            Some(Scalar::Null)
        } else if begins("true") || begins("yes") || text.eq_ignore_ascii_case("on") {
            Some(Scalar::Bool(true))
        } else if begins("false") || begins("no") || (begins("off") && text.len() >= 2) {
            Some(Scalar::Bool(false))
        } else {
            // C's number readers skip leading white space only.
            let number = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
            let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
            if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                number.parse().ok().map(Scalar::Int)
            } else {
                read_double(number).map(Scalar::Double)
            }
        }
    }
}

/// Reads a double as C's `strtod` does; `None` when the text is no number, too large, or too close to zero for full
/// precision.
pub(crate) fn read_double(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let value = read_hexadecimal(hexadecimal)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    if digits.get(..3).is_some_and(|head| head.eq_ignore_ascii_case("nan")) && is_payload(&digits[3..]) {
        return Some(f64::NAN);
    }
    let value: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let named = !mantissa.bytes().any(|byte| byte.is_ascii_digit());
    let zero = mantissa.bytes().all(|byte| !(b'1'..=b'9').contains(&byte));
    (named || zero || value.is_normal()).then_some(value)
}

/// What may follow "nan": letters and digits in parentheses.
fn is_payload(text: &str) -> bool {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// The part of a hexadecimal number behind `0x`: digits with or without a point, and perhaps `p` with a power of two.
fn read_hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = match text.split_once(['p', 'P']) {
        Some((digits, power)) => {
            let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
            if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            let too_large = if power.starts_with('-') { i64::MIN } else { i64::MAX };
            (digits, power.parse().unwrap_or(too_large))
        }
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let (mut mantissa, mut exponent) = (0_u64, power);
    for (number, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let digit = u64::from(char::from(digit).to_digit(16)?);
        let in_fraction = number >= whole.len();
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
            exponent = exponent.saturating_sub(if in_fraction { 4 } else { 0 });
        } else {
            // Of what no longer fits it only matters, for rounding, whether there is anything.
            mantissa |= u64::from(digit != 0);
            exponent = exponent.saturating_add(if in_fraction { 0 } else { 4 });
        }
    }
    // In two steps, because a power of two beyond the range may still give a number within.
    let exponent = exponent.clamp(-4000, 4000) as i32;
    let value = mantissa as f64 * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2);
    (mantissa == 0 || value.is_normal()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_by_pgbench_rules() {
        let cases: &[(&str, Option<Scalar>)] = &[
            ("NULL", Some(Scalar::Null)),
            ("t", Some(Scalar::Bool(true))),
            ("YE", Some(Scalar::Bool(true))),
            ("on", Some(Scalar::Bool(true))),
            ("o", None),
            ("of", Some(Scalar::Bool(false))),
            ("n", Some(Scalar::Bool(false))),
            ("falsey", None),
            ("1", Some(Scalar::Int(1))),
            (" +7", Some(Scalar::Int(7))),
            ("-9223372036854775808", Some(Scalar::Int(i64::MIN))),
            ("9223372036854775808", None),
            ("7 ", None),
            ("1.5", Some(Scalar::Double(1.5))),
            (".5e1", Some(Scalar::Double(5.0))),
            ("0.0", Some(Scalar::Double(0.0))),
            ("1e400", None),
            ("1e-400", None),
            ("inf", Some(Scalar::Double(f64::INFINITY))),
            ("-", None),
            ("", None),
            ("tr\u{e9}", None),
            ("0x10", Some(Scalar::Double(16.0))),
            (" -0X1.8p1", Some(Scalar::Double(-3.0))),
            ("0x.8", Some(Scalar::Double(0.5))),
            ("0x8000000000000000000000", Some(Scalar::Double(2_f64.powi(87)))),
            ("0x1.00000000000008000001", Some(Scalar::Double(1.0 + f64::EPSILON))),
            ("0x1p-2000", None),
            ("0x1p99999999999999999999", None),
            ("0x", None),
            ("0xg", None),
            ("0x1p", None),
            ("0x1.1.1", None),
            ("nan(2", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Scalar::of(&Value::from(*text)), *expected, "{text:?}");
        }
    }
}
