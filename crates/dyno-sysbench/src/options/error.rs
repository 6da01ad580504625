//! What is wrong with a command line, in sysbench's words and on the stream where it says so.

use crate::message::{complain, print};

/// A command line that cannot be followed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// A word that is no option, where there are a test and a command already.
    #[error("Unrecognized command line argument: {0}")]
    Unrecognized(String),
    /// A number is expected.
    #[error("Invalid value for the '{option}' option: '{value}'")]
    Number {
        /// The option's name.
        option: String,
        /// What is written.
        value: String,
    },
    /// An option that there is not, or that does not have such a value, as it was written.
    #[error("invalid option: {0}")]
    Invalid(String),
    /// A value that the option cannot have.
    #[error("{0}")]
    Value(String),
    /// A number that is no level.
    #[error("Invalid value for verbosity: {}", .0.rem_euclid(256))]
    Verbosity(i64),
}

impl OptionError {
    /// Says it: on standard error, unless it is one of the things that sysbench logs.
    pub fn report(&self) {
        match self {
            Self::Value(text) => print(&format!("FATAL: {text}\n")),
            Self::Verbosity(_) => print(&format!("{self}\n")),
            _ => complain(&format!("{self}\n")),
        }
    }

    /// The same with other texts in the place of what was written.
    #[must_use]
    pub(super) fn map_text(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::Unrecognized(word) => Self::Unrecognized(change(word)),
            Self::Number { option, value } => Self::Number {
                option,
                value: change(value),
            },
            Self::Invalid(word) => Self::Invalid(change(word)),
            Self::Value(text) => Self::Value(change(text)),
            Self::Verbosity(level) => Self::Verbosity(level),
        }
    }
}
