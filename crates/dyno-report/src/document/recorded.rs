//! Everything that was recorded of one run, read once into the builders of its figures.

use super::annotations::Annotations;
use super::counters::Counters;
use super::latency::Latency;
use super::series::Grid;
use super::throughput::Throughput;
use super::waits::Waits;
use dyno_analysis::analyse;
use dyno_analysis::summary::{is_complete, summary_of};
use dyno_archive::analysis::Analysis;
use dyno_archive::plan::WARMUP;
use dyno_archive::summary::{Summary, WorkloadFacts};
use dyno_archive::{IntervalRow, PhaseRecord, Run, RunState, Samples, is_measured};
use dyno_record::{ServerTraits, Words};
use indexmap::IndexMap;
use std::ops::Range;
use std::thread;

/// What was recorded of a run.
pub(super) struct Recorded<'a> {
    pub run: &'a Run,
    pub grid: Grid,
    pub name: String,
    /// What is to be known of its database.
    pub server: ServerTraits,
    /// The figures, or why there are none.
    pub summary: Result<Summary, String>,
    pub analysis: Option<Analysis>,
    pub annotations: Annotations,
    pub throughput: Throughput,
    pub latency: Latency,
    /// Transactions per second in each complete interval that was measured, by workload.
    pub tps: IndexMap<String, Vec<f64>>,
    /// What was sampled, unless only the load was to be read.
    pub samples: Option<Sampled>,
}

/// What was sampled beside the load.
pub(super) struct Sampled {
    pub log: Counters,
    pub sessions: Counters,
    /// How far it is behind the server that it follows.
    pub lag: Counters,
    pub cpu: Counters,
    pub storage: Counters,
    pub waits: Waits,
}

/// When a run began and ended each of its phases, and how long its intervals are.
struct Times {
    interval_s: f64,
    end_s: f64,
    phases: Vec<PhaseRecord>,
}

impl<'a> Recorded<'a> {
    /// Reads `run` in full.
    pub fn read(run: &'a Run) -> Self {
        Self::of(run, 1, true)
    }

    /// Reads the load of `run` and what happened meanwhile, for a document with so many `runs`.
    pub fn read_in_short(run: &'a Run, runs: usize) -> Self {
        Self::of(run, runs, false)
    }

    /// Reads of `run` what sentences and tables say, and nothing that is only drawn.
    pub fn in_brief(run: &'a Run) -> Self {
        let times = Times::of(run);
        let mut recorded = Self::empty(run, &times, 1);
        for row in run.intervals().into_iter().flatten() {
            recorded.interval(&row);
        }
        recorded.analysis = analysis(run, recorded.tps.values().any(|tps| !tps.is_empty()));
        recorded
    }

    fn empty(run: &'a Run, times: &Times, runs: usize) -> Self {
        let grid = times.grid().shared_by(runs);
        let facts: &[WorkloadFacts] = run.record.as_ref().map_or(&[], |record| record.workloads.as_slice());
        Self {
            run,
            grid,
            name: run.name(),
            summary: summary_of(run).map_err(|error| error.to_string()),
            analysis: None,
            annotations: Annotations::new(run.name(), times.interval_s, times.end_s),
            throughput: Throughput::new(grid),
            latency: Latency::new(grid, facts),
            tps: IndexMap::new(),
            samples: None,
            server: run.traits(),
        }
    }

    fn of(run: &'a Run, runs: usize, with_samples: bool) -> Self {
        let times = Times::of(run);
        let grid = times.grid().shared_by(runs);
        let facts: &[WorkloadFacts] = run.record.as_ref().map_or(&[], |record| record.workloads.as_slice());
        // The histograms are by far the most there is to read. Each half of the time is read by a thread of its own,
        // beside everything else.
        let middle_s = times.end_s / 2.0;
        let phases = &times.phases;
        thread::scope(|scope| {
            let halves = [0.0..middle_s, middle_s..f64::INFINITY].map(|time_s| {
                let half = time_s.clone();
                let read = move || latency(run, grid, facts, phases, half);
                (thread::Builder::new().spawn_scoped(scope, read), time_s)
            });
            let mut recorded = Self::empty(run, &times, runs);
            recorded.samples = with_samples.then(|| Sampled::read(run, grid, &recorded.server.words, None));
            recorded.annotations.set_phases(phases);
            for row in run.intervals().into_iter().flatten() {
                recorded.interval(&row);
            }
            for event in run.events().into_iter().flatten() {
                recorded.annotations.push(&event);
            }
            recorded.analysis = analysis(run, recorded.tps.values().any(|tps| !tps.is_empty()));
            if let Some(analysis) = &recorded.analysis {
                recorded.annotations.set_dips(&analysis.dips);
            }
            for (thread, time_s) in halves {
                // Without a thread to be had it is read here and now.
                let half = thread.map_or_else(
                    |_| Ok(latency(run, grid, facts, phases, time_s)),
                    thread::ScopedJoinHandle::join,
                );
                // A thread ends without a result only if the program is broken; then what it read is missing.
                if let Ok(half) = half {
                    recorded.latency.append(half);
                }
            }
            recorded
        })
    }

    fn interval(&mut self, row: &IntervalRow) {
        self.throughput.push(row);
        let facts = self.run.record.as_ref().map_or(&[][..], |record| &record.workloads);
        let facts = facts.iter().find(|facts| facts.name == row.workload);
        let active = row.phase != WARMUP
            && facts.is_none_or(|facts| facts.takes_part(&row.phase) && facts.start_delay_s <= row.interval_start_s);
        if active && is_complete(row.interval_s, self.grid.interval_s()) {
            match self.tps.get_mut(&row.workload) {
                Some(tps) => tps.push(row.tps),
                None => drop(self.tps.insert(row.workload.clone(), vec![row.tps])),
            }
        }
    }
}

/// The analysis in `run.json`, or one made now if anything was measured.
fn analysis(run: &Run, measured: bool) -> Option<Analysis> {
    let archived = run.record.as_ref().ok().and_then(|record| record.analysis.clone());
    archived.or_else(|| measured.then(|| analyse(run)))
}

/// What the log of latencies has of a stretch of time.
fn latency(run: &Run, grid: Grid, facts: &[WorkloadFacts], phases: &[PhaseRecord], time_s: Range<f64>) -> Latency {
    let mut latency = Latency::new(grid, facts);
    run.latencies(time_s, |line| latency.push(line, is_measured(phases, line.start_s)));
    latency
}

impl Sampled {
    /// Reads what was sampled of the server of `run`. Its `lag`, if it is known better than it says itself, was made of
    /// the samples of several servers.
    pub(super) fn read(run: &Run, grid: Grid, words: &Words, lag: Option<&Samples>) -> Self {
        let mut sampled = Self {
            log: Counters::log(grid, words),
            sessions: Counters::sessions(grid, words),
            lag: Counters::lag(grid, lag.is_some()),
            cpu: Counters::cpu(grid),
            storage: Counters::storage(grid),
            waits: Waits::new(grid),
        };
        let of_server = [&mut sampled.log, &mut sampled.sessions, &mut sampled.lag];
        let samples = run.server_samples(|meaning| of_server.iter().any(|counters| counters.wants(meaning)));
        let [log, sessions, behind] = of_server;
        push_all(log, &samples);
        push_all(sessions, &samples);
        push_all(behind, lag.unwrap_or(&samples));
        let of_host = [&mut sampled.cpu, &mut sampled.storage];
        let samples = run.host_samples(|meaning| of_host.iter().any(|counters| counters.wants(meaning)));
        of_host.into_iter().for_each(|counters| push_all(counters, &samples));
        run.waits().for_each(|row| sampled.waits.push(&row));
        sampled
    }
}

fn push_all(counters: &mut Counters, samples: &Samples) {
    for (index, at_s) in samples.at_s.iter().enumerate() {
        counters.push(*at_s, |meaning| samples.column(meaning)?.get(index).copied());
    }
}

impl Times {
    /// How the time is divided.
    fn grid(&self) -> Grid {
        let warm_up = self.phases.iter().filter(|phase| phase.name == WARMUP);
        let measured_from_s = warm_up.filter_map(|phase| phase.end_s).fold(0.0, f64::max);
        Grid::new(self.interval_s, self.end_s).measured_from(measured_from_s)
    }

    /// From `run.json`; where that does not say it, because the run goes on or its dyno was killed, from the intervals.
    fn of(run: &Run) -> Self {
        let record = run.record.as_ref().ok();
        let mut phases = record.map_or(Vec::new(), |record| record.phases.clone());
        let over =
            (run.state.is_over() || run.state == RunState::Failed) || phases.iter().any(|phase| phase.end_s.is_some());
        let mut interval_s = record.map(|record| record.interval_s);
        if !over {
            for row in run.intervals().into_iter().flatten() {
                interval_s.get_or_insert(row.interval_s);
                let place = match phases.iter().position(|phase| phase.name == row.phase) {
                    Some(place) => place,
                    None => {
                        phases.push(PhaseRecord {
                            name: row.phase.clone(),
                            planned_s: None,
                            start_s: None,
                            end_s: None,
                        });
                        phases.len() - 1
                    }
                };
                let phase = &mut phases[place];
                phase.start_s.get_or_insert(row.interval_start_s);
                phase.end_s = Some(row.interval_start_s + row.interval_s);
            }
        }
        // What never began has no place on the axis.
        phases.retain(|phase| phase.start_s.is_some());
        Self {
            interval_s: interval_s.unwrap_or(1.0),
            end_s: phases.iter().filter_map(|phase| phase.end_s).fold(0.0, f64::max),
            phases,
        }
    }
}
