//! How a command ends when it does not end well: a message on standard error and an exit code.

use crate::cli::ARCHIVE;
use crate::say;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use dyno_target::target::text_without_secrets;
use dyno_text::visible;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command ends with an exit code other than 0.
#[derive(Debug)]
pub enum Failure {
    /// Usage or set-up: nothing was measured, or settings of a server were left changed. Exit code 1.
    SetUp(String),
    /// The same where what is wrong is said already. Exit code 1.
    Said,
    /// A run ended part-way; what was measured is kept. Exit code 2. Without a message what happened is said already.
    PartWay(Option<String>),
    /// What was asked for holds not: a comparison found a loss that the caller wants to be told of. Exit code 3.
    Gate(String),
    /// What was asked for is not known yet, and the caller wants to be told of that. Exit code 4.
    Unsure(String),
}

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::SetUp(error.to_string())
    }
}

impl Failure {
    /// The same after something was measured and kept.
    pub fn part_way(self) -> Self {
        match self {
            Self::SetUp(message) => Self::PartWay(Some(message)),
            other => other,
        }
    }

    /// What there is to say, unless it is said already.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::SetUp(message) | Self::Gate(message) | Self::Unsure(message) => Some(message),
            Self::PartWay(message) => message.as_deref(),
            Self::Said => None,
        }
    }

    /// Says what there is to say and gives the exit code. `words` are those that were typed: an address among them
    /// that stands in the wrong place is repeated as what it was taken for.
    pub fn report(self, words: &[OsString]) -> ExitCode {
        let words = texts(words);
        let say = |message: &str| say::aside(&format!("error: {}", text_without_secrets(message, &words)));
        match self {
            Self::SetUp(message) => {
                say(&message);
                ExitCode::from(1)
            }
            Self::Said => ExitCode::from(1),
            Self::PartWay(message) => {
                if let Some(message) = message {
                    say(&message);
                }
                ExitCode::from(2)
            }
            Self::Gate(message) => {
                say(&message);
                ExitCode::from(3)
            }
            Self::Unsure(message) => {
                say(&message);
                ExitCode::from(4)
            }
        }
    }
}

/// Prints what clap has to say about these words: help and version are no failure.
pub fn usage(error: clap::Error, words: &[OsString]) -> ExitCode {
    let typed = texts(words);
    let error = with_hint(error, &typed);
    let text = error.render().to_string();
    let shown = text_without_secrets(&text, &typed);
    if error.use_stderr() && visible(&shown) != text {
        // It repeats the word that it cannot place.
        say::aside(&shown);
        return ExitCode::from(1);
    }
    match error.print().and_then(|()| io::stdout().flush()) {
        _ if error.use_stderr() => ExitCode::from(1),
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => say::unwritten(&cause).report(words),
        _ => ExitCode::SUCCESS,
    }
}

/// What people write as an option that is a value of the experiment, and its name there.
const VALUES: [(&str, &str); 16] = [
    ("-c", "clients"),
    ("-j", "threads"),
    ("-T", "measure"),
    ("-R", "rate"),
    ("-M", "protocol"),
    ("--clients", "clients"),
    ("--connections", "clients"),
    ("--threads", "threads"),
    ("--rate", "rate"),
    ("--protocol", "protocol"),
    ("--driver", "driver"),
    ("--rows", "rows"),
    ("--warmup", "warmup"),
    ("--measure", "measure"),
    ("--duration", "measure"),
    ("--time", "measure"),
];

/// The same, with what to write in place of an option that there is not.
fn with_hint(mut error: clap::Error, words: &[String]) -> clap::Error {
    let measures = ["run", "versus", "screen", "capacity"];
    let command = words.get(1).map(String::as_str).unwrap_or_default();
    // An option that goes only without an experiment is named beside that, with its value.
    let named = [ContextKind::InvalidArg, ContextKind::PriorArg].map(|kind| match error.get(kind) {
        Some(ContextValue::String(argument)) => argument.split(' ').next(),
        _ => None,
    });
    let is_named = |(option, _): &&(&str, &str)| named.contains(&Some(*option));
    let is_unplaced = error.kind() != ErrorKind::ValueValidation && measures.contains(&command);
    let Some((option, name)) = VALUES.iter().find(is_named).filter(|_| is_unplaced) else {
        return error;
    };
    let is_short = !option.starts_with("--");
    let is_it = |word: &String| word.split('=').next() == Some(option) || is_short && word.starts_with(option);
    let place = words.iter().position(is_it);
    let joined = place.and_then(|place| words[place].strip_prefix(option));
    let joined = joined
        .map(|value| value.trim_start_matches('=').to_owned())
        .filter(|value| !value.is_empty());
    let next = place.and_then(|place| words.get(place + 1).filter(|next| !next.starts_with('-')).cloned());
    let value = joined.or(next).unwrap_or_else(|| "…".to_owned());
    // Other tools count seconds.
    let is_seconds = ["measure", "warmup"].contains(name);
    let value = match is_seconds && value.parse::<u64>().is_ok() {
        true => format!("{value}s"),
        false => value,
    };
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::Usage);
    let tip = format!("a value of the experiment is set with '--set {name}={value}'");
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// The words, and what stands for one of them.
fn texts(words: &[OsString]) -> Vec<String> {
    let archive = std::env::var_os(ARCHIVE);
    let all = words.iter().chain(&archive);
    all.map(|word| word.to_string_lossy().into_owned()).collect()
}
