//! NUMBER: digits of base 100 behind an exponent; decimal text on our side, which loses nothing.

use super::Flaw;

/// The most digits of base 100 that a NUMBER has.
const MOST_DIGITS: usize = 20;

/// A decimal number as NUMBER. None: the text is no number, or too large for one. Digits beyond its precision are cut.
pub(crate) fn encode_number(text: &str) -> Option<Vec<u8>> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut digits = Vec::with_capacity(whole.len() + fraction.len() + 2);
    for byte in whole.bytes().chain(fraction.bytes()) {
        digits.push(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    // Where the decimal point is, counted from the first digit.
    let mut point = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    if zeros == digits.len() {
        return Some(vec![0x80]);
    }
    digits.drain(..zeros);
    point = point.checked_sub(i32::try_from(zeros).ok()?)?;
    if point.rem_euclid(2) == 1 {
        digits.insert(0, 0);
        point += 1;
    }
    if digits.len() % 2 == 1 {
        digits.push(0);
    }
    let mut pairs: Vec<u8> = digits.chunks(2).map(|pair| pair[0] * 10 + pair[1]).collect();
    pairs.truncate(MOST_DIGITS);
    while pairs.last() == Some(&0) {
        pairs.pop();
    }
    let first = u8::try_from(192 + point / 2).ok().filter(|first| *first >= 128)?;
    let mut bytes = Vec::with_capacity(pairs.len() + 2);
    if negative {
        bytes.push(!first);
        bytes.extend(pairs.iter().map(|pair| 101 - pair));
        if pairs.len() < MOST_DIGITS {
            bytes.push(102);
        }
    } else {
        bytes.push(first);
        bytes.extend(pairs.iter().map(|pair| pair + 1));
    }
    Some(bytes)
}

/// A NUMBER as decimal text without an exponent.
pub(crate) fn decode_number(bytes: &[u8]) -> Result<String, Flaw> {
    let wrong = || Flaw::Wrong(format!("a NUMBER of the bytes {bytes:02x?}"));
    let (first, mut rest) = bytes.split_first().ok_or_else(wrong)?;
    if *first == 0x80 && rest.is_empty() {
        return Ok("0".to_owned());
    }
    let positive = first & 0x80 != 0;
    let exponent = i32::from(if positive { *first } else { !*first }) - 193;
    if !positive && rest.last() == Some(&102) {
        rest = &rest[..rest.len() - 1];
    }
    let mut digits = String::with_capacity(rest.len() * 2);
    for byte in rest {
        let pair = if positive {
            byte.checked_sub(1)
        } else {
            101_u8.checked_sub(*byte)
        };
        let pair = pair.filter(|pair| *pair < 100).ok_or_else(wrong)?;
        digits.push(char::from(b'0' + pair / 10));
        digits.push(char::from(b'0' + pair % 10));
    }
    if digits.is_empty() {
        return Err(wrong());
    }
    let point = (exponent + 1) * 2;
    let (whole, fraction) = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => (format!("{digits}{}", "0".repeat(point - digits.len())), String::new()),
        Ok(point) => (digits[..point].to_owned(), digits[point..].to_owned()),
        Err(_) => {
            let zeros = usize::try_from(-point).map_err(|_| wrong())?;
            (String::new(), format!("{}{digits}", "0".repeat(zeros)))
        }
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let sign = if positive { "" } else { "-" };
    Ok(match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_the_format_says() {
        for (text, bytes) in [
            ("0", &[0x80_u8][..]),
            ("-0.00", &[0x80]),
            ("1", &[0xc1, 2]),
            ("100", &[0xc2, 2]),
            ("123", &[0xc2, 2, 24]),
            ("-1", &[0x3e, 100, 102]),
            ("-12.75", &[0x3e, 89, 26, 102]),
            ("0.01", &[0xc0, 2]),
            ("0.001", &[0xbf, 11]),
            ("1e3", &[0xc2, 11]),
        ] {
            assert_eq!(encode_number(text).as_deref(), Some(bytes), "{text}");
        }
        for text in ["", "x", "1.2.3", "-", "1e200", "1e999999999999"] {
            assert_eq!(encode_number(text), None, "{text}");
        }
    }

    #[test]
    fn reads_what_it_writes() {
        for text in [
            "0",
            "1",
            "-1",
            "99",
            "100",
            "-100",
            "12345678901234567890",
            "0.5",
            "-0.0005",
            "1000000.000001",
        ] {
            assert_eq!(decode_number(&encode_number(text).unwrap()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn refuses_what_is_none() {
        for bytes in [&[][..], &[0], &[0xff, 0x65], &[0xc1, 0], &[0xc1, 200], &[0xc1]] {
            assert!(decode_number(bytes).is_err(), "{bytes:?}");
        }
    }
}
