//! Drives a database with transactions from many connections and records how long they take.
//!
//! The engine knows nothing of files, experiments, languages or protocols: a [`Program`] says what a client does next,
//! a [`Driver`] reaches the database and gives each thread a [`Backend`](backend::Backend) that does it, and an
//! [`Observer`] is told of every interval. [`WireDriver`] is the driver that moves the bytes of `dyno_wire::Session`s
//! for many connections at once; [`backend::blocking`] is one for libraries that block. Threads share nothing while the
//! load runs.

pub mod backend;
mod cache;
mod client;
mod client_event;
mod clock;
mod collect;
mod cpus;
mod descriptors;
mod load;
mod log;
mod outcome;
mod part;
mod phase_ends;
mod profile;
mod program;
mod report;
mod signals;
mod steering;
mod timeline;

pub use backend::wire::transport::{TransportChoice, TransportChoiceError, TransportKind, UringUnavailable};
pub use backend::{Choice, Connector, Driver, Either, WireDriver};
pub use client::pacing::Draws;
pub use client_event::{AbortReason, ClientEvent, Doing, Trace};
pub use collect::{drive, drive_part};
pub use cpus::{Cpus, CpusError};
pub use descriptors::{TooFewDescriptors, allow_descriptors, most_clients, raise_descriptor_limit};
pub use dyno_connect::{Address, ConnectError, Endpoint, Limit, Stop, Tls};
pub use load::{
    Connecting, FailurePolicy, Load, NewSession, OnBrokenScript, OnError, Pacing, Phase, Preparing, Span, Stage,
    ThreadOptions, Workload,
};
pub use log::{LogContext, LogEntry, LoggedOutcome, NewLog, TransactionLog};
pub use outcome::{Connected, DriveError, Ending, Found, LastTransactions, Observer, Outcome, Waited};
pub use part::Part;
pub use program::{Action, MOST_CONNECTIONS, MOST_OWN, Misuse, Program, ProgramError, Resume, Scripted, Shown};
pub use signals::{Signals, heeded};
pub use steering::Steering;
