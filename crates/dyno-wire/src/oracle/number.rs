//! NUMBER: decimal, in digits of base 100.
//!
//! A byte with the sign and the exponent, then up to 20 digits; those of a negative number are complements, so that
//! numbers are in order when their bytes are.

use std::fmt::Write;

/// The most decimal digits that a number is given.
const DIGITS: usize = 40;

/// The most digits of base 100.
const PAIRS: usize = 20;

/// The longest number, in bytes.
pub(super) const LONGEST: usize = PAIRS + 1;

/// The first byte of a positive number whose first digit stands right before the point.
const ONES: i32 = 193;

/// Zero, which has no digits.
const ZERO: u8 = 0x80;

/// What is added to the complements of a negative number's digits, and ends them where there are fewer than 20.
const COMPLEMENT: u8 = 101;
const END: u8 = 102;

/// A number by its decimal digits.
struct Decimal {
    negative: bool,
    /// Without zeros at either end.
    digits: [u8; DIGITS],
    length: usize,
    /// How many of them stand before the point; may lie outside of them.
    point: i32,
}

/// Writes the number that `text` is, if it is what programs print as numbers (`crates/dyno-wire/src/mysql/literal.rs`
/// says what that is, and why) and if a NUMBER can hold all of it. Gives its length.
#[inline]
pub(super) fn encode(text: &[u8], out: &mut [u8; LONGEST]) -> Option<usize> {
    Decimal::parse(text)?.write(out)
}

/// Whether `text` is a number.
pub(super) fn is_one(text: &[u8]) -> bool {
    encode(text, &mut [0; LONGEST]).is_some()
}

/// `text` without an exponent, if it is a number.
pub(super) fn plain(text: &[u8]) -> Option<String> {
    let mut number = [0; LONGEST];
    let length = encode(text, &mut number)?;
    decode(&number[..length])
}

impl Decimal {
    #[inline]
    fn parse(text: &[u8]) -> Option<Self> {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let negative = digits.len() < text.len();
        let end = digits.iter().position(|byte| !byte.is_ascii_digit());
        let (whole, mut rest) = digits.split_at(end.unwrap_or(digits.len()));
        if whole.is_empty() || (whole.len() > 1 && whole[0] == b'0') {
            return None;
        }
        let mut number = Self {
            negative,
            digits: [0; DIGITS],
            length: 0,
            point: 0,
        };
        number.push(whole)?;
        number.point = if number.length > 0 { whole.len() as i32 } else { 0 };
        if let Some(after) = rest.strip_prefix(b".") {
            let end = after.iter().position(|byte| !byte.is_ascii_digit());
            let (fraction, after) = after.split_at(end.unwrap_or(after.len()));
            if fraction.is_empty() {
                return None;
            }
            if number.length == 0 {
                number.point = -(fraction.iter().take_while(|digit| **digit == b'0').count() as i32);
            }
            number.push(fraction)?;
            rest = after;
        }
        number.point += match rest {
            [] => 0,
            [b'e', sign @ (b'+' | b'-'), power @ ..] if (1..=3).contains(&power.len()) => {
                let power = str::from_utf8(power).ok()?;
                // No sign of its own.
                let power = power.bytes().all(|byte| byte.is_ascii_digit()).then_some(power)?;
                let power: i32 = power.parse().ok()?;
                if *sign == b'-' { -power } else { power }
            }
            _ => return None,
        };
        while number.length > 0 && number.digits[number.length - 1] == 0 {
            number.length -= 1;
        }
        // Programs print it, but it is none.
        (number.length > 0 || !negative).then_some(number)
    }

    /// Appends digits; `None` if they are too many. Zeros in front are none, and those at the end take no room as long
    /// as nothing follows.
    #[inline]
    fn push(&mut self, digits: &[u8]) -> Option<()> {
        for (at, &digit) in digits.iter().enumerate() {
            if self.length == 0 && digit == b'0' {
                continue;
            }
            if self.length == DIGITS {
                let rest = &digits[at..];
                return rest.iter().all(|digit| *digit == b'0').then_some(());
            }
            self.digits[self.length] = digit - b'0';
            self.length += 1;
        }
        Some(())
    }

    #[inline]
    fn write(&self, out: &mut [u8; LONGEST]) -> Option<usize> {
        if self.length == 0 {
            out[0] = ZERO;
            return Some(1);
        }
        // The first digit of base 100 has one decimal digit if an odd number stands before the point.
        let odd = self.point.rem_euclid(2) as usize;
        let pairs = (self.length + odd).div_ceil(2);
        let first = ONES - 1 + (self.point + odd as i32) / 2;
        let first = u8::try_from(first)
            .ok()
            .filter(|first| *first >= ZERO && pairs <= PAIRS)?;
        out[0] = if self.negative { !first } else { first };
        let digit = |at: Option<usize>| {
            let digits = &self.digits[..self.length];
            at.and_then(|at| digits.get(at)).copied().unwrap_or(0)
        };
        for pair in 0..pairs {
            let tens = (2 * pair).checked_sub(odd);
            let ones = 2 * pair + 1 - odd;
            let value = digit(tens) * 10 + digit(Some(ones));
            out[1 + pair] = match self.negative {
                true => COMPLEMENT - value,
                false => value + 1,
            };
        }
        if !self.negative || pairs == PAIRS {
            return Some(1 + pairs);
        }
        out[1 + pairs] = END;
        Some(2 + pairs)
    }
}

/// The text of a number; `None` if it is none.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let (&first, digits) = bytes.split_first()?;
    let negative = first & 0x80 == 0;
    match (first, digits) {
        (ZERO, []) => return Some("0".to_owned()),
        (0xFF, [COMPLEMENT]) => return Some("Infinity".to_owned()),
        (0, []) => return Some("-Infinity".to_owned()),
        _ => {}
    }
    let digits = match negative {
        true => digits.strip_suffix(&[END]).unwrap_or(digits),
        false => digits,
    };
    if digits.is_empty() || digits.len() > PAIRS {
        return None;
    }
    let exponent = i32::from(if negative { !first } else { first }) - ONES;
    let mut decimal = String::with_capacity(2 * digits.len());
    for &digit in digits {
        let value = match negative {
            true => COMPLEMENT.checked_sub(digit)?,
            false => digit.checked_sub(1)?,
        };
        if value > 99 {
            return None;
        }
        write!(decimal, "{value:02}").ok()?;
    }
    // Of the decimal digits so many stand before the point.
    let point = 2 * (exponent + 1);
    let mut text = String::from(if negative { "-" } else { "" });
    let (whole, fraction) = match usize::try_from(point) {
        Ok(before) if before >= decimal.len() => (format!("{decimal:0<before$}"), String::new()),
        Ok(before) => (decimal[..before].to_owned(), decimal[before..].to_owned()),
        Err(_) => {
            let zeros = point.unsigned_abs() as usize;
            (String::new(), format!("{}{decimal}", "0".repeat(zeros)))
        }
    };
    let whole = whole.trim_start_matches('0');
    text += if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        text.push('.');
        text += fraction;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(text: &str) -> Option<Vec<u8>> {
        let mut out = [0; LONGEST];
        let length = encode(text.as_bytes(), &mut out)?;
        Some(out[..length].to_vec())
    }

    #[test]
    fn numbers_are_as_oracle_documents_them() {
        for (text, bytes) in [
            ("0", &[0x80][..]),
            ("1", &[0xC1, 2]),
            ("100", &[0xC2, 2]),
            ("123", &[0xC2, 2, 24]),
            ("-123", &[0x3D, 100, 78, 102]),
            ("0.01", &[0xC0, 2]),
            ("-12.75", &[0x3E, 89, 26, 102]),
            ("1e+20", &[0xCB, 2]),
            ("1000000", &[0xC4, 2]),
            ("0.5", &[0xC0, 51]),
        ] {
            assert_eq!(encoded(text).as_deref(), Some(bytes), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_numbers() {
        for text in [
            "",
            "-",
            "-0",
            "+1",
            "007",
            "1 ",
            "3.",
            ".5",
            "1e5",
            "1e",
            "1e+",
            "1e+1000",
            "1e+126",
            "1e-140",
            "1.2.3",
            "nan",
            "2024-01-31",
            "-0.0",
            "1e++1",
        ] {
            assert_eq!(encoded(text), None, "{text}");
        }
        // More digits than there is room for, by one, and zeros that take none.
        assert_eq!(encoded(&"1".repeat(41)), None);
        assert_eq!(
            encoded(&format!("1{}1", "0".repeat(38))).map(|bytes| bytes.len()),
            Some(21)
        );
        assert_eq!(encoded(&format!("1{}", "0".repeat(100))).unwrap().len(), 2);
        // An odd number of digits before the point leaves room for 39.
        assert_eq!(encoded(&format!("1.{}", "1".repeat(39))), None);
    }

    #[test]
    fn numbers_can_do_without_exponents() {
        for (text, expected) in [
            ("12.50", Some("12.5")),
            ("1e+20", Some("100000000000000000000")),
            ("-1.5e-07", Some("-0.00000015")),
            ("007", None),
            ("x", None),
        ] {
            assert_eq!(plain(text.as_bytes()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn nonsense_is_not_decoded() {
        for bytes in [
            &[][..],
            &[0xC1],
            &[0xC1, 0],
            &[0xC1, 102],
            &[0x3E, 102],
            &[0x3E, 1, 102],
            &[0xC1; 22],
        ] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(decode(&[0xFF, 101]).as_deref(), Some("Infinity"));
    }

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were(number in any::<i64>(), scale in 0..30_u32) {
            let digits = format!("{:0>1$}", number.unsigned_abs(), scale as usize + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
            let fraction = fraction.trim_end_matches('0');
            let sign = if number < 0 { "-" } else { "" };
            let text = match fraction {
                "" => format!("{sign}{whole}"),
                _ => format!("{sign}{whole}.{fraction}"),
            };
            let bytes = encoded(&text).unwrap();
            prop_assert_eq!(decode(&bytes).unwrap(), text);
        }

        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            decode(&bytes);
        }

        #[test]
        fn no_text_does_harm(text in "[-+]?[0-9.e+-]{1,60}") {
            if let Some(bytes) = encoded(&text) {
                let (read, meant): (f64, f64) = (decode(&bytes).unwrap().parse().unwrap(), text.parse().unwrap());
                prop_assert!(read == meant || ((read - meant) / meant).abs() < 1e-15, "{} {}", read, meant);
            }
        }
    }
}
