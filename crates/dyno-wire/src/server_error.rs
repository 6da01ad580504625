//! What a server says went wrong, or wants noticed.

use crate::unreached::Unreached;
use dyno_record::{ErrorClass, ErrorCode};
use std::fmt;

/// An error or notice as the server reported it.
///
/// Text that is not UTF-8 is kept as [`dyno_text`] says. Displays as psql shows it, without places and context:
/// severity and message, then detail and hint on lines of their own; where the SQLSTATE is not the code, with both, as
/// MySQL's client has them: `ERROR 1045 (28000): Access denied`. The fields are those of PostgreSQL (documentation,
/// "Error and Notice Message Fields"), whose errors say most; others leave empty what they do not know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerError {
    /// ERROR, FATAL, PANIC, or a notice's WARNING, NOTICE, INFO, LOG, DEBUG; in the server's language.
    pub severity: String,
    /// What it means.
    pub class: ErrorClass,
    /// The database's code for it.
    pub code: ErrorCode,
    /// The SQLSTATE, where it is not the code itself; empty: it is, or there is none.
    pub state: String,
    /// What happened, in one line.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the server the error arose, such as a function's line.
    pub context: Option<String>,
    /// Where in the statement's text, in characters from 1.
    pub position: Option<u32>,
    /// A statement that the server made itself, such as one of a function, when the error lies in that.
    pub internal_query: Option<String>,
    /// Where in the text of `internal_query`, in characters from 1.
    pub internal_position: Option<u32>,
    /// Whether the server ends the connection after this.
    pub fatal: bool,
    /// Where a connection was to be made, if that is what failed.
    pub unreached: Option<Box<Unreached>>,
}

impl ServerError {
    /// The SQLSTATE that the server gave, such as `42S02`.
    pub fn sqlstate(&self) -> &str {
        match self.state.as_str() {
            "" => self.code.as_str(),
            state => state,
        }
    }
}

impl std::error::Error for ServerError {}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state.as_str() {
            "" => write!(f, "{}:  {}", self.severity, self.message)?,
            state => write!(
                f,
                "{} {} ({state}): {}",
                self.severity,
                self.code.as_str(),
                self.message
            )?,
        }
        if let Some(detail) = &self.detail {
            write!(f, "\nDETAIL:  {detail}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nHINT:  {hint}")?;
        }
        Ok(())
    }
}
