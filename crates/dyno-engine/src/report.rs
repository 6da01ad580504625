//! What a thread and the collector send to each other.

use crate::client_event::ClientEvent;
use crate::outcome::{DriveError, Ending, Found, LastTransactions, Waited};
use crate::timeline::Slice;
use dyno_record::{LatencyHistogram, Recording};
use std::sync::mpsc::{Receiver, Sender, SyncSender};

/// How a thread reports to the collector.
pub(crate) struct Reporting {
    /// This thread's number.
    pub thread: usize,
    pub messages: Sender<Message>,
    /// Recordings that the collector has emptied.
    pub spare: Receiver<Recording>,
}

/// From a worker thread to the collector.
pub(crate) enum Message {
    Connected {
        workload: usize,
        times: LatencyHistogram,
    },
    Failed(DriveError),
    Slice(Box<SliceReport>),
    Lost {
        message: String,
    },
    /// A statement is counted at this place that the program did not list: one of this text, or without one
    /// [`MOST_STATEMENTS`](dyno_record::MOST_STATEMENTS) and all others.
    Statement {
        workload: usize,
        place: usize,
        found: Option<Found>,
    },
    ClientEvent(ClientEvent),
    /// The thread waits until the other end of the channel is dropped.
    Awaited(ClientEvent, SyncSender<()>),
    Ending(Ending),
    Done {
        thread: usize,
        summary: WorkerSummary,
    },
    /// A thread panics, and says nothing more.
    Panicked {
        thread: usize,
    },
}

/// What a thread has to say when it ends.
#[derive(Default)]
pub(crate) struct WorkerSummary {
    /// Transactions still running when the grace time was over.
    pub unfinished: u64,
    /// How long their clients had waited by then.
    pub waited: Option<Waited>,
    /// What else became of those that were under way at the end.
    pub last: LastTransactions,
    /// Clients that have had all their transactions.
    pub done: usize,
    /// When the last of them had.
    pub done_ns: u64,
    /// Clients that were aborted.
    pub aborted: u64,
    /// Connections made while the load ran.
    pub connections: u64,
    /// Time spent on making and closing them.
    pub connection_time_ns: u64,
    /// When it ended.
    pub at_ns: u64,
    /// Whether it went on to the end of the phases, or clients have had their transactions.
    pub complete: bool,
}

/// One thread's recording of one slice.
pub(crate) struct SliceReport {
    pub thread: usize,
    pub slice: Slice,
    /// Whether the thread went on to the slice's regular end.
    pub whole: bool,
    pub recording: Recording,
}
