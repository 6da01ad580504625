//! What a thread keeps of each of its clients.
//!
//! With many clients the CPU's cache has forgotten a client when its next reply comes, so what each transaction looks
//! at lies together, and what only some do lies elsewhere.

use super::own::Own;
use crate::client_event::AbortReason;
use dyno_wire::ServerError;
use std::collections::VecDeque;

/// What a client is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// The reply to a statement.
    Reply(Asked),
    /// The server's word on the statements of the pipeline that is about to begin.
    Acceptance,
    /// The server's word on a statement of its own.
    Definition,
    /// The replies to its pipeline.
    Pipeline,
    /// The reply to the rollback after an error.
    Rollback,
    /// The end of a sleep.
    Wake,
    /// A connection for the transaction it has begun.
    Connection,
    /// A connection in place of the one that was lost.
    Replacement,
    /// A connection that it has asked for.
    Joining,
    /// To be told that the connection it uses is gone.
    Missing,
    /// Its next transaction.
    Turn,
    /// Nothing more: it has had its transactions.
    Finished,
    /// Nothing more: its connection is gone, or it was aborted.
    Never,
}

/// A statement that a reply is awaited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// Its number.
    pub statement: u32,
    /// Whether it was sent as a text with all values filled in.
    pub as_text: bool,
    /// Whether the program wants its results.
    pub results: bool,
}

impl Asked {
    /// A statement of this number.
    pub fn new(statement: usize, as_text: bool, results: bool) -> Self {
        Self {
            statement: statement as u32,
            as_text,
            results,
        }
    }

    /// Its number as an index.
    pub fn statement(self) -> usize {
        self.statement as usize
    }
}

impl Waiting {
    /// Whether something is under way: a transaction, or what comes before the first or after the last.
    pub fn is_running(self) -> bool {
        match self {
            Self::Reply(_)
            | Self::Acceptance
            | Self::Definition
            | Self::Pipeline
            | Self::Rollback
            | Self::Wake
            | Self::Connection
            | Self::Joining
            | Self::Missing => true,
            Self::Replacement | Self::Turn | Self::Finished | Self::Never => false,
        }
    }
}

/// A client. What the engine itself looks at for each transaction takes one line of the cache, the first one.
#[repr(C, align(64))]
pub(super) struct Client<P> {
    pub waiting: Waiting,
    /// Whether it has a connection.
    pub connected: bool,
    /// Whether the transaction under way is one of the schedule's.
    pub scheduled: bool,
    /// Whether a pipeline is open.
    pub piping: bool,
    /// How often the transaction was begun.
    pub tries: u32,
    /// The instant from which the transaction's latency counts.
    pub transaction_ns: u64,
    /// When the command under way began.
    pub statement_ns: u64,
    /// How long after its scheduled instant the transaction began.
    pub lag_ns: u64,
    /// Since when it waits for its next transaction.
    pub free_ns: u64,
    /// Transactions that are over, whatever their end.
    pub done: u64,
    /// What transactions that go well have no use for.
    pub rare: Box<Rare>,
    pub program: P,
}

/// What a client needs in sleep and in pipelines, after errors, and for statements of its own.
pub(super) struct Rare {
    /// Its number within the workload.
    pub number: usize,
    /// Which of its connections it uses, if it has several.
    pub connection: usize,
    /// Which it waits for.
    pub joining: usize,
    /// Parts of the pipeline whose reply is to come.
    pub outstanding: u32,
    /// When it is to be woken, if it still is to be then.
    pub wake_ns: u64,
    /// How long its script has slept in the transaction under way, if that is recorded by script.
    pub asleep_ns: u64,
    /// When its connection was lost.
    pub lost_ns: u64,
    /// Statements of which the server is asked whether it accepts them, in order.
    pub accepting: VecDeque<usize>,
    /// Its connection is lost, which it has not noticed yet because it did not need it.
    pub loss: Option<Loss>,
    /// What went wrong with the transaction, until it is decided what becomes of it.
    pub failure: Option<Box<Failure>>,
    /// The statements that its program did not list, from the first number after those.
    pub own: Vec<Own>,
    /// Whether it does what comes before its first transaction or after its last.
    pub is_beside: bool,
}

impl<P> Client<P> {
    /// Whether a transaction is under way.
    pub fn is_in_transaction(&self) -> bool {
        self.waiting.is_running() && !self.rare.is_beside
    }

    /// The client of this number within the workload, with the state of its program.
    pub fn new(number: usize, program: P, connected: bool) -> Self {
        Self {
            waiting: Waiting::Turn,
            connected,
            scheduled: false,
            piping: false,
            tries: 1,
            transaction_ns: 0,
            statement_ns: 0,
            lag_ns: 0,
            free_ns: 0,
            done: 0,
            rare: Box::new(Rare {
                number,
                connection: 0,
                joining: 0,
                outstanding: 0,
                wake_ns: 0,
                asleep_ns: 0,
                lost_ns: 0,
                accepting: VecDeque::new(),
                loss: None,
                failure: None,
                own: Vec::new(),
                is_beside: false,
            }),
            program,
        }
    }
}

/// How a connection was lost.
pub(super) struct Loss {
    /// The server's last words.
    pub error: Option<ServerError>,
    /// What the system or the protocol said.
    pub cause: String,
}

/// An error that a statement ended with.
pub(super) struct Failure {
    pub error: ServerError,
    /// Queries of the statement that had completed.
    pub completed: u64,
    /// The statement as it was sent, unless it was prepared.
    pub query: Option<String>,
    /// Whether it wanted to copy from or to the client.
    pub copy_refused: bool,
}

impl Failure {
    /// Why it ends its client.
    pub fn abort_reason(self) -> AbortReason {
        if self.copy_refused {
            AbortReason::Copy
        } else {
            AbortReason::Server {
                error: Box::new(self.error),
                query_number: self.completed,
                query: self.query,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_transaction_looks_at_takes_one_line_of_the_cache() {
        assert!(std::mem::offset_of!(Client<u64>, program) <= 64);
    }
}
