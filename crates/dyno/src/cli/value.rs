//! What a value may be that several commands are told.

use jiff::{Span, SpanRelativeTo};
use std::time::Duration;

/// A value of an experiment.
pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write NAME=VALUE, for example --set clients=16".to_owned()),
    }
}

/// How long something was not used. A day has 24 hours.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let expected = || "write a number with its unit, such as 7d, 12h or 2 weeks".to_owned();
    let span: Span = text.parse().map_err(|_| expected())?;
    let age = span.to_duration(SpanRelativeTo::days_are_24_hours());
    age.ok()
        .and_then(|age| Duration::try_from(age).ok())
        .ok_or_else(expected)
}

/// A number of things that there must be.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("write a number of at least 1, or several separated by commas".to_owned()),
    }
}

/// A percentage as a share; the sign may be left out.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("write a percentage from 0 to 100, for example --fail-if-worse 5%".to_owned()),
    }
}
