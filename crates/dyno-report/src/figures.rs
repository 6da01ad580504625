//! Numbers as people read them, with what they are of: rates, times, sizes.

pub use dyno_archive::figures::{count, figure};
pub(crate) use dyno_archive::figures::{counted, decimal, percent, rounded, rounded_to};

use dyno_archive::summary::Pacing;
use dyno_text::visible;
use std::time::Duration;

/// The unit of latencies.
pub(crate) const MS: &str = "ms";

/// Latencies have three digits, zeros at the end among them: more say nothing.
pub(crate) const LATENCY_DIGITS: u8 = 3;

/// A number of a table as every form writes it, without its `unit`.
pub(crate) fn in_unit(number: f64, unit: &str) -> String {
    match unit {
        "%" => percent(number).trim_end_matches(" %").to_owned(),
        MS => significant_digits(number, LATENCY_DIGITS),
        _ => figure(number),
    }
}

/// A number of transactions or statements per second, or a metric; `-` if there is none.
#[must_use]
pub fn rate(per_second: impl Into<Option<f64>>) -> String {
    per_second.into().map_or_else(|| "-".to_owned(), figure)
}

/// A latency in milliseconds, without the unit; `-` if there is none.
pub(crate) fn ms(time_us: impl Into<Option<f64>>) -> String {
    let time_us = time_us.into();
    time_us.map_or_else(|| "-".to_owned(), |time_us| in_unit(time_us / 1e3, MS))
}

/// A latency with its unit: always milliseconds, so that any two can be compared at a glance.
#[must_use]
pub fn time(time_us: f64) -> String {
    format!("{} ms", ms(time_us))
}

/// A number with so many significant digits, or all before the decimal point.
pub(crate) fn significant_digits(number: f64, digits: u8) -> String {
    if number == 0.0 || !number.is_finite() {
        return figure(number);
    }
    // Rounding may add a digit before the decimal point.
    decimal(number, decimals_with(rounded_to(digits.into(), number), digits))
}

/// How many decimals a number with so many significant digits has.
fn decimals_with(number: f64, digits: u8) -> usize {
    let before = number.abs().log10().floor() as i32 + 1;
    (i32::from(digits) - before).clamp(0, 9) as usize
}

/// A change in percent with its sign, without its unit; zeros behind the point say nothing.
pub(crate) fn signed(percent: f64, decimals: usize) -> String {
    let text = decimal(percent.abs(), decimals);
    let text = text.strip_suffix(".0").unwrap_or(&text);
    let sign = match percent < 0.0 {
        true if text != "0" => "−",
        _ => "+",
    };
    format!("{sign}{text}")
}

/// With how many decimals a change in percent is written that lies between two. An end that is not zero is not
/// written as zero if that is what decides.
pub(crate) fn decimals_of_change(low: f64, high: f64) -> usize {
    const WIDE: f64 = 10.0;
    let decides = low > 0.0 || high < 0.0;
    let near_zero = low.abs().min(high.abs()) < 0.5;
    usize::from(high - low < WIDE || decides && near_zero)
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

/// Where the greatest of several figures is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greatest {
    /// The first place that has it.
    pub place: usize,
    /// How many are written like it.
    pub alike: usize,
    /// Of how many it is the greatest.
    pub of: usize,
}

impl Greatest {
    /// Of `figures`; `None` of nothing. Those that a person cannot tell apart are alike.
    pub fn of(figures: &[f64]) -> Option<Self> {
        let greatest = figure(figures.iter().copied().max_by(f64::total_cmp)?);
        let mut alike = figures
            .iter()
            .enumerate()
            .filter(|(_, other)| figure(**other) == greatest);
        let (place, _) = alike.next()?;
        Some(Self {
            place,
            alike: 1 + alike.count(),
            of: figures.len(),
        })
    }

    /// What is to be said of the cell that has it.
    pub fn of_cells(self, what: &str) -> String {
        let cells = counted(self.of as u64, "cell");
        match self.alike {
            _ if self.of == 1 => "The only cell that counts".to_owned(),
            1 => format!("The highest{what} of {cells}"),
            alike if alike == self.of => format!("The same{what} in all {cells}"),
            alike => format!("The highest{what} of {cells}, shared by {alike} of them"),
        }
    }

    /// How many more `what` have it, as the end of a list; nothing if it is alone.
    pub fn and_more(self, what: &str) -> String {
        match self.alike - 1 {
            0 => String::new(),
            more => format!(" and {}", counted(more as u64, &format!("more {what}"))),
        }
    }
}

/// A number of bytes in the units of PostgreSQL, whose MB has 1,048,576 bytes.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["bytes", "kB", "MB", "GB"];
    let mut number = number;
    let mut unit = 0;
    // As long as four digits do, they say more than a decimal would.
    while number >= 10 * 1024 && unit + 1 < UNITS.len() {
        number = number.saturating_add(512) / 1024;
        unit += 1;
    }
    format!("{} {}", count(number), UNITS[unit])
}

/// So many seconds as a [`duration`].
pub(crate) fn duration_of(seconds: f64) -> String {
    duration(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default())
}

/// A duration in words: `20 s`, `5 min 30 s`, `8 h`, `3 d 2 h`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    const PARTS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    if duration < Duration::from_secs(10) && duration.subsec_millis() > 0 {
        return format!("{} s", decimal(duration.as_secs_f64(), 1));
    }
    let mut rest_s = duration
        .as_secs()
        .saturating_add(u64::from(duration.subsec_millis() >= 500));
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

/// Words as a sentence; what others have written may have its full stop already.
pub(crate) fn sentence(words: &str) -> String {
    match words.ends_with(['.', '!', '?']) {
        true => words.to_owned(),
        false => format!("{words}."),
    }
}

/// The name of a folder, which may be anybody's, in one line and with nothing that a terminal obeys.
pub(crate) fn folder_name(name: &str) -> String {
    visible(name).replace('\n', "\\n").replace(['\r', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_a_dash() {
        assert_eq!(
            (rate(0.0177), rate(None), rate(f64::NAN)),
            ("0.0177".to_owned(), "-".to_owned(), "-".to_owned())
        );
    }

    #[test]
    fn shares_are_written_alike_in_sentences_and_tables() {
        let share = |share| in_unit(share, "%");
        assert_eq!(
            (share(3.21), share(0.02), share(100.0)),
            ("3.2".into(), "<0.1".into(), "100.0".into())
        );
        assert_eq!(in_unit(3.21, "TPS"), "3.21");
    }

    #[test]
    fn latencies_are_in_milliseconds_whatever_their_size() {
        assert_eq!(time(4_370_460.0), "4,370 ms");
        assert_eq!(time(602.6), "0.603 ms");
        assert_eq!(time(12.34), "0.0123 ms");
        assert_eq!(time(0.1), "0.000100 ms");
        assert_eq!(
            [943.1, 4_260.0, 5_120.0, 11_700.0].map(ms),
            ["0.943", "4.26", "5.12", "11.7"]
        );
        assert_eq!((ms(23_249.0), ms(None)), ("23.2".to_owned(), "-".to_owned()));
    }

    #[test]
    fn what_is_alike_is_not_called_the_highest() {
        let words = |figures: &[f64]| Greatest::of(figures).map(|greatest| greatest.of_cells(""));
        assert_eq!(words(&[]), None);
        assert_eq!(words(&[5.0]).unwrap(), "The only cell that counts");
        assert_eq!(words(&[5.0, 7.0]).unwrap(), "The highest of 2 cells");
        assert_eq!(words(&[7.0, 7.000_01]).unwrap(), "The same in all 2 cells");
        assert_eq!(
            words(&[7.0, 5.0, 7.0]).unwrap(),
            "The highest of 3 cells, shared by 2 of them"
        );
        let greatest = Greatest::of(&[5.0, 7.0, 7.000_01]).unwrap();
        assert_eq!(
            (greatest.place, greatest.and_more("level").as_str()),
            (1, " and 1 more level")
        );
    }

    #[test]
    fn a_change_has_no_more_digits_than_its_interval_supports() {
        assert_eq!(
            [(242.0, 506.0), (-42.5, 42.6), (-1.0, 8.9)].map(|(low, high)| decimals_of_change(low, high)),
            [0, 0, 1]
        );
        assert_eq!(
            [(305.7, 0), (-42.5, 1), (-0.04, 1), (5.0, 1)].map(|(change, decimals)| signed(change, decimals)),
            ["+306", "−42.5", "+0", "+5"]
        );
        // That it is more than nothing is seen.
        assert_eq!((decimals_of_change(0.3, 25.0), decimals_of_change(-0.3, 25.0)), (1, 0));
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
    fn a_sentence_has_one_full_stop() {
        assert_eq!(
            [sentence("it broke"), sentence("It broke.")],
            ["it broke.", "It broke."]
        );
    }

    #[test]
    fn foreign_text_cannot_move_the_cursor() {
        assert_eq!(one_line("a\n\tb \x1b[31mc"), "a b [31mc");
    }
}
