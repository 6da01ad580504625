//! Numbers as text, as PostgreSQL's own printf writes them: what pgbench sends for a double.

use std::io::Write;

/// Significant digits of a double (C's DBL_DIG).
const DIGITS: usize = 15;

/// Appends an integer in decimal.
pub(crate) fn write_int(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a double by the rules of `%.15g`: up to 15 significant digits, no trailing zeros, an exponent below 1e-4
/// and from 1e15.
pub(crate) fn write_double(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_infinite() {
        out.extend_from_slice(b"Infinity");
        return;
    }
    // Rounded to 15 digits as d.dddddddddddddde[-]x, on the stack: the hot path allocates nothing.
    let mut buffer = [0u8; 32];
    let mut rest = &mut buffer[..];
    if write!(rest, "{:.*e}", DIGITS - 1, value.abs()).is_err() {
        return;
    }
    let unused = rest.len();
    let text = &buffer[..buffer.len() - unused];
    let split = text.iter().position(|&byte| byte == b'e').unwrap_or(text.len());
    let exponent: i32 = text
        .get(split + 1..)
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0);
    let mut digits = [b'0'; DIGITS];
    for (digit, &byte) in digits
        .iter_mut()
        .zip(text[..split].iter().filter(|byte| byte.is_ascii_digit()))
    {
        *digit = byte;
    }
    let significant = digits
        .iter()
        .rposition(|&digit| digit != b'0')
        .map_or(1, |last| last + 1);

    if !(-4..DIGITS as i32).contains(&exponent) {
        write_fraction(&digits[..1], &digits[1..significant.max(1)], out);
        let sign = if exponent < 0 { '-' } else { '+' };
        // Writing into a Vec cannot fail.
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        out.extend_from_slice(&digits[..significant]);
    } else {
        let whole = exponent as usize + 1;
        write_fraction(
            &digits[..whole],
            digits.get(whole..significant).unwrap_or_default(),
            out,
        );
    }
}

fn write_fraction(whole: &[u8], fraction: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(whole);
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_look_like_percent_15g() {
        // Expected values as printed by C's printf("%.15g").
        let cases: &[(f64, &str)] = &[
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333333333333"),
            (2.0 / 3.0, "0.666666666666667"),
            (1e14, "100000000000000"),
            (123456789012345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1234567890123456.0, "1.23456789012346e+15"),
            (999999999999999.9, "1e+15"),
            (0.0001, "0.0001"),
            (0.00012345, "0.00012345"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e100, "1e+100"),
            (f64::MAX, "1.79769313486232e+308"),
            (5e-324, "4.94065645841247e-324"),
            (100.0, "100"),
            (std::f64::consts::PI, "3.14159265358979"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
            (-f64::NAN, "NaN"),
        ];
        for (value, expected) in cases {
            let mut out = Vec::new();
            write_double(*value, &mut out);
            assert_eq!(std::str::from_utf8(&out).unwrap(), *expected);
        }
    }
}
