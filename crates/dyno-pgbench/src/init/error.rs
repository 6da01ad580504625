//! Why an initialization ended early, and what it left.

use super::step::Step;
use crate::excerpt::server_text;
use dyno_target::address::ConnectError;
use dyno_target::load::LoaderError;

/// Why an initialization ended early. pgbench's exit code for all of these is 1.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// No step is given.
    #[error("no initialization steps specified")]
    NoSteps,
    /// A letter that is no step.
    #[error("unrecognized initialization step \"{letter}\"")]
    UnknownStep {
        /// The letter.
        letter: char,
    },
    /// The server is too old for what is asked; nothing was done.
    #[error("{what} need PostgreSQL {needed} or later, but the server is {version}")]
    Unsupported {
        /// What is asked.
        what: &'static str,
        /// The first major version that can do it.
        needed: u32,
        /// The server's version.
        version: String,
    },
    /// No server could be connected to; nothing was done.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A connection was made, but not in a way that is of use; nothing was done.
    #[error("could not create connection for initialization: {0}")]
    LogIn(LoaderError),
    /// A step failed or was interrupted.
    #[error("{failure}")]
    Step {
        /// What happened.
        failure: StepFailure,
        /// What the steps so far have left, in sentences.
        state: String,
    },
}

impl InitError {
    /// Whether a step was interrupted because that was asked for; the server was then asked to cancel what it was executing.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Step { failure, .. } if matches!(failure.error, LoaderError::Stopped))
    }

    /// What pgbench prints as `detail`.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::UnknownStep { .. } => Some("Allowed step characters are: \"dtgGvpf\".".to_owned()),
            Self::Step { failure, .. } => failure.detail(),
            _ => None,
        }
    }

    /// What to do, and in which state the tables are, where the error alone does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Step { failure, state } => failure.advice().map(|advice| format!("{advice}{state}")),
            _ => None,
        }
    }
}

/// What stopped a step.
#[derive(Debug)]
pub struct StepFailure {
    /// What happened.
    pub(super) error: LoaderError,
    /// While this was executed.
    pub(super) statement: String,
    /// In this step.
    pub(super) step: Step,
}

impl std::fmt::Display for StepFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.error {
            LoaderError::Refused(error) | LoaderError::Ended(error) => {
                write!(f, "query failed: {}", server_text(error, Some(&self.statement)))
            }
            LoaderError::Stopped => write!(f, "initialization was stopped during the step \"{}\"", self.step.name()),
            other => write!(f, "query failed: {other}"),
        }
    }
}

impl StepFailure {
    fn detail(&self) -> Option<String> {
        match self.error {
            LoaderError::Stopped => None,
            _ => Some(format!("Query was: {}", self.statement)),
        }
    }

    /// What to do about it, with a space at the end; `None` where the server's message says everything that is to be said.
    fn advice(&self) -> Option<&'static str> {
        let LoaderError::Refused(error) = &self.error else {
            return Some("");
        };
        match (error.sqlstate.as_str(), error.sqlstate.class()) {
            ("53100", _) => {
                Some("The server's disk is full: make room there, or choose a tablespace on another disk. ")
            }
            (_, "53") => Some("The server lacks what it needs: see its message. "),
            (_, "57" | "58" | "XX") => Some(""),
            _ => None,
        }
    }
}
