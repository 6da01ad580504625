//! A trial: what dyno does on a server, done in small, with an account of it for those who could never try it there.

use super::{Lock, StopFlag, TargetError};

/// What came of something that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is as it should be.
    Good,
    /// It works, but not as it should: two clients differ, or it costs more than it should.
    Different,
    /// It does not work.
    Failed,
}

/// Something that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What it was, in a few words.
    pub what: String,
    /// Whether it went well.
    pub verdict: Verdict,
    /// What came of it, in one line.
    pub found: String,
    /// What else is to be known of it, each in a line.
    pub details: Vec<String>,
}

impl Tried {
    /// Something that came out like this.
    pub fn new(what: impl Into<String>, verdict: Verdict, found: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            verdict,
            found: found.into(),
            details: Vec::new(),
        }
    }

    /// The same with more to know.
    #[must_use]
    pub fn with(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }
}

/// An experiment of the shelf that belongs to a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its name.
    pub name: &'static str,
    /// Whether it has a parameter for the number of its rows.
    pub has_rows: bool,
    /// What is set beside what is set in all of them.
    pub set: &'static [(&'static str, &'static str)],
}

/// A trial of one server.
pub trait Trial {
    /// Reserves the server for as long as the trial tries things, but does not wait for others who have it.
    ///
    /// # Errors
    /// Another dyno has it, or there is no connection.
    fn reserve(&self) -> Result<Box<dyn Lock>, TargetError>;

    /// Tries statements of each kind with each of the clients that a run uses, on tables that it makes as a run makes
    /// its own. What fails is told, and the next thing is tried; it ends early when `stop` is raised, or when there is
    /// no connection any more.
    fn statements(&self, stop: &StopFlag, tell: &mut dyn FnMut(Tried));

    /// The experiments that are then run, in this order.
    fn experiments(&self) -> &'static [Chosen];

    /// Removes, when the server is no longer reserved, all that the trial, or an earlier one that was broken off, has
    /// made.
    ///
    /// # Errors
    /// The server does not answer, or something else needs it.
    fn clean_up(&self) -> Result<(), TargetError>;

    /// A text without the passwords by which the server is reached.
    fn without_secrets(&self, text: &str) -> String;
}
