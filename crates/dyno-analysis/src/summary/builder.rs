//! From intervals to a summary, in memory that does not grow with the run.

use crate::summary::stretch;
use crate::summary::stretch::Stretch;
use dyno_archive::LOG_TOLERANCE_S;
use dyno_archive::figures::decimal;
use dyno_archive::plan::Span;
use dyno_archive::summary::{
    Completion, ErrorSummary, Lag, Latency, Pacing, ScriptSummary, StageSummary, StageWorkload, StatementSummary,
    Steadiness, Summary, Total, Warning, WorkloadFacts, WorkloadSummary,
};
use dyno_record::{ErrorCode, ErrorCount, Interval, LatencyHistogram, MOST_CODES, ScriptRecording, SparseHistogram};
use dyno_stats::Running;
use hdrhistogram::Histogram;
use std::time::Duration;

/// An interval is complete if it lasted for this share of its time. Connecting may shorten the first; its own
/// length tells its rate.
const COMPLETE_SHARE: f64 = 0.9;

/// Whether an interval that lasted `lasted_s` is one of `interval_s`, both in seconds. The rate in a shorter one is
/// mostly chance: it counts in averages alone, and neither as the least or the greatest, nor on a chart, nor as one
/// of several.
#[must_use]
pub fn is_complete(lasted_s: f64, interval_s: f64) -> bool {
    lasted_s >= interval_s * COMPLETE_SHARE
}

/// Sums up the measured phase of a run, interval by interval.
#[derive(Clone, Debug)]
pub struct SummaryBuilder {
    interval_s: f64,
    measured_s: f64,
    /// When the interval began whose counts come next.
    start_s: f64,
    workloads: Vec<Workload>,
    stages: Vec<Stage>,
}

/// What is known of one stage so far.
#[derive(Clone, Debug)]
struct Stage {
    name: String,
    start_s: f64,
    end_s: f64,
    workloads: Vec<Share>,
}

/// What is known of one workload so far.
#[derive(Clone, Debug)]
struct Workload {
    facts: WorkloadFacts,
    counts: Counts,
    tps: Running,
    latency: Histogram<u64>,
    lag_sum_us: f64,
    lag_max_us: f64,
    statement_latencies: Vec<SparseHistogram>,
    errors_by_state: Vec<ErrorSummary>,
    scripts: Vec<ScriptRecording>,
    ended: Option<Ended>,
    /// How long those took that were finished after the end and count all the same.
    after_end: Vec<Duration>,
    /// When all that it had to do was done, counted from the begin of the load.
    done: Option<Duration>,
    /// For how long those had been executed at least that were given up.
    open_for: Option<Duration>,
}

/// Clients that ended before their time.
#[derive(Clone, Debug)]
struct Ended {
    clients: u64,
    /// When the first did, in seconds since the load began.
    first_s: f64,
    /// Why the first did.
    reason: String,
}

/// What a workload did in a stage.
#[derive(Clone, Debug)]
struct Share {
    counts: Counts,
    /// How long its clients were to work.
    active_s: f64,
    /// The transactions per second of the complete intervals of that time.
    tps: Running,
    latency: Histogram<u64>,
}

/// What a workload did: in one interval, or altogether.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub transactions: u64,
    pub statements: u64,
    pub errors: u64,
    pub skipped: u64,
    pub late: u64,
    pub retried: u64,
    pub retries: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.statements += other.statements;
        self.errors += other.errors;
        self.skipped += other.skipped;
        self.late += other.late;
        self.retried += other.retried;
        self.retries += other.retries;
    }
}

impl SummaryBuilder {
    /// Nothing measured yet. `interval` is how long a complete interval lasts.
    #[must_use]
    pub fn new(workloads: &[WorkloadFacts], interval: Duration) -> Self {
        let workloads = workloads.iter().map(|facts| Workload {
            facts: facts.clone(),
            counts: Counts::default(),
            tps: Running::new(),
            latency: empty(),
            lag_sum_us: 0.0,
            lag_max_us: 0.0,
            statement_latencies: vec![SparseHistogram::default(); facts.statements.len()],
            errors_by_state: Vec::new(),
            scripts: Vec::new(),
            ended: None,
            after_end: Vec::new(),
            done: None,
            open_for: None,
        });
        Self {
            interval_s: interval.as_secs_f64(),
            measured_s: 0.0,
            start_s: 0.0,
            workloads: workloads.collect(),
            stages: Vec::new(),
        }
    }

    /// Adds an interval of a phase that is measured; those of the warm-up are not to be given here. A run may have
    /// several such phases: its stages.
    pub fn interval(&mut self, phase: &str, interval: &Interval) {
        let duration_s = interval.duration.as_secs_f64();
        self.time(phase, interval.start.as_secs_f64(), duration_s);
        for (index, recording) in interval.recordings.iter().enumerate() {
            let lag = (recording.lag.count() > 0).then(|| Lag {
                mean_us: recording.lag.mean_ns() / 1000.0,
                max_us: recording.lag.max_ns() as f64 / 1000.0,
            });
            let counts = Counts {
                transactions: recording.transactions,
                statements: recording.statements,
                errors: recording.errors,
                skipped: recording.skipped,
                late: recording.late,
                retried: recording.retried,
                retries: recording.retries,
            };
            self.counts(index, duration_s, counts, lag);
            self.scripts(index, &recording.scripts);
            let start_s = interval.start.as_secs_f64();
            self.latency(start_s, index, adding(&recording.latency));
            for (statement, latency) in recording.statement_latency.iter().enumerate() {
                self.statement(index, statement, |sum| sum.add(latency));
            }
            for error in &recording.errors_by_code {
                self.error(index, error.code.as_str(), error.count, &error.example);
            }
        }
    }

    /// Adds to the time measured: an interval of `phase` that began at `start_s`. What is added next is of that phase.
    pub(crate) fn time(&mut self, phase: &str, start_s: f64, duration_s: f64) {
        self.measured_s += duration_s;
        self.start_s = start_s;
        let end_s = start_s + duration_s;
        match self.stages.last_mut().filter(|stage| stage.name == phase) {
            Some(stage) => stage.end_s = end_s,
            None => self.stages.push(Stage {
                name: phase.to_owned(),
                start_s,
                end_s,
                workloads: self.workloads.iter().map(|_| Share::new()).collect(),
            }),
        }
    }

    /// Adds the counts of a workload in an interval.
    pub(crate) fn counts(&mut self, workload: usize, duration_s: f64, counts: Counts, lag: Option<Lag>) {
        let complete = is_complete(duration_s, self.interval_s);
        let stage = self.stages.last_mut();
        let phase = stage.as_ref().map_or_else(String::new, |stage| stage.name.clone());
        let share = stage.and_then(|stage| stage.workloads.get_mut(workload));
        let Some(workload) = self.workloads.get_mut(workload) else {
            return;
        };
        let idle_s = (workload.facts.start_delay_s - self.start_s).clamp(0.0, duration_s);
        // Of a time in which it was to do nothing there is no rate.
        let active = idle_s == 0.0 && workload.facts.takes_part(&phase);
        let tps = (complete && duration_s > 0.0 && active).then(|| counts.transactions as f64 / duration_s);
        if let Some(share) = share {
            share.counts.add(&counts);
            share.active_s += duration_s - idle_s;
            share.tps.extend(tps);
        }
        workload.counts.add(&counts);
        workload.tps.extend(tps);
        if let Some(lag) = lag {
            workload.lag_sum_us += lag.mean_us * counts.transactions as f64;
            workload.lag_max_us = workload.lag_max_us.max(lag.max_us);
        }
    }

    /// Adds what the scripts of a workload did, if it has several.
    fn scripts(&mut self, workload: usize, scripts: &[ScriptRecording]) {
        let Some(workload) = self.workloads.get_mut(workload) else {
            return;
        };
        let known = workload.scripts.len().max(scripts.len());
        workload.scripts.resize_with(known, ScriptRecording::default);
        for (sum, part) in workload.scripts.iter_mut().zip(scripts) {
            sum.add(part);
        }
    }

    /// Adds latencies of a workload's transactions in the interval that began at `start_s`: `add` adds them to a sum.
    pub(crate) fn latency(&mut self, start_s: f64, workload: usize, add: impl Fn(&mut Histogram<u64>)) {
        if let Some(workload) = self.workloads.get_mut(workload) {
            add(&mut workload.latency);
        }
        // The allowance is for times that come from the archive's log.
        let begun = |stage: &&mut Stage| stage.start_s <= start_s + LOG_TOLERANCE_S;
        let stage = self.stages.iter_mut().rfind(begun);
        if let Some(share) = stage.and_then(|stage| stage.workloads.get_mut(workload)) {
            add(&mut share.latency);
        }
    }

    /// A workload goes on in a stage that was not known before: what it is now known to do in each.
    pub fn in_stages(&mut self, workload: usize, facts: &WorkloadFacts) {
        if let Some(workload) = self.workloads.get_mut(workload) {
            (workload.facts.pacing, workload.facts.stages) = (facts.pacing, facts.stages.clone());
        }
    }

    /// A workload executes a statement that was not known before, or several that are counted together. It is counted
    /// behind those that are known.
    pub fn come_upon(&mut self, workload: usize, text: &str) {
        if let Some(workload) = self.workloads.get_mut(workload) {
            workload.facts.statements.push(text.to_owned());
            workload.statement_latencies.push(SparseHistogram::default());
        }
    }

    /// Adds latencies of one of a workload's statements.
    pub(crate) fn statement(&mut self, workload: usize, index: usize, add: impl Fn(&mut SparseHistogram)) {
        let workload = self.workloads.get_mut(workload);
        if let Some(sum) = workload.and_then(|workload| workload.statement_latencies.get_mut(index)) {
            add(sum);
        }
    }

    /// Adds transactions of a workload that ended with an error.
    pub(crate) fn error(&mut self, workload: usize, sqlstate: &str, count: u64, example: &str) {
        let Some(workload) = self.workloads.get_mut(workload) else {
            return;
        };
        let by_state = &mut workload.errors_by_state;
        let others = ErrorCode::OTHERS;
        let is_known = by_state.iter().any(|known| known.sqlstate == sqlstate);
        let sqlstate = match !is_known && by_state.len() >= MOST_CODES {
            true => others.as_str(),
            false => sqlstate,
        };
        match by_state.iter_mut().find(|known| known.sqlstate == sqlstate) {
            Some(known) => known.count += count,
            None => by_state.push(ErrorSummary {
                sqlstate: sqlstate.to_owned(),
                count,
                example: example.to_owned(),
            }),
        }
    }

    /// Adds a client of a workload that ended before its time, `at_s` seconds after the load began, during whatever
    /// phase.
    pub fn ended(&mut self, workload: usize, at_s: f64, reason: &str) {
        let Some(workload) = self.workloads.get_mut(workload) else {
            return;
        };
        let ended = workload.ended.get_or_insert_with(|| Ended {
            clients: 0,
            first_s: at_s,
            // The place in a script, drawn with a caret below it, has no room in a paragraph.
            reason: reason.lines().next().unwrap_or_default().to_owned(),
        });
        ended.clients += 1;
    }

    /// How the last transactions of a workload ended: when all were `done` that it had to do, counted from the begin of
    /// the load; how long those took that were `finished` only after the end, and how those `failed` that ended then
    /// with an error; for how long those that were given up had been executed at least. To be told when all intervals
    /// were added.
    ///
    /// What ends after the end counts if the workload has a number of transactions, as it was asked for, or if
    /// there is nothing else: that it takes longer than the time measured is no reason to know nothing of it. Elsewhere
    /// it would be too much, as what was begun before the measured time counts there.
    pub fn end(
        &mut self,
        workload: usize,
        done: Option<Duration>,
        finished: &[Duration],
        failed: &[ErrorCount],
        open_for: Option<Duration>,
    ) {
        // Of a load that was stopped before anything was measured nothing is known.
        let was_measured = self.measured_s > 0.0;
        let Some(sums) = self.workloads.get_mut(workload).filter(|_| was_measured) else {
            return;
        };
        sums.done = done.filter(|_| sums.facts.transactions_per_client.is_some());
        sums.open_for = open_for;
        if sums.facts.transactions_per_client.is_some() || sums.counts.transactions == 0 {
            sums.after_end = finished.to_vec();
            sums.counts.transactions += finished.len() as u64;
            for took in finished {
                // Longer than the histogram reaches is as long as it reaches.
                sums.latency
                    .saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            }
            sums.counts.errors += failed.iter().map(|error| error.count).sum::<u64>();
            for error in failed {
                self.error(workload, error.code.as_str(), error.count, &error.example);
            }
        }
    }

    /// When the transactions of a workload began to count, in seconds since the load began.
    fn begun_s(&self, facts: &WorkloadFacts) -> Option<f64> {
        let stage = self.stages.iter().find(|stage| facts.takes_part(&stage.name))?;
        Some(stage.start_s.max(facts.start_delay_s))
    }

    /// The summary of what was added, with the warnings its figures give reason for. What only the caller knows is
    /// for the caller to fill in.
    #[must_use]
    pub fn build(&self) -> Summary {
        let mut workloads = Vec::new();
        let mut warnings: Vec<Warning> = Vec::new();
        for (index, workload) in self.workloads.iter().enumerate() {
            warnings.extend(workload.ended.as_ref().map(|ended| Warning::Aborted {
                workload: workload.facts.name.clone(),
                aborted: ended.clients,
                clients: workload.facts.clients as u64,
                first_s: Some(ended.first_s),
                reason: ended.reason.clone(),
            }));
            // Of what was done in its own time the TPS is over that.
            warnings.extend(self.began_late(&workload.facts).filter(|_| workload.done.is_none()));
            let stretches = self.stretches(index);
            let begun_s = self.begun_s(&workload.facts);
            let workload = workload.summary(self.measured_s(), begun_s, &stretches);
            let of_stretches = stretches.iter().flat_map(Stretch::warnings);
            for warning in Warning::of(&workload, self.interval_s).into_iter().chain(of_stretches) {
                // Some warnings are of the run, not of a workload: once is enough.
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            workloads.push(workload);
        }
        let stages = self.stages.iter().filter(|_| self.stages.len() > 1);
        let mut summary = Summary {
            measured_s: self.measured_s(),
            stages: stages.map(|stage| stage.summary(&self.workloads)).collect(),
            workloads,
            warnings,
            ..Summary::default()
        };
        let adds_up = summary.workloads.len() > 1 && !summary.has_times_apart();
        summary.total = adds_up.then(|| total(&summary.workloads));
        summary
    }

    /// How long was measured, to the microsecond: a sum of many parts is off by less.
    fn measured_s(&self) -> f64 {
        (self.measured_s * 1e6).round() / 1e6
    }

    /// What is to be said of a workload whose clients began when the measurement was under way.
    fn began_late(&self, facts: &WorkloadFacts) -> Option<Warning> {
        let late_s = facts.start_delay_s - self.stages.first()?.start_s;
        (late_s > 0.0).then(|| Warning::Note {
            text: format!(
                "The clients of \"{}\" began {} s after the measurement; its TPS is over all of the measured time.",
                facts.name,
                decimal(late_s, 1)
            ),
        })
    }

    /// The stretches of time in which a workload had one load: the stages that it took part in, or all of the time.
    fn stretches(&self, workload: usize) -> Vec<Stretch<'_>> {
        let facts = &self.workloads[workload].facts;
        let several = self.stages.len() > 1;
        let stages = self.stages.iter().filter_map(|stage| {
            let share = &stage.workloads[workload];
            let planned = facts.stage(&stage.name);
            // Archives of earlier dynos do not say what a stage asked for.
            let rate_per_s = match (planned, facts.pacing) {
                (Some(planned), _) => planned.rate_per_s.map(Span::mean),
                (None, Pacing::Open { rate_per_s }) if !several => Some(rate_per_s),
                (None, _) => None,
            };
            (planned.is_some() || facts.stages.is_empty()).then_some(Stretch {
                facts,
                stage: several.then_some(stage.name.as_str()),
                ramp: planned.is_some_and(|planned| planned.ramp),
                rate_per_s,
                begun: share.counts.transactions + share.counts.errors,
                skipped: share.counts.skipped,
                lasted_s: self.workloads[workload].working_s(stage.start_s, share.active_s),
                interval_s: self.interval_s,
                tps: &share.tps,
            })
        });
        stages.collect()
    }
}

/// All workloads together.
fn total(workloads: &[WorkloadSummary]) -> Total {
    Total {
        transactions: workloads.iter().map(|workload| workload.transactions).sum(),
        tps: workloads.iter().map(|workload| workload.tps).sum(),
        statements_per_s: workloads.iter().map(|workload| workload.statements_per_s).sum(),
        errors: workloads.iter().map(|workload| workload.errors).sum(),
    }
}

impl Stage {
    fn summary(&self, workloads: &[Workload]) -> StageSummary {
        let lasted_s = self.end_s - self.start_s;
        let workloads = workloads.iter().zip(&self.workloads);
        let workloads = workloads.filter(|(workload, _)| workload.facts.takes_part(&self.name));
        let workloads = workloads.map(|(workload, share)| {
            let latency = Latency::of(&share.latency);
            let planned = workload.facts.stage(&self.name);
            let steady = planned.is_some_and(|planned| !planned.ramp);
            StageWorkload {
                name: workload.facts.name.clone(),
                tps: if lasted_s > 0.0 {
                    share.counts.transactions as f64 / lasted_s
                } else {
                    0.0
                },
                asked_per_s: planned.and_then(|planned| planned.rate_per_s).map(Span::mean),
                variation_percent: share
                    .tps
                    .variation()
                    .filter(|_| steady)
                    .map(|variation| variation * 100.0),
                p50_us: latency.map(|latency| latency.p50_us),
                p95_us: latency.map(|latency| latency.p95_us),
                p99_us: latency.map(|latency| latency.p99_us),
            }
        });
        StageSummary {
            name: self.name.clone(),
            start_s: self.start_s,
            end_s: self.end_s,
            workloads: workloads.collect(),
        }
    }
}

impl Workload {
    /// How long its clients had something to do of the `active_s` that they had for it since `start_s`.
    fn working_s(&self, start_s: f64, active_s: f64) -> f64 {
        let done_s = self
            .done
            .map(|done| done.as_secs_f64() - start_s.max(self.facts.start_delay_s));
        done_s.map_or(active_s, |done_s| active_s.min(done_s.max(0.0)))
    }

    /// `begun_s` is when its transactions began to count.
    fn summary(&self, measured_s: f64, begun_s: Option<f64>, stretches: &[Stretch<'_>]) -> WorkloadSummary {
        let done_s = self.done.map(|done| done.as_secs_f64());
        let took_s = done_s.zip(begun_s).map(|(done_s, begun_s)| done_s - begun_s);
        let took_s = took_s.filter(|took_s| *took_s > 0.0);
        let over_s = took_s.unwrap_or(measured_s);
        let per_second = |count: u64| if over_s > 0.0 { count as f64 / over_s } else { 0.0 };
        let only_after_end = self.counts.transactions > 0 && self.after_end.len() as u64 == self.counts.transactions;
        let inverse = |took: &Duration| 1.0 / took.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut errors_by_state = self.errors_by_state.clone();
        errors_by_state.sort_by_key(|error| std::cmp::Reverse(error.count));
        let steadiness = self.tps.min().zip(self.tps.max()).map(|(tps_min, tps_max)| Steadiness {
            intervals: self.tps.count(),
            tps_min,
            tps_max,
            variation_percent: stretch::variation(stretches).map(|share| share * 100.0),
        });
        let statements = self.facts.statements.iter().zip(&self.statement_latencies);
        let scripts = self.facts.scripts.iter().zip(&self.scripts);
        let open = self.facts.pacing.is_open();
        let counts = self.counts;
        WorkloadSummary {
            name: self.facts.name.clone(),
            clients: self.facts.clients,
            threads: self.facts.threads,
            pacing: self.facts.pacing,
            transactions: counts.transactions,
            statements: counts.statements,
            errors: counts.errors,
            unfinished: 0,
            completion: Completion {
                took_s,
                after_end: self.after_end.len() as u64,
                longer_than_s: self.open_for.map(|open_for| open_for.as_secs_f64()),
            },
            transactions_per_client: self.facts.transactions_per_client,
            skipped: counts.skipped,
            late: counts.late,
            retried: counts.retried,
            retries: counts.retries,
            tps: match only_after_end && took_s.is_none() {
                true => self.after_end.iter().map(inverse).sum(),
                false => per_second(counts.transactions),
            },
            statements_per_s: per_second(counts.statements),
            steadiness,
            latency: Latency::of(&self.latency),
            lag: (open && counts.transactions > 0).then(|| Lag {
                mean_us: self.lag_sum_us / counts.transactions as f64,
                max_us: self.lag_max_us,
            }),
            statement_latencies: statements
                .map(|(sql, latency)| StatementSummary {
                    sql: sql.clone(),
                    count: latency.count(),
                    latency: (latency.count() > 0)
                        .then(|| latency.dense())
                        .and_then(|dense| Latency::of(dense.inner())),
                })
                .collect(),
            errors_by_state,
            scripts: scripts
                .map(|(facts, counts)| {
                    let completed = counts.latency_sums.count > 0;
                    ScriptSummary {
                        name: facts.name.clone(),
                        weight: facts.weight,
                        transactions: counts.transactions,
                        tps: per_second(counts.transactions),
                        latency_mean_us: completed.then(|| counts.latency_sums.mean_us()),
                        latency_stddev_us: completed.then(|| counts.latency_sums.stddev_us()),
                        response_p90_us: completed.then(|| counts.response.percentile_ns(90.0) as f64 / 1000.0),
                        skipped: counts.skipped,
                        retried: counts.retried,
                        retries: counts.retries,
                        serialization_failures: counts.failures.serialization,
                        deadlock_failures: counts.failures.deadlock,
                        other_failures: counts.failures.other,
                    }
                })
                .collect(),
        }
    }
}

impl Share {
    fn new() -> Self {
        Self {
            counts: Counts::default(),
            active_s: 0.0,
            tps: Running::new(),
            latency: empty(),
        }
    }
}

/// Adds a histogram of the engine to a sum.
fn adding(latency: &LatencyHistogram) -> impl Fn(&mut Histogram<u64>) + '_ {
    move |sum| {
        if latency.count() > 0 {
            // Fails only for values beyond the engine's bounds, which no histogram of the engine has.
            let _ = sum.add(latency.inner());
        }
    }
}

/// A histogram in the engine's layout, so that all its histograms can be added without loss.
fn empty() -> Histogram<u64> {
    Histogram::new_from(LatencyHistogram::new().inner())
}

#[cfg(test)]
mod tests;
