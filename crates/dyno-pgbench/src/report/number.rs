//! Numbers as PostgreSQL's `printf` writes them.

/// `%.<digits>f`. Where there was nothing to divide by, pgbench prints what its printf makes of that, `NaN`, `-nan`
/// or `Infinity`; the reader of a report is told 0.
pub(crate) fn fixed(number: f64, digits: usize) -> String {
    let number = if number.is_finite() { number } else { 0.0 };
    format!("{number:.digits$}")
}

/// What share `part` is of `whole`, as `%.3f%%` or with other digits.
pub(super) fn percent(part: u64, whole: u64, digits: usize) -> String {
    fixed(100.0 * part as f64 / whole as f64, digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_none() {
        assert_eq!(percent(0, 0, 3), "0.000");
        assert_eq!(percent(1, 0, 3), "0.000");
        assert_eq!(percent(1, 3, 1), "33.3");
        assert_eq!(fixed(-f64::INFINITY, 3), "0.000");
        assert_eq!(fixed(1.0, 3), "1.000");
    }
}
