//! What a workload's start delay and stages mean for one of its threads, as instants.
//!
//! Every thread works out its own part from the same rules, so that they need not speak to each other while the
//! load runs.

use crate::backend::Driver;
use crate::client::pacing::Ramp;
use crate::clock::duration_ns;
use crate::load::{Pacing, Span, Stage, Workload};
use crate::program::Scripted;
use std::borrow::Cow;
use std::time::Duration;

/// From this instant on, the first `active` clients of the thread begin transactions, and the others rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// In nanoseconds of the run's clock.
    pub at_ns: u64,
    pub active: usize,
    /// Whether they begin them by the schedule.
    pub open: bool,
}

/// One thread's part of a workload's profile. Before the first change its clients rest.
#[derive(Debug)]
pub(crate) struct Profile {
    pub changes: Vec<Change>,
    /// The thread's arrivals in an open loop.
    pub ramps: Vec<Ramp>,
}

/// What decides a workload's profile.
#[derive(Clone, Debug)]
pub(crate) struct Rules<'a> {
    clients: usize,
    threads: usize,
    pacing: Pacing,
    start_delay: Duration,
    stages_begin: Duration,
    stages: Cow<'a, [Stage]>,
}

/// A stretch over which the number of the workload's active clients does not change, in nanoseconds from the begin
/// of the first phase.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    start_ns: u64,
    end_ns: u64,
    clients: usize,
    /// Of all clients together; `None`: a closed loop.
    rate_per_s: Option<Span>,
}

impl Span {
    fn constant(value: f64) -> Self {
        Self { from: value, to: value }
    }

    /// The value at a point from 0, the begin, to 1, the end.
    fn at(self, point: f64) -> f64 {
        self.from + (self.to - self.from) * point
    }

    /// The part between two points.
    fn between(self, begin: f64, end: f64) -> Self {
        Self {
            from: self.at(begin),
            to: self.at(end),
        }
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            from: change(self.from),
            to: change(self.to),
        }
    }
}

/// A number of clients or a rate that can be worked with.
fn sane(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

impl<'a> Rules<'a> {
    pub fn of<D: Driver, P: Scripted>(workload: &'a Workload<D, P>) -> Self {
        Self {
            clients: workload.clients,
            threads: workload.parts(),
            pacing: workload.pacing,
            start_delay: workload.start_delay,
            stages_begin: workload.stages_begin,
            stages: Cow::Borrowed(&workload.stages),
        }
    }

    /// The rules of a workload that goes on with these stages, the last of them without end.
    pub fn steered<D: Driver, P: Scripted>(workload: &Workload<D, P>, stages: &'a [Stage]) -> Self {
        Self {
            clients: workload.clients,
            threads: workload.parts(),
            pacing: workload.pacing,
            start_delay: Duration::ZERO,
            stages_begin: Duration::ZERO,
            stages: Cow::Borrowed(stages),
        }
    }

    /// The profile of the thread with number `part`, from `start_ns` on. The first phase began at `phases_begin_ns`,
    /// which is not later.
    pub fn profile(&self, part: usize, phases_begin_ns: u64, start_ns: u64) -> Profile {
        let begin_ns = duration_ns(self.start_delay).max(start_ns.saturating_sub(phases_begin_ns));
        let mut profile = Profile {
            changes: Vec::new(),
            ramps: Vec::new(),
        };
        let mut end_ns = 0;
        for stretch in self.stretches().filter_map(|stretch| stretch.from(begin_ns)) {
            let at_ns = phases_begin_ns.saturating_add(stretch.start_ns);
            end_ns = phases_begin_ns.saturating_add(stretch.end_ns);
            let active = self.share(part, stretch.clients);
            profile.change(at_ns, active, stretch.rate_per_s.is_some());
            // A thread without active clients has no arrivals: they would wait there while other threads have
            // clients at rest.
            let sharers = match active {
                0 => f64::INFINITY,
                _ => self.threads.min(stretch.clients) as f64,
            };
            let rate_per_s = stretch.rate_per_s.unwrap_or(Span::constant(0.0));
            if end_ns > at_ns {
                let ramp = Ramp::new(at_ns, end_ns, rate_per_s.map(|rate| rate / sharers));
                profile.ramps.push(ramp);
            }
        }
        profile.change(end_ns, 0, profile.changes.last().is_some_and(|last| last.open));
        profile
    }

    /// Ends the stage that is under way `since_begin_ns` after the begin of the first phase: what follows moves.
    /// `false` if none is.
    pub fn end_stage(&mut self, since_begin_ns: u64) -> bool {
        let mut start_ns = duration_ns(self.stages_begin);
        for stage in self.stages.to_mut() {
            let end_ns = start_ns.saturating_add(duration_ns(stage.duration));
            if (start_ns..end_ns).contains(&since_begin_ns) {
                stage.duration = Duration::from_nanos(since_begin_ns - start_ns);
                return true;
            }
            start_ns = end_ns;
        }
        false
    }

    /// How many of the workload's active clients are the thread's. Clients are dealt to threads in the same way, so
    /// it has as many.
    fn share(&self, part: usize, clients: usize) -> usize {
        clients / self.threads + usize::from(part < clients % self.threads)
    }

    /// The whole profile of the workload, without its start delay.
    fn stretches(&self) -> impl Iterator<Item = Stretch> {
        let always = Stage {
            duration: Duration::MAX,
            clients: None,
            rate_per_s: None,
        };
        // Up to the first stage everything is as at its begin.
        let before = self.stages.first().map_or(always, |first| Stage {
            duration: self.stages_begin,
            clients: first.clients.map(|span| Span::constant(span.from)),
            rate_per_s: first.rate_per_s.map(|span| Span::constant(span.from)),
        });
        let mut end_ns = 0_u64;
        std::iter::once(before)
            .chain(self.stages.iter().copied())
            .flat_map(move |stage| {
                let start_ns = end_ns;
                end_ns = start_ns.saturating_add(duration_ns(stage.duration));
                self.cut(stage, start_ns, end_ns)
            })
    }

    /// Cuts a stage where the number of active clients changes.
    fn cut(&self, stage: Stage, start_ns: u64, end_ns: u64) -> Vec<Stretch> {
        let clients = stage.clients.unwrap_or(Span::constant(self.clients as f64)).map(sane);
        let rate_per_s = stage.rate_per_s.or(match self.pacing {
            Pacing::Closed => None,
            Pacing::Open { rate_per_s } => Some(Span::constant(rate_per_s)),
        });
        let rate_per_s = rate_per_s.map(|span| span.map(sane));
        let whole = |clients: f64| (clients.round() as usize).min(self.clients);
        let (first, last) = (whole(clients.from), whole(clients.to));
        // The point at which the number of clients passes `value`.
        let passing = |value: f64| ((value - clients.from) / (clients.to - clients.from)).clamp(0.0, 1.0);
        let rising = (first + 1..=last).map(|number| (passing(number as f64 - 0.5), number));
        let falling = (last..first).rev().map(|number| (passing(number as f64 + 0.5), number));
        let mut steps = std::iter::once((0.0, first)).chain(rising).chain(falling).peekable();
        let instant_ns = |point: f64| start_ns + (((end_ns - start_ns) as f64 * point) as u64).min(end_ns - start_ns);
        let mut stretches = Vec::new();
        while let Some((begin, clients)) = steps.next() {
            let end = steps.peek().map_or(1.0, |(next, _)| *next);
            let stretch = Stretch {
                start_ns: instant_ns(begin),
                end_ns: instant_ns(end),
                clients,
                rate_per_s: rate_per_s.map(|span| span.between(begin, end)),
            };
            if stretch.end_ns > stretch.start_ns {
                stretches.push(stretch);
            }
        }
        stretches
    }
}

impl Profile {
    fn change(&mut self, at_ns: u64, active: usize, open: bool) {
        let last = self.changes.last();
        if last.is_none_or(|last| (last.active, last.open) != (active, open)) {
            self.changes.push(Change { at_ns, active, open });
        }
    }
}

impl Stretch {
    /// What is left of it from `begin_ns` on.
    fn from(mut self, begin_ns: u64) -> Option<Self> {
        if self.end_ns <= begin_ns {
            return None;
        }
        if self.start_ns < begin_ns {
            let point = (begin_ns - self.start_ns) as f64 / (self.end_ns - self.start_ns) as f64;
            self.rate_per_s = self.rate_per_s.map(|span| span.between(point, 1.0));
            self.start_ns = begin_ns;
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests;
