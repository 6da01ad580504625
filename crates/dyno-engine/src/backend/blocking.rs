//! A library that owns its socket and blocks, as a driver: one client a thread.
//!
//! Where a database's protocol is not spoken by `dyno-wire`, a driver from elsewhere is better than none. Such a
//! library gives its answer as what a call returns, so a request is executed when it is asked for and its reply told
//! with the next [`Backend::poll`]. A thread that waits in a call cannot end it; [`Driver::interrupt`] does that from
//! another one. Nor can it report an interval meanwhile: one in which a call is under way is told when the call is
//! over.

use super::{Backend, Driver, Limit, Opened, Owner, Wait, Work};
use crate::backend::wire::transport::TransportKind;
use dyno_connect::ConnectError;
use dyno_wire::{CapturedResult, Parameters, Reply, ServerError, TransactionStatus, WireError};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A library that reaches a database, shared by the clients of a workload.
pub trait Library: Send + Sync {
    /// A connection that is logged in, used by one thread at a time.
    type Connection: Connection;

    /// The longest that connecting may take.
    fn connect_timeout(&self) -> Duration;

    /// Opens a connection.
    ///
    /// # Errors
    /// No server lets it in, or the limit is reached.
    fn connect(&self, workload: &str, limit: Limit<'_>) -> Result<Self::Connection, ConnectError>;

    /// Where connections go, for messages.
    fn address(&self) -> String;
}

/// A connection of a [`Library`]. Calls return when the server has answered.
pub trait Connection: Send {
    /// Executes the statement of this number, making it known first if need be.
    ///
    /// # Errors
    /// The connection is gone; if the server has said why, that is a [`ServerError`] in the error. What the server
    /// refuses is an [`Answer`].
    fn execute(&mut self, statement: usize, parameters: &impl Parameters, results: bool) -> io::Result<Answer>;

    /// Executes this text.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    fn query(&mut self, text: &[u8], results: bool) -> io::Result<Answer>;

    /// Ends a transaction that has failed.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    fn rollback(&mut self) -> io::Result<Answer> {
        self.query(b"rollback", false)
    }

    /// Prepares the statement of this number, which is none of the workload's, for [`execute`](Self::execute). One that
    /// the server refuses is refused again when it is executed.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    fn define(&mut self, statement: usize, text: &str) -> io::Result<Answer>;

    /// Whether a transaction is open.
    fn in_transaction(&self) -> TransactionStatus;

    /// What ends the call that another thread waits in; `None` if the library cannot.
    fn interrupter(&self) -> Option<Interrupter>;

    /// Takes leave of the server.
    fn close(self);
}

/// Ends the call that a thread waits in.
pub type Interrupter = Box<dyn Fn() + Send + Sync>;

/// What a call came to.
#[derive(Debug, Default)]
pub struct Answer {
    /// Rows that came.
    pub rows: u64,
    /// Rows that the statement touched.
    pub affected: u64,
    /// The results, if they were asked for.
    pub results: Vec<CapturedResult>,
    /// Why the server refused it.
    pub error: Option<ServerError>,
}

/// The connections of a [`Library`] as a driver.
pub struct BlockingDriver<L> {
    library: L,
    /// The calls of all connections that are open; those of others are gone.
    calls: Mutex<Vec<Weak<Calls>>>,
}

/// The calls of one connection, as other threads see them.
struct Calls {
    interrupter: Option<Interrupter>,
    /// Whether they are ended because the load is over.
    interrupted: AtomicBool,
}

impl Calls {
    fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        if let Some(interrupt) = &self.interrupter {
            interrupt();
        }
    }
}

/// A connection of a library, whose calls can be ended from elsewhere.
pub struct Interruptible<C> {
    connection: C,
    calls: Arc<Calls>,
}

impl<C: Connection> Interruptible<C> {
    /// Takes leave of the server. There is no call to be ended any more.
    fn close(self) {
        drop(self.calls);
        self.connection.close();
    }
}

impl<L: Library> BlockingDriver<L> {
    /// Of this library.
    pub fn new(library: L) -> Self {
        Self {
            library,
            calls: Mutex::default(),
        }
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Weak<Calls>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Library> Driver for BlockingDriver<L> {
    type Connection = Interruptible<L::Connection>;

    const BLOCKS: bool = true;

    fn connect_timeout(&self) -> Duration {
        self.library.connect_timeout()
    }

    fn open(&self, workload: &str, limit: Limit<'_>) -> Result<Opened<Self::Connection>, ConnectError> {
        let connection = self.library.connect(workload, limit)?;
        let calls = Arc::new(Calls {
            interrupter: connection.interrupter(),
            interrupted: AtomicBool::new(false),
        });
        let mut all = self.calls();
        all.retain(|calls| calls.strong_count() > 0);
        all.push(Arc::downgrade(&calls));
        Ok(Opened {
            connection: Interruptible { connection, calls },
            endpoint: 0,
        })
    }

    fn address(&self, _endpoint: usize) -> String {
        self.library.address()
    }

    fn sends_text(&self, _statement: usize) -> bool {
        false
    }

    fn interrupt(&self) {
        // Ending a call may take time, in which others are opened.
        let open: Vec<_> = self.calls().iter().filter_map(Weak::upgrade).collect();
        open.iter().for_each(|calls| calls.interrupt());
    }

    fn run<W: Work<Self::Connection>>(
        &self,
        mut connections: Vec<Option<Opened<Self::Connection>>>,
        _spare: usize,
        _transport: TransportKind,
        work: W,
    ) -> io::Result<W::Outcome> {
        Ok(work.run(BlockingBackend {
            connection: connections.pop().flatten().map(|opened| opened.connection),
            told: VecDeque::new(),
            text: Vec::new(),
            pipeline: None,
            results: Vec::new(),
            error: None,
            own: Vec::new(),
        }))
    }
}

/// What is to be told with the next poll.
enum Told {
    Reply(Reply),
    Lost(io::Error),
}

/// The only connection of a thread.
struct BlockingBackend<C> {
    connection: Option<Interruptible<C>>,
    told: VecDeque<Told>,
    /// Room for the text of a query.
    text: Vec<u8>,
    /// What a pipeline that is open has come to.
    pipeline: Option<Reply>,
    results: Vec<CapturedResult>,
    error: Option<ServerError>,
    /// The client's own statements, by number.
    own: Vec<(usize, String)>,
}

impl<C: Connection> BlockingBackend<C> {
    /// Makes a call. `None`: the connection is gone, which will be told; or the call was ended, which is no reply.
    fn call(&mut self, call: impl FnOnce(&mut C) -> io::Result<Answer>) -> Option<Reply> {
        let Some(open) = &mut self.connection else {
            self.told.push_back(not_connected());
            return None;
        };
        match call(&mut open.connection) {
            _ if open.calls.interrupted.load(Ordering::Relaxed) => None,
            Ok(answer) => {
                let failed = answer.error.is_some();
                self.results = answer.results;
                self.error = answer.error;
                Some(Reply {
                    rows: answer.rows,
                    affected: answer.affected,
                    accepted: u64::from(!failed),
                    completed: u64::from(!failed),
                    failed,
                    ..Reply::default()
                })
            }
            Err(cause) => {
                self.connection = None;
                let said = cause.get_ref().and_then(|said| said.downcast_ref::<ServerError>());
                self.error = said.cloned();
                self.told.push_back(Told::Lost(cause));
                None
            }
        }
    }
}

/// What a client is told that wants something without a connection.
fn not_connected() -> Told {
    Told::Lost(io::ErrorKind::NotConnected.into())
}

impl<C: Connection> Backend for BlockingBackend<C> {
    type Connection = Interruptible<C>;

    fn execute(&mut self, _client: usize, statement: usize, parameters: &impl Parameters, results: bool) {
        let reply = self.call(|connection| connection.execute(statement, parameters, results));
        self.told.extend(reply.map(Told::Reply));
    }

    fn query(&mut self, _client: usize, write: impl FnOnce(&mut Vec<u8>), results: bool) {
        let mut text = std::mem::take(&mut self.text);
        write(&mut text);
        let reply = self.call(|connection| connection.query(&text, results));
        self.told.extend(reply.map(Told::Reply));
        text.clear();
        self.text = text;
    }

    fn rollback(&mut self, _client: usize) {
        let reply = self.call(Connection::rollback);
        self.told.extend(reply.map(Told::Reply));
    }

    fn define(
        &mut self,
        _client: usize,
        statement: usize,
        text: &str,
        _parameter_count: usize,
    ) -> Result<(), WireError> {
        self.own.push((statement, text.to_owned()));
        let reply = self.call(|connection| connection.define(statement, text));
        self.told.extend(reply.map(Told::Reply));
        Ok(())
    }

    fn prepare(&mut self, _client: usize, _statement: usize) -> bool {
        false
    }

    fn knows(&self, _client: usize, _statement: usize) -> bool {
        true
    }

    fn is_introducing(&self, _client: usize) -> bool {
        false
    }

    fn queue(&mut self, _client: usize, statement: usize, parameters: &impl Parameters) {
        let mut so_far = self.pipeline.take().unwrap_or_default();
        // As in a pipeline, nothing after an error is executed.
        if !so_far.failed
            && let Some(reply) = self.call(|connection| connection.execute(statement, parameters, false))
        {
            so_far.rows += reply.rows;
            so_far.affected += reply.affected;
            so_far.accepted += reply.accepted;
            so_far.completed += reply.completed;
            so_far.failed = reply.failed;
        }
        self.pipeline = Some(so_far);
    }

    fn sync(&mut self, _client: usize) {
        let reply = self.pipeline.take().unwrap_or_default();
        match &self.connection {
            Some(open) if open.calls.interrupted.load(Ordering::Relaxed) => {}
            Some(_) => self.told.push_back(Told::Reply(reply)),
            None => self.told.push_back(not_connected()),
        }
    }

    fn results(&self, _client: usize) -> &[CapturedResult] {
        &self.results
    }

    fn error(&self, _client: usize) -> Option<&ServerError> {
        self.error.as_ref()
    }

    fn in_transaction(&self, _client: usize) -> TransactionStatus {
        let open = self.connection.as_ref();
        open.map_or(TransactionStatus::Idle, |open| open.connection.in_transaction())
    }

    fn take_notices(&mut self, _client: usize) -> Vec<ServerError> {
        Vec::new()
    }

    fn adopt(&mut self, _client: usize, opened: Opened<Interruptible<C>>) -> io::Result<()> {
        let mut open = opened.connection;
        for (statement, text) in &self.own {
            open.connection.define(*statement, text)?;
        }
        self.connection = Some(open);
        self.pipeline = None;
        Ok(())
    }

    fn endpoint(&self, _client: usize) -> usize {
        0
    }

    fn hang_up(&mut self, _client: usize) {
        if let Some(open) = self.connection.take() {
            open.close();
        }
    }

    fn send<O: Owner<Self>>(_owner: &mut O) -> Option<Duration> {
        None
    }

    fn flush(&mut self) {}

    fn poll<O: Owner<Self>>(owner: &mut O, wait: Wait) -> io::Result<()> {
        if owner.backend().told.is_empty() {
            std::thread::sleep(wait.shortest());
        }
        // What it asks for while it is told comes next time: the loop looks at the clock before.
        for _ in 0..owner.backend().told.len() {
            match owner.backend().told.pop_front() {
                Some(Told::Reply(reply)) => owner.replied(0, reply),
                Some(Told::Lost(error)) => owner.lost(0, &error),
                None => break,
            }
        }
        Ok(())
    }

    fn close(self, running: impl Fn(usize) -> bool) {
        if let Some(open) = self.connection.filter(|_| !running(0)) {
            open.close();
        }
    }
}
