//! Numbers as people read them: digits in groups of three, and only as many as mean something.

/// With one decimal a smaller share in percent would be 0.
const LEAST_PERCENT: f64 = 0.05;

/// A whole number with its digits in groups of three.
#[must_use]
pub fn count(number: u64) -> String {
    grouped(&number.to_string())
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
/// every measured number is written that a person reads; what is smaller than most does not become 0.
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

/// A number with its noun.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A share in percent with its sign; what is more than nothing does not become 0; `-` if there is none.
#[must_use]
pub fn percent(share: impl Into<Option<f64>>) -> String {
    match share.into().filter(|share| share.is_finite()) {
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
            prop_assert!((shown / number - 1.0).abs() <= 0.5e-3 * (1.0 + 1e-9), "{} as {}", number, figure(number));
        }
    }
}
