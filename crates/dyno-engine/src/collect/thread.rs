//! One thread of a load: which clients it has, how they are connected, and when they begin.

use super::connecting::InitialConnections;
use crate::backend::Driver;
use crate::backend::wire::transport::{Chosen, TransportKind};
use crate::client::own::Places;
use crate::client::pacing::Schedule;
use crate::client::{Share, Start};
use crate::clock::{Clock, duration_ns};
use crate::cpus;
use crate::load::{Connecting, Load, Workload};
use crate::outcome::{DriveError, Ending};
use crate::part::clients_of_threads;
use crate::phase_ends::PhaseEnds;
use crate::profile::Rules;
use crate::program::{MOST_CONNECTIONS, Scripted};
use crate::report::{Message, Reporting, WorkerSummary};
use crate::steering::Steering;
use crate::timeline::Timeline;
use dyno_connect::Stop;
use dyno_record::LatencyHistogram;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};

/// Which clients a thread has, and its number among the threads of its workload.
pub(super) struct Portion {
    pub workload: usize,
    pub part: usize,
    pub clients: std::ops::Range<usize>,
    pub transport: TransportKind,
    /// Where statements are counted that the program does not list: the threads of a workload share it.
    places: Arc<Places>,
    /// Whether something of the workload has ever worked: its threads share it.
    succeeded: Arc<AtomicBool>,
}

/// Divides the clients of a workload among its threads.
pub(super) fn share_out<D: Driver, P: Scripted>(
    index: usize,
    workload: &Workload<D, P>,
    chosen: &Chosen,
) -> Vec<Portion> {
    let succeeded = Arc::new(AtomicBool::new(false));
    let places = Arc::new(Places::new(workload.program.statements().len()));
    let portion = |(part, clients): (usize, std::ops::Range<usize>)| Portion {
        workload: index,
        part,
        transport: if D::BLOCKS {
            TransportKind::Blocking
        } else {
            chosen.kind(clients.len())
        },
        clients,
        places: Arc::clone(&places),
        succeeded: Arc::clone(&succeeded),
    };
    let clients = clients_of_threads(workload.clients, workload.parts());
    clients.enumerate().map(portion).collect()
}

/// Tells the collector if its thread panics, which would wait for it otherwise.
struct Alarm {
    thread: usize,
    messages: Sender<Message>,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let thread = self.thread;
            let _ = self.messages.send(Message::Panicked { thread });
        }
    }
}

/// What all threads of a load have in common.
pub(super) struct Shared<'a> {
    pub clock: Clock,
    pub connecting: &'a InitialConnections,
    pub stop: &'a Stop,
    pub ends: &'a PhaseEnds,
    pub steering: Option<&'a Steering>,
}

/// The life of one worker thread.
pub(super) fn client_thread<D: Driver, P: Scripted>(
    load: &Load<D, P>,
    portion: &Portion,
    shared: Shared<'_>,
    start: &Receiver<u64>,
    reporting: Reporting,
) {
    let Shared {
        clock,
        connecting,
        stop,
        ends,
        steering,
    } = shared;
    let workload = &load.workloads[portion.workload];
    let _alarm = Alarm {
        thread: reporting.thread,
        messages: reporting.messages.clone(),
    };
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
    if workload.connecting != Connecting::Once {
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
    let starting = || {
        let _ = messages.send(Message::Connected {
            workload: portion.workload,
            times,
        });
        // The collector gives up without a start if another thread could not connect.
        let start_ns = start.recv().ok()?;
        let spent_ns = if load.include_connecting { start_ns } else { 0 };
        let profile = Rules::of(workload).profile(portion.part, start_ns - spent_ns, start_ns);
        Some(Start {
            at_ns: start_ns,
            phases_begin_ns: start_ns - spent_ns,
            schedule: Schedule::new(profile.ramps, workload.program.schedule(portion.part)),
            changes: profile.changes,
            timeline: Timeline::new(&load.phases, load.interval, start_ns, spent_ns),
        })
    };
    let thread = reporting.thread;
    let share = Share {
        workload,
        number: portion.workload,
        part: portion.part,
        clients: portion.clients.clone(),
        clock,
        stop,
        ends,
        steering,
        grace: load.grace,
        record_finishing: load.record_finishing,
        succeeded: &portion.succeeded,
        places: &portion.places,
        reporting,
        starting: Box::new(starting),
    };
    let spare = match P::INDEPENDENT {
        true => connections.len() * (MOST_CONNECTIONS - 1),
        false => 0,
    };
    let summary = workload.driver.run(connections, spare, portion.transport, share);
    let summary = summary.unwrap_or_else(|error| {
        let _ = messages.send(Message::Ending(Ending::System(error)));
        WorkerSummary::default()
    });
    let _ = messages.send(Message::Done { thread, summary });
}
