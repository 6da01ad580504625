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

/// A number of transactions or statements per second: decimals only where they are not noise.
#[must_use]
pub fn rate(per_second: impl Into<Option<f64>>) -> String {
    let per_second = per_second.into();
    decimal(
        per_second,
        if per_second.is_some_and(|rate| rate >= 100.0) {
            0
        } else {
            1
        },
    )
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

/// The unit in which a group of latencies is shown: one for all, so that they can be compared at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Microseconds,
    Milliseconds,
    Seconds,
}

impl TimeUnit {
    /// The unit for latencies of which this is the largest.
    pub fn for_max(max_us: f64) -> Self {
        match max_us {
            ..10_000.0 => Self::Microseconds,
            100_000_000.0.. => Self::Seconds,
            _ => Self::Milliseconds,
        }
    }

    /// The unit's symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// How many microseconds it has.
    pub fn microseconds(self) -> f64 {
        match self {
            Self::Microseconds => 1.0,
            Self::Milliseconds => 1e3,
            Self::Seconds => 1e6,
        }
    }

    /// A time in this unit, without the symbol.
    pub fn show(self, time_us: f64) -> String {
        let decimals = if self == Self::Microseconds { 1 } else { 3 };
        decimal(time_us / self.microseconds(), decimals)
    }
}

/// A single time with the unit that suits it.
#[must_use]
pub fn time(time_us: f64) -> String {
    match time_us {
        ..1_000.0 => format!("{} µs", decimal(time_us, 1)),
        ..1_000_000.0 => format!("{} ms", decimal(time_us / 1e3, 1)),
        _ => format!("{} s", decimal(time_us / 1e6, 1)),
    }
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

    #[test]
    fn digits_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(decimal(-1234.56, 1), "-1,234.6");
        assert_eq!(decimal(None, 1), "-");
        assert_eq!(decimal(f64::NAN, 1), "-");
        assert_eq!(rate(12_345.6), "12,346");
        assert_eq!(rate(99.94), "99.9");
        assert_eq!(percent(3.21), "3.2 %");
    }

    #[test]
    fn times_get_the_unit_that_suits_them() {
        assert_eq!(TimeUnit::for_max(9_999.0).show(645.25), "645.2");
        assert_eq!(TimeUnit::for_max(10_000.0).show(645.25), "0.645");
        assert_eq!(TimeUnit::for_max(2e8).show(1.5e8), "150.000");
        assert_eq!(time(12.34), "12.3 µs");
        assert_eq!(time(12_340.0), "12.3 ms");
        assert_eq!(time(12_340_000.0), "12.3 s");
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
