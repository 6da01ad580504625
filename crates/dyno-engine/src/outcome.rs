//! What comes of a load: how it came up, what it tells on its way, and why it ended.

use crate::backend::wire::transport::{TransportKind, UringUnavailable};
use crate::client_event::ClientEvent;
use crate::descriptors::TooFewDescriptors;
use crate::program::ProgramError;
use crate::steering::Steering;
use dyno_connect::ConnectError;
#[cfg(doc)]
use dyno_connect::Stop;
use dyno_record::{ErrorCount, Interval, LatencyHistogram, count_code};
use dyno_wire::ServerError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// How the connections came up, one entry per workload.
#[derive(Clone, Debug)]
pub struct Connected {
    /// Time to open, log in and prepare, one value per client, in nanoseconds.
    pub connect_time: Vec<LatencyHistogram>,
    /// From the first connection attempt to the last client being ready.
    pub total: Duration,
    /// Which transports the threads use, each once.
    pub transports: BTreeSet<TransportKind>,
    /// Why they are not the best ones that there are.
    pub fallback: Option<String>,
}

/// Is told what happens while the load runs, on the thread that called [`drive`](crate::drive()).
pub trait Observer {
    /// By what it changes the pace of the load while that runs, if it does. Asked once, before clients connect.
    fn steering(&self) -> Option<Arc<Steering>> {
        None
    }
    /// All clients are connected; the first phase begins now.
    fn connected(&mut self, connected: &Connected);
    /// An interval is complete. `Break` ends the load.
    fn interval(&mut self, interval: &Interval) -> ControlFlow<()>;
    /// An interval is past, and threads are yet to report it, because a client keeps its thread busy: these are the
    /// recordings of the others so far. It will be complete, in its turn; other intervals before it may be told of
    /// first. `Break` ends the load.
    fn overdue(&mut self, _interval: &Interval) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Threads do not end, though the load is over, or somebody has asked to stop, and whatever they wait for was
    /// interrupted: a client is in a call that nothing can interrupt. The load is waited for all the same; an observer
    /// may end the process instead. These intervals would be complete with what such threads are yet to report. If the
    /// load has ended before its time by a fault of its own, that is its ending, which no [`Outcome`] may come to tell.
    fn stuck(&mut self, _known: &[Interval], _ending: Option<&Ending>) {}
    /// Clients of a workload have come upon a statement that its program did not list. It is counted at `place` in
    /// [`statement_latency`](dyno_record::Recording::statement_latency). `None`: there are more of them than places,
    /// and all others share this last one.
    fn statement(&mut self, _workload: usize, _place: usize, _found: Option<&Found>) {}
    /// A client has something to say. ClientEvents come in the order in which they arise on each thread.
    fn client_event(&mut self, _event: &ClientEvent) {}
}

/// A statement that clients have come upon while they ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The text under which it is counted.
    pub text: String,
    /// The one that was sent first of those that are counted so.
    pub example: String,
}

/// How a load ended.
#[derive(Debug)]
pub struct Outcome {
    /// Why it ended before its time, if it did; what was recorded until then was reported.
    pub ended_early: Option<Ending>,
    /// Transactions still running when the grace time was over, per workload.
    pub unfinished: Vec<u64>,
    /// How long their clients had waited by then, per workload; `None` where all were finished.
    pub waited: Vec<Option<Waited>>,
    /// What else is to be known of the last transactions, per workload.
    pub last: Vec<LastTransactions>,
    /// Clients that were aborted, per workload.
    pub aborted: Vec<u64>,
    /// Connections made while the load ran, per workload.
    pub connections: Vec<u64>,
    /// Time spent on making and closing them, all clients of the workload together.
    pub connection_time: Vec<Duration>,
    /// From when the clients began to when the last of them was done.
    pub measured: Duration,
}

/// What became of the last transactions of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastTransactions {
    /// When the last of its clients had had all its transactions, counted from the begin of the first phase; `None`:
    /// there was no such number, or not all clients got there.
    pub done: Option<Duration>,
    /// How long those took that were under way at the end of the last phase and were finished within the grace. They
    /// are in no interval.
    pub finished: Vec<Duration>,
    /// Those that failed then instead, by code.
    pub failed: Vec<ErrorCount>,
    /// For how long those had been executed at least that were given up; `None` if there are none.
    pub open_for: Option<Duration>,
}

impl LastTransactions {
    /// Takes in what became of those of other clients of the workload. When all of them are done is not theirs to say.
    pub fn add(&mut self, other: Self) {
        self.finished.extend(other.finished);
        for error in other.failed {
            count_code(&mut self.failed, error.code, error.count, || error.example);
        }
        self.open_for = self.open_for.into_iter().chain(other.open_for).min();
    }
}

/// How long the commands of clients had been under way when they were given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The one that had been the longest.
    pub longest: Duration,
    /// The one that had begun last.
    pub least: Duration,
}

impl Waited {
    /// That of all clients of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            longest: self.longest.max(other.longest),
            least: self.least.min(other.least),
        }
    }
}

/// Why a load ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum Ending {
    /// It was asked to, by [`Stop`] or by the observer.
    #[error("stopped on request")]
    Stopped,
    /// A client was aborted and the load was to end then, or all clients were.
    #[error("clients were aborted")]
    Aborted,
    /// No client has a connection left.
    #[error("all connections were lost; the last one said: {0}")]
    ConnectionsLost(String),
    /// A script cannot be evaluated.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A script ends inside a transaction.
    #[error("workload \"{workload}\": the script ends inside a transaction; end it with COMMIT or ROLLBACK")]
    OpenTransaction {
        /// The workload's name.
        workload: String,
    },
    /// A statement can never succeed.
    #[error("workload \"{workload}\": the server refused a statement: {error}")]
    Statement {
        /// The workload's name.
        workload: String,
        /// What the server said.
        error: Box<ServerError>,
    },
    /// What was said of the end of a part that was driven elsewhere.
    #[error("{0}")]
    Elsewhere(String),
    /// The system refused to wait for connections.
    #[error("cannot wait for the connections: {0}")]
    System(io::Error),
    /// A thread ended unexpectedly.
    #[error("an internal error ended a load thread; please report it with the message above")]
    Panicked,
}

/// A load that could not begin.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The transport that is wanted is not to be had.
    #[error("{0}; choose epoll, or auto to use what is available")]
    Transport(#[from] UringUnavailable),
    /// A client could not be connected.
    #[error("{cause}{}", so_far(*connected, *clients))]
    Connect {
        /// Counting from 0 in its workload.
        client: usize,
        /// Why.
        cause: ConnectError,
        /// How many clients were connected by then.
        connected: usize,
        /// Of how many.
        clients: usize,
    },
    /// Each connection came up in its time, but all together take too long.
    #[error(
        "only {connected} of {clients} clients were connected within {} s; use fewer, or look for what makes the \
         server slow to accept them",
        limit.as_secs()
    )]
    Slow {
        /// How many clients were connected.
        connected: usize,
        /// Of how many.
        clients: usize,
        /// The time that they had.
        limit: Duration,
    },
    /// The system does not allow so many connections.
    #[error(transparent)]
    Descriptors(#[from] TooFewDescriptors),
    /// A thread cannot be bound to its CPU.
    #[error("cannot bind a load thread to CPU {cpu}: {cause}. Name CPUs that dyno may use")]
    Cpu {
        /// The CPU's number.
        cpu: usize,
        /// What the system said.
        cause: io::Error,
    },
    /// The system refused a thread or a poller.
    #[error("cannot start {threads} load threads: {cause}")]
    Thread {
        /// How many the load asked for.
        threads: usize,
        /// What the system said.
        cause: io::Error,
    },
}

/// How far connecting had got when one of many connections failed, as the end of a message.
fn so_far(connected: usize, clients: usize) -> String {
    match connected {
        0 => String::new(),
        _ => format!("\n{connected} of {clients} clients were connected by then"),
    }
}
