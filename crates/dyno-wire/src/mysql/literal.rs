//! What a value's text is taken for: a number or a string.
//!
//! Programs give values as text, and MySQL compares by type. A string column compared with a number cannot be looked up
//! in its index (many strings equal one number), a number column compared with a string can, but sums with strings are
//! made in floating point. So a value becomes what a person who writes the statement by hand would write: digits are a
//! number, everything else is a string. A number is only what a program prints as one:
//!
//! * an integer has no plus sign and no zero in front, and fits 64 bits, signed or not;
//! * a floating-point number has digits on both sides of its point, or an exponent with a sign (`0.5`, `1e+20`), as
//!   `printf("%g")` writes it.
//!
//! So `007`, `2024-01-31`, `1e5` (which could be hexadecimal) and `3.` are strings. A script that looks a string column
//! up by something that is all digits writes `cast(:x as char)`. MySQL from 8.0.22 on also prepares a statement anew
//! (and counts it in `Com_stmt_reprepare`) when a value has another type than at the last execution. MySQL Reference
//! Manual, "Type Conversion in Expression Evaluation", "PREPARE Statement".

/// A value by what its text looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Literal {
    /// An integer.
    Integer(i64),
    /// An integer beyond the signed ones.
    Unsigned(u64),
    /// A floating-point number.
    Double(f64),
    /// Anything else.
    String,
}

impl Literal {
    /// What this text is taken for.
    #[inline]
    pub(super) fn of(text: &[u8]) -> Self {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        match digits {
            [b'0'] if digits.len() == text.len() => Self::Integer(0),
            [b'1'..=b'9', ..] if digits.len() <= 20 && digits.iter().all(u8::is_ascii_digit) => {
                Self::integer(digits, digits.len() < text.len())
            }
            [b'0'..=b'9', _, ..] => Self::double(text, digits),
            _ => Self::String,
        }
    }

    #[inline]
    fn integer(digits: &[u8], negative: bool) -> Self {
        let number = digits.iter().try_fold(0_u64, |number, digit| {
            number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        });
        match (number, negative) {
            (Some(number), false) => i64::try_from(number).map_or(Self::Unsigned(number), Self::Integer),
            (Some(number), true) => 0_i64.checked_sub_unsigned(number).map_or(Self::String, Self::Integer),
            (None, _) => Self::String,
        }
    }

    #[cold]
    fn double(text: &[u8], digits: &[u8]) -> Self {
        let (mantissa, exponent) = match digits.iter().position(|&byte| byte == b'e') {
            Some(at) => (&digits[..at], Some(&digits[at + 1..])),
            None => (digits, None),
        };
        let all_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        let plain = match mantissa.iter().position(|&byte| byte == b'.') {
            Some(at) => all_digits(&mantissa[..at]) && all_digits(&mantissa[at + 1..]),
            None => all_digits(mantissa) && exponent.is_some(),
        };
        let whole = match mantissa {
            [b'0', b'0'..=b'9', ..] => false,
            _ => plain,
        };
        let signed = match exponent {
            Some([b'+' | b'-', power @ ..]) => all_digits(power),
            Some(_) => false,
            None => true,
        };
        if !whole || !signed {
            return Self::String;
        }
        let number = str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
        number
            .filter(|number| number.is_finite())
            .map_or(Self::String, Self::Double)
    }
}

/// Turns the text from `at` to the end of `out` into a string literal. `backslashes` says whether backslashes escape,
/// as they do unless the server's mode is NO_BACKSLASH_ESCAPES. MySQL Reference Manual, "String Literals".
pub(super) fn quote(out: &mut Vec<u8>, at: usize, backslashes: bool) {
    let text = out.split_off(at);
    out.push(b'\'');
    for byte in text {
        match byte {
            b'\'' => out.extend_from_slice(b"''"),
            b'\\' if backslashes => out.extend_from_slice(b"\\\\"),
            0 if backslashes => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_what_programs_print_as_numbers() {
        for (text, expected) in [
            ("0", Literal::Integer(0)),
            ("-7", Literal::Integer(-7)),
            ("9223372036854775807", Literal::Integer(i64::MAX)),
            ("-9223372036854775808", Literal::Integer(i64::MIN)),
            ("9223372036854775808", Literal::Unsigned(1 << 63)),
            ("18446744073709551615", Literal::Unsigned(u64::MAX)),
            ("0.5", Literal::Double(0.5)),
            ("-12.25", Literal::Double(-12.25)),
            ("1e+20", Literal::Double(1e20)),
            ("-1.5e-07", Literal::Double(-1.5e-7)),
        ] {
            assert_eq!(Literal::of(text.as_bytes()), expected, "{text}");
        }
        for text in [
            "",
            "-",
            "-0",
            "+1",
            "007",
            "00.5",
            "1 ",
            " 1",
            "3.",
            ".5",
            "1e5",
            "1e",
            "1e+",
            "12e3f",
            "0x10",
            "1.2.3",
            "nan",
            "inf",
            "1e+999",
            "2024-01-31",
            "127.0.0.1",
            "18446744073709551616",
            "-9223372036854775809",
            "1\u{e9}",
            "abc",
        ] {
            assert_eq!(Literal::of(text.as_bytes()), Literal::String, "{text}");
        }
    }

    #[test]
    fn strings_are_quoted() {
        for (text, backslashes, expected) in [
            ("", true, "''"),
            ("it's", true, "'it''s'"),
            (r"a\b", true, r"'a\\b'"),
            (r"a\b", false, r"'a\b'"),
            ("a\0b", true, r"'a\0b'"),
            (r"\'; drop table t; -- ", true, r"'\\''; drop table t; -- '"),
            (r"\'; drop table t; -- ", false, r"'\''; drop table t; -- '"),
        ] {
            let mut out = format!("x = {text}").into_bytes();
            quote(&mut out, 4, backslashes);
            assert_eq!(String::from_utf8(out).unwrap(), format!("x = {expected}"));
        }
    }

    proptest! {
        #[test]
        fn integers_are_integers(number in any::<i64>()) {
            prop_assert_eq!(Literal::of(number.to_string().as_bytes()), Literal::Integer(number));
        }

        #[test]
        fn no_text_is_taken_for_another_number(text in "[-+]?[0-9.e+-]{1,24}") {
            match Literal::of(text.as_bytes()) {
                Literal::Integer(number) => prop_assert_eq!(number.to_string(), text),
                Literal::Unsigned(number) => prop_assert_eq!(number.to_string(), text),
                Literal::Double(number) => prop_assert_eq!(number, text.parse::<f64>().unwrap()),
                Literal::String => {}
            }
        }
    }
}
