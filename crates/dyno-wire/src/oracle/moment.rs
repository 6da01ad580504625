//! DATE and TIMESTAMP as text: `2026-11-24 16:25:55.123456`.

use std::fmt::Write;

/// The text of a date, a timestamp, or a timestamp with a time zone, whose bytes are those of its time in UTC; `None`
/// if it is none of them.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let (&[century, year, month, day, hour, minute, second], rest) = bytes.split_first_chunk::<7>()?;
    let year = (i32::from(century) - 100) * 100 + i32::from(year) - 100;
    let sign = if year < 0 { "-" } else { "" };
    // What is one too large, as it is sent.
    let less = |part: u8| part.checked_sub(1);
    let (hour, minute, second) = (less(hour)?, less(minute)?, less(second)?);
    let year = year.unsigned_abs();
    let mut text = format!("{sign}{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    let (fraction, zone) = match *rest {
        [] => (0, false),
        [a, b, c, d] => (u32::from_be_bytes([a, b, c, d]), false),
        [a, b, c, d, _, _] => (u32::from_be_bytes([a, b, c, d]), true),
        _ => return None,
    };
    if fraction > 0 {
        let digits = format!("{fraction:09}");
        write!(text, ".{}", digits.trim_end_matches('0')).ok()?;
    }
    if zone {
        text += " +00:00";
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_sent() {
        let date = [120, 126, 11, 24, 17, 26, 56];
        assert_eq!(decode(&date).unwrap(), "2026-11-24 16:25:55");
        let with = |rest: &[u8]| decode(&[&date[..], rest].concat());
        assert_eq!(
            with(&123_456_000_u32.to_be_bytes()).unwrap(),
            "2026-11-24 16:25:55.123456"
        );
        assert_eq!(with(&0_u32.to_be_bytes()).unwrap(), "2026-11-24 16:25:55");
        assert_eq!(
            with(&[0, 0, 0, 1, 20, 60]).unwrap(),
            "2026-11-24 16:25:55.000000001 +00:00"
        );
        assert_eq!(decode(&[53, 88, 1, 1, 1, 1, 1]).unwrap(), "-4712-01-01 00:00:00");
        for bytes in [&date[..6], &[120, 126, 1, 1, 0, 1, 1], &[120, 126, 1, 1, 1, 1, 1, 0]] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }
}
