//! What is asked for: sent at once if nothing is under way, and otherwise once it is its turn.

use super::OraSession;
use super::answer::{Doing, Place, Task};
use crate::oracle::OraStatement;
use crate::oracle::bind::{Bind, Binds};
use crate::oracle::column::{Column, Wanted};
use crate::oracle::kind::Kind;
use crate::oracle::request::{Execution, Plain};
use crate::{Parameters, Protocol, Reply};

/// What the server knows of a statement.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) state: State,
    /// The types that the values of its places have.
    pub(super) types: Vec<Bind>,
    /// Whether the server has been told these.
    pub(super) announced: bool,
    /// The columns of its rows.
    pub(super) columns: Vec<Column>,
    /// Whether the server has to be told in what form these are wanted.
    pub(super) wanted: Wanted,
    /// Whether the types of some of them are unknown.
    pub(super) is_unpassable: bool,
}

/// Whether the server has parsed a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// It was not asked to.
    #[default]
    Not,
    /// It refused it.
    Refused,
    /// It executes it by this cursor.
    By(u32),
}

impl Known {
    pub(super) fn is_known(&self) -> bool {
        self.state != State::Not
    }
}

/// What waits.
#[derive(Debug)]
pub(super) enum Step {
    /// An execution with its values, or its whole text in the simple protocol.
    Execute {
        statement: OraStatement,
        binds: Binds,
        text: Vec<u8>,
        part: bool,
    },
    /// A statement is parsed alone.
    Parse(OraStatement),
    /// A query by its text.
    Text { kind: Kind, text: Vec<u8> },
    /// What a transaction did is undone.
    Rollback,
    /// Many rows for one statement.
    Load {
        statement: OraStatement,
        binds: Binds,
        rows: u64,
    },
    /// The end of a pipeline.
    Sync,
}

impl OraSession {
    /// Whether what is asked for now is sent at once.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.task.is_none() && self.waiting.is_empty()
    }

    /// Begins a transaction, of which the server learns nothing.
    pub(super) fn begin_here(&mut self) {
        self.begun = true;
        self.reply.completed += 1;
        self.answered = Some(self.end_reply());
    }

    /// The reply is complete.
    #[inline]
    pub(super) fn end_reply(&mut self) -> Reply {
        self.error_stands = self.reply.failed;
        self.rows.shown = false;
        std::mem::take(&mut self.reply)
    }

    #[inline]
    pub(super) fn execute_statement(
        &mut self,
        statement: &OraStatement,
        parameters: &impl Parameters,
        part: bool,
        out: &mut Vec<u8>,
    ) {
        let idle = self.is_idle();
        if idle && statement.kind() == Kind::Begin {
            match part {
                true => {
                    self.begun = true;
                    self.reply.completed += 1;
                }
                false => self.begin_here(),
            }
            return;
        }
        let mut binds = std::mem::take(&mut self.binds);
        let before = self.known.get(statement.index()).filter(|_| statement.is_kept());
        let before = before.map_or(&[][..], |known| &known.types);
        let longest = self.requests.abilities.longest_string;
        binds.fill(parameters, statement.order(), before, longest);
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        if statement.protocol() == Protocol::Simple {
            statement.write_text(parameters, &mut text);
        }
        if idle {
            self.run(statement, &binds, &text, part, out);
            (self.binds, self.text) = (binds, text);
            return;
        }
        self.waiting.push_back(Step::Execute {
            statement: statement.clone(),
            binds,
            text,
            part,
        });
    }

    /// Appends what is asked for, or keeps it until it is its turn.
    pub(super) fn submit(&mut self, step: Step, out: &mut Vec<u8>) {
        match self.is_idle() {
            true => self.begin(step, out),
            false => self.waiting.push_back(step),
        }
    }

    /// Appends a step whose turn it is.
    #[cold]
    pub(super) fn begin(&mut self, step: Step, out: &mut Vec<u8>) {
        match step {
            Step::Execute {
                statement,
                binds,
                text,
                part,
            } => self.run(&statement, &binds, &text, part, out),
            Step::Parse(statement) => match self.knows_index(statement.index()) {
                // Parsed twice in one go.
                true => self.call(Kind::Other, Plain::Ping, false, out),
                false => self.parse(&statement, out),
            },
            Step::Text { kind, text } => match plain_of(kind) {
                Some(plain) => self.call(kind, plain, false, out),
                None => self.run_text(kind, &text, &Binds::default(), false, out),
            },
            Step::Rollback => self.call(Kind::Rollback, Plain::Rollback, false, out),
            Step::Load { statement, binds, rows } => self.run_kept(&statement, &binds, rows, false, out),
            // There was nothing in it, or all of it is answered.
            Step::Sync => self.call(Kind::Other, Plain::Ping, false, out),
        }
    }

    fn knows_index(&self, index: usize) -> bool {
        self.known.get(index).is_some_and(Known::is_known)
    }

    /// Appends an execution.
    #[inline]
    fn run(&mut self, statement: &OraStatement, binds: &Binds, text: &[u8], part: bool, out: &mut Vec<u8>) {
        let kind = statement.kind();
        if statement.is_kept() {
            return self.run_kept(statement, binds, 1, part, out);
        }
        match plain_of(kind) {
            Some(plain) => self.call(kind, plain, part, out),
            None => {
                let text = match statement.protocol() {
                    Protocol::Simple => text,
                    _ => statement.text(),
                };
                self.run_text(kind, text, binds, part, out);
            }
        }
    }

    /// Appends the execution of a statement whose cursor is kept, or will be.
    #[inline]
    fn run_kept(&mut self, statement: &OraStatement, binds: &Binds, times: u64, part: bool, out: &mut Vec<u8>) {
        let index = statement.index();
        if self.known.len() <= index {
            self.known.resize_with(index + 1, Known::default);
        }
        let known = &mut self.known[index];
        let (text, cursor) = match known.state {
            State::By(cursor) => (None, cursor),
            State::Not | State::Refused => {
                // What another cursor brought.
                known.columns.clear();
                (known.wanted, known.is_unpassable) = (Wanted::AsTheyAre, false);
                (Some(statement.text()), 0)
            }
        };
        let wanted = known.wanted;
        let announces = text.is_some() || !known.announced || known.types != binds.types;
        if announces {
            known.types.clone_from(&binds.types);
        }
        let kind = statement.kind();
        self.rows.columns = std::mem::take(&mut known.columns);
        self.rows.is_unpassable = known.is_unpassable;
        let introduces = known.state == State::Not && !part;
        let commits = !self.begun && kind != Kind::Query;
        self.requests.execute(
            &Execution {
                kind,
                text,
                cursor,
                binds,
                announces,
                times,
                rows: self.config.rows_per_fetch.max(1),
                fetches: wanted.comes_at_once(),
                commits,
                only_parses: false,
            },
            out,
        );
        self.set_off(Task {
            doing: Doing::Execute,
            kind,
            place: Place::Kept(index),
            cursor,
            parses: text.is_some(),
            introduces,
            part,
            rows_before: self.reply.rows,
            wanted,
        });
    }

    /// Appends the execution of a text that is parsed for it.
    fn run_text(&mut self, kind: Kind, text: &[u8], binds: &Binds, part: bool, out: &mut Vec<u8>) {
        self.rows.forget();
        let commits = !self.begun && !matches!(kind, Kind::Query | Kind::SetTransaction);
        self.requests.execute(
            &Execution {
                kind,
                text: Some(text),
                cursor: 0,
                binds,
                announces: true,
                times: 1,
                rows: self.config.rows_per_fetch.max(1),
                fetches: true,
                commits,
                only_parses: false,
            },
            out,
        );
        self.set_off(Task {
            doing: Doing::Execute,
            kind,
            place: Place::Once,
            cursor: 0,
            parses: true,
            introduces: false,
            part,
            rows_before: self.reply.rows,
            wanted: Wanted::AsTheyAre,
        });
    }

    /// Appends the execution of a statement with many rows of values, or keeps it until it is its turn.
    pub(in crate::oracle) fn load(&mut self, statement: &OraStatement, binds: &Binds, rows: u64, out: &mut Vec<u8>) {
        if self.is_idle() {
            return self.run_kept(statement, binds, rows, false, out);
        }
        self.waiting.push_back(Step::Load {
            statement: statement.clone(),
            binds: binds.clone(),
            rows,
        });
    }

    fn parse(&mut self, statement: &OraStatement, out: &mut Vec<u8>) {
        let index = statement.index();
        if self.known.len() <= index {
            self.known.resize_with(index + 1, Known::default);
        }
        self.rows.forget();
        let kind = statement.kind();
        self.requests.execute(
            &Execution {
                kind,
                text: Some(statement.text()),
                cursor: 0,
                binds: &Binds::default(),
                announces: true,
                times: 0,
                rows: 0,
                fetches: false,
                commits: false,
                only_parses: true,
            },
            out,
        );
        self.set_off(Task {
            doing: Doing::Parse,
            kind,
            place: Place::Kept(index),
            cursor: 0,
            parses: true,
            introduces: false,
            part: false,
            rows_before: self.reply.rows,
            wanted: Wanted::AsTheyAre,
        });
    }

    /// Appends the call that a statement of this kind is.
    fn call(&mut self, kind: Kind, plain: Plain, part: bool, out: &mut Vec<u8>) {
        self.requests.plain(plain, out);
        self.set_off(Task {
            doing: Doing::Call,
            kind,
            place: Place::Once,
            cursor: 0,
            parses: false,
            introduces: false,
            part,
            rows_before: self.reply.rows,
            wanted: Wanted::AsTheyAre,
        });
    }

    #[inline]
    pub(super) fn set_off(&mut self, task: Task) {
        self.task = Some(task);
        self.end = None;
        self.rows.begin();
        if self.rows.shown {
            self.rows.previous.clear();
        }
    }
}

/// The call that a statement of this kind is.
#[inline]
fn plain_of(kind: Kind) -> Option<Plain> {
    match kind {
        Kind::Commit => Some(Plain::Commit),
        Kind::Rollback => Some(Plain::Rollback),
        // Its reply is awaited behind others'.
        Kind::Begin => Some(Plain::Ping),
        _ => None,
    }
}
