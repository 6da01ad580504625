//! Variants that cannot be up at once, measured one after the other: a run of each for a while, in blocks whose order
//! is drawn, until it is known what was asked. Each run makes its server anew, as the runs of any campaign do.
//!
//! What runs say about each other is worked out of the archive, so a campaign that was interrupted goes on.

use super::judge::{Done, Judge};
use super::sequence::Sequence;
use super::together::alike;
use super::{TurnsError, only_varied};
use crate::run::Progress;
use dyno_analysis::progress::Upcoming;
use dyno_archive::plan::{Levels, Plan, PlannedRun};
use dyno_archive::{Block, Campaign, LatencyCounts, Measure, Run, RunState, Turns, Versus, Way, is_measured};
use std::collections::HashSet;
use std::time::Duration;

/// How long each run is measured if nobody says.
const RUN: Duration = Duration::from_secs(5);

/// `plan`, of two cells or more, with a run of each in turn for at most `at_most`. It cannot be otherwise, and `why`
/// says so.
pub(super) fn by_runs(plan: Plan, turns: Turns, at_most: Duration, why: String) -> Result<Plan, TurnsError> {
    let mut plan = plan;
    alike(&plan)?;
    let asked = (!turns.may_grow).then_some(turns.slice);
    for cell in &mut plan.cells {
        let experiment = &mut cell.experiment;
        let counted = |workload: &dyno_archive::plan::Workload| workload.transactions_per_client.is_some();
        // Else the experiment says how long it takes.
        if experiment.stages.is_empty() && !experiment.workloads.iter().any(counted) {
            let measured = asked.unwrap_or(RUN);
            experiment.measure = Some(measured);
            // What is not measured is not to take most of the time.
            experiment.warmup = experiment.warmup.min(measured);
            experiment.interval = experiment.interval.min(measured);
        }
    }
    let first = &plan.cells[0];
    let lasts = first.experiment.duration().unwrap_or(RUN).max(Duration::from_millis(1));
    let sides = u8::try_from(plan.cells.len()).unwrap_or(u8::MAX);
    let sequence = Sequence::new(Duration::ZERO, lasts, at_most, plan.seed, sides);
    let mut repetitions = vec![0; plan.cells.len()];
    plan.runs = (0..sequence.slices())
        .map(|slice| {
            let side = sequence.side(slice);
            repetitions[side] += 1;
            PlannedRun {
                number: slice + 1,
                cell: plan.cells[side].levels.clone(),
                repetition: repetitions[side],
            }
        })
        .collect();
    plan.baseline = first.levels.clone();
    plan.turns = Some(Turns {
        way: Way::ByRuns { why, at_most },
        slice: first.experiment.measure.unwrap_or(RUN),
        may_grow: false,
        detect: turns.detect,
    });
    Ok(plan)
}

/// How many runs make a block.
pub(in crate::run) fn block_of(plan: &Plan) -> usize {
    2 * plan.cells.len().max(1)
}

/// What the runs of whole blocks say about each other, those of a plan by runs.
pub(in crate::run) fn known(plan: &Plan, campaign: &Campaign) -> (Versus, Vec<Block>) {
    let (slice, detect) = plan
        .turns
        .as_ref()
        .map_or((RUN, 0.0), |turns| (turns.slice, turns.detect));
    let sides = u8::try_from(plan.cells.len()).unwrap_or(u8::MAX);
    let lasts = slice.saturating_mul(u32::try_from(plan.runs.len()).unwrap_or(u32::MAX));
    let sequence = Sequence::new(Duration::ZERO, slice, lasts, plan.seed, sides);
    let workloads = plan.cells.first().map_or(&[][..], |cell| &cell.experiment.workloads);
    let open = workloads.iter().all(|workload| workload.rate_per_s.is_some());
    let mut judge = Judge::new(detect, sequence.clone(), open).of_runs();
    let mut made = Vec::new();
    for (number, planned) in plan.runs.iter().enumerate() {
        let name = planned.folder();
        let Some(run) = campaign.runs.iter().find(|run| run.name() == name) else {
            break;
        };
        let done = Done {
            side: sequence.side(number),
            figures: figures(run).unwrap_or_default(),
            idle_busy: None,
        };
        judge.slice(number, [done], sequence.start_of(number + 1));
        made.push(run);
    }
    let factor = only_varied(&plan.cells).unwrap_or_default();
    let levels: Vec<Levels> = plan.cells.iter().map(|cell| cell.levels.clone()).collect();
    let mut versus = judge.versus(factor, &levels);
    // With what is done between them.
    if let Some(each_s) = apart_s(&made) {
        let block_s = each_s * block_of(plan) as f64;
        versus.block_s = block_s;
        versus.further.iter_mut().for_each(|further| further.block_s = block_s);
    }
    (versus, judge.blocks())
}

/// How long it takes from one run to the next, on average.
fn apart_s(runs: &[&Run]) -> Option<f64> {
    let created = |run: Option<&&Run>| Some(run?.record.as_ref().ok()?.created);
    let (first, last) = (created(runs.first())?, created(runs.last())?);
    let between = u32::try_from(runs.len())
        .ok()?
        .checked_sub(1)
        .filter(|runs| *runs > 0)?;
    Some(last.duration_since(first).as_secs_f64() / f64::from(between))
}

/// What is compared of a run, in the order of [`Measure::ALL`]; `None` if it does not count.
fn figures(run: &Run) -> Option<[f64; 4]> {
    let record = run.record.as_ref().ok().filter(|_| run.state == RunState::Complete)?;
    let tps = record.summary.as_ref()?.tps()?;
    let mut counts = LatencyCounts::default();
    run.latencies(0.0..f64::INFINITY, |line| {
        if is_measured(&record.phases, line.start_s) {
            counts.add(line);
        }
    });
    let [p50, p95, p99] = counts.percentiles_us([50.0, 95.0, 99.0])?;
    Some(Measure::ALL.map(|measure| match measure {
        Measure::Throughput => tps,
        Measure::P50 => p50,
        Measure::P95 => p95,
        Measure::P99 => p99,
    }))
}

/// Tells of the runs of such a campaign as parts of one measurement.
pub(in crate::run) struct OfRuns<'a> {
    /// Who is told.
    pub to: &'a mut dyn Progress,
    /// What was told once need not be told of each run.
    told: HashSet<String>,
}

impl<'a> OfRuns<'a> {
    /// Nothing told yet.
    pub fn new(to: &'a mut dyn Progress) -> Self {
        Self {
            to,
            told: HashSet::new(),
        }
    }
}

impl Progress for OfRuns<'_> {
    fn begins(&mut self, run: &Upcoming) {
        let levels: Vec<String> = run
            .planned
            .cell
            .iter()
            .map(|(factor, level)| format!("{factor} = {level}"))
            .collect();
        let number = run.planned.number;
        self.to
            .step(&format!("Run {number} of at most {}: {}", run.of, levels.join(", ")));
    }

    fn asks(&mut self, _: &str) {}

    fn note(&mut self, text: &str) {
        if self.told.insert(text.to_owned()) {
            self.to.note(text);
        }
    }

    fn versus(&mut self, known: &Versus, measured: Duration, at_most: Duration) {
        self.to.versus(known, measured, at_most);
    }
}
