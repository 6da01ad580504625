//! Tells the controller what a load does here, and waits with its begin for the instant that the controller names.

use super::sampling::{self, Sampling};
use super::{Agent, Heard};
use crate::protocol::{Connections, Event, HostCeiling, Report};
use dyno_ceiling::nearest_here;
use dyno_engine::{ClientEvent, Connected, Found, Observer};
use dyno_record::{Interval, Shape};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Timers are late by about this much; the rest of the time is spent looking at the clock. Not longer: of more agents
/// than their machine has cores, some would wait for those that look.
const SPIN: Duration = Duration::from_micros(100);

/// Observes the load of an agent.
pub(super) struct Telling<'a> {
    agent: Agent,
    heard: &'a Receiver<Heard>,
    sampled: bool,
    /// How the part of the load is made whose ceiling is asked for.
    shape: Option<Shape>,
    sampling: Option<Sampling>,
    /// Why the controller is not there any more.
    gone: Option<String>,
}

impl<'a> Telling<'a> {
    pub fn new(agent: Agent, heard: &'a Receiver<Heard>, sampled: bool, shape: Option<Shape>) -> Self {
        Self {
            agent,
            heard,
            sampled,
            shape,
            sampling: None,
            gone: None,
        }
    }

    /// The load is over. Gives back why the controller is gone, if that is what ended it.
    pub fn finish(mut self) -> Option<String> {
        if let Some(sampling) = self.sampling.take() {
            sampling.finish();
        }
        self.gone.or_else(|| {
            // What came while the load ran.
            self.heard.try_iter().find_map(|heard| match heard {
                Heard::Gone(reason) => Some(reason),
                Heard::Quit => Some("it has left".to_owned()),
                Heard::Load { .. } | Heard::Start { .. } => None,
            })
        })
    }

    /// The instant at which to begin; `None` if the load is to end before.
    fn start_ns(&mut self) -> Option<u64> {
        loop {
            match self.heard.recv_timeout(Duration::from_millis(50)) {
                Ok(Heard::Start { at_ns }) => return Some(at_ns),
                Ok(Heard::Gone(reason)) => self.give_up(reason),
                Ok(Heard::Quit) => self.give_up("it has left".to_owned()),
                Ok(Heard::Load { .. }) => self.give_up("it sent two loads at once".to_owned()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.give_up("it cannot be heard any more".to_owned()),
            }
            if self.agent.stop.requested() {
                return None;
            }
        }
    }

    /// What dyno does at most here, if that is asked for and known.
    fn ceiling(&self, connected: &Connected) -> Option<HostCeiling> {
        let transport = connected.transports.first().map(ToString::to_string);
        match nearest_here(self.shape?, &transport.unwrap_or_default()) {
            Ok(point) => point.map(|point| HostCeiling {
                statements_per_s: point.tps,
                shape: point.shape,
            }),
            Err(error) => {
                let told = format!("its ceiling could not be read: {error}.");
                self.agent.say(Report::Warning(told));
                None
            }
        }
    }

    fn give_up(&mut self, reason: String) {
        self.gone.get_or_insert(reason);
        self.agent.stop.request();
    }
}

/// Waits for an instant, as exactly as can be.
pub(crate) fn wait_until(at: Instant) {
    // Otherwise Linux lets timers be another 50 µs late to save power. It is no loss where this is not permitted.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let left = at.saturating_duration_since(Instant::now());
    if left > SPIN {
        std::thread::sleep(left - SPIN);
    }
    while Instant::now() < at {
        std::hint::spin_loop();
    }
}

impl Observer for Telling<'_> {
    fn connected(&mut self, connected: &Connected) {
        self.agent.say(Report::Connected(Connections {
            connect_time: Connections::bytes_of(&connected.connect_time),
            total: connected.total,
            transports: connected.transports.iter().map(ToString::to_string).collect(),
            fallback: connected.fallback.clone(),
            ceiling: self.ceiling(connected),
        }));
        let Some(at_ns) = self.start_ns() else { return };
        // What takes time comes before the instant.
        let sampler = self.sampled.then(sampling::sampler);
        wait_until(self.agent.clock.instant(at_ns));
        let late_ns = self.agent.clock.now_ns().saturating_sub(at_ns);
        self.agent.say(Report::Started { late_ns });
        self.sampling = sampler.map(|sampler| Sampling::start(sampler, self.agent.reports.clone()));
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.agent.say(Report::Interval(interval.to_bytes()));
        ControlFlow::Continue(())
    }

    fn statement(&mut self, workload: usize, place: usize, found: Option<&Found>) {
        self.agent.say(Report::Statement {
            workload,
            place,
            texts: found.map(|found| (found.text.clone(), found.example.clone())),
        });
    }

    fn client_event(&mut self, event: &ClientEvent) {
        let event = match event {
            ClientEvent::Aborted {
                workload,
                client,
                script,
                command,
                why,
            } => Event::Aborted {
                workload: *workload,
                client: *client,
                script: *script,
                command: *command,
                reason: why.to_string(),
            },
            ClientEvent::Reconnected {
                workload,
                client,
                endpoint,
                after,
            } => Event::Reconnected {
                workload: *workload,
                client: *client,
                endpoint: *endpoint,
                after: *after,
            },
            _ => return,
        };
        self.agent.say(Report::Event(event));
    }
}
