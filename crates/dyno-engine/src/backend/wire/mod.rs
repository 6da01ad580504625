//! Sessions over transports: the driver that moves the bytes of many connections in one thread.
//!
//! A `dyno_wire::Session` turns requests into bytes and bytes into replies; a transport moves them. Everything that
//! a round of the event loop asks for is gathered in one buffer and handed over together.

mod cancel;
mod connect;
pub(crate) mod driver;
pub(crate) mod transport;

use super::{Backend, ConnectError, Driver, Limit, Opened, Owner, Work};
use crate::cache::fetch;
use cancel::cancel;
use driver::{LoggedIn, WireDriver};
use dyno_wire::{Cancel, CapturedResult, Event, Parameters, Reply, ServerError, Session, TransactionStatus, WireError};
use std::collections::HashMap;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::ops::Range;
use std::time::{Duration, Instant};
#[cfg(target_os = "linux")]
use transport::Uring;
use transport::{Arrival, Blocking, Readiness, Sink, Transport, TransportKind, Wait};

impl<S: Session> Driver for WireDriver<S> {
    type Connection = LoggedIn<S>;

    const BLOCKS: bool = false;

    fn connect_timeout(&self) -> Duration {
        let timeouts = self.endpoints.iter().map(|endpoint| endpoint.connect_timeout);
        timeouts.max().unwrap_or_default()
    }

    fn open(&self, workload: &str, limit: Limit<'_>) -> Result<Opened<LoggedIn<S>>, ConnectError> {
        connect::open(self, workload, limit)
    }

    fn address(&self, endpoint: usize) -> String {
        let endpoint = self.endpoints.get(endpoint);
        endpoint
            .map(|endpoint| endpoint.address.to_string())
            .unwrap_or_default()
    }

    fn sends_text(&self, statement: usize) -> bool {
        self.statements.get(statement).is_some_and(S::carries_text)
    }

    fn run<W: Work<LoggedIn<S>>>(
        &self,
        connections: Vec<Option<Opened<LoggedIn<S>>>>,
        spare: usize,
        transport: TransportKind,
        work: W,
    ) -> io::Result<W::Outcome> {
        let mut sockets = Vec::with_capacity(connections.len());
        let mut lines = Vec::with_capacity(connections.len());
        for opened in connections {
            let (socket, line) = match opened {
                Some(opened) => {
                    let line = Line::open(opened.connection.session, opened.endpoint);
                    (Some(opened.connection.connection), line)
                }
                None => (None, Line::closed(self)),
            };
            sockets.push(socket);
            lines.push(line);
        }
        Ok(match transport {
            TransportKind::Blocking => {
                let blocking = Blocking::new(sockets.pop().flatten(), spare)?;
                work.run(WireBackend::new(self, lines, blocking))
            }
            TransportKind::Readiness => work.run(WireBackend::new(self, lines, Readiness::new(sockets, spare)?)),
            #[cfg(target_os = "linux")]
            TransportKind::IoUring => work.run(WireBackend::new(self, lines, Uring::new(sockets, spare)?)),
            #[cfg(not(target_os = "linux"))]
            TransportKind::IoUring => return Err(std::io::ErrorKind::Unsupported.into()),
        })
    }
}

/// Where a client's connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It can be used.
    Open,
    /// It is gone, which is told again to a client that uses it.
    Lost,
    /// It was never there, or was hung up.
    Closed,
}

/// A client's connection.
#[repr(align(64))]
struct Line<S> {
    session: S,
    standing: Standing,
    /// Whether something was asked for that is not sent yet, and no reply to anything else is awaited.
    unsent: bool,
    endpoint: usize,
}

impl<S: Session> Line<S> {
    fn open(session: S, endpoint: usize) -> Self {
        Self {
            session,
            standing: Standing::Open,
            unsent: false,
            endpoint,
        }
    }

    fn closed(driver: &WireDriver<S>) -> Self {
        Self {
            standing: Standing::Closed,
            ..Self::open((driver.session)(0, None), 0)
        }
    }
}

/// A statement: one of those that all clients share, or one of a client's own.
#[inline]
fn statement<'a, S: Session>(
    driver: &'a WireDriver<S>,
    own: &'a [Vec<Option<S::Statement>>],
    client: usize,
    number: usize,
) -> Option<&'a S::Statement> {
    match driver.statements.get(number) {
        Some(shared) => Some(shared),
        None => own[client].get(number - driver.statements.len())?.as_ref(),
    }
}

/// The connections of a thread.
struct WireBackend<'a, S: Session, T> {
    driver: &'a WireDriver<S>,
    /// Taken out while it tells of what arrived.
    transport: Option<T>,
    lines: Vec<Line<S>>,
    /// The statements of each client's own, by their numbers after those of the driver.
    own: Vec<Vec<Option<S::Statement>>>,
    /// What is to be sent at the end of the round, for all clients.
    bytes: Vec<u8>,
    /// Whose each part of it is.
    parts: Vec<(usize, Range<usize>)>,
    /// Replies for which no server was asked, to be told with what arrives.
    answers: Vec<(usize, Reply)>,
    /// Connections to be closed when everything is sent.
    closing: Vec<usize>,
}

impl<'a, S: Session, T: Transport> WireBackend<'a, S, T> {
    fn new(driver: &'a WireDriver<S>, lines: Vec<Line<S>>, transport: T) -> Self {
        Self {
            driver,
            transport: Some(transport),
            own: lines.iter().map(|_| Vec::new()).collect(),
            lines,
            bytes: Vec::new(),
            parts: Vec::new(),
            answers: Vec::new(),
            closing: Vec::new(),
        }
    }

    /// What was appended from `start` on is to be sent for a client.
    #[inline]
    fn ask(&mut self, client: usize, start: usize) {
        self.parts.push((client, start..self.bytes.len()));
        self.lines[client].unsent = true;
    }

    /// Takes in what arrived for a client.
    #[inline]
    fn arrived<O: Owner<Self>>(owner: &mut O, client: usize, arrival: Arrival<'_>) {
        let mut bytes = match arrival {
            Arrival::Bytes(bytes) => bytes,
            Arrival::Closed(error) => return Self::lose(owner, client, &error),
        };
        while !bytes.is_empty() {
            let backend = owner.backend();
            let line = &mut backend.lines[client];
            if line.standing != Standing::Open {
                return;
            }
            // Answers of the session itself, such as a refusal of COPY, go out with the round.
            let start = backend.bytes.len();
            match line.session.receive(bytes, &mut backend.bytes) {
                Ok((used, event)) => {
                    bytes = &bytes[used..];
                    if backend.bytes.len() > start {
                        backend.parts.push((client, start..backend.bytes.len()));
                    }
                    // What has come cannot be the reply to what is not sent: the server says more than it was asked
                    // for.
                    if line.unsent && (event != Event::NeedInput || line.session.is_replying()) {
                        let unasked = WireError::Unasked { database: S::DATABASE };
                        return Self::lose(owner, client, &io::Error::other(unasked));
                    }
                    if let Event::Reply(reply) = event {
                        owner.replied(client, reply);
                    }
                }
                Err(error) => return Self::lose(owner, client, &io::Error::other(error)),
            }
        }
    }

    #[cold]
    fn lose<O: Owner<Self>>(owner: &mut O, client: usize, error: &io::Error) {
        let standing = &mut owner.backend().lines[client].standing;
        if *standing == Standing::Open {
            *standing = Standing::Lost;
            owner.lost(client, error);
        }
    }

    /// Takes leave on the connections that are to be closed.
    #[cold]
    fn take_leave(&mut self) {
        let Some(transport) = &mut self.transport else { return };
        let mut goodbye = Vec::new();
        for client in mem::take(&mut self.closing) {
            goodbye.clear();
            self.lines[client].session.terminate(&mut goodbye);
            let _ = transport.send(client, &goodbye);
            transport.close(client);
        }
    }
}

/// Hands on to its owner what arrives.
struct Arrivals<'o, O, B> {
    owner: &'o mut O,
    of: PhantomData<B>,
}

impl<'a, S: Session, T: Transport, O: Owner<WireBackend<'a, S, T>>> Sink for Arrivals<'_, O, WireBackend<'a, S, T>> {
    #[inline]
    fn expect(&mut self, client: usize) {
        fetch(&self.owner.backend().lines[client]);
        self.owner.expect(client);
    }

    #[inline]
    fn arrived(&mut self, client: usize, arrival: Arrival<'_>) {
        WireBackend::arrived(self.owner, client, arrival);
    }
}

impl<S: Session, T: Transport> Backend for WireBackend<'_, S, T> {
    type Connection = LoggedIn<S>;

    #[inline]
    fn execute(&mut self, client: usize, number: usize, parameters: &impl Parameters, results: bool) {
        // The engine asks for none that is not there.
        let Some(encoded) = statement(self.driver, &self.own, client, number) else {
            return;
        };
        let line = &mut self.lines[client];
        if results {
            line.session.capture();
        }
        let start = self.bytes.len();
        line.session.execute(encoded, parameters, &mut self.bytes);
        self.ask(client, start);
    }

    fn query(&mut self, client: usize, write: impl FnOnce(&mut Vec<u8>), results: bool) {
        let line = &mut self.lines[client];
        if results {
            line.session.capture();
        }
        let start = self.bytes.len();
        line.session.query(write, &mut self.bytes);
        self.ask(client, start);
    }

    fn rollback(&mut self, client: usize) {
        let start = self.bytes.len();
        self.lines[client].session.rollback(&mut self.bytes);
        self.ask(client, start);
    }

    fn define(&mut self, client: usize, statement: usize, text: &str, parameter_count: usize) -> Result<(), WireError> {
        let encoded = S::encode_prepared(statement, text, parameter_count)?;
        let start = self.bytes.len();
        self.lines[client].session.prepare(&encoded, &mut self.bytes);
        self.ask(client, start);
        let own = &mut self.own[client];
        let place = statement - self.driver.statements.len();
        own.resize_with(place + 1, || None);
        own[place] = Some(encoded);
        Ok(())
    }

    fn prepare(&mut self, client: usize, number: usize) -> bool {
        let Some(encoded) = statement(self.driver, &self.own, client, number) else {
            return false;
        };
        let start = self.bytes.len();
        let awaited = self.lines[client].session.prepare(encoded, &mut self.bytes);
        if awaited {
            self.ask(client, start);
        }
        awaited
    }

    fn knows(&self, client: usize, number: usize) -> bool {
        let encoded = statement(self.driver, &self.own, client, number);
        encoded.is_none_or(|encoded| self.lines[client].session.knows(encoded))
    }

    fn is_introducing(&self, client: usize) -> bool {
        self.lines[client].session.is_introducing()
    }

    fn queue(&mut self, client: usize, number: usize, parameters: &impl Parameters) {
        let Some(encoded) = statement(self.driver, &self.own, client, number) else {
            return;
        };
        let start = self.bytes.len();
        let session = &mut self.lines[client].session;
        session.queue(encoded, parameters, &mut self.bytes);
        self.ask(client, start);
    }

    fn sync(&mut self, client: usize) {
        let start = self.bytes.len();
        self.lines[client].session.sync(&mut self.bytes);
        self.ask(client, start);
    }

    fn results(&self, client: usize) -> &[CapturedResult] {
        self.lines[client].session.captured()
    }

    fn error(&self, client: usize) -> Option<&ServerError> {
        self.lines[client].session.error()
    }

    #[inline]
    fn in_transaction(&self, client: usize) -> TransactionStatus {
        self.lines[client].session.in_transaction()
    }

    fn take_notices(&mut self, client: usize) -> Vec<ServerError> {
        self.lines[client].session.take_notices()
    }

    fn adopt(&mut self, client: usize, opened: Opened<LoggedIn<S>>) -> io::Result<()> {
        if client >= self.lines.len() {
            self.lines.resize_with(client + 1, || Line::closed(self.driver));
            self.own.resize_with(client + 1, Vec::new);
        }
        if let Some(transport) = &mut self.transport {
            transport.replace(client, opened.connection.connection)?;
        }
        self.lines[client] = Line::open(opened.connection.session, opened.endpoint);
        Ok(())
    }

    fn endpoint(&self, client: usize) -> usize {
        self.lines[client].endpoint
    }

    fn hang_up(&mut self, client: usize) {
        let standing = mem::replace(&mut self.lines[client].standing, Standing::Closed);
        if standing != Standing::Closed {
            self.closing.push(client);
        }
    }

    fn send<O: Owner<Self>>(owner: &mut O) -> Option<Duration> {
        let backend = owner.backend();
        let mut parts = mem::take(&mut backend.parts);
        for (client, range) in parts.drain(..) {
            let backend = owner.backend();
            let line = &mut backend.lines[client];
            line.unsent = false;
            match (line.standing, &mut backend.transport) {
                (Standing::Open, _) if range.is_empty() => {
                    let answer = line.session.answered();
                    backend.answers.extend(answer.map(|reply| (client, reply)));
                }
                (Standing::Open, Some(transport)) => {
                    if let Err(error) = transport.send(client, &backend.bytes[range]) {
                        Self::lose(owner, client, &error);
                    }
                }
                (Standing::Lost, _) => owner.lost(client, &io::ErrorKind::NotConnected.into()),
                _ => {}
            }
        }
        let backend = owner.backend();
        backend.bytes.clear();
        backend.parts = parts;
        if backend.closing.is_empty() {
            return None;
        }
        let begun = Instant::now();
        backend.take_leave();
        Some(begun.elapsed())
    }

    fn flush(&mut self) {
        if let Some(transport) = &mut self.transport {
            transport.flush();
        }
    }

    #[inline]
    fn poll<O: Owner<Self>>(owner: &mut O, mut wait: Wait) -> io::Result<()> {
        if !owner.backend().answers.is_empty() {
            wait.due = Duration::ZERO;
            for (client, reply) in mem::take(&mut owner.backend().answers) {
                owner.replied(client, reply);
            }
        }
        let Some(mut transport) = owner.backend().transport.take() else {
            return Ok(());
        };
        let polled = transport.poll(wait, &mut Arrivals { owner, of: PhantomData });
        owner.backend().transport = Some(transport);
        polled
    }

    fn close(mut self, running: impl Fn(usize) -> bool) {
        let Some(mut transport) = self.transport.take() else {
            return;
        };
        let mut goodbye = Vec::new();
        let mut cancels: HashMap<_, Vec<_>> = HashMap::new();
        for (client, line) in self.lines.iter_mut().enumerate() {
            if line.standing != Standing::Open {
                continue;
            }
            if running(client) {
                match line.session.cancel() {
                    // The server sees it before it sees that we are gone.
                    Some(Cancel::Break(message)) => drop(transport.send(client, &message)),
                    cancel => {
                        let server = cancels.entry((line.endpoint, transport.peer(client))).or_default();
                        server.extend(cancel);
                    }
                }
            } else {
                goodbye.clear();
                line.session.terminate(&mut goodbye);
                let _ = transport.send(client, &goodbye);
            }
        }
        for ((endpoint, peer), cancels) in cancels {
            cancel(self.driver, endpoint, peer, cancels);
        }
        (0..self.lines.len()).for_each(|client| transport.close(client));
    }
}
