//! The highest load that holds limits, sought in one run: clients stay connected while the rate, or the number of
//! active clients, changes from step to step, and each step ends as soon as it is known whether the limits hold.
//!
//! The steps are stages of an ordinary run, so that everything that reads runs reads them. What they say together is
//! kept beside it.

mod answer;
mod backlog;
mod plan;
mod search;
mod step;
#[cfg(test)]
mod tests;

pub use plan::{CapacityError, seeking};

use super::Recorder;
use answer::Seen;
use dyno_analysis::progress::FinishedRun;
use dyno_archive::plan::{Resolved, Span, Stage};
use dyno_archive::{
    ArchiveError, Capacity, CapacityAnswer, CapacitySearch, CapacityStep, LoadDimension, Run, StepVerdict,
};
use dyno_engine::{ClientEvent, Connected, Ending, Found, Observer, Outcome, Pacing, Steering};
use dyno_fleet::share::apportioned;
use dyno_load::LoadPlan;
use dyno_record::{Interval, Recording};
use search::Search;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use step::Step;

/// How often it is looked whether a step is decided.
const INTERVAL: Duration = Duration::from_millis(100);

/// A step is told to the clients so long before it begins.
const AHEAD: Duration = Duration::from_millis(200);

/// The begin of a step counts for nothing: what was under way in the step before ends in it. It is as long as the
/// longest limit, if that is longer.
const SETTLING: Duration = Duration::from_millis(500);

/// What is archived as one interval.
const KEPT: Duration = Duration::from_secs(1);

/// A load holds limits if it does so for this long at least.
const LEAST: Duration = Duration::from_secs(5);

/// The same when it is tried again.
const LEAST_AGAIN: Duration = Duration::from_secs(15);

/// A step is given up after this part of the whole time, within these limits, but never before it lasted so many times
/// as long as the longest limit: what takes longer is only seen after that time.
const PART: u32 = 10;
const SHORTEST: Duration = Duration::from_secs(6);
const LONGEST: Duration = Duration::from_secs(60);
const TIMES_LIMIT: u32 = 2;

/// The lowest rate that is tried, as a part of what all clients do in a closed loop, and in transactions per second. At
/// so low a rate hardly any transaction has to wait for another, so a lower one would not be faster.
const LEAST_PART: f64 = 0.05;
const LEAST_RATE: f64 = 0.1;

/// Makes `load` one whose steps are told while it runs; until then it is a closed loop.
pub(super) fn steer(load: &mut LoadPlan) {
    load.interval = INTERVAL;
    for workload in &mut load.workloads {
        workload.pacing = Pacing::Closed;
        workload.stages.clear();
    }
}

/// At least so long a time, in whole intervals.
fn whole(time: Duration) -> Duration {
    let intervals = time.as_nanos().div_ceil(INTERVAL.as_nanos());
    INTERVAL.saturating_mul(u32::try_from(intervals).unwrap_or(u32::MAX))
}

/// How long a load is watched at least before it is said to hold.
fn least_of(search: &Search, load: f64, most: Duration) -> Duration {
    match search.is_known(load) {
        true => LEAST_AGAIN.min(most),
        false => LEAST,
    }
}

/// Sees the load, says how it goes on, and lets the recorder see what counts.
pub(super) struct Climb<'a, 'b> {
    recorder: &'a mut Recorder<'b>,
    steering: Arc<Steering>,
    sought: &'a CapacitySearch,
    experiment: &'a Resolved,
    /// What all clients do in a closed loop: the second half of the warm-up.
    closed: Step,
    search: Option<Search>,
    step: Option<Step>,
    steps: Vec<CapacityStep>,
    /// The stage of the step under way, as the recorder counts them.
    stage: usize,
    /// What the recorder has not seen yet.
    pending: Option<Interval>,
    end: Duration,
    /// When the load began.
    begun: Instant,
}

impl<'a, 'b> Climb<'a, 'b> {
    /// Nothing seen yet of the load of `experiment`.
    pub fn new(recorder: &'a mut Recorder<'b>, sought: &'a CapacitySearch, experiment: &'a Resolved) -> Self {
        recorder.keep_steps();
        Self {
            recorder,
            steering: Arc::default(),
            sought,
            experiment,
            closed: Step::new(0.0, &sought.limits, &[], experiment.warmup / 2),
            search: None,
            step: None,
            steps: Vec::new(),
            stage: 0,
            pending: None,
            end: Duration::ZERO,
            begun: Instant::now(),
        }
    }

    fn clients(&self) -> usize {
        self.clients_of_each().sum()
    }

    fn clients_of_each(&self) -> impl Iterator<Item = usize> {
        self.experiment.workloads.iter().map(|workload| workload.clients)
    }

    /// How long steps may take.
    fn most(&self) -> Duration {
        let least = self.sought.longest_limit().saturating_mul(TIMES_LIMIT);
        (self.at_most() / PART).clamp(SHORTEST, LONGEST).max(least)
    }

    fn at_most(&self) -> Duration {
        self.experiment.measure.unwrap_or_default()
    }

    /// What is known.
    pub fn known(&self) -> Capacity {
        let search = self.search.as_ref();
        let mut steps = self.steps.clone();
        if let Some(step) = self.step.as_ref().filter(|step| !step.lasted().is_zero()) {
            steps.push(step.kept(StepVerdict::Unsure, None));
        }
        Capacity {
            limits: self.sought.limits.clone(),
            over: self.sought.over,
            answer: search.map_or(CapacityAnswer::Unknown, |search| self.answer(search)),
            holds: search.and_then(Search::holds),
            fails: search.and_then(Search::fails),
            clients: self.clients(),
            closed_loop_tps: self.closed.kept(StepVerdict::Unsure, None).tps,
            steps,
            measured_s: self.end.saturating_sub(self.experiment.warmup).as_secs_f64(),
            gave_way: Vec::new(),
        }
    }

    fn answer(&self, search: &Search) -> CapacityAnswer {
        let seen = Seen {
            search,
            over: self.sought.over,
            clients: self.clients(),
            closed: &self.closed,
            steps: &self.steps,
        };
        seen.answer()
    }

    /// The first interval that begins so long after now: the last one that was seen may have ended some time ago.
    fn after(&self, time: Duration) -> Duration {
        whole(self.begun.elapsed().max(self.end) + time)
    }

    /// The clients go on with this load from `from` on.
    fn go_on(&mut self, load: f64, from: Duration) {
        let constant = |value: f64| Span { from: value, to: value };
        let name = format!("step-{}", self.steps.len() + 1);
        let stage = |rate: Option<f64>, clients: Option<f64>| Stage {
            name: name.clone(),
            lasts: Some(self.most()),
            limit: None,
            clients: clients.map(constant),
            rate: rate.map(constant),
            workloads: Vec::new(),
        };
        let (rates, active): (Vec<f64>, Vec<usize>) = match self.sought.over {
            LoadDimension::Rate => (
                self.sought.shares.iter().map(|share| load * share).collect(),
                Vec::new(),
            ),
            LoadDimension::Clients => {
                let all: Vec<f64> = self.clients_of_each().map(|clients| clients as f64).collect();
                (Vec::new(), apportioned(load as usize, &all))
            }
        };
        let stages: Vec<Stage> = rates
            .iter()
            .map(|rate| stage(Some(*rate), None))
            .chain(active.iter().map(|clients| stage(None, Some(*clients as f64))))
            .collect();
        let steered = stages.iter().map(|stage| {
            let span = |span: Span| dyno_engine::Span {
                from: span.from,
                to: span.to,
            };
            vec![dyno_engine::Stage {
                duration: Duration::MAX,
                clients: stage.clients.map(span),
                rate_per_s: stage.rate.map(span),
            }]
        });
        self.steering.go_on(from, steered.collect());
        self.stage = self.recorder.begin_step(&stages);
        let begin = whole(from + SETTLING.max(self.sought.longest_limit()));
        self.step = Some(Step::new(load, &self.sought.limits, &rates, begin));
    }

    /// The warm-up is nearly over: where to begin.
    fn begin(&mut self) {
        let tps = self.closed.kept(StepVerdict::Unsure, None).tps;
        let search = match self.sought.over {
            LoadDimension::Rate => {
                let least = (tps * LEAST_PART).max(LEAST_RATE);
                Search::new(tps / 2.0, [least, f64::MAX], false, self.sought.within)
            }
            LoadDimension::Clients => {
                // At least one of each workload.
                let least = self.experiment.workloads.len() as f64;
                Search::new(least, [least, self.clients() as f64], true, self.sought.within)
            }
        };
        if let Some(load) = search.next() {
            self.go_on(load, self.experiment.warmup.max(self.after(INTERVAL)));
        }
        self.search = Some(search);
    }

    /// An interval of the step under way.
    fn watch(&mut self, recordings: &[Recording], end: Duration) -> ControlFlow<()> {
        let most = self.most();
        let (Some(step), Some(search)) = (&mut self.step, &mut self.search) else {
            return ControlFlow::Continue(());
        };
        step.add(recordings, end);
        let least = least_of(search, step.load, most);
        let (verdict, broken) = step.verdict(least.max(self.sought.longest_limit()));
        if verdict == StepVerdict::Unsure && step.lasted() < most {
            return ControlFlow::Continue(());
        }
        let load = step.load;
        self.steps.push(step.kept(verdict, broken));
        search.found(load, verdict, step.is_within());
        let next = search.next();
        self.step = None;
        self.flush()?;
        match next {
            None => ControlFlow::Break(()),
            Some(load) => {
                self.go_on(load, self.after(AHEAD));
                ControlFlow::Continue(())
            }
        }
    }

    /// Lets the recorder see an interval of this stage, together with others of it.
    fn keep(&mut self, stage: usize, interval: &Interval) -> ControlFlow<()> {
        match &mut self.pending {
            Some(pending) if pending.phase == stage => {
                pending.duration += interval.duration;
                for (sum, part) in pending.recordings.iter_mut().zip(&interval.recordings) {
                    sum.add(part);
                }
            }
            _ => {
                self.flush()?;
                self.pending = Some(Interval {
                    phase: stage,
                    ..interval.clone()
                });
            }
        }
        let is_whole = |pending: &Interval| pending.duration + INTERVAL / 2 > KEPT;
        match self.pending.as_ref().is_some_and(is_whole) {
            true => self.flush(),
            false => ControlFlow::Continue(()),
        }
    }

    fn flush(&mut self) -> ControlFlow<()> {
        let Some(pending) = self.pending.take() else {
            return ControlFlow::Continue(());
        };
        self.recorder.interval(&pending)?;
        if self.search.is_some() {
            let left = (self.experiment.warmup + self.at_most()).saturating_sub(self.end);
            let known = self.known();
            self.recorder.tell_capacity(&known, left);
        }
        ControlFlow::Continue(())
    }
}

impl Observer for Climb<'_, '_> {
    fn steering(&self) -> Option<Arc<Steering>> {
        Some(Arc::clone(&self.steering))
    }

    fn connected(&mut self, connected: &Connected) {
        self.recorder.connected(connected);
        self.begun = Instant::now();
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        // Intervals begin where they should, give or take a rounding.
        let (middle, end) = (
            interval.start + interval.duration / 2,
            interval.start + interval.duration,
        );
        self.end = end;
        if middle < self.experiment.warmup {
            if middle > self.experiment.warmup / 2 && self.search.is_none() {
                self.closed.add(&interval.recordings, end);
            }
            self.keep(0, interval)?;
            if self.search.is_none() && end + AHEAD + INTERVAL / 2 > self.experiment.warmup {
                self.begin();
            }
            return ControlFlow::Continue(());
        }
        match self.step.as_ref().is_some_and(|step| step.begins() < middle) {
            true => {
                self.keep(self.stage, interval)?;
                self.watch(&interval.recordings, end)
            }
            // The clients change over, or settle.
            false => ControlFlow::Continue(()),
        }
    }

    fn statement(&mut self, workload: usize, place: usize, found: Option<&Found>) {
        self.recorder.statement(workload, place, found);
    }

    fn client_event(&mut self, event: &ClientEvent) {
        self.recorder.client_event(event);
    }
}

impl Climb<'_, '_> {
    /// The load is over: the recorder sees the rest. Gives what is known, and whether nothing more was to be tried.
    pub fn finish(mut self) -> (Capacity, bool) {
        // There is nothing left that it could end.
        let _ = self.flush();
        let is_over = self.search.as_ref().is_some_and(|search| search.next().is_none());
        (self.known(), is_over)
    }
}

/// How the load ended. That the search `is_over` is its regular end.
pub(super) fn outcome_of(is_over: bool, outcome: Outcome) -> Outcome {
    Outcome {
        ended_early: outcome
            .ended_early
            .filter(|ending| !(is_over && matches!(ending, Ending::Stopped))),
        ..outcome
    }
}

/// Keeps what is known in the `campaign`'s folder, with what gave way in its `run`; `server_is_here` says whether the
/// server is on this machine, whose CPUs were watched.
///
/// # Errors
/// It cannot be written.
pub(super) fn keep(
    known: Capacity,
    campaign: &Path,
    run: &FinishedRun,
    server_is_here: bool,
) -> Result<(), ArchiveError> {
    let gave_way = Run::read(run.folder.clone()).map(|run| dyno_analysis::gave_way(&run, &known));
    let gave_way = gave_way.unwrap_or_default();
    let has_cpu_time = server_is_here && gave_way.cpus_are_busy == Some(false);
    let known = Capacity {
        answer: match known.answer {
            // More clients would not find more CPU time, as far as that is known.
            CapacityAnswer::Clients if !has_cpu_time && known.fails.is_some() => CapacityAnswer::Found,
            answer => answer,
        },
        gave_way: gave_way.short,
        ..known
    };
    known.write(campaign)
}
