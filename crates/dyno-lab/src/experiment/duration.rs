//! Durations as experiment files write them.

use std::time::Duration;

/// Reads a duration such as `20s`, `8h`, `10ms` or `1h 30m`.
///
/// # Errors
///
/// What was expected, if the text is no duration, is negative, or is longer than a hundred years.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "expected a duration with its unit, such as \"10ms\", \"20s\", \"5m\" or \"8h\"";
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    // The friendly format alone: ISO 8601's "PT20S" would be one more spelling for nobody.
    let parser = jiff::fmt::friendly::SpanParser::new();
    parser
        .parse_unsigned_duration(text)
        .ok()
        .filter(|duration| *duration <= LONGEST)
        .ok_or_else(|| EXPECTED.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_duration("8h"), Ok(Duration::from_secs(8 * 3600)));
        assert_eq!(parse_duration("1h 30m"), Ok(Duration::from_secs(5400)));
        for wrong in ["", "20", "s", "-5s", "20 parsecs", "5s ago", "999999999999h", "PT5S"] {
            assert!(parse_duration(wrong).is_err(), "{wrong:?} was accepted");
        }
    }
}
