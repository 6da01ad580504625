//! Runs a load: starts the threads, gathers what they record, and tells an observer.
//!
//! The calling thread is the collector. Worker threads send it their recording at the end of every interval and get
//! an emptied one back; that is all they share.

mod connecting;
mod overtime;

use crate::backend::Driver;
use crate::backend::wire::connect::ConnectError;
use crate::backend::wire::transport::{Chosen, TransportKind, UringUnavailable};
use crate::client::pacing::Schedule;
use crate::client::{Reporting, Share};
use crate::client_event::ClientEvent;
use crate::clock::{Clock, duration_ns};
use crate::cpus;
use crate::descriptors::TooFewDescriptors;
use crate::load::{Connecting, Load, Stop, Workload};
use crate::profile::Rules;
use crate::program::{ProgramError, Scripted};
use crate::timeline::{Slice, Timeline};
use connecting::InitialConnections;
use dyno_record::{Interval, LatencyHistogram, Recording};
use dyno_wire::ServerError;
use overtime::Overtime;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::time::{Duration, Instant};

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

/// Is told what happens while the load runs, on the thread that called [`drive`].
pub trait Observer {
    /// All clients are connected; the first phase begins now.
    fn connected(&mut self, connected: &Connected);
    /// An interval is complete. `Break` ends the load.
    fn interval(&mut self, interval: &Interval) -> ControlFlow<()>;
    /// A client has something to say. ClientEvents come in the order in which they arise on each thread.
    fn client_event(&mut self, _event: &ClientEvent) {}
}

/// How a load ended.
#[derive(Debug)]
pub struct Outcome {
    /// Why it ended before its time, if it did; what was recorded until then was reported.
    pub ended_early: Option<Ending>,
    /// Transactions still running when the grace time was over, per workload.
    pub unfinished: Vec<u64>,
    /// Clients that were aborted, per workload.
    pub aborted: Vec<u64>,
    /// Connections made while the load ran, per workload.
    pub connections: Vec<u64>,
    /// Time spent on making and closing them, all clients of the workload together.
    pub connection_time: Vec<Duration>,
    /// From when the clients began to when the last of them was done.
    pub measured: Duration,
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
    #[error("{cause}{}", connecting::so_far(*connected, *clients))]
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
    ClientEvent(ClientEvent),
    /// The thread waits until the other end of the channel is dropped.
    Awaited(ClientEvent, SyncSender<()>),
    Ending(Ending),
    Done {
        thread: usize,
        summary: WorkerSummary,
    },
}

/// What a thread has to say when it ends.
#[derive(Default)]
pub(crate) struct WorkerSummary {
    /// Transactions still running when the grace time was over.
    pub unfinished: u64,
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

/// What the collector keeps of a thread.
struct Thread {
    workload: usize,
    spare: Sender<Recording>,
    running: bool,
    /// The slice it will report next.
    next_slice: usize,
}

/// Which clients a thread has, and its number among the threads of its workload.
struct Portion {
    workload: usize,
    part: usize,
    clients: std::ops::Range<usize>,
    transport: TransportKind,
    /// Whether something of the workload has ever worked: its threads share it.
    succeeded: Arc<AtomicBool>,
}

/// Connects all clients, runs the phases, and reports to `observer`. A raised `stop` ends the load early; it is
/// never raised here.
///
/// # Errors
/// The load could not begin. Once it has begun, whatever ends it early is in the [`Outcome`].
pub fn drive<D: Driver, P: Scripted>(
    load: &Load<D, P>,
    observer: &mut (impl Observer + ?Sized),
    stop: &Stop,
) -> Result<Outcome, DriveError> {
    // What ends this load by its own fault says nothing to whoever else looks at the caller's flag.
    let stop = &stop.within();
    let chosen = Chosen::new(load.threads.transport)?;
    let workloads = load.workloads.iter().enumerate();
    let portions: Vec<Portion> = workloads
        .flat_map(|(index, workload)| share_out(index, workload, &chosen))
        .collect();
    let clock = Clock::start();
    let connecting = InitialConnections::of(&load.workloads)?;
    let (messages, inbox) = mpsc::channel();
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(portions.len());
        let mut starters = Vec::with_capacity(portions.len());
        let mut handles = Vec::with_capacity(portions.len());
        for (thread, portion) in portions.iter().enumerate() {
            let (spare, spare_receiver) = mpsc::channel();
            let (starter, start) = mpsc::channel::<u64>();
            let reporting = Reporting {
                thread,
                messages: messages.clone(),
                spare: spare_receiver,
            };
            let connecting = &connecting;
            let body = move || client_thread(load, portion, clock, connecting, stop, &start, reporting);
            let name = format!("{}-{}", load.workloads[portion.workload].name, portion.part);
            match std::thread::Builder::new().name(name).spawn_scoped(scope, body) {
                Ok(handle) => handles.push(handle),
                Err(cause) => {
                    connecting.abandon();
                    return Err(DriveError::Thread {
                        threads: portions.len(),
                        cause,
                    });
                }
            }
            starters.push(starter);
            threads.push(Thread {
                workload: portion.workload,
                spare,
                running: true,
                next_slice: 0,
            });
        }
        drop(messages);
        let mut connected = Connected {
            connect_time: vec![LatencyHistogram::new(); load.workloads.len()],
            total: Duration::ZERO,
            transports: portions.iter().map(|portion| portion.transport).collect(),
            fallback: chosen.fallback.as_ref().map(ToString::to_string),
        };
        for _ in 0..threads.len() {
            match inbox.recv() {
                Ok(Message::Connected { workload, times }) => connected.connect_time[workload].add(&times),
                Ok(Message::Failed(error)) => {
                    connecting.abandon();
                    return Err(error);
                }
                // A thread panicked before it was ready; the scope reports it.
                Ok(_) | Err(_) => break,
            }
        }
        connected.total = Duration::from_nanos(clock.now_ns());
        observer.connected(&connected);
        let start_ns = clock.now_ns();
        for starter in &starters {
            // A thread that is gone is noticed by the collector.
            let _ = starter.send(start_ns);
        }
        let mut collector = Collector::new(load, threads, start_ns);
        let interrupt = || load.workloads.iter().for_each(|workload| workload.driver.interrupt());
        let phases = load.phases.iter().map(|phase| phase.duration);
        let lasts = phases.fold(Duration::ZERO, Duration::saturating_add);
        let mut overtime = Overtime {
            end: Instant::now().checked_add(lasts),
            grace: load.grace,
            stop,
            interrupt: &interrupt,
            over: None,
        };
        let overtime = D::BLOCKS.then_some(&mut overtime);
        collector.gather(&inbox, overtime, observer, stop);
        let panicked = handles.into_iter().filter_map(|handle| handle.join().err()).count() > 0;
        Ok(collector.outcome(panicked, stop))
    })
}

/// Divides the clients of a workload among its threads as evenly as can be; as in pgbench, the first threads have
/// more if there is a rest.
fn share_out<D: Driver, P: Scripted>(index: usize, workload: &Workload<D, P>, chosen: &Chosen) -> Vec<Portion> {
    let threads = workload.parts();
    let mut next = 0;
    let succeeded = Arc::new(AtomicBool::new(false));
    let portion = |part| {
        let begin = next;
        next += (workload.clients - begin).div_ceil(threads - part);
        Portion {
            workload: index,
            part,
            clients: begin..next,
            transport: if D::BLOCKS {
                TransportKind::Blocking
            } else {
                chosen.kind(next - begin)
            },
            succeeded: Arc::clone(&succeeded),
        }
    };
    (0..threads).map(portion).collect()
}

/// The life of one worker thread.
fn client_thread<D: Driver, P: Scripted>(
    load: &Load<D, P>,
    portion: &Portion,
    clock: Clock,
    connecting: &InitialConnections,
    stop: &Stop,
    start: &Receiver<u64>,
    reporting: Reporting,
) {
    let workload = &load.workloads[portion.workload];
    if let Some(cpu) = load.threads.cpus.of_thread(reporting.thread)
        && let Err(cause) = cpus::bind(cpu)
    {
        let _ = reporting.messages.send(Message::Failed(DriveError::Cpu { cpu, cause }));
        return;
    }
    // Linux lets timers of ordinary threads be 50 µs late to save power; a schedule is to be kept. It is no loss
    // where this is not permitted.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let mut connections = Vec::with_capacity(portion.clients.len());
    let mut times = LatencyHistogram::new();
    let messages = reporting.messages.clone();
    if workload.connecting == Connecting::EveryTransaction {
        connections.resize_with(portion.clients.len(), || None);
    } else {
        match connecting.connect(workload, portion.clients.clone(), stop) {
            Ok(opened) => {
                for (connection, took) in opened {
                    times.record(duration_ns(took));
                    connections.push(Some(connection));
                }
            }
            Err(error) => {
                let _ = messages.send(Message::Failed(error));
                return;
            }
        }
    }
    let _ = messages.send(Message::Connected {
        workload: portion.workload,
        times,
    });
    // The collector gives up without a start if another thread could not connect.
    let Ok(start_ns) = start.recv() else { return };
    let thread = reporting.thread;
    let spent_ns = if load.include_connecting { start_ns } else { 0 };
    let profile = Rules::of(workload).profile(portion.part, start_ns - spent_ns, start_ns);
    let share = Share {
        workload,
        number: portion.workload,
        part: portion.part,
        clients: portion.clients.clone(),
        schedule: Schedule::new(profile.ramps, (workload.schedule)(portion.part)),
        changes: profile.changes,
        timeline: Timeline::new(&load.phases, load.interval, start_ns, spent_ns),
        clock,
        start_ns,
        stop,
        grace: load.grace,
        record_finishing: load.record_finishing,
        succeeded: &portion.succeeded,
        reporting,
    };
    let summary = workload.driver.run(connections, portion.transport, share);
    let summary = summary.unwrap_or_else(|error| {
        let _ = messages.send(Message::Ending(Ending::System(error)));
        WorkerSummary::default()
    });
    let _ = messages.send(Message::Done { thread, summary });
}

/// An interval that some threads have not reported yet.
struct Pending {
    slice: Slice,
    first_thread_whole: bool,
    recordings: Vec<Recording>,
}

struct Collector {
    threads: Vec<Thread>,
    start_ns: u64,
    pending: BTreeMap<usize, Pending>,
    /// Intervals that are done with, to be used again.
    spare: Vec<Vec<Recording>>,
    last_loss: Option<String>,
    ending: Option<Ending>,
    outcome: Outcome,
    /// Whether all threads went on to the end, and whether any did.
    all_complete: bool,
    any_complete: bool,
}

impl Collector {
    fn new<D: Driver, P: Scripted>(load: &Load<D, P>, threads: Vec<Thread>, start_ns: u64) -> Self {
        Self {
            threads,
            start_ns,
            pending: BTreeMap::new(),
            spare: Vec::new(),
            last_loss: None,
            ending: None,
            outcome: Outcome {
                ended_early: None,
                unfinished: vec![0; load.workloads.len()],
                aborted: vec![0; load.workloads.len()],
                connections: vec![0; load.workloads.len()],
                connection_time: vec![Duration::ZERO; load.workloads.len()],
                measured: Duration::ZERO,
            },
            all_complete: true,
            any_complete: false,
        }
    }

    /// Receives until every thread is done.
    fn gather(
        &mut self,
        inbox: &Receiver<Message>,
        mut overtime: Option<&mut Overtime<'_>>,
        observer: &mut (impl Observer + ?Sized),
        stop: &Stop,
    ) {
        let mut next = || match &mut overtime {
            Some(overtime) => overtime.receive(inbox),
            // The channel closes when the last thread is gone, even one that panicked.
            None => inbox.recv().ok(),
        };
        while let Some(message) = next() {
            match message {
                Message::Slice(report) => self.add(report),
                Message::Lost { message } => self.last_loss = Some(message),
                Message::Ending(ending) => {
                    self.ending.get_or_insert(ending);
                    stop.request();
                }
                Message::ClientEvent(event) => observer.client_event(&event),
                Message::Awaited(event, told) => {
                    observer.client_event(&event);
                    drop(told);
                }
                Message::Done { thread, summary } => self.part_with(thread, &summary),
                Message::Connected { .. } | Message::Failed(_) => {}
            }
            self.emit(observer, stop);
        }
        // What threads that panicked never completed is still worth keeping.
        self.threads.iter_mut().for_each(|thread| thread.running = false);
        self.emit(observer, stop);
    }

    fn part_with(&mut self, thread: usize, summary: &WorkerSummary) {
        let thread = &mut self.threads[thread];
        thread.running = false;
        let outcome = &mut self.outcome;
        outcome.unfinished[thread.workload] += summary.unfinished;
        outcome.aborted[thread.workload] += summary.aborted;
        outcome.connections[thread.workload] += summary.connections;
        outcome.connection_time[thread.workload] += Duration::from_nanos(summary.connection_time_ns);
        let ran = Duration::from_nanos(summary.at_ns.saturating_sub(self.start_ns));
        outcome.measured = outcome.measured.max(ran);
        self.all_complete &= summary.complete;
        self.any_complete |= summary.complete;
    }

    fn add(&mut self, mut report: Box<SliceReport>) {
        let thread = &mut self.threads[report.thread];
        thread.next_slice = report.slice.index + 1;
        let (spare, workloads) = (&mut self.spare, self.outcome.unfinished.len());
        let pending = self.pending.entry(report.slice.index).or_insert_with(|| Pending {
            slice: report.slice,
            first_thread_whole: false,
            recordings: spare
                .pop()
                .unwrap_or_else(|| (0..workloads).map(|_| Recording::default()).collect()),
        });
        pending.slice.end_ns = pending.slice.end_ns.max(report.slice.end_ns);
        pending.first_thread_whole |= report.thread == 0 && report.whole;
        pending.recordings[thread.workload].add(&report.recording);
        report.recording.clear();
        // A thread that has ended needs no recording.
        let _ = thread.spare.send(report.recording);
    }

    /// Reports every interval that no running thread can add to any more, in order.
    fn emit(&mut self, observer: &mut (impl Observer + ?Sized), stop: &Stop) {
        let running = self.threads.iter().filter(|thread| thread.running);
        let awaited = running.map(|thread| thread.next_slice).min().unwrap_or(usize::MAX);
        while let Some(entry) = self.pending.first_entry() {
            if *entry.key() >= awaited {
                return;
            }
            let Pending {
                slice,
                first_thread_whole,
                recordings,
            } = entry.remove();
            let mut interval = Interval {
                phase: slice.phase,
                start: Duration::from_nanos(slice.start_ns - self.start_ns),
                duration: Duration::from_nanos(slice.end_ns - slice.start_ns),
                first_thread_whole,
                recordings,
            };
            if observer.interval(&interval).is_break() {
                stop.request();
            }
            interval.recordings.iter_mut().for_each(Recording::clear);
            self.spare.push(interval.recordings);
        }
    }

    fn outcome(mut self, panicked: bool, stop: &Stop) -> Outcome {
        let aborted: u64 = self.outcome.aborted.iter().sum();
        self.outcome.ended_early = if panicked {
            Some(Ending::Panicked)
        } else if self.ending.is_some() {
            self.ending
        } else if stop.requested() && !self.all_complete {
            Some(Ending::Stopped)
        } else if self.any_complete {
            None
        } else if aborted > 0 {
            Some(Ending::Aborted)
        } else {
            Some(Ending::ConnectionsLost(self.last_loss.unwrap_or_default()))
        };
        self.outcome
    }
}
