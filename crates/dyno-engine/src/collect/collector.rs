//! Gathers what threads record into intervals, and works out how the load ended.

use super::next;
use super::overtime::{Overtime, Received};
use crate::clock::Clock;
use crate::load::Load;
use crate::outcome::{Ending, LastTransactions, Observer, Outcome, Waited};
use crate::report::{Message, SliceReport, WorkerSummary};
use crate::timeline::{Slice, Timeline};
use dyno_connect::Stop;
use dyno_record::{Interval, Recording};
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// What threads have not reported so long after an interval's end is overdue.
const OVERDUE_NS: u64 = 1_000_000_000;

/// What the collector keeps of a thread.
pub(super) struct Thread {
    pub workload: usize,
    pub spare: Sender<Recording>,
    pub running: bool,
    /// The slice it will report next.
    pub next_slice: usize,
}

/// An interval that some threads have not reported yet.
struct Pending {
    slice: Slice,
    first_thread_whole: bool,
    recordings: Vec<Recording>,
}

pub(super) struct Collector {
    threads: Vec<Thread>,
    clock: Clock,
    start_ns: u64,
    /// The intervals that may become overdue.
    expected: Peekable<Timeline>,
    pending: BTreeMap<usize, Pending>,
    /// Intervals that are done with, to be used again.
    spare: Vec<Vec<Recording>>,
    last_loss: Option<String>,
    /// How many clients of each workload have transactions left.
    left: Vec<usize>,
    /// Whether it was told that threads do not end.
    is_stuck: bool,
    /// Why the load ends before its time.
    pub ending: Option<Ending>,
    outcome: Outcome,
    /// Whether all threads went on to the end, and whether any did.
    all_complete: bool,
    any_complete: bool,
}

impl Collector {
    /// Of a load whose clients began at this instant.
    pub fn new<D, P>(load: &Load<D, P>, threads: Vec<Thread>, clock: Clock, start_ns: u64) -> Self {
        let workloads = load.workloads.len();
        let spent_ns = if load.include_connecting { start_ns } else { 0 };
        let expected = Timeline::new(&load.phases, load.interval, start_ns, spent_ns);
        let expected = match load.record_finishing {
            true => expected.open(),
            false => expected,
        };
        Self {
            threads,
            clock,
            start_ns,
            expected: expected.peekable(),
            pending: BTreeMap::new(),
            spare: Vec::new(),
            last_loss: None,
            left: load.workloads.iter().map(|workload| workload.clients).collect(),
            is_stuck: false,
            ending: None,
            outcome: Outcome {
                ended_early: None,
                unfinished: vec![0; workloads],
                waited: vec![None; workloads],
                last: vec![LastTransactions::default(); workloads],
                aborted: vec![0; workloads],
                connections: vec![0; workloads],
                connection_time: vec![Duration::ZERO; workloads],
                measured: Duration::ZERO,
            },
            all_complete: true,
            any_complete: false,
        }
    }

    /// Receives until every thread is done.
    pub fn gather(
        &mut self,
        inbox: &Receiver<Message>,
        mut overtime: Option<&mut Overtime<'_>>,
        observer: &mut (impl Observer + ?Sized),
        stop: &Stop,
    ) {
        loop {
            let message = match next(inbox, overtime.as_deref_mut()) {
                Received::Message(message) => message,
                Received::Nothing => {
                    self.tell_overdue(observer, stop);
                    if overtime.as_ref().is_some_and(|overtime| overtime.is_hopeless()) {
                        self.tell_stuck(observer);
                    }
                    continue;
                }
                Received::Closed => break,
            };
            match message {
                Message::Slice(report) => self.add(report),
                Message::Lost { message } => self.last_loss = Some(message),
                Message::Ending(ending) => {
                    self.ending.get_or_insert(ending);
                    stop.request();
                }
                Message::Statement { workload, place, found } => observer.statement(workload, place, found.as_ref()),
                Message::ClientEvent(event) => observer.client_event(&event),
                Message::Awaited(event, told) => {
                    observer.client_event(&event);
                    drop(told);
                }
                Message::Done { thread, summary } => self.part_with(thread, summary),
                Message::Panicked { thread } => {
                    self.threads[thread].running = false;
                    self.ending.get_or_insert(Ending::Panicked);
                    stop.request();
                }
                Message::Connected { .. } | Message::Failed(_) => {}
            }
            self.emit(observer, stop);
        }
        // No thread is left, even where one could not say so.
        self.threads.iter_mut().for_each(|thread| thread.running = false);
        self.emit(observer, stop);
    }

    fn part_with(&mut self, thread: usize, summary: WorkerSummary) {
        let thread = &mut self.threads[thread];
        thread.running = false;
        let outcome = &mut self.outcome;
        outcome.unfinished[thread.workload] += summary.unfinished;
        let waited = &mut outcome.waited[thread.workload];
        *waited = waited.take().into_iter().chain(summary.waited).reduce(Waited::and);
        let last = &mut outcome.last[thread.workload];
        last.add(summary.last);
        let left = &mut self.left[thread.workload];
        *left = left.saturating_sub(summary.done);
        if summary.done > 0 {
            let done = Duration::from_nanos(summary.done_ns.saturating_sub(self.start_ns));
            last.done = last.done.max(Some(done));
        }
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

    /// Tells of intervals that are past while threads are yet to report them.
    fn tell_overdue(&mut self, observer: &mut (impl Observer + ?Sized), stop: &Stop) {
        let past_ns = self.clock.now_ns().saturating_sub(OVERDUE_NS);
        let running = self.threads.iter().filter(|thread| thread.running);
        let Some(awaited) = running.map(|thread| thread.next_slice).min() else {
            return;
        };
        while let Some(slice) = self.expected.next_if(|slice| slice.end_ns <= past_ns) {
            if slice.index < awaited {
                continue;
            }
            let known = self.pending.get(&slice.index).map(|pending| pending.recordings.clone());
            let workloads = self.outcome.unfinished.len();
            let told = observer.overdue(&Interval {
                phase: slice.phase,
                start: Duration::from_nanos(slice.start_ns - self.start_ns),
                duration: Duration::from_nanos(slice.end_ns - slice.start_ns),
                first_thread_whole: true,
                recordings: known.unwrap_or_else(|| (0..workloads).map(|_| Recording::default()).collect()),
            });
            if told.is_break() {
                stop.request();
            }
        }
    }

    /// Tells, once, that threads do not end, with all that there will be if they never do.
    fn tell_stuck(&mut self, observer: &mut (impl Observer + ?Sized)) {
        // After the end they may do what comes after their last transaction.
        if std::mem::replace(&mut self.is_stuck, true) || !self.threads.iter().any(|thread| thread.running) {
            return;
        }
        let known = self.pending.values().map(|pending| Interval {
            phase: pending.slice.phase,
            start: Duration::from_nanos(pending.slice.start_ns - self.start_ns),
            duration: Duration::from_nanos(pending.slice.end_ns - pending.slice.start_ns),
            first_thread_whole: pending.first_thread_whole,
            recordings: pending.recordings.clone(),
        });
        let known: Vec<Interval> = known.collect();
        observer.stuck(&known, self.ending.as_ref());
    }

    /// How the load ended.
    pub fn outcome(mut self, panicked: bool, stop: &Stop) -> Outcome {
        for (last, left) in self.outcome.last.iter_mut().zip(&self.left) {
            last.done = last.done.filter(|_| *left == 0);
        }
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
