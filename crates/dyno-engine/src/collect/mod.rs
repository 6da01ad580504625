//! Runs a load: starts the threads, gathers what they record, and tells an observer.
//!
//! The calling thread is the collector. Worker threads send it their recording at the end of every interval and get
//! an emptied one back; that is all they share.

mod collector;
mod connecting;
mod overtime;
mod thread;

use crate::backend::Driver;
use crate::backend::wire::transport::Chosen;
use crate::clock::Clock;
use crate::load::Load;
use crate::outcome::{Connected, DriveError, Observer, Outcome};
use crate::part::Part;
use crate::phase_ends::PhaseEnds;
use crate::program::Scripted;
use crate::report::{Message, Reporting};
use collector::{Collector, Thread};
use connecting::InitialConnections;
use dyno_connect::Stop;
use dyno_record::{LOAD_THREAD, LatencyHistogram};
use overtime::{Overtime, Received};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use thread::{Portion, Shared, client_thread, share_out};

/// The next message. Only where somebody has to see to the end of the load there are looks in between.
fn next(inbox: &Receiver<Message>, overtime: Option<&mut Overtime<'_>>) -> Received<Message> {
    match overtime {
        Some(overtime) => overtime.receive(inbox),
        // The channel closes when the last thread is gone, even one that panicked.
        None => inbox.recv().map_or(Received::Closed, Received::Message),
    }
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
    drive_part(load, &Part::whole(), observer, stop)
}

/// The same of a part of the load: its clients, their random numbers and their part of the rate are those that they
/// have when all of it is driven in one place. Others see to the rest.
///
/// # Errors
/// As those of [`drive`].
pub fn drive_part<D: Driver, P: Scripted>(
    load: &Load<D, P>,
    part: &Part,
    observer: &mut (impl Observer + ?Sized),
    stop: &Stop,
) -> Result<Outcome, DriveError> {
    // What ends this load by its own fault says nothing to whoever else looks at the caller's flag.
    let stop = &stop.within();
    let steering = observer.steering();
    let steering = steering.as_deref();
    let chosen = Chosen::new(load.threads.transport)?;
    let workloads = load.workloads.iter().enumerate();
    let portions: Vec<Portion> = workloads
        .flat_map(|(index, workload)| share_out(index, workload, &chosen))
        .filter(|portion| part.has(portion.workload, portion.part))
        .collect();
    let clock = Clock::start();
    let clients = portions.iter().map(|portion| portion.clients.len()).sum();
    let mut driven = vec![0; load.workloads.len()];
    for portion in &portions {
        driven[portion.workload] += portion.clients.len();
    }
    let ends = PhaseEnds::new(&load.phases, &driven);
    let connecting = InitialConnections::of(&load.workloads, clients, portions.len())?;
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
            let shared = Shared {
                clock,
                connecting: &connecting,
                stop,
                ends: &ends,
                steering,
            };
            let body = move || client_thread(load, portion, shared, &start, reporting);
            let name = format!(
                "{LOAD_THREAD}{}-{}",
                load.workloads[portion.workload].name, portion.part
            );
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
        let mut ending = None;
        let mut ready = 0;
        let interrupt = || {
            if D::BLOCKS {
                load.workloads.iter().for_each(|workload| workload.driver.interrupt());
            }
        };
        let recall = |patience| {
            let programs = load.workloads.iter().map(|workload| &workload.program);
            programs.for_each(|program| program.interrupt(patience));
        };
        let is_held = || load.workloads.iter().any(|workload| workload.program.is_held());
        let overtime = Overtime {
            end: None,
            grace: load.grace,
            stop,
            interrupt: &interrupt,
            recall: &recall,
            is_held: &is_held,
            over: None,
            looked: Instant::now(),
        };
        // What such clients do before the load begins may take as long as they like.
        let mut entering = P::INDEPENDENT.then_some(Overtime {
            interrupt: &|| (),
            ..overtime
        });
        while ready < threads.len() {
            match next(&inbox, entering.as_mut()) {
                Received::Nothing => {}
                Received::Message(Message::Connected { workload, times }) => {
                    connected.connect_time[workload].add(&times);
                    ready += 1;
                }
                Received::Message(Message::Failed(error)) => {
                    connecting.abandon();
                    return Err(error);
                }
                // What clients do before the load begins.
                Received::Message(Message::Statement { workload, place, found }) => {
                    observer.statement(workload, place, found.as_ref())
                }
                Received::Message(Message::ClientEvent(event) | Message::Awaited(event, _)) => {
                    observer.client_event(&event)
                }
                // A thread could not begin, or panicked before it was ready: the others end as soon as they begin.
                other => {
                    if let Received::Message(Message::Ending(why)) = other {
                        ending = Some(why);
                    }
                    connecting.abandon();
                    stop.request();
                    break;
                }
            }
        }
        connected.total = Duration::from_nanos(clock.now_ns());
        if ending.is_none() {
            observer.connected(&connected);
        }
        let start_ns = clock.now_ns();
        for starter in &starters {
            // A thread that is gone is noticed by the collector.
            let _ = starter.send(start_ns);
        }
        let mut collector = Collector::new(load, threads, clock, start_ns);
        collector.ending = ending;
        let phases = load.phases.iter().map(|phase| phase.duration);
        let lasts = phases.fold(Duration::ZERO, Duration::saturating_add);
        let mut overtime = Overtime {
            end: Instant::now().checked_add(lasts),
            ..overtime
        };
        let overtime = (D::BLOCKS || P::INDEPENDENT).then_some(&mut overtime);
        collector.gather(&inbox, overtime, observer, stop);
        let panicked = handles.into_iter().filter_map(|handle| handle.join().err()).count() > 0;
        Ok(collector.outcome(panicked, stop))
    })
}
