//! Numbers as they are written, compared to the last digit: neither of two that a server tells apart is rounded to the
//! other.

use std::cmp::Ordering;

/// A decimal number of any size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    is_negative: bool,
    /// Its digits from the first to the last that is not 0; none: the number is 0.
    digits: Vec<u8>,
    /// The power of ten of the place before the first of these digits.
    magnitude: i64,
}

impl Exact {
    /// Reads a number as servers and people write them, such as `-1.50` or `2e-7`; `None` if it is none, or not a
    /// finite one.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, i64::from(exponent.parse::<i32>().ok()?)),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole.as_bytes(), fraction.as_bytes()].concat();
        if all.is_empty() || !all.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let Some(first) = all.iter().position(|digit| *digit != b'0') else {
            return Some(Self {
                is_negative: false,
                digits: Vec::new(),
                magnitude: 0,
            });
        };
        let end = all.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        Some(Self {
            is_negative: text.starts_with('-'),
            digits: all[first..end].to_vec(),
            magnitude: whole.len() as i64 - first as i64 + exponent,
        })
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let size = || {
            let (own, others) = ((self.magnitude, &self.digits), (other.magnitude, &other.digits));
            own.cmp(&others)
        };
        sign(self).cmp(&sign(other)).then_with(|| match self.is_negative {
            true => size().reverse(),
            false => size(),
        })
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Exact {
        Exact::read(text).unwrap()
    }

    #[test]
    fn a_number_is_the_same_however_it_is_written() {
        for same in [
            ["1", "1.0"],
            ["+1500", "1.5e3"],
            ["0.00020", "2E-4"],
            ["-0", "0.000"],
            [" 12 ", "012"],
            [".5", "5e-1"],
            ["1.", "1"],
            ["9007199254740993", "9007199254740993.000"],
            ["1e+23", "100000000000000000000000"],
        ] {
            assert_eq!(read(same[0]), read(same[1]), "{same:?}");
        }
        for none in [
            "",
            " ",
            "-",
            ".",
            "1e",
            "e5",
            "1.2.3",
            "0x10",
            "1 2",
            "NaN",
            "Infinity",
            "--1",
            "1e99999999999",
        ] {
            assert_eq!(Exact::read(none), None, "{none}");
        }
    }

    #[test]
    fn numbers_have_their_order_to_the_last_digit() {
        let ordered = [
            "-1e300",
            "-9007199254740993",
            "-9007199254740992",
            "-0.5",
            "-0.05",
            "0",
            "1e-400",
            "0.1",
            "0.1000000000000000055511151231257827",
            "9",
            "10",
            "9007199254740992",
            "9007199254740993",
            "99999999999999999999999999999999999999.9",
        ];
        for pair in ordered.windows(2) {
            assert!(read(pair[0]) < read(pair[1]), "{pair:?}");
        }
    }

    proptest! {
        #[test]
        fn whole_numbers_are_ordered_as_they_are(one in any::<i64>(), other in any::<i64>()) {
            let [left, right] = [one, other].map(|number| read(&number.to_string()));
            prop_assert_eq!(left.cmp(&right), one.cmp(&other));
        }

        #[test]
        fn anything_can_be_read(text in "[-+.0-9eE ]{0,12}") {
            let _ = Exact::read(&text);
        }
    }
}
