//! Statements that clients come upon while they run: where they are counted, and how they are prepared.
//!
//! The threads of a workload share the places of such statements, so that those of one text are counted together.
//! They look there when a client uses a number for the first time, and never for an execution.

use super::Clients;
use super::state::{Failure, Waiting};
use crate::backend::{Backend, Driver};
use crate::outcome::Found;
use crate::program::{MOST_OWN, Misuse, ProgramError, Resume, Scripted};
use crate::report::Message;
use dyno_record::MOST_STATEMENTS;
use dyno_wire::Reply;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A statement of a client's own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    /// Where it is counted.
    place: u32,
    /// Whether it can be executed, rather than sent as text.
    prepared: bool,
}

/// Where the statements of a workload are counted that its program does not list.
#[derive(Debug)]
pub(crate) struct Places {
    /// How many it lists: their places come first.
    listed: usize,
    found: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_text: HashMap<String, usize>,
    /// Whether some have no place of their own.
    others: bool,
}

impl Places {
    /// For a program that lists so many statements.
    pub fn new(listed: usize) -> Self {
        Self {
            listed,
            found: Mutex::default(),
        }
    }

    /// The place of a statement of this text. What is new is told, before anybody else can use its place: a statement
    /// with its text, and once that there are others which have to share the last place.
    fn of(&self, text: &str, tell: impl FnOnce(usize, Option<&str>)) -> usize {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = found.by_text.get(text) {
            return *place;
        }
        let place = self.listed + found.by_text.len();
        if place < MOST_STATEMENTS {
            found.by_text.insert(text.to_owned(), place);
            tell(place, Some(text));
            return place;
        }
        if !std::mem::replace(&mut found.others, true) {
            tell(MOST_STATEMENTS, None);
        }
        MOST_STATEMENTS
    }
}

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    /// Where a statement is counted.
    #[inline]
    pub(super) fn place(&self, index: usize, statement: usize) -> usize {
        if statement < self.listed {
            statement
        } else {
            self.own(index, statement).map_or(statement, |own| own.place as usize)
        }
    }

    #[cold]
    fn own(&self, index: usize, statement: usize) -> Option<Own> {
        let own = &self.clients[index].rare.own;
        own.get(statement.checked_sub(self.listed)?).copied()
    }

    /// Makes sure that a client may execute a statement of its own, and that it has a place to be counted at.
    #[cold]
    pub(super) fn check_own(&mut self, index: usize, statement: usize, as_text: bool) -> Result<(), ProgramError> {
        match self.own(index, statement) {
            _ if as_text && self.clients[index].piping => Err(ProgramError::new(Misuse::InPipeline(statement))),
            Some(own) if as_text || own.prepared => Ok(()),
            None if as_text => self.take_number(index, statement, false).map(drop),
            _ => Err(ProgramError::new(Misuse::Unprepared(statement))),
        }
    }

    /// A statement takes the next of a client's numbers. Gives the text under which it is counted.
    fn take_number(&mut self, index: usize, statement: usize, prepared: bool) -> Result<String, ProgramError> {
        let next = self.listed + self.clients[index].rare.own.len();
        if statement != next {
            return Err(ProgramError::new(Misuse::Number { given: statement, next }));
        }
        if self.clients[index].rare.own.len() >= MOST_OWN {
            return Err(ProgramError::new(Misuse::TooMany(statement)));
        }
        let sent = self.text(index, statement);
        let place = self.places.of(&self.label(index, statement), |place, text| {
            self.tell(Message::Statement {
                workload: self.number,
                place,
                found: text.map(|text| Found {
                    text: text.to_owned(),
                    example: sent.clone(),
                }),
            });
        });
        self.clients[index].rare.own.push(Own {
            place: place as u32,
            prepared,
        });
        Ok(sent)
    }

    /// Has the server prepare a statement of a client's own, and lets the client wait for that.
    #[cold]
    pub(super) fn define(&mut self, index: usize, statement: usize, parameters: usize) -> Result<(), ProgramError> {
        if self.clients[index].piping {
            return Err(ProgramError::new(Misuse::InPipeline(statement)));
        }
        let text = self.take_number(index, statement, true)?;
        let line = self.line(index);
        let defined = self.backend.define(line, statement, &text, parameters);
        defined.map_err(ProgramError::new)?;
        self.clients[index].waiting = Waiting::Definition;
        Ok(())
    }

    /// The server has said whether it accepts a statement of a client's own.
    #[cold]
    pub(super) fn defined(&mut self, index: usize, reply: Reply, mut now_ns: u64) {
        match self.backend.error(self.line(index)).filter(|_| reply.failed) {
            Some(error) => {
                let failure = Failure {
                    error: error.clone(),
                    completed: 0,
                    query: None,
                    copy_refused: false,
                };
                self.went_wrong(index, Box::new(failure), now_ns);
            }
            None => {
                self.command_done(index, &mut now_ns);
                self.step(index, Resume::Done, now_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_has_one_place_and_beyond_the_most_all_share_the_last() {
        let places = Places::new(MOST_STATEMENTS - 2);
        let mut told = Vec::new();
        for text in ["a", "b", "a", "c", "d", "b"] {
            let place = places.of(text, |place, text| told.push((place, text.map(str::to_owned))));
            let expected = match text {
                "a" => MOST_STATEMENTS - 2,
                "b" => MOST_STATEMENTS - 1,
                _ => MOST_STATEMENTS,
            };
            assert_eq!(place, expected, "{text}");
        }
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            told,
            [
                (MOST_STATEMENTS - 2, text("a")),
                (MOST_STATEMENTS - 1, text("b")),
                (MOST_STATEMENTS, None)
            ]
        );
    }
}
