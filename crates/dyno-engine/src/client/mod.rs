//! One thread's event loop: its clients, its transport, its recording; nothing shared.
//!
//! The loop receives from all connections that have something, lets each client take its next step, then sends
//! everything that is to be sent. Nothing is allocated, locked or formatted for a transaction that succeeds.

mod connection;
mod failure;
mod independent;
pub(crate) mod own;
pub(crate) mod pacing;
mod pipeline;
mod record;
mod reply;
mod stage;
mod state;
mod trace;
mod transaction;

use crate::backend::{Backend, Driver, Owner, Wait, Work};
use crate::cache::fetch;
use crate::client_event::ClientEvent;
use crate::clock::{Clock, duration_ns};
use crate::load::{Connecting, Workload};
use crate::log::{LogContext, TransactionLog};
use crate::outcome::{Ending, Waited};
use crate::phase_ends::PhaseEnds;
use crate::profile::{Change, Rules};
use crate::program::Scripted;
use crate::report::{Message, Reporting, SliceReport, WorkerSummary};
use crate::steering::Steering;
use crate::timeline::{Slice, Timeline};
use dyno_connect::Stop;
use dyno_record::Recording;
use dyno_wire::Reply;
use own::Places;
use pacing::{Ramp, Schedule};
use stage::Pace;
use state::Client;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Duration;

/// The longest wait, so that a request to stop is noticed.
const LONGEST_WAIT_NS: u64 = 100_000_000;

/// The longest wait where others decide when the phase ends: so late its clients may learn of it.
const LONGEST_WAIT_FOR_OTHERS_NS: u64 = 1_000_000;

/// How long transactions may take to finish when a stop was asked for, at most: those under way usually need a few
/// milliseconds, and whoever presses Ctrl-C does not want to wait for a query of an hour.
const STOP_GRACE_NS: u64 = 500_000_000;

/// How long connections go without a look when nothing can be on its way to any of them.
const UNWATCHED_NS: u64 = 1_000_000;

/// Everything of the loop.
struct Clients<'a, D: Driver, P: Scripted, B> {
    workload: &'a Workload<D, P>,
    /// The workload's index.
    number: usize,
    /// The thread's number within the workload.
    part: usize,
    clock: Clock,
    stop: &'a Stop,
    /// What changes the pace while the load runs, and how often that was heeded.
    steering: Option<&'a Steering>,
    heeded: u64,
    clients: Vec<Client<P::State>>,
    /// Their connections.
    backend: B,
    /// What the program keeps for the thread.
    thread: P::Thread,
    /// Clients that are to begin a transaction now.
    runnable: VecDeque<usize>,
    /// Open loop: clients waiting for the schedule.
    idle: VecDeque<usize>,
    /// So many clients, the first ones, begin transactions; the others rest.
    active: usize,
    pace: Pace,
    /// So many clients, the first ones, begin a transaction as soon as one is over.
    at_once: usize,
    sleeping: BinaryHeap<Reverse<(u64, usize)>>,
    /// Clients that need a connection now.
    connecting: VecDeque<usize>,
    schedule: Schedule,
    /// What is to change in `active` and `pace`.
    changes: Peekable<std::vec::IntoIter<Change>>,
    /// The arrivals from then on, if they are not those of the schedule as it is.
    course: Option<Vec<Ramp>>,
    /// When the first of them is due.
    change_ns: u64,
    /// What they follow from.
    rules: Rules<'a>,
    /// When the first phase began.
    phases_begin_ns: u64,
    /// When phases end that last until work is done.
    ends: &'a PhaseEnds,
    timeline: Timeline,
    /// When no transaction begins any more.
    end_ns: u64,
    /// How many statements the program lists.
    listed: usize,
    /// Where others are counted.
    places: &'a Places,
    /// The slice being recorded, if any still is.
    slice: Option<Slice>,
    /// When the next one is to begin, or no transaction any more.
    boundary_ns: u64,
    /// Whether no more transactions are to begin.
    over: bool,
    /// Once none begins: so many clients, the first ones, have ended theirs.
    ended: usize,
    /// Whether what finishes after the end is recorded.
    record_finishing: bool,
    recording: Recording,
    reporting: Reporting,
    log: Option<Box<dyn TransactionLog>>,
    /// Whether completed transactions need more than to be counted.
    detailed: bool,
    /// Transactions that each client is to have.
    transactions: u64,
    latency_limit_ns: u64,
    /// Whether something of the workload has ever worked, on whichever of its threads.
    succeeded: &'a AtomicBool,
    /// Clients that have transactions to begin or to finish.
    working: usize,
    summary: WorkerSummary,
    /// Why this thread gives up.
    ending: Option<Ending>,
    /// Clients that have done what comes before or after all transactions.
    ready: usize,
    /// Clients that were made to come back and do nothing any more.
    abandoned: usize,
    /// Until when what is under way may end, once no more is to begin.
    drain_until_ns: u64,
    /// For how long, after the end.
    grace_ns: u64,
}

/// What a thread needs to run its share of a workload.
pub(crate) struct Share<'a, D: Driver, P: Scripted> {
    pub workload: &'a Workload<D, P>,
    /// The workload's index.
    pub number: usize,
    /// The thread's number within the workload.
    pub part: usize,
    /// The numbers of its clients within the workload.
    pub clients: Range<usize>,
    pub clock: Clock,
    pub stop: &'a Stop,
    pub ends: &'a PhaseEnds,
    pub steering: Option<&'a Steering>,
    pub grace: Duration,
    pub record_finishing: bool,
    /// Whether something of the workload has ever worked.
    pub succeeded: &'a AtomicBool,
    /// Where statements are counted that the program does not list.
    pub places: &'a Places,
    pub reporting: Reporting,
    /// Says that the clients are ready, and when they begin; `None`: not at all.
    pub starting: Box<dyn FnOnce() -> Option<Start> + 'a>,
}

/// When the clients of a thread begin, and what follows from it.
pub(crate) struct Start {
    /// When they begin.
    pub at_ns: u64,
    /// When the first phase began, which is not later.
    pub phases_begin_ns: u64,
    pub schedule: Schedule,
    /// When how many of them are active. Before the first change all rest.
    pub changes: Vec<Change>,
    pub timeline: Timeline,
}

impl<D: Driver, P: Scripted> Work<D::Connection> for Share<'_, D, P> {
    type Outcome = WorkerSummary;

    fn run<B: Backend<Connection = D::Connection>>(self, backend: B) -> WorkerSummary {
        run(self, backend)
    }
}

/// Runs until the timeline ends, a stop is requested, or nothing is left to do.
fn run<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>>(
    share: Share<'_, D, P>,
    backend: B,
) -> WorkerSummary {
    let (mut clients, starting) = Clients::new(share, backend);
    if P::INDEPENDENT {
        clients.enter_all();
        if clients.abandoned > 0 {
            clients.give_up(Ending::Stopped);
        }
    }
    // Whoever cannot begin says so first, and is told when the others do.
    if let Some(ending) = clients.ending.take() {
        clients.tell(Message::Ending(ending));
        return clients.close();
    }
    let Some(start) = starting() else {
        return clients.close();
    };
    clients.start(start);
    let mut looked_ns = 0;
    loop {
        let now_ns = clients.clock.now_ns();
        clients.follow_phase();
        clients.roll(now_ns);
        if !clients.over && clients.schedule_is_done() {
            clients.summary.complete = true;
            clients.end_early(now_ns);
        }
        if !clients.over && (clients.stop.requested() || clients.ending.is_some() || clients.working == 0) {
            // Those that are done are not all.
            clients.summary.complete &= clients.working == 0;
            clients.end_early(now_ns);
        }
        if clients.over {
            clients.connect_no_more();
            // The others of a thread that was held up are not to hold it up any longer.
            let stopped = clients.stop.requested() || clients.abandoned > 0;
            clients.drain_from(now_ns, stopped);
            if !clients.any_running() || now_ns >= clients.drain_until_ns || clients.ending.is_some() {
                break;
            }
        }
        clients.start_due(now_ns);
        clients.send();
        clients.connect_due();
        if clients.all_runnable() && now_ns.saturating_sub(looked_ns) < UNWATCHED_NS {
            continue;
        }
        looked_ns = now_ns;
        let wait = clients.wait();
        if let Err(error) = B::poll(&mut clients, wait) {
            clients.give_up(Ending::System(error));
        }
        clients.send();
    }
    if P::INDEPENDENT && clients.ending.is_none() {
        let now_ns = clients.clock.now_ns();
        clients.summary.at_ns = now_ns;
        clients.report_rest(now_ns);
        clients.leave_all();
    }
    clients.close()
}

/// When the recording or the load profile changes next.
fn boundary_ns(slice: Option<Slice>, end_ns: u64, over: bool) -> u64 {
    let slice_end_ns = slice.map_or(u64::MAX, |slice| slice.end_ns);
    if over { slice_end_ns } else { slice_end_ns.min(end_ns) }
}

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Owner<B> for Clients<'_, D, P, B> {
    #[inline]
    fn backend(&mut self) -> &mut B {
        &mut self.backend
    }

    #[inline]
    fn expect(&mut self, client: usize) {
        fetch(&self.clients[self.owner_of(client)]);
    }

    #[inline]
    fn replied(&mut self, client: usize, reply: Reply) {
        let client = self.owner_of(client);
        let now_ns = self.clock.now_ns();
        self.roll(now_ns);
        self.take_reply(client, reply, now_ns);
    }

    fn lost(&mut self, client: usize, error: &io::Error) {
        self.lose(client, error);
    }
}

impl<'a, D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'a, D, P, B> {
    /// The clients of a thread, before they begin, and what says when they do.
    fn new(share: Share<'a, D, P>, backend: B) -> (Self, Box<dyn FnOnce() -> Option<Start> + 'a>) {
        let workload = share.workload;
        let connected = workload.connecting != Connecting::EveryTransaction;
        let mut thread = workload.program.thread(share.part);
        let clients: Vec<_> = share
            .clients
            .map(|number| {
                let mut state = workload.program.state(number);
                workload.program.choose(&mut thread, &mut state);
                Client::new(number, state, connected)
            })
            .collect();
        let clients = Self {
            workload,
            number: share.number,
            part: share.part,
            clock: share.clock,
            stop: share.stop,
            steering: share.steering,
            heeded: 0,
            working: clients.len(),
            clients,
            backend,
            thread,
            runnable: VecDeque::new(),
            idle: VecDeque::new(),
            active: 0,
            pace: Pace::Completion,
            at_once: 0,
            sleeping: BinaryHeap::new(),
            connecting: VecDeque::new(),
            schedule: Schedule::new(Vec::new(), Box::new(|| 0.0)),
            changes: Vec::new().into_iter().peekable(),
            course: None,
            change_ns: u64::MAX,
            rules: Rules::of(workload),
            phases_begin_ns: 0,
            ends: share.ends,
            end_ns: u64::MAX,
            timeline: Timeline::new(&[], Duration::ZERO, 0, 0),
            over: false,
            ended: 0,
            boundary_ns: u64::MAX,
            listed: workload.program.statements().len(),
            places: share.places,
            slice: None,
            record_finishing: share.record_finishing,
            recording: record::recording(workload),
            reporting: share.reporting,
            detailed: workload.log.is_some()
                || workload.latency_limit.is_some()
                || workload.failures.max_tries != Some(1)
                || workload.program.commands().len() > 1,
            log: None,
            transactions: workload.transactions_per_client.unwrap_or(u64::MAX),
            latency_limit_ns: workload.latency_limit.map_or(u64::MAX, duration_ns),
            succeeded: share.succeeded,
            summary: WorkerSummary::default(),
            ending: None,
            ready: 0,
            abandoned: 0,
            drain_until_ns: u64::MAX,
            grace_ns: duration_ns(share.grace),
        };
        (clients, share.starting)
    }

    /// The load begins.
    fn start(&mut self, start: Start) {
        self.timeline = match self.record_finishing {
            true => start.timeline.open(),
            false => start.timeline,
        };
        self.end_ns = self.timeline.end_ns();
        self.slice = self.timeline.next();
        self.over = start.at_ns >= self.end_ns;
        self.summary.complete = self.over;
        self.boundary_ns = boundary_ns(self.slice, self.end_ns, self.over);
        self.phases_begin_ns = start.phases_begin_ns;
        self.schedule = start.schedule;
        self.changes = start.changes.into_iter().peekable();
        self.change_ns = 0;
        let context = LogContext {
            thread: self.part,
            epoch: self.clock.epoch(),
            start_ns: start.at_ns,
        };
        self.log = self.workload.log.as_ref().map(|new_log| new_log(context));
        if self.workload.trace {
            (0..self.clients.len()).for_each(|index| self.trace_script(index));
        }
    }

    /// Goes on to the next phase if the work is done that this one lasts for.
    #[inline]
    fn follow_phase(&mut self) {
        while let Some(at_ns) = self.slice.and_then(|slice| self.ends.at_ns(slice.phase))
            && self.timeline.is_before_end(at_ns)
        {
            self.end_phase(at_ns);
        }
    }

    /// Ends the phase at this instant, and the stage that is under way with it.
    #[cold]
    fn end_phase(&mut self, at_ns: u64) {
        let Some(slice) = self.slice else { return };
        // Its work may have been done before it began.
        let at_ns = at_ns.max(self.timeline.phase_start_ns());
        self.slice = self.timeline.end_phase(slice, at_ns);
        self.end_ns = self.timeline.end_ns();
        self.boundary_ns = boundary_ns(self.slice, self.end_ns, self.over);
        if self.rules.end_stage(at_ns.saturating_sub(self.phases_begin_ns)) {
            let profile = self.rules.profile(self.part, self.phases_begin_ns, at_ns);
            self.schedule.redirect(at_ns, profile.ramps);
            self.changes = profile.changes.into_iter().peekable();
            self.change_ns = 0;
        }
    }

    /// Hands the recording over if its slice is past.
    #[inline]
    fn roll(&mut self, now_ns: u64) {
        if now_ns >= self.boundary_ns {
            self.turn_page(now_ns);
        }
    }

    #[cold]
    fn turn_page(&mut self, now_ns: u64) {
        while let Some(slice) = self.slice.filter(|slice| now_ns >= slice.end_ns) {
            if let Err(at_ns) = self.ends.turn(slice.phase, slice.end_ns) {
                self.end_phase(at_ns);
                continue;
            }
            self.report(slice, true);
            self.slice = self.timeline.next();
        }
        if now_ns >= self.end_ns {
            self.over = true;
            self.summary.complete = true;
        }
        self.boundary_ns = boundary_ns(self.slice, self.end_ns, self.over);
    }

    fn report(&mut self, slice: Slice, whole: bool) {
        let empty = self.reporting.spare.try_recv();
        let empty = empty.unwrap_or_else(|_| record::recording(self.workload));
        let recording = std::mem::replace(&mut self.recording, empty);
        self.tell(Message::Slice(Box::new(SliceReport {
            thread: self.reporting.thread,
            slice,
            whole,
            recording,
        })));
    }

    /// The collector outlives the workers; if it is gone there is nobody to report to.
    fn tell(&self, message: Message) {
        let _ = self.reporting.messages.send(message);
    }

    fn event(&self, event: ClientEvent) {
        self.tell(Message::ClientEvent(event));
    }

    /// The same, and waits until the observer was told: what a script shows line by line is not to pile up, nor to
    /// come after what it does next.
    fn event_and_wait(&self, event: ClientEvent) {
        let (sender, told) = mpsc::sync_channel(0);
        self.tell(Message::Awaited(event, sender));
        // The collector drops its end.
        let _ = told.recv();
    }

    /// No transaction begins from now on.
    fn end_early(&mut self, now_ns: u64) {
        self.over = true;
        self.boundary_ns = u64::MAX;
        if !self.record_finishing {
            self.report_rest(now_ns);
        }
    }

    /// What is under way at this instant has its grace from then on, and no more than is left of it. After a stop that
    /// is short.
    fn drain_from(&mut self, now_ns: u64, stopped: bool) {
        let grace_ns = if stopped {
            self.grace_ns.min(STOP_GRACE_NS)
        } else {
            self.grace_ns
        };
        self.drain_until_ns = self.drain_until_ns.min(now_ns.saturating_add(grace_ns));
    }

    /// Hands over what the last slice has, which ends now.
    fn report_rest(&mut self, now_ns: u64) {
        if let Some(mut slice) = self.slice.take() {
            let whole = now_ns >= slice.end_ns;
            // However early that is, it lasted.
            slice.end_ns = now_ns.max(slice.start_ns + 1);
            self.report(slice, whole);
        }
    }

    /// A client has nothing more to do, from this instant on.
    fn dismiss(&mut self, now_ns: u64) {
        self.working -= 1;
        self.ends.client_done(self.number, now_ns);
    }

    fn give_up(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
    }

    /// Whether a transaction is under way. Asked only once none begins any more, so that nobody is looked at again
    /// who is done.
    fn any_running(&mut self) -> bool {
        let rest = self.clients.iter().skip(self.ended);
        self.ended += rest.take_while(|client| !client.waiting.is_running()).count();
        self.ended < self.clients.len()
    }

    /// Whether all clients wait for an instant after the end. As in pgbench, where the last transaction ends the
    /// measurement, they are done then; in sysbench, whose programs are the independent ones, time ends it.
    fn schedule_is_done(&self) -> bool {
        !P::INDEPENDENT
            && self.record_finishing
            && self.idle.len() == self.working
            && self.working > 0
            && self.change_ns > self.end_ns
            && self.schedule.next_ns() > self.end_ns
    }

    /// Whether nobody waits for anything, as with scripts without statements.
    fn all_runnable(&self) -> bool {
        self.runnable.len() == self.working && self.working > 0
    }

    /// How long the loop may wait for something to arrive. A client may be due by the schedule, at the end of its
    /// sleep or of its pause before it tries to connect again, or when its workload's profile changes.
    fn wait(&self) -> Wait {
        let scheduled_ns = if self.idle.is_empty() || self.over {
            u64::MAX
        } else {
            self.schedule.next_ns()
        };
        let wake_ns = self.sleeping.peek().map_or(u64::MAX, |Reverse((wake_ns, _))| *wake_ns);
        let at_rest = self.runnable.is_empty() && self.connecting.is_empty();
        let due_ns = if at_rest && self.working > 0 && self.ending.is_none() {
            scheduled_ns.min(wake_ns).min(self.change_ns)
        } else {
            0
        };
        let duty_ns = self.boundary_ns.min(self.drain_until_ns);
        let depends = |slice: Slice| self.ends.depends_on_others(slice.phase, self.number);
        let longest_ns = match self.slice.is_some_and(depends) {
            true => LONGEST_WAIT_FOR_OTHERS_NS,
            false => LONGEST_WAIT_NS,
        };
        let now_ns = self.clock.now_ns();
        Wait {
            due: Duration::from_nanos(due_ns.saturating_sub(now_ns)),
            duty: Duration::from_nanos(duty_ns.saturating_sub(now_ns).min(longest_ns)),
        }
    }

    /// Sends what the round has produced.
    fn send(&mut self) {
        if let Some(spent) = B::send(self) {
            self.summary.connection_time_ns += duration_ns(spent);
        }
    }

    /// Closes all connections; what is still executed is cancelled, so that it does not go on without us.
    fn close(mut self) -> WorkerSummary {
        let now_ns = self.clock.now_ns();
        let running: Vec<bool> = self.clients.iter().map(|client| client.waiting.is_running()).collect();
        let clients = running.len().max(1);
        let unfinished = self.clients.iter().filter(|client| client.is_in_transaction());
        self.summary.unfinished += unfinished.clone().count() as u64;
        let open_for = unfinished
            .clone()
            .map(|client| now_ns.saturating_sub(client.transaction_ns));
        self.summary.last.open_for = open_for.min().map(Duration::from_nanos);
        let waited = unfinished.map(|client| Duration::from_nanos(now_ns.saturating_sub(client.statement_ns)));
        let each = waited.map(|waited| Waited {
            longest: waited,
            least: waited,
        });
        self.summary.waited = each.reduce(Waited::and);
        self.report_rest(now_ns);
        if let Some(log) = &mut self.log {
            log.finish();
        }
        if let Some(ending) = self.ending.take() {
            self.tell(Message::Ending(ending));
        }
        if self.summary.at_ns == 0 {
            self.summary.at_ns = now_ns;
        }
        self.backend.close(|client| running[client % clients]);
        self.summary
    }
}
