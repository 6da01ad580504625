//! Times in which dyno or the server did not run.
//!
//! A thread that wakes ten times a second finds out about both: that it was woken late is dyno's stall, that the
//! server keeps a sampler waiting for a second, or that its processes are stopped, is the server's.

use super::process::ServerProcesses;
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Event, Stalled, Who};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_millis(100);

/// A wake-up that comes so much later than the last one is worth telling.
const GAP: Duration = Duration::from_millis(400);

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// When the server was asked, and whether it has answered. Clones speak of the same server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heartbeat {
    pulse: Arc<Mutex<Pulse>>,
    processes: ServerProcesses,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pulse {
    /// Since when an answer is waited for.
    pending: Option<Instant>,
    /// When the last answer came.
    answered: Option<Instant>,
}

impl Heartbeat {
    pub(crate) fn new(processes: ServerProcesses) -> Self {
        Self {
            pulse: Arc::default(),
            processes,
        }
    }

    pub(crate) fn processes(&self) -> ServerProcesses {
        self.processes.clone()
    }

    fn pulse(&self) -> std::sync::MutexGuard<'_, Pulse> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server is asked now, unless an earlier question is still open.
    pub(crate) fn asked(&self) {
        self.pulse().pending.get_or_insert_with(Instant::now);
    }

    pub(crate) fn answered(&self) {
        *self.pulse() = Pulse {
            pending: None,
            answered: Some(Instant::now()),
        };
    }
}

/// Watches whether dyno and the server run.
pub(crate) struct StallWatch {
    heartbeat: Heartbeat,
    last: Option<(Instant, u64)>,
    /// The server owes no answer for the time before: dyno itself did not run then.
    excused: Option<Instant>,
    open: Option<Open>,
}

/// The server's stall, under way.
struct Open {
    start: Instant,
    /// How many of its processes were stopped at most.
    stopped: usize,
    unanswered: bool,
}

impl StallWatch {
    pub(crate) fn new(heartbeat: Heartbeat) -> Self {
        Self {
            heartbeat,
            last: None,
            excused: None,
            open: None,
        }
    }

    fn watch_dyno(&mut self, moment: Moment, now: Instant, sink: &mut dyn Sink) {
        let waited_ns = runqueue_wait_ns();
        if let Some((last, waited_before_ns)) = self.last.replace((now, waited_ns)) {
            let gap = now.duration_since(last);
            if gap >= GAP {
                let starved = Duration::from_nanos(waited_ns.saturating_sub(waited_before_ns)) >= gap / 2;
                // It was to sleep for a part of it.
                let seconds = gap.saturating_sub(PERIOD).as_secs_f64();
                let detail = if starved {
                    format!("dyno's threads waited {seconds:.1} s for a CPU: other processes occupied all of them.")
                } else {
                    format!(
                        "dyno did not run for {seconds:.1} s, although no other process took its CPU: it was stopped, \
                         or the whole machine was."
                    )
                };
                self.excused = Some(now);
                sink.event(Event::Stalled(Stalled {
                    who: Who::Dyno,
                    start_s: moment.at_s() - seconds,
                    end_s: moment.at_s(),
                    starved,
                    detail,
                }));
            }
        }
    }

    fn watch_server(&mut self, moment: Moment, now: Instant, sink: &mut dyn Sink) {
        let Pulse { pending, answered } = *self.heartbeat.pulse();
        let pending = pending.map(|asked| self.excused.map_or(asked, |excused| asked.max(excused)));
        let stopped = self.heartbeat.processes.stopped_now();
        let unanswered = pending.filter(|asked| now.duration_since(*asked) >= PATIENCE);
        if unanswered.is_none() && stopped == 0 {
            // The last answer came after it began; without one it is only now that nothing is stopped.
            if let Some(open) = self.open.take() {
                let end = answered
                    .filter(|answer| open.unanswered && *answer > open.start)
                    .unwrap_or(now);
                sink.event(open.told(moment, now, end));
            }
            return;
        }
        let open = self.open.get_or_insert(Open {
            start: now,
            stopped: 0,
            unanswered: false,
        });
        open.stopped = open.stopped.max(stopped);
        if let Some(asked) = unanswered {
            open.unanswered = true;
            open.start = open.start.min(asked);
        }
    }
}

impl Open {
    fn told(self, moment: Moment, now: Instant, end: Instant) -> Event {
        let at_s = |instant: Instant| moment.at_s() - now.saturating_duration_since(instant).as_secs_f64();
        let (start_s, end_s) = (at_s(self.start), at_s(end));
        let seconds = end_s - start_s;
        let detail = match (self.stopped, self.unanswered) {
            (0, _) => format!("The server did not answer for {seconds:.1} s."),
            (_, true) => format!("The server did not answer for {seconds:.1} s: its processes were stopped."),
            (stopped, false) => {
                format!("Some of the server's processes ({stopped} seen) were stopped for {seconds:.1} s.")
            }
        };
        Event::Stalled(Stalled {
            who: Who::Server,
            start_s,
            end_s,
            starved: false,
            detail,
        })
    }
}

impl Sampler for StallWatch {
    fn subject(&self) -> &'static str {
        "whether dyno and the server run"
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    fn asks_server(&self) -> bool {
        false
    }

    fn sample(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let now = Instant::now();
        self.watch_dyno(moment, now, sink);
        self.watch_server(moment, now, sink);
        Ok(())
    }

    fn finish(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        self.sample(moment, sink)?;
        if let Some(open) = self.open.take() {
            let now = Instant::now();
            sink.event(open.told(moment, now, now));
        }
        Ok(())
    }
}

/// How long this thread has waited for a CPU (kernel documentation, sched-stats); 0 where the kernel does not count.
fn runqueue_wait_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = text.split_ascii_whitespace().nth(1);
    waited.and_then(|waited| waited.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::heard::Heard;

    #[test]
    fn the_sleep_between_two_looks_is_no_stall() {
        let mut watch = StallWatch::new(Heartbeat::default());
        let mut heard = Heard::default();
        let begin = Instant::now();
        for at_ms in [5_000, 5_100, 6_100, 6_200] {
            let at = Duration::from_millis(at_ms);
            let late = Duration::ZERO;
            watch.watch_dyno(Moment { at, late }, begin + at, &mut heard);
        }
        let [Event::Stalled(stalled)] = &heard.events[..] else {
            unreachable!("{:?}", heard.events)
        };
        assert!((stalled.start_s - 5.2).abs() < 1e-9, "{stalled:?}");
        assert!((stalled.end_s - 6.1).abs() < 1e-9, "{stalled:?}");
    }
}
