//! Numbers as people read them: digits in groups of three, and only as many as mean something.

/// With one decimal a smaller share in percent would be 0.
const LEAST_PERCENT: f64 = 0.05;

/// More places behind the decimal point have no power of ten.
const MOST_PLACES: i32 = 300;

/// From here on a figure has so many digits that nobody reads them, and not all of them are its own.
const LARGE: f64 = 1e15;

/// A figure below this has too many zeros.
const SMALL: f64 = 1e-9;

/// A whole number with its digits in groups of three.
#[must_use]
pub fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// A number rounded to so many significant digits; what is not finite is 0.
#[must_use]
pub fn rounded_to(digits: i32, number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return 0.0;
    }
    let magnitude = number.abs().log10().floor() as i32;
    // Either way the power of ten is exact for all that is measured, and so the quotient is the number that is nearest.
    let places = digits - 1 - magnitude;
    if places > MOST_PLACES {
        let decimals = usize::try_from(digits - 1).unwrap_or(0);
        format!("{number:.decimals$e}").parse().unwrap_or(number)
    } else if places >= 0 {
        let power = 10_f64.powi(places);
        nearest(number, power) / power
    } else {
        let power = 10_f64.powi(-places);
        (number / power).round_ties_even() * power
    }
}

/// A figure as documents keep it: rounded to six significant digits, or to a whole number if that has more.
#[must_use]
pub fn rounded(number: f64) -> f64 {
    match number.abs() {
        large if large >= 1e6 && large.is_finite() => number.round_ties_even(),
        _ => rounded_to(6, number),
    }
}

/// The whole number nearest to `number` times `power`; of two that are equally near the even one, as where numbers are
/// formatted.
fn nearest(number: f64, power: f64) -> f64 {
    let scaled = number * power;
    if scaled.fract().abs() != 0.5 {
        return scaled.round();
    }
    // The product was rounded, too: what that took away or added says on which side of the middle it is.
    match number.mul_add(power, -scaled) * scaled {
        less if less < 0.0 => scaled.trunc(),
        more if more > 0.0 => scaled.round(),
        _ => scaled.round_ties_even(),
    }
}

/// A number with `decimals` decimals and its digits in groups of three; `-` if there is none.
#[must_use]
pub fn decimal(number: impl Into<Option<f64>>, decimals: usize) -> String {
    match number.into().filter(|number| number.is_finite()) {
        Some(number) => grouped(&format!("{number:.decimals$}")),
        None => "-".to_owned(),
    }
}

/// A figure of any unit: with four digits, or all before the decimal point, and without zeros at its end. It is how
/// every measured number is written that a person reads; what is smaller than most does not become 0, and what is
/// beyond all that is measured is written with a power of ten, such as 1.5e308.
///
/// It is [`rounded`] first, so that a figure reads alike whether it was in a document or not.
#[must_use]
pub fn figure(number: f64) -> String {
    if !number.is_finite() {
        return "-".to_owned();
    }
    let number = rounded(number);
    if number != 0.0 && !(SMALL..LARGE).contains(&number.abs()) {
        let text = format!("{number:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", without_zeros(digits));
    }
    let magnitude = if number == 0.0 {
        0
    } else {
        number.abs().log10().floor() as i32
    };
    let decimals = (3 - magnitude).clamp(0, 12) as usize;
    without_zeros(&decimal(number, decimals)).to_owned()
}

/// A number without zeros at the end of its decimals.
fn without_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// A number with its noun.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A share in percent with its sign, [`rounded`] first; what is more than nothing does not become 0; `-` if there is
/// none.
#[must_use]
pub fn percent(share: impl Into<Option<f64>>) -> String {
    match share.into().filter(|share| share.is_finite()).map(rounded) {
        Some(share) if share > 0.0 && share < LEAST_PERCENT => "<0.1 %".to_owned(),
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
        assert_eq!(
            (counted(1, "run"), counted(12_345, "run")),
            ("1 run".to_owned(), "12,345 runs".to_owned())
        );
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
        assert_eq!((figure(0.0177).as_str(), figure(f64::NAN).as_str()), ("0.0177", "-"));
    }

    #[test]
    fn a_figure_beyond_all_that_is_measured_has_a_power_of_ten() {
        for (number, shown) in [
            (1e308, "1e308"),
            (-1.234_56e308, "-1.235e308"),
            (i64::MAX as f64, "9.223e18"),
            (1e15, "1e15"),
            (999_999_999_999_999.0, "999,999,999,999,999"),
            (1e-9, "0.000000001"),
            (9.87e-10, "9.87e-10"),
            (1e-308, "1e-308"),
            (f64::MAX, "1.798e308"),
            (f64::from_bits(1), "4.941e-324"),
        ] {
            assert_eq!([figure(number), figure(rounded(number))], [shown, shown]);
        }
    }

    #[test]
    fn a_figure_reads_alike_wherever_it_comes_from() {
        // In the middle between two, by itself and after it was in a document with six digits.
        for (number, shown) in [
            (97.625, "97.62"),
            (97.625_001, "97.62"),
            (97.624_999_9, "97.62"),
            (97.625_1, "97.63"),
            (97.375, "97.38"),
            (-97.625, "-97.62"),
            (0.125_05, "0.125"),
            (1_234.5, "1,234"),
            (1_235.500_1, "1,236"),
            (1_234_567.5, "1,234,568"),
        ] {
            assert_eq!([figure(number), figure(rounded(number))], [shown, shown]);
        }
        assert_eq!([3.25, 3.250_000_4].map(percent), ["3.2 %", "3.2 %"]);
        // A little below the middle, although ten times it is 43.5 to all digits that a number has.
        assert_eq!(
            (rounded_to(2, 4.35), rounded_to(2, 4.45), rounded_to(2, 4.25)),
            (4.3, 4.5, 4.2)
        );
        assert_eq!(
            (rounded(f64::NAN), rounded(f64::INFINITY), rounded_to(4, 1e-310)),
            (0.0, 0.0, 1e-310)
        );
    }

    #[test]
    fn four_digits_are_kept() {
        assert_eq!(
            [123_456.0, 0.123_456, -9.999_96, 0.0].map(|number| rounded_to(4, number)),
            [123_500.0, 0.1235, -10.0, 0.0]
        );
        assert_eq!(rounded(1_234_567.4), 1_234_567.0);
    }

    #[test]
    fn a_small_share_is_not_none() {
        let shares = [3.21, 0.0, 0.05, 0.049, 1e-9, 100.0];
        assert_eq!(
            shares.map(percent),
            ["3.2 %", "0.0 %", "0.1 %", "<0.1 %", "<0.1 %", "100.0 %"]
        );
        assert_eq!(percent(None), "-");
    }

    proptest! {
        #[test]
        fn a_figure_is_within_half_of_its_fourth_digit(mantissa in 1.0_f64..10.0, power in -8_i32..12,
            sign in any::<bool>()) {
            let number = if sign { -mantissa } else { mantissa } * 10_f64.powi(power);
            let shown: f64 = figure(number).replace(',', "").parse().unwrap();
            // And half of the sixth, to which it is rounded first.
            prop_assert!((shown / number - 1.0).abs() <= 0.505e-3 * (1.0 + 1e-9), "{} as {}", number, figure(number));
        }
    }
}
