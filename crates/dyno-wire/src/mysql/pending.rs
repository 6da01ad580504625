//! What cannot be sent yet.
//!
//! A statement is executed by the id that the server answers its preparation with, so the first execution of a
//! statement on a connection waits for that answer, and so does whatever is to be sent after it.

use std::collections::VecDeque;

use super::session::Mark;

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
    /// The packet that has its text executed, for a server that prepares no such statement.
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
