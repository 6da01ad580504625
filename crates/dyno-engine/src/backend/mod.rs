//! What clients do with a database: the seam between the life of clients and the ways to reach a server.
//!
//! A [`Driver`] is shared by all clients of a workload: it knows the server and the statements, and opens
//! connections. Each thread has a [`Backend`] of its own, which holds the connections of its clients, takes their
//! requests, and tells an [`Owner`] what came of them. Whether it moves bytes for a thousand sessions at once or
//! calls a library that blocks is its own affair.

pub mod blocking;
mod either;
pub(crate) mod wire;

pub use either::Either;
pub use wire::driver::{Choice, Connector, LoggedIn, WireDriver};

pub use wire::transport::Wait;

use dyno_connect::{ConnectError, Limit};
use dyno_wire::{CapturedResult, Parameters, Reply, ServerError, TransactionStatus, WireError};
use std::io;
use std::time::Duration;
use wire::transport::TransportKind;

/// A way to a database, shared by all clients of a workload.
///
/// Statements go by number, in the order of [`Program::statements`](crate::Program::statements).
pub trait Driver: Send + Sync {
    /// A connection that is logged in.
    type Connection: Send;

    /// Whether a request is executed while the thread waits: then each client has a thread of its own.
    const BLOCKS: bool;

    /// The longest that connecting may take.
    fn connect_timeout(&self) -> Duration;

    /// Opens a connection for a client of the workload of this name.
    ///
    /// # Errors
    /// No server lets it in, a statement is refused, or the limit is reached.
    fn open(&self, workload: &str, limit: Limit<'_>) -> Result<Opened<Self::Connection>, ConnectError>;

    /// Where connections to the endpoint of this index go, for messages.
    fn address(&self, endpoint: usize) -> String;

    /// Whether each execution of a statement sends its text, so that the server's messages can be shown in it. One of a
    /// client's own, which was prepared, does not.
    fn sends_text(&self, statement: usize) -> bool;

    /// Ends what threads still wait for. Called when the load is over and its grace is, of drivers that
    /// [block](Self::BLOCKS).
    fn interrupt(&self) {}

    /// Lets `work` have the backend of a thread with these connections, one for each client; `None`: not connected yet.
    /// Its clients may have up to `spare` connections more, with numbers behind these.
    ///
    /// # Errors
    /// The system refuses what the backend needs.
    fn run<W: Work<Self::Connection>>(
        &self,
        connections: Vec<Option<Opened<Self::Connection>>>,
        spare: usize,
        transport: TransportKind,
        work: W,
    ) -> io::Result<W::Outcome>;
}

/// A connection, and the endpoint that it goes to, as index.
pub struct Opened<C> {
    /// The connection.
    pub connection: C,
    /// The endpoint.
    pub endpoint: usize,
}

impl<C> Opened<C> {
    fn map<O>(self, change: impl FnOnce(C) -> O) -> Opened<O> {
        Opened {
            connection: change(self.connection),
            endpoint: self.endpoint,
        }
    }

    fn filter_map<O>(self, own: impl FnOnce(C) -> Option<O>) -> Option<Opened<O>> {
        Some(Opened {
            connection: own(self.connection)?,
            endpoint: self.endpoint,
        })
    }
}

/// What a thread does with its backend, of whatever type that is.
pub trait Work<C> {
    /// What comes of it.
    type Outcome;

    /// Does it.
    fn run<B: Backend<Connection = C>>(self, backend: B) -> Self::Outcome;
}

/// The connections of a thread's clients, who count from 0 within the thread.
///
/// Where clients may have several connections, further ones have numbers behind those of the clients, and what is said
/// here of a client is said of each.
///
/// Each call of [`prepare`](Backend::prepare) that gives `true`, of [`define`](Backend::define), of
/// [`execute`](Backend::execute), of [`query`](Backend::query), of [`rollback`](Backend::rollback) and of
/// [`sync`](Backend::sync) brings [`Owner::replied`] once, in order, or [`Owner::lost`]. Nothing is told from within
/// these calls, only from [`send`](Backend::send) and [`poll`](Backend::poll).
pub trait Backend: Sized {
    /// A connection that is logged in.
    type Connection;

    /// Executes a statement with these values.
    fn execute(&mut self, client: usize, statement: usize, parameters: &impl Parameters, results: bool);

    /// Executes the text that `write` appends.
    fn query(&mut self, client: usize, write: impl FnOnce(&mut Vec<u8>), results: bool);

    /// Ends a transaction that has failed.
    fn rollback(&mut self, client: usize);

    /// Gives a client a statement of its own, under a number that neither the driver nor the client has used, and makes
    /// it known to the server by itself. The client keeps it when it gets another connection.
    ///
    /// # Errors
    /// The protocol cannot carry it. Then no reply will come.
    fn define(&mut self, client: usize, statement: usize, text: &str, parameter_count: usize) -> Result<(), WireError>;

    /// Makes a statement known to the server by itself. Gives `false` if that is not needed: then no reply will come.
    fn prepare(&mut self, client: usize, statement: usize) -> bool;

    /// Whether the server knows a statement, or need not know it. Otherwise it becomes known with its first execution.
    fn knows(&self, client: usize, statement: usize) -> bool;

    /// Whether the execution whose reply is awaited makes its statement known too.
    fn is_introducing(&self, client: usize) -> bool;

    /// Executes a statement within a pipeline.
    fn queue(&mut self, client: usize, statement: usize, parameters: &impl Parameters);

    /// Ends a pipeline, or a part of it that fails or succeeds by itself.
    fn sync(&mut self, client: usize);

    /// The results that the statement executed last has brought, if they were asked for.
    fn results(&self, client: usize) -> &[CapturedResult];

    /// What was wrong with the last reply, or why the server ended the connection.
    fn error(&self, client: usize) -> Option<&ServerError>;

    /// Whether a transaction was open at the end of the last reply.
    fn in_transaction(&self, client: usize) -> TransactionStatus;

    /// The notices that came since the last call.
    fn take_notices(&mut self, client: usize) -> Vec<ServerError>;

    /// Gives a client this connection in place of the one it has lost or hung up.
    ///
    /// # Errors
    /// The system refuses to watch it.
    fn adopt(&mut self, client: usize, connection: Opened<Self::Connection>) -> io::Result<()>;

    /// The endpoint that a client is connected to, or was last.
    fn endpoint(&self, client: usize) -> usize;

    /// Takes leave of the server and closes the connection, once everything that other clients have asked for is sent.
    fn hang_up(&mut self, client: usize);

    /// Hands everything that was asked for over to be sent. Gives how long closing connections took, if any
    /// were to be closed.
    fn send<O: Owner<Self>>(owner: &mut O) -> Option<Duration>;

    /// Sends what was handed over before now, rather than with the next [`Backend::poll`].
    fn flush(&mut self);

    /// Waits until something comes or the time has passed, and tells of everything there is.
    ///
    /// # Errors
    /// The system refuses to wait.
    fn poll<O: Owner<Self>>(owner: &mut O, wait: Wait) -> io::Result<()>;

    /// Closes all connections. What is executed for clients that are `running` is cancelled, so that it does not go on
    /// without us.
    fn close(self, running: impl Fn(usize) -> bool);
}

/// Who owns a backend and hears what comes of requests. It may ask for more while it is told.
pub trait Owner<B> {
    /// The backend.
    fn backend(&mut self) -> &mut B;

    /// A client will be told something soon: what it needs can be fetched meanwhile.
    fn expect(&mut self, client: usize);

    /// A request of a client is done.
    fn replied(&mut self, client: usize, reply: Reply);

    /// A client's connection is gone.
    fn lost(&mut self, client: usize, error: &io::Error);
}
