//! What the threads of a load have to say while it runs, for a person to read.

use crate::program::{ProgramError, Shown};
use dyno_connect::ConnectError;
use dyno_wire::ServerError;
use std::fmt;
use std::time::Duration;

/// Something worth saying about one client. Clients, scripts and commands count from 0; a command is an index into
/// its script's commands.
#[derive(Debug)]
pub enum ClientEvent {
    /// A client has ended before its time: it was aborted, or its connection is lost for good.
    Aborted {
        /// The workload, as index.
        workload: usize,
        /// The client.
        client: usize,
        /// The script it was executing.
        script: usize,
        /// The command it was executing.
        command: usize,
        /// Why.
        why: AbortReason,
    },
    /// The server sent a notice or warning.
    Notice {
        /// The workload, as index.
        workload: usize,
        /// The client.
        client: usize,
        /// What it said.
        notice: Box<ServerError>,
    },
    /// A transaction failed but does not end its client; only with [`crate::FailurePolicy::report_failures`].
    Failed {
        /// The workload, as index.
        workload: usize,
        /// The client.
        client: usize,
        /// The script it was executing.
        script: usize,
        /// The command that failed.
        command: usize,
        /// What the server said.
        error: Box<ServerError>,
        /// The statement as it was sent; `None` if it was prepared before.
        query: Option<String>,
    },
    /// What becomes of a transaction that failed; with [`ClientEvent::Failed`], after it was rolled back.
    Concluded {
        /// The workload, as index.
        workload: usize,
        /// The client.
        client: usize,
        /// How often the transaction was begun so far.
        tries: u32,
        /// Time since it began, or was to begin.
        elapsed: Duration,
        /// Whether it is begun again, or else counts as failed.
        again: bool,
    },
    /// The server refuses to prepare a statement. Its execution is tried all the same, and fails.
    Unprepared {
        /// The workload, as index.
        workload: usize,
        /// The client.
        client: usize,
        /// What the server said.
        error: Box<ServerError>,
        /// The statement.
        query: String,
    },
    /// A client does something; only with [`crate::Workload::trace`].
    Traced {
        /// The workload, as index.
        workload: usize,
        /// The client.
        client: usize,
        /// What it does.
        trace: Trace,
    },
    /// A script wants something to be shown.
    Shown {
        /// The workload, as index.
        workload: usize,
        /// The client.
        client: usize,
        /// The script.
        script: usize,
        /// What.
        shown: Vec<Shown>,
    },
    /// A client whose connection was lost has a new one.
    Reconnected {
        /// The workload, as index.
        workload: usize,
        /// The client.
        client: usize,
        /// The endpoint, as index.
        endpoint: usize,
        /// How long the client was without a connection.
        after: Duration,
    },
}

/// What a client does, as [`crate::Workload::trace`] tells it. Scripts, commands and statements count from 0,
/// statements over all scripts.
#[derive(Debug)]
pub enum Trace {
    /// It has decided on the script of its next transaction.
    Script(usize),
    /// It executes this meta command.
    Meta {
        /// The script.
        script: usize,
        /// The command.
        command: usize,
    },
    /// It has used what a command of the operating system printed.
    ShellOutput {
        /// The script.
        script: usize,
        /// The meta command.
        command: usize,
        /// The first line.
        output: String,
    },
    /// It makes a statement known to the server.
    Preparing(usize),
    /// It sends a statement that it made known before.
    SendingPrepared(usize),
    /// It sends a statement with this text.
    Sending(String),
    /// It looks for a reply.
    Receiving,
    /// A pipeline is over, after which so many parts of it are left.
    PipelineEnding(u32),
}

/// What a client was doing when its connection was found to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It was making a statement known to the server.
    Preparing,
    /// It was executing a statement, or a pipeline.
    Executing,
    /// It was rolling back a transaction that failed.
    RollingBack,
}

/// Why a client has ended before its time.
#[derive(Debug)]
pub enum AbortReason {
    /// The server reported an error.
    Server {
        /// What it said.
        error: Box<ServerError>,
        /// Which of the command's results it came instead of, from 0: a statement may be several.
        query_number: u64,
        /// The statement as it was sent; `None` if it was prepared before.
        query: Option<String>,
    },
    /// The statement wants to copy from or to the client.
    Copy,
    /// The connection is gone.
    ConnectionLost {
        /// The server's last words.
        error: Option<Box<ServerError>>,
        /// What the system or the protocol said.
        cause: String,
        /// What it was doing.
        doing: Doing,
    },
    /// The program cannot go on.
    Program(ProgramError),
    /// The script ended inside a transaction.
    OpenTransaction,
    /// The transaction that failed could not be rolled back.
    Rollback(Box<ServerError>),
    /// No connection could be made for the next transaction.
    Connect(ConnectError),
    /// What was said of a client that was driven elsewhere.
    Elsewhere(String),
}

/// In a few words.
impl fmt::Display for AbortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { error, .. } | Self::ConnectionLost { error: Some(error), .. } => error.fmt(f),
            Self::Copy => f.write_str("the statement copies from or to the client, which is not possible here"),
            Self::ConnectionLost { cause, .. } => write!(f, "connection lost: {cause}"),
            Self::Program(error) => error.fmt(f),
            Self::OpenTransaction => f.write_str("the script ended inside a transaction"),
            Self::Rollback(error) => write!(f, "the failed transaction could not be rolled back: {error}"),
            Self::Connect(error) => error.fmt(f),
            Self::Elsewhere(said) => f.write_str(said),
        }
    }
}
