//! What is seen of a load while it runs: it is summed up for the report, shown as progress, and remarks are told.

use super::progress::Layout;
use super::remark::{self, Manner};
use crate::message;
use crate::options::Options;
use crate::report::fixed;
use dyno_engine::{AbortReason, Connected, Interval, Observer, Recording, Remark};
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Watches a load.
pub struct Watch {
    /// Everything that counts.
    pub recording: Recording,
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
    /// How many lines there were.
    lines: u32,
    layout: Layout,
    every: Duration,
    timestamp: bool,
}

impl Watch {
    /// Watches a load made from these options.
    pub fn new(options: &Options) -> Self {
        Self {
            recording: Recording::default(),
            connecting: Duration::ZERO,
            first_aborted: None,
            measured_phase: usize::from(options.warmup_s.is_some()),
            manner: Manner {
                max_tries: options.max_tries,
                latency_limit_us: options.latency_limit_us,
            },
            progress: options.progress_s.map(|seconds| Progress {
                lines: 0,
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
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        if interval.phase == self.measured_phase
            && let Some(recording) = interval.recordings.first()
        {
            self.recording.add(recording);
            if let Some(progress) = &mut self.progress {
                progress.show(interval, self.connecting, recording);
            }
        }
        ControlFlow::Continue(())
    }

    fn remark(&mut self, remark: &Remark) {
        if let Remark::Aborted { client, why, .. } = remark
            && !matches!(why, AbortReason::Connect(_) if self.first_aborted.is_some())
        {
            self.first_aborted.get_or_insert(*client);
        }
        remark::tell(remark, self.manner);
    }
}

impl Progress {
    fn show(&mut self, interval: &Interval, connecting: Duration, recording: &Recording) {
        // Like pgbench's, no line tells of the rest at the end; but with -T the last interval is shorter by the time that connecting took.
        if interval.duration + connecting < self.every.mul_f64(0.99) {
            return;
        }
        self.lines += 1;
        let time = if self.timestamp {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            fixed(now.as_secs_f64(), 3)
        } else {
            fixed((self.every * self.lines).as_secs_f64(), 1)
        };
        message::raw(&self.layout.line(&time, interval.duration, recording));
    }
}
