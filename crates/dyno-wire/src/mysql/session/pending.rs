//! What cannot be sent yet.
//!
//! A statement is executed by the id that the server answers its preparation with, so the first execution of a
//! statement on a connection waits for that answer, and so does whatever is to be sent after it.

use std::collections::VecDeque;

use super::{Known, Mark, MySession, PING};
use crate::mysql::MyStatement;
use crate::mysql::framing::Expect;
use crate::mysql::response::Prepared;
use crate::mysql::statement::write_close;
use crate::{Event, Preparation, WireError};

/// What waits, in the order in which it is to be sent.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) steps: VecDeque<Step>,
    /// What the server is preparing.
    pub(super) preparing: Option<Execution>,
}

/// One command that waits.
#[derive(Debug)]
pub(super) struct Step {
    /// What its answer is, if not just a reply.
    pub(super) mark: Option<Mark>,
    pub(super) command: Command,
}

#[derive(Debug)]
pub(super) enum Command {
    /// Whole packets.
    Ready(Vec<u8>),
    Execution(Execution),
}

/// A preparation, and the execution that follows it.
#[derive(Debug)]
pub(super) struct Execution {
    /// Which statement.
    pub(super) index: usize,
    /// Whether the statement is closed after it.
    pub(super) once: bool,
    /// The packet that prepares it.
    pub(super) preparation: Vec<u8>,
    /// The packet that executes it, with an id that is none; empty if it is only prepared.
    pub(super) packet: Vec<u8>,
    /// The packet that has its text executed, for a server that prepares no such statement; empty if it is only
    /// prepared, or if the server has prepared it before.
    pub(super) text: Vec<u8>,
}

/// Where a packet that executes a statement has its id: behind the header and the command.
const ID: std::ops::Range<usize> = 5..9;

impl Execution {
    /// Whether an execution follows the preparation.
    pub(super) fn executes(&self) -> bool {
        !self.packet.is_empty()
    }

    /// Appends the packet that executes the statement by this id.
    pub(super) fn write(&self, id: [u8; 4], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.packet);
        if let Some(place) = out[start..].get_mut(ID) {
            place.copy_from_slice(&id);
        }
    }
}

impl MySession {
    /// Appends whole packets of a command, once nothing waits before it.
    #[cold]
    pub(super) fn send_later(&mut self, packet: Vec<u8>, mark: Option<Mark>, out: &mut Vec<u8>) {
        let command = Command::Ready(packet);
        self.submit_later(Step { mark, command }, out);
    }

    #[cold]
    pub(super) fn prepare_alone(&mut self, statement: &MyStatement, out: &mut Vec<u8>) {
        let command = Command::Execution(Execution {
            index: statement.index(),
            once: false,
            preparation: statement.preparation().to_vec(),
            packet: Vec::new(),
            text: Vec::new(),
        });
        self.submit_later(Step { mark: None, command }, out);
    }

    #[cold]
    pub(super) fn submit_later(&mut self, step: Step, out: &mut Vec<u8>) {
        self.pending.get_or_insert_default().steps.push_back(step);
        if self.sent == self.answered {
            self.go_on(out);
        }
    }

    /// Everything that was sent is answered: appends what waits, up to what must be answered first.
    #[cold]
    pub(super) fn go_on(&mut self, out: &mut Vec<u8>) {
        while let Some(pending) = &mut self.pending {
            let Some(Step { mut mark, command }) = pending.steps.pop_front() else {
                self.pending = None;
                return;
            };
            match command {
                Command::Ready(packet) => out.extend_from_slice(&packet),
                Command::Execution(execution) => match self.known.get(execution.index) {
                    // Prepared twice in one go.
                    Some(Known::By(_) | Known::AsText) if !execution.executes() => {
                        out.extend_from_slice(PING);
                        mark = Some(Mark::Ping);
                    }
                    Some(&Known::By(id)) if !execution.once => execution.write(id, out),
                    Some(Known::AsText) => {
                        self.binary = false;
                        out.extend_from_slice(&execution.text);
                    }
                    _ if self.sent == self.answered => {
                        out.extend_from_slice(&execution.preparation);
                        pending.preparing = Some(execution);
                        return self.count(mark);
                    }
                    // The answer to a preparation must not be taken for another one.
                    _ => {
                        let command = Command::Execution(execution);
                        return pending.steps.push_front(Step { mark, command });
                    }
                },
            }
            self.count(mark);
        }
    }

    /// The server has prepared a statement.
    #[cold]
    pub(super) fn prepared(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let Prepared { id, packets } = Prepared::parse(body, !self.ends_with_ok)?;
        self.learn(Known::By(id));
        self.reply.accepted += 1;
        if packets == 0 {
            return Ok(self.execute_prepared(out));
        }
        self.framing.expect(Expect::Preparation(packets));
        Ok(None)
    }

    /// Notes what the server thinks of the statement it was asked to prepare.
    #[cold]
    pub(super) fn learn(&mut self, known: Known) {
        let Some(execution) = self.pending.as_ref().and_then(|pending| pending.preparing.as_ref()) else {
            return;
        };
        let introduces = execution.executes() && !execution.once;
        let index = execution.index;
        if self.known.len() <= index {
            self.known.resize(index + 1, Known::Not);
        }
        let before = std::mem::replace(&mut self.known[index], known);
        // One that was refused before counts as known: what it meets now is what its execution meets.
        if introduces && before == Known::Not {
            self.reply.preparation = match known {
                Known::By(_) => Preparation::Accepted,
                Known::Not | Known::Refused | Known::Closed => Preparation::Refused,
                // It is executed all the same.
                Known::AsText => Preparation::None,
            };
        }
    }

    /// Whether the statement that is being prepared can do without that. One that the server has prepared before
    /// cannot: it is not kept as text.
    pub(super) fn may_be_sent_as_text(&self) -> bool {
        let preparing = self.pending.as_ref().and_then(|pending| pending.preparing.as_ref());
        preparing.is_some_and(|execution| !execution.executes() || !execution.text.is_empty())
    }

    /// The server prepares no statement of the kind it was asked to: it gets its text, now and from now on.
    #[cold]
    pub(super) fn send_as_text(&mut self, out: &mut Vec<u8>) -> Option<Event> {
        self.learn(Known::AsText);
        let execution = self.pending.as_mut()?.preparing.take()?;
        if !execution.executes() {
            return self.answered(out);
        }
        self.binary = false;
        self.introducing = false;
        out.extend_from_slice(&execution.text);
        self.framing.begin_answer();
        self.pending.take_if(|pending| pending.steps.is_empty());
        None
    }

    /// All about the prepared statement has come: appends its execution.
    #[cold]
    pub(super) fn execute_prepared(&mut self, out: &mut Vec<u8>) -> Option<Event> {
        let execution = self.pending.as_mut()?.preparing.take()?;
        if !execution.executes() {
            return self.answered(out);
        }
        let slot = self.known.get_mut(execution.index)?;
        let Known::By(id) = *slot else {
            return None;
        };
        execution.write(id, out);
        if execution.once {
            write_close(id, out);
            *slot = Known::Closed;
        }
        self.framing.begin_answer();
        self.pending.take_if(|pending| pending.steps.is_empty());
        None
    }
}
