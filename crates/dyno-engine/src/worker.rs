//! One thread's event loop: its clients, its transport, its recording; nothing shared.
//!
//! The loop receives from all connections that have something, lets each client take its next step, then sends everything that is to be sent.
//! Nothing is allocated, locked or formatted for a transaction that succeeds.

use crate::clock::Clock;
use crate::drive::{Ending, Message, SliceReport};
use crate::load::{Stop, Workload};
use crate::pacing::Schedule;
use crate::program::{Action, Program};
use crate::recording::Recording;
use crate::timeline::{Slice, Timeline};
use crate::transport::{Arrival, Transport, Wait};
use dyno_wire::{Event, Protocol, Reply, Session, SqlState, TransactionStatus};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// The longest wait, so that a request to stop is noticed.
const LONGEST_WAIT_NS: u64 = 100_000_000;

/// SQLSTATE "connection failure", for connections lost while the load runs.
const CONNECTION_FAILURE: &[u8; 5] = b"08006";

/// What a client is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// The reply to the statement of this index.
    Reply(usize),
    /// The reply to the rollback after an error.
    Rollback,
    /// The end of a sleep.
    Wake,
    /// Its next transaction.
    Turn,
    /// Nothing more: the connection is gone.
    Never,
}

struct Client<S, P> {
    session: S,
    program: P,
    waiting: Waiting,
    /// The instant from which the transaction's latency counts.
    transaction_ns: u64,
    /// How long after its scheduled instant the transaction began.
    lag_ns: u64,
    statement_ns: u64,
}

/// How a thread reports to the collector.
pub(crate) struct Reporting {
    /// This thread's number.
    pub thread: usize,
    pub messages: Sender<Message>,
    /// Recordings that the collector has emptied.
    pub spare: Receiver<Recording>,
}

/// Messages to be sent at the end of the round, one buffer for all clients.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    parts: Vec<(usize, Range<usize>)>,
}

/// Everything of the loop but the transport, which calls back into it.
struct Clients<'a, S: Session, P: Program> {
    workload: &'a Workload<S, P>,
    clock: Clock,
    stop: &'a Stop,
    clients: Vec<Client<S, P::State>>,
    outbox: Outbox,
    /// Clients whose next step is due now.
    runnable: VecDeque<usize>,
    /// Open loop: clients waiting for the schedule.
    idle: VecDeque<usize>,
    sleeping: BinaryHeap<Reverse<(u64, usize)>>,
    schedule: Option<Schedule>,
    timeline: Timeline,
    /// The slice being recorded; `None` once the run is over and clients only finish what they began.
    slice: Option<Slice>,
    recording: Recording,
    reporting: Reporting,
    succeeded: bool,
    alive: usize,
    /// Why this thread gives up.
    ending: Option<Ending>,
}

/// What a thread needs to run its share of a workload.
pub(crate) struct Share<'a, S: Session, P: Program> {
    pub workload: &'a Workload<S, P>,
    /// The sessions of its clients with each client's number in the workload.
    pub sessions: Vec<(usize, S)>,
    pub schedule: Option<Schedule>,
    pub timeline: Timeline,
    pub clock: Clock,
    pub stop: &'a Stop,
    pub grace: Duration,
    pub reporting: Reporting,
}

/// Runs until the timeline ends, a stop is requested, or nothing is left to do. Returns how many transactions were left unfinished.
pub(crate) fn run<S: Session, P: Program>(share: Share<'_, S, P>, mut transport: impl Transport) -> u64 {
    let grace_ns = crate::clock::duration_ns(share.grace);
    let mut clients = Clients::new(share);
    let mut drain_until_ns = u64::MAX;
    loop {
        let now_ns = clients.clock.now_ns();
        clients.roll(now_ns);
        if clients.slice.is_some() && (clients.stop.requested() || clients.ending.is_some() || clients.alive == 0) {
            clients.finish_early(now_ns);
        }
        if clients.slice.is_none() {
            drain_until_ns = drain_until_ns.min(now_ns.saturating_add(grace_ns));
            if !clients.any_running() || now_ns >= drain_until_ns || clients.ending.is_some() {
                break;
            }
        }
        clients.start_due(now_ns);
        clients.send(&mut transport);
        let wait = clients.wait(drain_until_ns);
        let polled = transport.poll(wait, &mut |index, arrival| clients.arrived(index, arrival));
        if let Err(error) = polled {
            clients.give_up(Ending::System(error));
        }
        clients.send(&mut transport);
    }
    clients.close(&mut transport)
}

impl<'a, S: Session, P: Program> Clients<'a, S, P> {
    fn new(share: Share<'a, S, P>) -> Self {
        let mut timeline = share.timeline;
        let slice = timeline.next();
        let workload = share.workload;
        let clients: Vec<_> = share
            .sessions
            .into_iter()
            .map(|(number, session)| Client {
                session,
                program: workload.program.state(number),
                waiting: Waiting::Turn,
                transaction_ns: 0,
                lag_ns: 0,
                statement_ns: 0,
            })
            .collect();
        let numbers = 0..clients.len();
        let (runnable, idle) = match share.schedule {
            Some(_) => (VecDeque::new(), numbers.collect()),
            None => (numbers.collect(), VecDeque::new()),
        };
        Self {
            workload,
            clock: share.clock,
            stop: share.stop,
            alive: clients.len(),
            clients,
            outbox: Outbox::default(),
            runnable,
            idle,
            sleeping: BinaryHeap::new(),
            schedule: share.schedule,
            timeline,
            slice,
            recording: Recording::new(workload.statements.len()),
            reporting: share.reporting,
            succeeded: false,
            ending: None,
        }
    }

    /// Hands the recording over if its slice is past.
    #[inline]
    fn roll(&mut self, now_ns: u64) {
        while let Some(slice) = self.slice {
            if now_ns < slice.end_ns {
                return;
            }
            self.report(slice);
            self.slice = self.timeline.next();
        }
    }

    #[cold]
    fn report(&mut self, slice: Slice) {
        let empty = self
            .reporting
            .spare
            .try_recv()
            .unwrap_or_else(|_| Recording::new(self.workload.statements.len()));
        let recording = std::mem::replace(&mut self.recording, empty);
        // The collector outlives the workers; if it is gone there is nobody to report to.
        let _ = self.reporting.messages.send(Message::Slice(SliceReport {
            thread: self.reporting.thread,
            slice,
            recording,
        }));
    }

    fn finish_early(&mut self, now_ns: u64) {
        if let Some(mut slice) = self.slice.take() {
            slice.end_ns = now_ns.clamp(slice.start_ns, slice.end_ns);
            self.report(slice);
        }
    }

    fn give_up(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
    }

    fn any_running(&self) -> bool {
        let running = |client: &Client<S, P::State>| {
            matches!(client.waiting, Waiting::Reply(_) | Waiting::Rollback | Waiting::Wake)
        };
        self.clients.iter().any(running)
    }

    /// How long the loop may wait for something to arrive.
    fn wait(&self, drain_until_ns: u64) -> Wait {
        let due_ns = match (&self.schedule, self.idle.front(), self.slice) {
            (Some(schedule), Some(_), Some(_)) => schedule.next_ns(),
            _ => u64::MAX,
        };
        let wake_ns = self.sleeping.peek().map_or(u64::MAX, |Reverse((wake_ns, _))| *wake_ns);
        let client_ns = if self.runnable.is_empty() {
            due_ns.min(wake_ns)
        } else {
            0
        };
        let report_ns = self.slice.map_or(drain_until_ns, |slice| slice.end_ns);
        let timeout_ns = client_ns
            .min(report_ns)
            .saturating_sub(self.clock.now_ns())
            .min(LONGEST_WAIT_NS);
        Wait {
            timeout: Duration::from_nanos(timeout_ns),
            exact: client_ns <= report_ns,
        }
    }

    /// Lets every client act whose time has come.
    fn start_due(&mut self, now_ns: u64) {
        while let Some(Reverse((wake_ns, index))) = self.sleeping.peek().copied() {
            if wake_ns > now_ns {
                break;
            }
            self.sleeping.pop();
            if self.clients[index].waiting == Waiting::Wake {
                self.step(index, now_ns);
            }
        }
        while let (Some(_), Some(schedule), Some(&index)) = (self.slice, &mut self.schedule, self.idle.front()) {
            let due_ns = schedule.next_ns();
            if due_ns > now_ns {
                break;
            }
            schedule.advance();
            self.idle.pop_front();
            self.begin(index, due_ns, now_ns);
        }
        for _ in 0..self.runnable.len() {
            let Some(index) = self.runnable.pop_front() else { break };
            match self.slice {
                Some(_) => self.begin(index, now_ns, now_ns),
                None => self.clients[index].waiting = Waiting::Turn,
            }
        }
    }

    fn begin(&mut self, index: usize, from_ns: u64, now_ns: u64) {
        let client = &mut self.clients[index];
        client.transaction_ns = from_ns;
        client.lag_ns = now_ns.saturating_sub(from_ns);
        self.workload.program.begin(&mut client.program);
        self.step(index, now_ns);
    }

    /// Goes on with a client's transaction up to its next statement, sleep or end.
    #[inline]
    fn step(&mut self, index: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        match self.workload.program.next(&mut client.program, false) {
            Ok(Action::Execute(statement)) => {
                client.waiting = Waiting::Reply(statement);
                client.statement_ns = now_ns;
                let start = self.outbox.bytes.len();
                let out = &mut self.outbox.bytes;
                let program = &self.workload.program;
                if self.workload.protocol == Protocol::Simple {
                    client
                        .session
                        .query(|text| program.write_text(&client.program, statement, text), out);
                } else {
                    let parameters = program.parameters(&client.program, statement);
                    client
                        .session
                        .execute(&self.workload.statements[statement], &parameters, out);
                }
                self.outbox.parts.push((index, start..self.outbox.bytes.len()));
            }
            Ok(Action::Sleep(duration)) => {
                client.waiting = Waiting::Wake;
                let wake_ns = now_ns.saturating_add(crate::clock::duration_ns(duration));
                self.sleeping.push(Reverse((wake_ns, index)));
            }
            Ok(Action::End) => self.complete(index, now_ns),
            Ok(_) => {
                let error = self
                    .workload
                    .program
                    .failure(&client.program, "this command cannot be used here yet");
                self.give_up(Ending::Program(error));
            }
            Err(error) => self.give_up(Ending::Program(error)),
        }
    }

    #[inline]
    fn complete(&mut self, index: usize, now_ns: u64) {
        let client = &self.clients[index];
        if client.session.in_transaction() != TransactionStatus::Idle {
            return self.give_up(Ending::OpenTransaction {
                workload: self.workload.name.clone(),
            });
        }
        if self.slice.is_some() {
            self.recording.transactions += 1;
            self.recording
                .latency
                .record(now_ns.saturating_sub(client.transaction_ns));
            if self.schedule.is_some() {
                self.recording.lag.record(client.lag_ns);
            }
        }
        self.succeeded = true;
        self.rest(index, now_ns);
    }

    /// A client's transaction is over: on to the next one.
    #[inline]
    fn rest(&mut self, index: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        // A script without statements never waits for the server: let the others have their turn.
        let at_once = matches!(client.waiting, Waiting::Reply(_)) && self.slice.is_some();
        client.waiting = Waiting::Turn;
        if self.schedule.is_some() {
            self.idle.push_back(index);
        } else if at_once {
            self.begin(index, now_ns, now_ns);
        } else {
            self.runnable.push_back(index);
        }
    }

    fn arrived(&mut self, index: usize, arrival: Arrival<'_>) {
        match arrival {
            Arrival::Closed(error) => self.lose(index, &error),
            Arrival::Bytes(mut bytes) => {
                while !bytes.is_empty() && self.clients[index].waiting != Waiting::Never {
                    // Answers of the session itself, such as a refusal of COPY, go out with the round.
                    let start = self.outbox.bytes.len();
                    let client = &mut self.clients[index];
                    match client.session.receive(bytes, &mut self.outbox.bytes) {
                        Ok((used, event)) => {
                            if self.outbox.bytes.len() > start {
                                self.outbox.parts.push((index, start..self.outbox.bytes.len()));
                            }
                            bytes = &bytes[used..];
                            if let Event::Reply(reply) = event {
                                let now_ns = self.clock.now_ns();
                                self.roll(now_ns);
                                self.replied(index, reply, now_ns);
                            }
                        }
                        Err(error) => self.lose(index, &io::Error::other(error)),
                    }
                }
            }
        }
    }

    #[inline]
    fn replied(&mut self, index: usize, reply: Reply, now_ns: u64) {
        let client = &mut self.clients[index];
        match client.waiting {
            Waiting::Reply(statement) if !reply.failed => {
                if self.slice.is_some() {
                    self.recording.statements += 1;
                    if let Some(latency) = self.recording.statement_latency.get_mut(statement) {
                        latency.record(now_ns.saturating_sub(client.statement_ns));
                    }
                }
                self.step(index, now_ns);
            }
            Waiting::Reply(_) => self.failed(index, now_ns),
            Waiting::Rollback => self.rest(index, now_ns),
            // A reply that nobody asked for belongs to no transaction.
            Waiting::Wake | Waiting::Turn | Waiting::Never => {}
        }
    }

    #[cold]
    fn failed(&mut self, index: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        let Some(error) = client.session.error() else {
            return self.rest(index, now_ns);
        };
        if self.slice.is_some() {
            self.recording.count_error(error.sqlstate, || error.to_string());
        }
        // Syntax errors and missing tables do not heal: a load that has never worked ends at once.
        if !self.succeeded && error.sqlstate.class() == "42" {
            let ending = Ending::Statement {
                workload: self.workload.name.clone(),
                error: Box::new(error.clone()),
            };
            return self.give_up(ending);
        }
        if client.session.in_transaction() == TransactionStatus::Idle {
            return self.rest(index, now_ns);
        }
        client.waiting = Waiting::Rollback;
        let start = self.outbox.bytes.len();
        client
            .session
            .query(|text| text.extend_from_slice(b"rollback"), &mut self.outbox.bytes);
        self.outbox.parts.push((index, start..self.outbox.bytes.len()));
    }

    #[cold]
    fn lose(&mut self, index: usize, error: &io::Error) {
        let client = &mut self.clients[index];
        if client.waiting == Waiting::Never {
            return;
        }
        // The server's last words, if any, say more than the closed socket.
        let (state, message) = match client.session.error() {
            Some(error) => (error.sqlstate, error.to_string()),
            None => (
                SqlState::from_bytes(CONNECTION_FAILURE),
                format!("connection lost: {error}"),
            ),
        };
        if self.slice.is_some() {
            self.recording.count_error(state, || message.clone());
        }
        client.waiting = Waiting::Never;
        self.idle.retain(|&other| other != index);
        self.runnable.retain(|&other| other != index);
        self.alive -= 1;
        let _ = self.reporting.messages.send(Message::Lost { message });
    }

    /// Sends what the round has produced.
    fn send(&mut self, transport: &mut impl Transport) {
        let mut parts = std::mem::take(&mut self.outbox.parts);
        for (index, range) in parts.drain(..) {
            if self.clients[index].waiting == Waiting::Never {
                continue;
            }
            if let Err(error) = transport.send(index, &self.outbox.bytes[range]) {
                self.lose(index, &error);
            }
        }
        self.outbox.bytes.clear();
        self.outbox.parts = parts;
    }

    /// Says goodbye on every connection that is at rest; what the others still execute is cancelled, so that it does not go on without us.
    fn close(mut self, transport: &mut impl Transport) -> u64 {
        let mut unfinished = 0;
        let mut goodbye = Vec::new();
        for (index, client) in self.clients.iter_mut().enumerate() {
            match client.waiting {
                Waiting::Turn => {
                    goodbye.clear();
                    client.session.terminate(&mut goodbye);
                    let _ = transport.send(index, &goodbye);
                }
                Waiting::Never => {}
                Waiting::Reply(_) | Waiting::Rollback | Waiting::Wake => {
                    unfinished += 1;
                    if let Some(request) = client.session.cancel() {
                        crate::connect::cancel(&self.workload.endpoints[0].address, &request);
                    }
                }
            }
            transport.close(index);
        }
        if let Some(ending) = self.ending.take() {
            let _ = self.reporting.messages.send(Message::Ending(ending));
        }
        unfinished
    }
}
