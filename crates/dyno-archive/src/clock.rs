//! The time of day of what a run has recorded, for those who lay it beside a log or another monitor.
//!
//! Within a run all times count from its begin by a clock that nobody sets, and the time of day follows from that: it
//! is the begin's, and so much later, whatever has become of the machine's clock meanwhile.

use jiff::{Timestamp, Unit};
use serde::Serializer;
use std::time::Duration;

/// The time of day `at` after a load began, to the millisecond; `None` if no calendar has it.
pub(crate) fn time_of_day(load_started: Timestamp, at: Duration) -> Option<Timestamp> {
    let time = load_started.checked_add(at).ok()?;
    time.round(Unit::Millisecond).ok()
}

/// A time as files have it: always with three decimals, so that readers which guess the form of a column from its first
/// row guess right.
pub(crate) fn written(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Writes it into a field.
pub(crate) fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.serialize_str(&written(*time)),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_milliseconds_of_one_length() {
        let started: Timestamp = "2026-11-21T19:40:12.999666Z".parse().unwrap();
        let at = |seconds| written(time_of_day(started, Duration::from_secs_f64(seconds)).unwrap());
        assert_eq!(at(0.0), "2026-11-21T19:40:13.000Z");
        assert_eq!(at(1.5), "2026-11-21T19:40:14.500Z");
        assert_eq!(time_of_day(started, Duration::MAX), None);
    }
}
