//! What several options, or an option's value, must be like.

use super::error::OptionError;
use super::settings::Settings;
use super::{Limits, Telling};
use crate::message::Level;

/// Distributions of random numbers.
const DISTRIBUTIONS: [&str; 5] = ["uniform", "gaussian", "special", "pareto", "zipfian"];

/// The most clients of one run.
const MOST_THREADS: i64 = 100_000;

fn invalid(option: &str, value: impl std::fmt::Display) -> OptionError {
    OptionError::Value(format!("Invalid value for --{option}: {value}"))
}

/// A number of seconds or events; none is no limit, and neither is a negative one.
fn limit(settings: &Settings, name: &str) -> Option<u64> {
    u64::try_from(settings.int(name)).ok().filter(|number| *number > 0)
}

/// How much is to be done.
///
/// # Errors
/// A value is none that the option can have.
pub fn limits(settings: &Settings) -> Result<Limits, OptionError> {
    let threads = settings.int("threads");
    // sysbench says it with a line end of its own.
    if threads <= 0 {
        return Err(OptionError::Value(format!("Invalid value for --threads: {threads}.\n")));
    }
    if threads > MOST_THREADS {
        return Err(OptionError::Value(format!(
            "Invalid value for --threads: {threads}; at most {MOST_THREADS} clients fit into a process"
        )));
    }
    let time_s = limit(settings, "time");
    let rate = limit(settings, "rate");
    Ok(Limits {
        threads: usize::try_from(threads).unwrap_or(1),
        events: limit(settings, "events"),
        time_s,
        warmup_s: limit(settings, "warmup-time").unwrap_or(0),
        forced_shutdown_s: match time_s {
            Some(time_s) => forced_shutdown(settings, time_s)?,
            None => None,
        },
        rate_per_s: rate.map(|rate| rate as f64),
        init_timeout_s: limit(settings, "thread-init-timeout").unwrap_or(0),
    })
}

/// Seconds after the time limit; without a value, a twentieth of it.
fn forced_shutdown(settings: &Settings, time_s: u64) -> Result<Option<u64>, OptionError> {
    match settings.text("forced-shutdown") {
        "off" => Ok(None),
        "" => Ok(Some(time_s / 20)),
        text => match text.parse() {
            Ok(seconds) => Ok(Some(seconds)),
            Err(_) => Err(invalid("forced-shutdown", format_args!("'{text}'"))),
        },
    }
}

/// What is told.
///
/// # Errors
/// A value is none that the option can have.
pub fn telling(settings: &Settings) -> Result<Telling, OptionError> {
    let debug = settings.is_on("debug");
    let verbosity = settings.int("verbosity");
    let most = Level::of(verbosity).ok_or(OptionError::Verbosity(verbosity))?;
    let mut checkpoints_s = Vec::new();
    for text in settings.list("report-checkpoints") {
        let seconds: u64 = text
            .parse()
            .map_err(|_| invalid("report-checkpoints", format_args!("'{text}'")))?;
        checkpoints_s.push(seconds);
    }
    checkpoints_s.sort_unstable();
    let percentile = settings.int("percentile");
    let percentile = match u8::try_from(percentile) {
        Ok(0) => None,
        Ok(percentile @ 1..=100) => Some(percentile),
        _ => return Err(invalid("percentile", percentile)),
    };
    let histogram = settings.is_on("histogram");
    if histogram && percentile.is_none() {
        return Err(OptionError::Value(
            "--histogram cannot be used with --percentile=0".to_owned(),
        ));
    }
    Ok(Telling {
        most: if debug { Level::Debug } else { most },
        debug,
        validate: settings.is_on("validate"),
        interval_s: limit(settings, "report-interval"),
        checkpoints_s,
        percentile,
        histogram,
        seed: match settings.int("rand-seed") {
            0 => None,
            seed => Some(seed.cast_unsigned()),
        },
    })
}

/// Random numbers.
///
/// # Errors
/// There is no such distribution.
pub fn random(settings: &Settings) -> Result<(), OptionError> {
    let name = settings.text("rand-type");
    match DISTRIBUTIONS.contains(&name) {
        true => Ok(()),
        false => Err(OptionError::Value(format!(
            "Invalid random numbers distribution: {name}."
        ))),
    }
}
