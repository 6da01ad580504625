//! Numbers as people read them: digits in groups of three, and only as many as mean something.

use dyno_lab::summary::Pacing;
use std::time::Duration;

/// A whole number with its digits in groups of three.
#[must_use]
pub fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// A number with `decimals` decimals and its digits in groups of three; `-` if there is none.
pub(crate) fn decimal(number: impl Into<Option<f64>>, decimals: usize) -> String {
    match number.into().filter(|number| number.is_finite()) {
        Some(number) => grouped(&format!("{number:.decimals$}")),
        None => "-".to_owned(),
    }
}

/// A figure of any unit: with four digits, or all before the decimal point, and without zeros at its end. It is how every measured number is written that a
/// person reads; what is smaller than most does not become 0.
#[must_use]
pub fn figure(number: f64) -> String {
    let magnitude = if number == 0.0 {
        0
    } else {
        number.abs().log10().floor() as i32
    };
    let decimals = (3 - magnitude).clamp(0, 12) as usize;
    let text = decimal(number, decimals);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A number of transactions or statements per second, or a metric; `-` if there is none.
#[must_use]
pub fn rate(per_second: impl Into<Option<f64>>) -> String {
    per_second.into().map_or_else(|| "-".to_owned(), figure)
}

/// A latency in milliseconds, without the unit; `-` if there is none.
pub(crate) fn ms(time_us: impl Into<Option<f64>>) -> String {
    rate(time_us.into().map(|time_us| time_us / 1e3))
}

/// A latency with its unit: always milliseconds, so that any two can be compared at a glance.
#[must_use]
pub fn time(time_us: f64) -> String {
    format!("{} ms", ms(time_us))
}

/// What begins a transaction, in words.
pub(crate) fn pacing(pacing: Pacing) -> String {
    match pacing {
        Pacing::Closed => "closed loop".to_owned(),
        Pacing::Open { rate_per_s } => format!("open loop at {} transactions/s", rate(rate_per_s)),
        Pacing::Staged {
            least_per_s,
            most_per_s,
            closed,
        } => {
            let rates = match (rate(least_per_s), rate(most_per_s)) {
                (least, most) if least == most => most,
                (least, most) => format!("{least} to {most}"),
            };
            let which = if closed {
                "closed loop, in some stages open"
            } else {
                "open loop by stages"
            };
            format!("{which} at {rates} transactions/s")
        }
    }
}

/// A number with its noun.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A share in percent with its sign; `-` if there is none.
pub(crate) fn percent(share: impl Into<Option<f64>>) -> String {
    match share.into().filter(|share| share.is_finite()) {
        Some(share) => format!("{} %", decimal(share, 1)),
        None => "-".to_owned(),
    }
}

fn grouped(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut result = sign.to_owned();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            result.push(',');
        }
        result.push(digit);
    }
    result + rest
}

/// A number of bytes in the units of PostgreSQL, whose MB has 1,048,576 bytes.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["bytes", "kB", "MB", "GB"];
    let mut number = number;
    let mut unit = 0;
    // As long as four digits do, they say more than a decimal would.
    while number >= 10 * 1024 && unit + 1 < UNITS.len() {
        number = (number + 512) / 1024;
        unit += 1;
    }
    format!("{} {}", count(number), UNITS[unit])
}

/// A duration in words: `20 s`, `5 min 30 s`, `8 h`, `3 d 2 h`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    const PARTS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    if duration < Duration::from_secs(10) && duration.subsec_millis() > 0 {
        return format!("{} s", decimal(duration.as_secs_f64(), 1));
    }
    let mut rest_s = duration.as_secs() + u64::from(duration.subsec_millis() >= 500);
    let mut parts = Vec::new();
    for (part_s, unit) in PARTS {
        if rest_s >= part_s {
            parts.push(format!("{} {unit}", rest_s / part_s));
            rest_s %= part_s;
        } else if !parts.is_empty() {
            // Two neighbouring units are as exact as anyone plans.
            break;
        }
    }
    parts.truncate(2);
    if parts.is_empty() {
        "0 s".to_owned()
    } else {
        parts.join(" ")
    }
}

/// Foreign text on one line, without characters that would move the cursor.
pub(crate) fn one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(decimal(-1234.56, 1), "-1,234.6");
        assert_eq!(decimal(None, 1), "-");
        assert_eq!(decimal(f64::NAN, 1), "-");
        assert_eq!(percent(3.21), "3.2 %");
    }

    #[test]
    fn a_figure_has_the_digits_that_mean_something() {
        let numbers = [
            0.0,
            1.0,
            12.34,
            0.012_34,
            1_234.5,
            12_346.0,
            1_234_567.0,
            -0.5,
            999.96,
            0.000_000_123_4,
        ];
        assert_eq!(
            numbers.map(figure),
            [
                "0",
                "1",
                "12.34",
                "0.01234",
                "1,234",
                "12,346",
                "1,234,567",
                "-0.5",
                "1,000",
                "0.0000001234"
            ]
        );
        assert_eq!(
            (figure(0.0177), rate(0.0177)),
            ("0.0177".to_owned(), "0.0177".to_owned())
        );
        assert_eq!((rate(None), rate(f64::NAN)), ("-".to_owned(), "-".to_owned()));
    }

    #[test]
    fn latencies_are_in_milliseconds_whatever_their_size() {
        assert_eq!(time(4_370_460.0), "4,370 ms");
        assert_eq!(time(602.6), "0.6026 ms");
        assert_eq!(time(12.34), "0.01234 ms");
        assert_eq!(time(0.1), "0.0001 ms");
        assert_eq!((ms(23_249.0), ms(None)), ("23.25".to_owned(), "-".to_owned()));
    }

    proptest! {
        #[test]
        fn a_figure_is_within_half_of_its_fourth_digit(mantissa in 1.0_f64..10.0, power in -8_i32..12, sign in any::<bool>()) {
            let number = if sign { -mantissa } else { mantissa } * 10_f64.powi(power);
            let shown: f64 = figure(number).replace(',', "").parse().unwrap();
            prop_assert!((shown / number - 1.0).abs() <= 0.5e-3 * (1.0 + 1e-9), "{} as {}", number, figure(number));
        }
    }

    #[test]
    fn bytes_are_counted_as_postgresql_counts_them() {
        assert_eq!(bytes(8_192), "8,192 bytes");
        assert_eq!(bytes(65_536), "64 kB");
        assert_eq!(bytes(3_634 * 1024 * 1024), "3,634 MB");
        assert_eq!(bytes(69 * 1024 * 1024 * 1024), "69 GB");
    }

    #[test]
    fn durations_are_said_in_two_units() {
        let said = |millis| duration(Duration::from_millis(millis));
        assert_eq!(said(0), "0 s");
        assert_eq!(said(1_500), "1.5 s");
        assert_eq!(said(19_999), "20 s");
        assert_eq!(said(330_000), "5 min 30 s");
        assert_eq!(said(8 * 3_600_000), "8 h");
        assert_eq!(said(8 * 3_600_000 + 5_000), "8 h");
        assert_eq!(said(74 * 3_600_000), "3 d 2 h");
    }

    #[test]
    fn foreign_text_cannot_move_the_cursor() {
        assert_eq!(one_line("a\n\tb \x1b[31mc"), "a b [31mc");
    }
}
