//! Numbers as C's library reads them, because that is what pgbench's options take.

/// `atof`: the longest beginning that is a number, else 0.
pub(super) fn float_prefix(text: &str) -> f64 {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(end);
    end += whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0.0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign.min(bytes.len() - end - 1));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    text[..end].parse().unwrap_or(0.0)
}

/// `atoi`: the longest beginning that is a whole number, else 0. Where C leaves open what is too large, the nearest
/// 32-bit number.
pub(super) fn int_prefix(text: &str) -> i32 {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text.as_bytes()[sign..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let number: i128 = text[..sign + digits].parse().unwrap_or(0);
    number.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// `strtol` over the whole text: `None` if something else stands there; too large a number is the largest there is.
pub(crate) fn whole_int(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let largest = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(text.parse().unwrap_or(largest))
}

/// `sscanf` with `%llu` over the whole text: a minus wraps around, too large a number is the largest there is.
pub(super) fn whole_unsigned(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match digits.parse::<u64>() {
        Ok(number) if text.starts_with('-') => Some(number.wrapping_neg()),
        Ok(number) => Some(number),
        Err(_) => Some(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_beginnings_as_c_does() {
        for (text, number) in [
            ("1.5x", 1.5),
            (" -2e1", -20.0),
            ("2e", 2.0),
            ("2e+", 2.0),
            (".5", 0.5),
            ("x", 0.0),
            ("", 0.0),
            ("1.", 1.0),
        ] {
            assert_eq!(float_prefix(text), number, "{text}");
        }
        for (text, number) in [("12x", 12), ("-1", -1), ("", 0), ("99999999999", i32::MAX)] {
            assert_eq!(int_prefix(text), number, "{text}");
        }
    }

    #[test]
    fn reads_whole_numbers_only() {
        assert_eq!(whole_int(" 12"), Some(12));
        assert_eq!(whole_int("12 "), None);
        assert_eq!(whole_int("-"), None);
        assert_eq!(whole_int("99999999999999999999"), Some(i64::MAX));
        assert_eq!(whole_unsigned("-1"), Some(u64::MAX));
        assert_eq!(whole_unsigned("5x"), None);
        assert_eq!(whole_unsigned("99999999999999999999"), Some(u64::MAX));
    }

    proptest! {
        #[test]
        fn never_panics(text in "[ +0-9.eE x-]{0,8}|\\PC{0,4}") {
            let _ = (float_prefix(&text), int_prefix(&text), whole_int(&text), whole_unsigned(&text));
        }
    }
}
