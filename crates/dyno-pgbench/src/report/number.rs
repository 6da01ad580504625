//! Numbers as PostgreSQL's `printf` writes them.

use crate::version::Version;

/// `%.<digits>f`.
pub(crate) fn fixed(number: f64, digits: usize) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        format!("{number:.digits$}")
    }
}

/// `%.<digits>f` of a version: 12 and later write themselves, earlier ones left it to the C library, which knows "not a number" with its sign. No report of 11
/// can have that, so that 10 is the last to tell.
pub(crate) fn fixed_in(version: Version, number: f64, digits: usize) -> String {
    if version < Version::V11 && number.is_nan() {
        // Nothing divided by nothing is negative on x86.
        return "-nan".to_owned();
    }
    fixed(number, digits)
}

/// What share `part` is of `whole`, as `%.3f%%` or with other digits.
pub(super) fn percent(part: u64, whole: u64, digits: usize) -> String {
    fixed(100.0 * part as f64 / whole as f64, digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_written_out() {
        assert_eq!(percent(0, 0, 3), "NaN");
        assert_eq!(percent(1, 0, 3), "Infinity");
        assert_eq!(percent(1, 3, 1), "33.3");
        assert_eq!(fixed(-f64::INFINITY, 3), "-Infinity");
        assert_eq!(fixed_in(Version::V15, f64::NAN, 3), "NaN");
        assert_eq!(fixed_in(Version::V10, f64::NAN, 3), "-nan");
        assert_eq!(fixed_in(Version::V10, 1.0, 3), "1.000");
    }
}
