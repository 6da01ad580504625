//! What is seen of a run while it goes on: its intervals and checkpoints are told, and all of it is summed up.

use super::{FAILED, UNFINISHED, and_failure, tell_ending};
use crate::message::{Level, Log, print};
use crate::options::Options;
use crate::report::{Fairness, Manner, Stat, histogram};
use dyno_engine::{AbortReason, ClientEvent, Connected, Ending, Observer, Stop};
use dyno_lua::{Counts, Environment, LuaError, Statistics, Tally, Work};
use dyno_record::{Interval, Recording};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// What is said where events are given up.
pub const FORCED: &str = "The --max-time limit has expired, forcing shutdown...";

/// Watches a run. Where a script keeps a thread for good, by something that is not Lua, it ends the process as sysbench
/// does.
pub struct Watch<'a> {
    log: Arc<Log>,
    options: &'a Options,
    /// How it is told.
    pub manner: Manner,
    tally: Tally,
    /// What the script's hooks are called in.
    hooks: &'a mut Environment,
    /// The phase that counts.
    measured: usize,
    /// From the begin of the load to that of the phase.
    before: Duration,
    /// From the begin of the phase to the end of what was seen.
    seen: Duration,
    /// Since the last intermediate report.
    interval: Stretch,
    /// Since the last full one.
    whole: Stretch,
    /// Up to where intermediate reports have gone without what a thread was yet to report.
    told: Duration,
    /// Checkpoints to come, in seconds, the next one last.
    checkpoints_s: Vec<u64>,
    /// Asked to stop by a signal.
    stop: &'a Stop,
    /// Ends the process with this exit code, or by the signal if one came.
    leave: &'a dyn Fn(u8),
    /// What a hook failed with.
    pub failure: Option<LuaError>,
    /// Whether the clients began.
    pub has_begun: bool,
    /// How many events there were in all that counts.
    pub events: u64,
}

/// A stretch of the run that is told as one.
#[derive(Default)]
struct Stretch {
    begin: Duration,
    recording: Recording,
    /// What had been counted by its begin.
    counts: Counts,
    /// What each client had done by its begin.
    clients: Vec<Work>,
}

impl<'a> Watch<'a> {
    /// Watches a run of these options, in which this counts.
    pub fn new(
        options: &'a Options,
        log: &Arc<Log>,
        manner: Manner,
        tally: Tally,
        hooks: &'a mut Environment,
        stop: &'a Stop,
        leave: &'a dyn Fn(u8),
    ) -> Self {
        let mut checkpoints_s = options.telling.checkpoints_s.clone();
        checkpoints_s.reverse();
        Self {
            log: Arc::clone(log),
            options,
            manner,
            tally,
            hooks,
            measured: usize::from(options.limits.warmup_s > 0),
            before: Duration::from_secs(options.limits.warmup_s),
            seen: Duration::ZERO,
            interval: Stretch::default(),
            whole: Stretch::default(),
            told: Duration::ZERO,
            checkpoints_s,
            stop,
            leave,
            failure: None,
            has_begun: false,
            events: 0,
        }
    }

    /// What happened in a stretch that ends now.
    fn stat(&self, stretch: &Stretch) -> Stat {
        let counts = self.counts().since(&stretch.counts);
        let recording = &stretch.recording;
        let lasted_s = self.seen.saturating_sub(stretch.begin).as_secs_f64();
        let latency = &recording.latency_sums;
        let percentile = self
            .options
            .telling
            .percentile
            .map_or(0, |percentile| recording.latency.percentile_ns(f64::from(percentile)));
        // How many wait, and how many are served, on the average of the stretch: each for as long as it takes.
        let waited_s = recording.lag_sums.sum_us / 1e6;
        let taken_s = latency.sum_us / 1e6;
        let mean = |seconds: f64| match lasted_s > 0.0 {
            true => (seconds / lasted_s).round() as u64,
            false => 0,
        };
        Stat {
            threads_running: self.tally.running(),
            events: recording.transactions,
            reads: counts.reads,
            writes: counts.writes,
            other: counts.others,
            errors: counts.errors,
            reconnects: counts.reconnects,
            time_total_s: self.seen.as_secs_f64(),
            time_interval_s: lasted_s,
            latency_pct_s: percentile as f64 / 1e9,
            latency_min_s: latency.min_us / 1e6,
            latency_max_s: latency.max_us / 1e6,
            latency_avg_s: latency.mean_us() / 1e6,
            latency_sum_s: latency.sum_us / 1e6,
            queue_length: mean(waited_s),
            concurrency: mean((taken_s - waited_s).max(0.0)),
        }
    }

    /// Lists that hooks have begun are complete.
    pub fn end_lists(&mut self) {
        if let Err(error) = self.hooks.end_reports() {
            self.failure.get_or_insert(error);
        }
    }

    /// The full report of everything since the last one; begins a new stretch. So many events were given up.
    pub fn report(&mut self, unfinished: u64) {
        let stat = self.stat(&self.whole);
        if self.options.telling.histogram && self.log.says(Level::Notice) {
            print(&histogram(&self.whole.recording.latency));
        }
        let is_hooked = match self.hooks.report_cumulative(&statistics(&stat)) {
            Ok(is_hooked) => is_hooked,
            Err(error) => {
                self.failure.get_or_insert(error);
                true
            }
        };
        if !is_hooked && self.log.says(Level::Notice) {
            print(&(self.manner.cumulative(&stat, unfinished) + &self.fairness().text()));
            if self.options.telling.debug {
                self.tell_clients();
            }
        }
        self.whole = self.stretch();
    }

    /// What clients have counted, and what was executed before and beside them.
    fn counts(&self) -> Counts {
        let (clients, beside) = (self.tally.counts(), self.hooks.counts());
        Counts {
            reads: clients.reads + beside.reads,
            writes: clients.writes + beside.writes,
            others: clients.others + beside.others,
            errors: clients.errors + beside.errors,
            reconnects: clients.reconnects + beside.reconnects,
        }
    }

    /// How evenly the clients worked in the stretch.
    fn fairness(&self) -> Fairness {
        let clients = self.clients();
        Fairness::of(clients.iter().map(|work| (work.events, work.busy_ns)))
    }

    /// What each client has done in the stretch; the shortest and the longest event are of the whole run.
    fn clients(&self) -> Vec<Work> {
        let before = self.whole.clients.iter().copied();
        let before = before.chain(std::iter::repeat(Work::default()));
        let each = self.tally.clients().into_iter().zip(before);
        each.map(|(now, before)| Work {
            events: now.events - before.events,
            busy_ns: now.busy_ns - before.busy_ns,
            ..now
        })
        .collect()
    }

    /// The same in words.
    fn tell_clients(&self) {
        self.log.say(Level::Debug, "Verbose per-thread statistics:");
        print("\n");
        for (number, work) in self.clients().iter().enumerate() {
            self.log.say(Level::Debug, &client_line(number, work));
            let busy_s = work.busy_ns as f64 / 1e9;
            let line = format!("                 total time taken by event execution: {busy_s:.4}s");
            self.log.say(Level::Debug, &line);
        }
        print("\n");
    }

    fn stretch(&self) -> Stretch {
        Stretch {
            begin: self.seen,
            recording: Recording::default(),
            counts: self.counts(),
            clients: self.tally.clients(),
        }
    }

    /// Whether an intermediate report is due at the end of what was seen.
    fn is_due(&self) -> bool {
        let seconds = self.seen.as_secs_f64().round() as u64;
        let every_s = self.options.telling.interval_s;
        every_s.is_some_and(|every_s| seconds.is_multiple_of(every_s))
    }

    /// Whether the script of any client was ended.
    pub fn has_given_up(&self) -> bool {
        self.tally.has_given_up()
    }

    /// A hook that has failed ends the load.
    fn go_on(&self) -> ControlFlow<()> {
        match self.failure {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn tell_interval(&mut self) {
        let stat = self.stat(&self.interval);
        let is_hooked = match self.hooks.report_intermediate(&statistics(&stat)) {
            Ok(is_hooked) => is_hooked,
            Err(error) => {
                self.failure.get_or_insert(error);
                true
            }
        };
        if !is_hooked && self.log.says(Level::Notice) {
            print(&self.manner.intermediate(&stat));
        }
        self.interval = self.stretch();
    }
}

/// How long a client's events took.
fn client_line(number: usize, work: &Work) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mean_s = seconds(work.busy_ns) / work.events.max(1) as f64;
    format!(
        "    thread #{number:3}: min: {:.4}s  avg: {mean_s:.4}s  max: {:.4}s  events: {}",
        seconds(work.least_ns),
        seconds(work.most_ns),
        work.events
    )
}

/// The same for a hook.
fn statistics(stat: &Stat) -> Statistics {
    Statistics {
        threads_running: stat.threads_running,
        time_total_s: stat.time_total_s,
        time_interval_s: stat.time_interval_s,
        events: stat.events,
        reads: stat.reads,
        writes: stat.writes,
        other: stat.other,
        errors: stat.errors,
        reconnects: stat.reconnects,
        latency_pct_s: stat.latency_pct_s,
        latency_min_s: stat.latency_min_s,
        latency_max_s: stat.latency_max_s,
        latency_avg_s: stat.latency_avg_s,
        latency_sum_s: stat.latency_sum_s,
        queue_length: stat.queue_length,
        concurrency: stat.concurrency,
    }
}

impl Observer for Watch<'_> {
    fn connected(&mut self, _: &Connected) {
        self.manner.has_database = self.tally.uses_database();
        self.has_begun = true;
        for number in 0..self.options.limits.threads {
            self.log
                .say(Level::Debug, &format!("Worker thread (#{number}) initialized"));
        }
        if self.log.says(Level::Notice) {
            print("Threads started!\n\n");
        }
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.manner.has_database |= self.tally.uses_database();
        if interval.phase != self.measured {
            // What the clients count by themselves in the warm-up does not count.
            self.interval = self.stretch();
            self.whole = self.stretch();
            return ControlFlow::Continue(());
        }
        let Some(recording) = interval.recordings.first() else {
            return ControlFlow::Continue(());
        };
        self.seen = (interval.start + interval.duration).saturating_sub(self.before);
        self.whole.recording.add(recording);
        self.events += recording.transactions;
        // What comes late is part of the full report alone.
        let is_told = self.seen <= self.told;
        if !is_told {
            self.interval.recording.add(recording);
        }
        // A rest at the end is told by the report.
        if !interval.first_thread_whole {
            return ControlFlow::Continue(());
        }
        let seconds = self.seen.as_secs_f64().round() as u64;
        if !is_told && self.is_due() {
            self.tell_interval();
        }
        if self.checkpoints_s.last().is_some_and(|at_s| seconds >= *at_s) {
            self.checkpoints_s.pop();
            if self.log.says(Level::Notice) {
                print(&format!("[ {seconds}s ] Checkpoint report:\n"));
            }
            self.report(0);
        }
        self.go_on()
    }

    fn overdue(&mut self, interval: &Interval) -> ControlFlow<()> {
        let Some(recording) = interval.recordings.first() else {
            return ControlFlow::Continue(());
        };
        if interval.phase != self.measured {
            return ControlFlow::Continue(());
        }
        let seen = self.seen;
        self.seen = (interval.start + interval.duration).saturating_sub(self.before);
        self.told = self.seen;
        self.interval.recording.add(recording);
        if self.is_due() {
            self.tell_interval();
        }
        self.seen = seen;
        self.go_on()
    }

    fn stuck(&mut self, known: &[Interval], ending: Option<&Ending>) {
        for interval in known.iter().filter(|interval| interval.phase == self.measured) {
            self.seen = (interval.start + interval.duration).saturating_sub(self.before);
            if let Some(recording) = interval.recordings.first() {
                self.whole.recording.add(recording);
                self.events += recording.transactions;
            }
        }
        let (code, unfinished) = match ending {
            Some(ending) => (tell_ending(ending, self.has_begun, &self.log), 0),
            // A hook that has failed ends the load as well.
            None if self.stop.requested() || self.failure.is_some() => (FAILED, 0),
            None => {
                self.log.fatal(FORCED);
                (UNFINISHED, self.tally.running())
            }
        };
        self.end_lists();
        self.report(unfinished);
        let failure = self.failure.as_ref();
        (self.leave)(failure.map_or(code, |failure| and_failure(code, failure, &self.log)));
    }

    fn client_event(&mut self, event: &ClientEvent) {
        if let ClientEvent::Aborted {
            why: AbortReason::Program(error),
            ..
        } = event
        {
            self.log.fatal(&error.to_string());
        }
    }
}
