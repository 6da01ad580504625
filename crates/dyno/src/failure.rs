//! How a command ends when it does not end well: a message on standard error and an exit code.

use crate::cli::ARCHIVE;
use crate::say;
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
pub fn usage(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let typed = texts(words);
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

/// The words, and what stands for one of them.
fn texts(words: &[OsString]) -> Vec<String> {
    let archive = std::env::var_os(ARCHIVE);
    let all = words.iter().chain(&archive);
    all.map(|word| word.to_string_lossy().into_owned()).collect()
}
