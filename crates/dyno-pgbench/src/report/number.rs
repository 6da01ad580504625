//! Numbers as PostgreSQL's `printf` writes them.

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
    }
}
