//! What a value may be that several commands are told.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};
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

/// How long something is to take.
pub(super) fn lasting(text: &str) -> Result<Duration, String> {
    age(text).map_err(|_| "write a time with its unit, such as 60s, 10m or 2h".to_owned())
}

/// An instant: the begin of a day here, a time, or how long ago it is.
pub(super) fn since(text: &str) -> Result<Timestamp, String> {
    let local = text
        .parse::<DateTime>()
        .ok()
        .and_then(|civil| civil.to_zoned(TimeZone::system()).ok());
    local
        .map(|zoned| zoned.timestamp())
        .or_else(|| text.parse().ok())
        .or_else(|| Timestamp::now().checked_sub(age(text).ok()?).ok())
        .ok_or_else(|| "write a date such as 2026-11-20, or how long ago, such as 7d or 12h".to_owned())
}

/// What a campaign may be called.
pub(super) fn label(text: &str) -> Result<String, String> {
    let text = text.trim();
    let harmless =
        !text.starts_with(['@', '-', '.']) && !text.contains(['/', '\\']) && !text.contains(char::is_control);
    match (1..=60).contains(&text.chars().count()) && harmless {
        true => Ok(text.to_owned()),
        false => Err("write 1 to 60 characters without / and \\, and none of @, - and . at the begin".to_owned()),
    }
}

/// What a private server may be called: its data has a folder of that name.
pub(super) fn server_name(text: &str) -> Result<String, String> {
    let allowed = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    match (1..=40).contains(&text.len()) && text.chars().all(allowed) && !text.starts_with(['-', '_', '.']) {
        true => Ok(text.to_owned()),
        false => Err("write 1 to 40 letters, digits, -, _ and ., beginning with a letter or digit".to_owned()),
    }
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
