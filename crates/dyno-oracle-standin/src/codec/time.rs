//! DATE, TIMESTAMP and TIMESTAMP WITH TIME ZONE.

use super::Flaw;
use jiff::civil::DateTime;

/// Offsets that the parts of a time zone are written with; ours is always UTC.
const ZONE: [u8; 2] = [20, 60];

/// DATE: seven bytes.
#[allow(
    clippy::cast_sign_loss,
    reason = "the parts of a date after Christ are not below zero"
)]
pub(crate) fn encode_date(at: DateTime) -> [u8; 7] {
    let year = u8::try_from(at.year() / 100 + 100).unwrap_or(u8::MAX);
    [
        year,
        (at.year() % 100 + 100) as u8,
        at.month() as u8,
        at.day() as u8,
        at.hour() as u8 + 1,
        at.minute() as u8 + 1,
        at.second() as u8 + 1,
    ]
}

/// TIMESTAMP: a DATE and nanoseconds, which are left out when they are zero.
pub(crate) fn encode_timestamp(at: DateTime) -> Vec<u8> {
    let mut bytes = encode_date(at).to_vec();
    if at.subsec_nanosecond() != 0 {
        bytes.extend(at.subsec_nanosecond().to_be_bytes());
    }
    bytes
}

/// TIMESTAMP WITH TIME ZONE: all of it, and the zone.
pub(crate) fn encode_timestamp_tz(at: DateTime) -> Vec<u8> {
    let mut bytes = encode_date(at).to_vec();
    bytes.extend(at.subsec_nanosecond().to_be_bytes());
    bytes.extend(ZONE);
    bytes
}

/// Any of them; a zone is not looked at.
pub(crate) fn decode_time(bytes: &[u8]) -> Result<DateTime, Flaw> {
    let wrong = || Flaw::Wrong(format!("a time of the bytes {bytes:02x?}"));
    let &[century, year, month, day, hour, minute, second, ref rest @ ..] = bytes else {
        return Err(wrong());
    };
    let nanosecond = match rest {
        [a, b, c, d, ..] => i32::from_be_bytes([*a, *b, *c, *d]),
        _ => 0,
    };
    let year = (i16::from(century) - 100) * 100 + i16::from(year) - 100;
    let part = |byte: u8| i8::try_from(byte).map_err(|_| wrong());
    let less = |byte: u8| part(byte.wrapping_sub(1));
    DateTime::new(
        year,
        part(month)?,
        part(day)?,
        less(hour)?,
        less(minute)?,
        less(second)?,
        nanosecond,
    )
    .map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::datetime;

    #[test]
    fn writes_what_the_format_says() {
        let at = datetime(2026, 11, 24, 16, 15, 9, 500_000_000);
        assert_eq!(encode_date(at), [120, 126, 11, 24, 17, 16, 10]);
        assert_eq!(encode_timestamp(at)[7..], 500_000_000_u32.to_be_bytes());
        assert_eq!(
            encode_timestamp(at.with().subsec_nanosecond(0).build().unwrap()).len(),
            7
        );
        assert_eq!(encode_timestamp_tz(at)[11..], [20, 60]);
    }

    #[test]
    fn reads_what_it_writes() {
        let at = datetime(1969, 2, 28, 0, 0, 59, 1_000);
        assert_eq!(decode_time(&encode_timestamp(at)), Ok(at));
        assert_eq!(decode_time(&encode_timestamp_tz(at)), Ok(at));
        assert!(decode_time(&[120, 126, 13, 24, 1, 1, 1]).is_err());
        assert!(decode_time(&[120, 126]).is_err());
    }
}
