//! The load while it is under way: what agents tell is merged, and those that tell nothing are given up.

use super::link::Said;
use super::merge::Merge;
use super::{Fleet, FleetObserver, Gap, LOOK, OUT_OF_TURN, OnLostHost, State, client_event, come_upon, outcome};
use crate::protocol::{Order, Report, shorten};
use dyno_engine::Stop;
use dyno_load::LoadPlan;
use dyno_record::ListedInterval;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// A load under way.
pub(super) struct Driving<'a> {
    fleet: &'a mut Fleet,
    plan: &'a LoadPlan,
    merge: Merge,
    on_lost: OnLostHost,
    began: Instant,
    /// Whether the agents were told to stop.
    stopped: bool,
    /// Nobody is waited for any longer.
    deadline: Option<Instant>,
    /// The loss that ended the load.
    lost: Option<String>,
    /// The agents of whose gaps the observer is not told yet.
    gaps: Vec<usize>,
}

impl<'a> Driving<'a> {
    /// Of agents that have just begun.
    pub fn new(fleet: &'a mut Fleet, plan: &'a LoadPlan, on_lost: OnLostHost) -> Self {
        let began = Instant::now();
        let phases = plan.phases.iter().map(|phase| phase.duration);
        let lasts = phases.fold(Duration::ZERO, Duration::saturating_add);
        let overtime = plan.grace.saturating_add(fleet.patience.silence);
        Self {
            merge: Merge::new(plan.workloads.len(), fleet.agents.len()),
            fleet,
            plan,
            on_lost,
            began,
            stopped: false,
            deadline: began.checked_add(lasts.saturating_add(overtime)),
            lost: None,
            gaps: Vec::new(),
        }
    }

    /// Hears the agents until none is running. Gives back the loss that ended the load, if one did.
    pub fn gather(mut self, observer: &mut dyn FleetObserver, stop: &Stop) -> Option<String> {
        while self
            .fleet
            .agents
            .iter()
            .any(|agent| matches!(agent.state, State::Running))
        {
            match self.fleet.inbox.recv_timeout(LOOK) {
                Ok((number, Said::Report(report, received_ns))) => self.hear(number, report, received_ns, observer),
                Ok((number, Said::Gone(reason))) => self.lose(number, reason),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            for number in self.fleet.silent() {
                self.lose(number, self.fleet.silence());
            }
            if (stop.requested() || self.lost.is_some() || self.has_broken()) && !self.stopped {
                self.stop();
            }
            if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                // What scripts do after the load may take its time, as in one process, until that is to end, too.
                let agents = self.fleet.agents.iter().enumerate();
                let open: Vec<_> = agents
                    .filter(|(_, agent)| !agent.is_over || self.stopped)
                    .map(|(number, _)| number)
                    .collect();
                for number in open {
                    self.lose(number, "its load did not end".to_owned());
                }
            }
            for number in std::mem::take(&mut self.gaps) {
                if let Some(gap) = &self.fleet.agents[number].gap {
                    observer.host_lost(number, gap);
                }
            }
            while let Some(interval) = self.merge.pop() {
                if observer.interval(&interval).is_break() && !self.stopped {
                    self.stop();
                }
            }
        }
        while let Some(interval) = self.merge.pop() {
            let _ = observer.interval(&interval);
        }
        self.lost
    }

    fn stop(&mut self) {
        self.stopped = true;
        let overtime = self.plan.grace.saturating_add(self.fleet.patience.silence);
        let soon = Instant::now().checked_add(overtime);
        self.deadline = soon.into_iter().chain(self.deadline).min();
        let agents = self.fleet.agents.iter();
        agents.for_each(|agent| agent.link.order(Order::Stop));
    }

    /// Whether something ended the load of an agent that ends it for all, as in one process.
    fn has_broken(&self) -> bool {
        self.fleet.agents.iter().any(
            |agent| matches!(&agent.state, State::Done(ended) if ended.early.as_ref().is_some_and(outcome::is_for_all)),
        )
    }

    fn hear(&mut self, number: usize, report: Report, received_ns: u64, observer: &mut dyn FleetObserver) {
        let workloads = self.plan.workloads.len();
        let agent = &mut self.fleet.agents[number];
        if matches!(agent.state, State::Lost) {
            return;
        }
        match report {
            Report::Pong { sent_ns, at_ns } => agent.trip(sent_ns, received_ns, at_ns),
            Report::Started { late_ns } => agent.late = Some(Duration::from_nanos(late_ns)),
            Report::Interval(bytes) => match ListedInterval::from_bytes(&bytes, self.plan.phases.len(), workloads) {
                Ok(interval)
                    if !agent.goes_on_with(
                        &interval,
                        self.plan,
                        self.began.elapsed() + self.fleet.patience.silence,
                    ) =>
                {
                    self.lose(number, "it tells of a time that does not come next".to_owned());
                }
                Ok(mut interval) => {
                    for error in interval.recordings.iter_mut().flat_map(|own| &mut own.errors_by_code) {
                        shorten(&mut error.example);
                    }
                    if let Err(error) = self.fleet.statements.place(number, &mut interval) {
                        self.lose(number, error.to_string());
                        return;
                    }
                    if self.merge.add(number, &interval) {
                        agent.told = interval.start.saturating_add(interval.duration);
                        observer.host_interval(number, &interval);
                    }
                }
                Err(error) => self.lose(number, error.to_string()),
            },
            Report::Event(event) => observer.client_event(&client_event(event)),
            Report::Statement { workload, place, texts } => {
                if let Err(error) = come_upon(&mut self.fleet.statements, number, workload, place, texts, observer) {
                    self.lose(number, error.to_string());
                }
            }
            Report::Sample { at, values } => observer.host_sample(number, at, &values),
            Report::Warning(text) => agent.warn(text),
            Report::Over => {
                agent.is_over = true;
                self.merge.leave(number);
            }
            Report::Done(ended) if matches!(agent.state, State::Running) && outcome::fits(&ended, workloads) => {
                if let Some(early) = ended.early.as_ref().filter(|early| outcome::is_gap(early)) {
                    agent.gap = Some(Gap {
                        from: agent.told,
                        reason: outcome::words(early),
                    });
                    self.gaps.push(number);
                }
                agent.state = State::Done(ended);
                self.merge.leave(number);
            }
            Report::Failed(reason) => self.lose(number, reason),
            Report::Done(_) | Report::Hello(_) | Report::Connected(_) => {
                self.lose(number, OUT_OF_TURN.to_owned());
            }
        }
    }

    /// An agent is not there any more. What it has told counts.
    fn lose(&mut self, number: usize, reason: String) {
        let agent = &mut self.fleet.agents[number];
        if !matches!(agent.state, State::Running) {
            return;
        }
        let reason = agent.link.with_last_words(reason);
        // Nobody else ends a process that stands still, and its connections.
        agent.link.cut();
        agent.state = State::Lost;
        self.merge.leave(number);
        if self.on_lost == OnLostHost::End && self.lost.is_none() {
            let after_s = agent.told.as_secs_f64();
            self.lost = Some(format!(
                "load host {} was lost after {after_s:.1} s: {reason}",
                agent.host.name
            ));
        }
        agent.gap = Some(Gap {
            from: agent.told,
            reason,
        });
        self.gaps.push(number);
    }
}
