//! Why an initialization ended early, and what it left.

use super::step::Step;
use crate::excerpt::server_text;
use dyno_target::postgres::address::{ConnectError, LIBPQ_LOST};
use dyno_target::postgres::load::LoaderError;
use std::io::ErrorKind;

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
    #[error("{0}")]
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
    /// Whether a step was interrupted because that was asked for; the server was then asked to cancel what it was
    /// executing.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Step { failure, .. } if matches!(failure.error, LoaderError::Stopped))
    }

    /// What libpq prints before pgbench tells the error.
    #[must_use]
    pub fn event(&self) -> Option<String> {
        match self {
            Self::Step { failure, .. } => failure.event(),
            _ => None,
        }
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

/// How far a statement was when it failed: pgbench's words depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It brings in no rows, or pgbench does not know it.
    Executing,
    /// COPY was not let begin.
    CopyRefused,
    /// Rows were under way.
    Copying,
}

/// What stopped a step.
#[derive(Debug)]
pub struct StepFailure {
    /// What happened.
    pub(super) error: LoaderError,
    /// While this was executed.
    pub(super) statement: String,
    /// How far it was.
    pub(super) stage: Stage,
    /// In this step.
    pub(super) step: Step,
}

impl std::fmt::Display for StepFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.error {
            LoaderError::Stopped => write!(f, "initialization was stopped during the step \"{}\"", self.step.name()),
            _ => match self.stage {
                Stage::Executing => write!(f, "query failed: {}", self.cause()),
                Stage::CopyRefused => write!(f, "unexpected copy in result: {}", self.cause()),
                Stage::Copying => f.write_str("PQendcopy failed"),
            },
        }
    }
}

impl StepFailure {
    fn detail(&self) -> Option<String> {
        match self.error {
            LoaderError::Stopped => None,
            _ if self.stage != Stage::Executing => None,
            _ => Some(format!("Query was: {}", self.statement)),
        }
    }

    /// Why, where the error itself does not say it.
    fn event(&self) -> Option<String> {
        let untold = self.stage == Stage::Copying && !matches!(self.error, LoaderError::Stopped);
        untold.then(|| self.cause())
    }

    /// What happened, in libpq's words.
    fn cause(&self) -> String {
        match &self.error {
            LoaderError::Refused(error) => server_text(error, Some(&self.statement)),
            LoaderError::Ended(error) => format!("{}\n{LIBPQ_LOST}", server_text(error, Some(&self.statement))),
            LoaderError::Lost(cause)
                if matches!(
                    cause.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
                ) =>
            {
                LIBPQ_LOST.to_owned()
            }
            other => other.to_string(),
        }
    }

    /// What to do about it, with a space at the end; `None` where the server's message says everything that is to
    /// be said.
    fn advice(&self) -> Option<&'static str> {
        let LoaderError::Refused(error) = &self.error else {
            return Some("");
        };
        let code = error.code.as_str();
        match (code, code.get(..2).unwrap_or_default()) {
            ("53100", _) => {
                Some("The server's disk is full: make room there, or choose a tablespace on another disk. ")
            }
            (_, "53") => Some("The server lacks what it needs: see its message. "),
            (_, "57" | "58" | "XX") => Some(""),
            _ => None,
        }
    }
}
