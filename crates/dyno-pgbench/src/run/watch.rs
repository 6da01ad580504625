//! What is seen of a load while it runs: it is summed up for the report, shown as progress, and its events are told.

use super::client_event::{self, Manner};
use super::progress::Layout;
use crate::message;
use crate::options::Options;
use crate::report::fixed;
use dyno_engine::{AbortReason, ClientEvent, Connected, Observer};
use dyno_record::{Interval, Recording};
use dyno_target::postgres::address::ConnectionInfo;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Watches a load.
pub struct Watch {
    /// Everything that counts.
    pub recording: Recording,
    /// How long what counts was recorded.
    pub recorded: Duration,
    /// From the first connection attempt to the last client being ready.
    pub connecting: Duration,
    /// The first client that was aborted.
    pub first_aborted: Option<usize>,
    /// The phase that counts.
    measured_phase: usize,
    manner: Manner,
    progress: Option<Progress>,
}

struct Progress {
    /// Times in lines count from the first connection attempt, as in pgbench, or from the end of the warm-up.
    connecting: Duration,
    warmup: Duration,
    layout: Layout,
    every: Duration,
    timestamp: bool,
}

impl Watch {
    /// Watches a load of this target made from these options.
    pub fn new(options: &Options, target: &ConnectionInfo) -> Self {
        Self {
            recording: Recording::default(),
            recorded: Duration::ZERO,
            connecting: Duration::ZERO,
            first_aborted: None,
            measured_phase: usize::from(options.warmup_s.is_some()),
            manner: Manner {
                version: options.report_format,
                scripts: options.scripts.list.clone(),
                max_tries: options.max_tries,
                latency_limit_us: options.latency_limit_us,
                target: target.clone(),
            },
            progress: options.progress_s.map(|seconds| Progress {
                connecting: Duration::ZERO,
                warmup: Duration::from_secs(options.warmup_s.unwrap_or(0).unsigned_abs().into()),
                layout: Layout::of(options),
                every: Duration::from_secs(seconds.unsigned_abs().into()),
                timestamp: options.progress_timestamp,
            }),
        }
    }
}

impl Observer for Watch {
    fn connected(&mut self, connected: &Connected) {
        self.connecting = connected.total;
        if let Some(progress) = &mut self.progress {
            progress.begin(connected.total);
        }
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        if interval.phase == self.measured_phase
            && let Some(recording) = interval.recordings.first()
        {
            self.recording.add(recording);
            self.recorded += interval.duration;
            if let Some(progress) = &mut self.progress {
                progress.show(interval, recording);
            }
        }
        ControlFlow::Continue(())
    }

    fn client_event(&mut self, event: &ClientEvent) {
        if let ClientEvent::Aborted { client, why, .. } = event
            && !matches!(why, AbortReason::Connect(_) if self.first_aborted.is_some())
        {
            self.first_aborted.get_or_insert(*client);
        }
        client_event::tell(event, &self.manner);
    }
}

impl Progress {
    /// All clients are connected. As pgbench does, tells at once that nothing happened if that took long.
    fn begin(&mut self, connecting: Duration) {
        self.connecting = connecting;
        if connecting >= self.every && self.warmup.is_zero() {
            self.say(connecting, connecting, &Recording::default());
        }
    }

    fn show(&self, interval: &Interval, recording: &Recording) {
        let ended = self.connecting + interval.start + interval.duration;
        // Connecting took a part of the first one, in which nothing happened, as pgbench sees it.
        let taken_s = match interval.start.is_zero() {
            true => self.connecting.as_secs_f64() % self.every.as_secs_f64(),
            false => 0.0,
        };
        let lasted = interval.duration + Duration::from_secs_f64(taken_s);
        // As in pgbench, no line tells of a rest at the end, nor of what others do once the thread that tells is done.
        if interval.first_thread_whole && lasted >= self.every.mul_f64(0.99) {
            self.say(ended.saturating_sub(self.warmup), lasted, recording);
        }
    }

    fn say(&self, ended: Duration, lasted: Duration, recording: &Recording) {
        let time = if self.timestamp {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            fixed(now.as_secs_f64(), 3)
        } else {
            fixed(ended.as_secs_f64(), 1)
        };
        message::raw(&self.layout.line(&time, lasted, recording));
    }
}
