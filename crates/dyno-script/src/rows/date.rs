//! Dates and times: a beginning, and so much later. Without a time zone; every day has 86,400 seconds.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

const DAY_US: i64 = 86_400 * SECOND_US;
pub(super) const SECOND_US: i64 = 1_000_000;

/// Microseconds from 1970 to a day such as `2024-01-31`; `None` if it is none.
pub(super) fn read_date(text: &str) -> Option<i64> {
    micros(text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight()))
}

/// The same to a moment such as `2024-01-31 10:00:00`.
pub(super) fn read_moment(text: &str) -> Option<i64> {
    micros(text.parse().ok()?)
}

fn micros(moment: DateTime) -> Option<i64> {
    let stamp = Offset::UTC.to_timestamp(moment).ok()?;
    (moment.year() >= 1).then_some(stamp.as_microsecond())
}

/// Appends the day so many days after a beginning; `None` if it is out of range.
pub(super) fn write_date(begin: i64, days: i64, out: &mut Vec<u8>) -> Option<()> {
    let moment = later(begin, days.checked_mul(DAY_US)?)?;
    write_day(moment, out);
    Some(())
}

/// Appends the moment so many microseconds after a beginning, with its microseconds if `fraction`.
pub(super) fn write_moment(begin: i64, later_us: i64, fraction: bool, out: &mut Vec<u8>) -> Option<()> {
    let moment = later(begin, later_us)?;
    write_day(moment, out);
    for (separator, part) in [(b' ', moment.hour()), (b':', moment.minute()), (b':', moment.second())] {
        out.push(separator);
        write_digits::<2>(part.unsigned_abs().into(), out);
    }
    if fraction {
        out.push(b'.');
        write_digits::<6>(moment.subsec_nanosecond().unsigned_abs() / 1_000, out);
    }
    Some(())
}

fn later(begin: i64, later_us: i64) -> Option<DateTime> {
    let stamp = Timestamp::from_microsecond(begin.checked_add(later_us)?).ok()?;
    let moment = Offset::UTC.to_datetime(stamp);
    (moment.year() >= 1).then_some(moment)
}

fn write_day(moment: DateTime, out: &mut Vec<u8>) {
    write_digits::<4>(moment.year().unsigned_abs().into(), out);
    for part in [moment.month(), moment.day()] {
        out.push(b'-');
        write_digits::<2>(part.unsigned_abs().into(), out);
    }
}

/// Appends a number with so many digits.
fn write_digits<const N: usize>(mut number: u32, out: &mut Vec<u8>) {
    let mut digits = [b'0'; N];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits);
}
