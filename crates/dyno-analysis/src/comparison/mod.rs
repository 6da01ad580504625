//! Two campaigns compared: what differs between them, and whether one is better. Each may be several whose runs are
//! taken together ([`Pool`]).
//!
//! The unit is the run, never the second. Cells are matched by their levels, workloads by their names, and each
//! measure of a matched workload gets one of three verdicts: better, worse, or that the runs cannot tell yet, then
//! with the number of runs that probably would. `docs/compare.md` says how.

mod cells;
mod differences;
mod facts;
mod measures;
mod pool;
#[cfg(test)]
mod tests;

pub(crate) use cells::{Cell, Cells};
pub use measures::{Interval, Measure, MeasureComparison, Verdict};
pub use pool::Pool;

use cells::Matches;
use dyno_archive::plan::Levels;
use dyno_archive::summary::Pacing;
use dyno_stats::{FALSE_JUDGEMENTS, FEWEST_RUNS, least_p_value};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

/// Two campaigns compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What the other is compared with.
    pub baseline: Side,
    /// What is judged.
    pub candidate: Side,
    /// What the two were made with that is not the same, beside the levels that cells are matched by.
    pub differences: Vec<Difference>,
    /// The cells that both have.
    pub cells: Vec<CellComparison>,
    /// What to keep in mind, as sentences.
    pub cautions: Vec<String>,
}

/// One of the two campaigns, or several that are taken together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// What it is called: its label or the name of its folder; of several campaigns all of these.
    pub name: String,
    /// The names of the campaigns' folders, if it is several or has a label.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub campaigns: Vec<String>,
    /// The number of its complete runs, which alone count.
    pub complete_runs: usize,
    /// The number of its other runs.
    pub other_runs: usize,
    /// Its cells that the other campaign does not have.
    pub unmatched: Vec<Levels>,
    /// Its workloads that the other campaign did not run in any cell of both.
    pub unmatched_workloads: Vec<String>,
    /// What its servers were set to, by name, if the two measured different kinds of databases: what one calls a
    /// setting has no counterpart in the other. Several values have commas between them.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub settings: IndexMap<String, String>,
}

/// Something that is not the same in both campaigns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// What it is, for example `server.version` or `workloads.update.clients`.
    pub what: String,
    /// What it is in the baseline; several values with commas between them, and empty if there is none.
    pub baseline: String,
    /// What it is in the other.
    pub candidate: String,
}

/// A cell that both campaigns have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellComparison {
    /// Its levels; empty if nothing is varied.
    pub levels: Levels,
    /// Each workload that both ran in it.
    pub workloads: Vec<WorkloadComparison>,
}

/// A workload that both campaigns ran in a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadComparison {
    /// Its name.
    pub name: String,
    /// The names of the baseline's runs.
    pub baseline_runs: Vec<String>,
    /// The names of the other's runs.
    pub candidate_runs: Vec<String>,
    /// Open or closed loop in the baseline.
    pub baseline_pacing: Pacing,
    /// Open or closed loop in the other.
    pub candidate_pacing: Pacing,
    /// What a transaction of the baseline takes at least in a run in which none was finished, in seconds; `None`: there
    /// is no such run. Where there is one on either side, those that finished something prove nothing: no measure has a
    /// verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_longer_than_s: Option<f64>,
    /// The same of the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_longer_than_s: Option<f64>,
    /// What was measured; empty where that cannot be compared.
    pub measures: Vec<MeasureComparison>,
    /// What is to be known of this workload, as sentences: errors, and why something is not compared.
    pub notes: Vec<String>,
}

impl WorkloadComparison {
    /// Whether transactions were finished in all runs of the baseline and not in all of the other: it is worse by
    /// nobody knows how much.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.baseline_longer_than_s.is_none() && self.candidate_longer_than_s.is_some()
    }

    /// Whether there is anything to say of both sides together.
    #[must_use]
    pub fn is_compared(&self) -> bool {
        !self.measures.is_empty() || self.baseline_longer_than_s.is_some() != self.candidate_longer_than_s.is_some()
    }
}

/// How many comparisons had which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerdictCounts {
    /// Better than the baseline.
    pub better: usize,
    /// Worse than the baseline.
    pub worse: usize,
    /// Not told yet.
    pub unknown: usize,
}

impl VerdictCounts {
    /// How many there are in all.
    #[must_use]
    pub fn all(self) -> usize {
        self.better + self.worse + self.unknown
    }

    /// How many would be called better or worse by chance, at most, if nothing differed at all.
    #[must_use]
    pub fn by_chance(self) -> f64 {
        FALSE_JUDGEMENTS * self.all() as f64
    }
}

/// A measure that became worse.
#[derive(Clone, Copy, Debug)]
pub struct Loss<'a> {
    /// The cell.
    pub cell: &'a CellComparison,
    /// The workload in it.
    pub workload: &'a WorkloadComparison,
    /// What became worse, and by how much.
    pub measure: &'a MeasureComparison,
}

/// Compares `candidate` with `baseline`, each a campaign or several that are taken together.
#[must_use]
pub fn compare<'a>(baseline: impl Into<Pool<'a>>, candidate: impl Into<Pool<'a>>) -> Comparison {
    let (baseline, candidate) = (baseline.into(), candidate.into());
    let (base, other) = (Cells::of(&baseline), Cells::of(&candidate));
    let matches = Matches::of(&base, &other);
    let cells: Vec<CellComparison> = matches
        .pairs
        .iter()
        .map(|(one, two)| measures::cell((&baseline, one), (&candidate, two)))
        .collect();
    let differing = differences::differences(&base, &other, &matches);
    let (ran, other_ran) = (
        workloads(matches.pairs.iter().map(|pair| pair.0)),
        workloads(matches.pairs.iter().map(|pair| pair.1)),
    );
    let mut comparison = Comparison {
        baseline: Side {
            settings: differing.baseline_settings,
            ..side(&baseline, &base, matches.only_baseline, &ran - &other_ran)
        },
        candidate: Side {
            settings: differing.candidate_settings,
            ..side(&candidate, &other, matches.only_candidate, &other_ran - &ran)
        },
        differences: differing.differences,
        cells,
        cautions: Vec::new(),
    };
    if comparison.baseline.name == comparison.candidate.name {
        comparison.baseline.name = baseline.folders();
        comparison.candidate.name = candidate.folders();
    }
    comparison.cautions = cautions(&comparison, &matches.unknown);
    comparison
}

/// The names of the workloads in these cells.
fn workloads<'c>(cells: impl Iterator<Item = &'c Cell<'c>>) -> IndexSet<String> {
    let summaries = cells.flat_map(|cell| &cell.runs).map(|(_, summary)| summary);
    summaries
        .flat_map(|summary| &summary.workloads)
        .map(|workload| workload.name.clone())
        .collect()
}

fn side(pool: &Pool<'_>, cells: &Cells<'_>, unmatched: Vec<Levels>, workloads: IndexSet<String>) -> Side {
    let complete_runs = cells.cells.iter().map(|cell| cell.runs.len()).sum();
    let campaigns = pool.campaigns();
    Side {
        name: pool.name(),
        campaigns: match campaigns {
            [only] if only.label().is_none() => Vec::new(),
            all => all.iter().map(|campaign| campaign.name()).collect(),
        },
        complete_runs,
        other_runs: pool.runs().count().saturating_sub(complete_runs),
        unmatched,
        unmatched_workloads: workloads.into_iter().collect(),
        settings: IndexMap::new(),
    }
}

/// What to keep in mind; `unknown` are factors of one campaign of which nobody knows the level in the other.
fn cautions(comparison: &Comparison, unknown: &[String]) -> Vec<String> {
    let mut cautions = Vec::new();
    // A seed is to differ; else random numbers would be alike, which is no difference between systems either.
    if comparison.differences.iter().any(|difference| difference.what != SEED) {
        cautions.push(
            "The two were not made alike, see what differs: a verdict is on everything that differs taken together."
                .to_owned(),
        );
    }
    if comparison
        .differences
        .iter()
        .any(|difference| difference.what == PRODUCT)
    {
        cautions.push(
            "The two measured different databases: what one calls a setting has no counterpart in the other, so \
             settings are listed for each, not compared."
                .to_owned(),
        );
    }
    let planned = comparison.differences.iter().map(|difference| difference.what.as_str());
    let planned: Vec<_> = planned
        .filter_map(|what| what.strip_prefix(differences::PLAN))
        .collect();
    if !planned.is_empty() {
        cautions.push(format!(
            "The servers executed statements in different ways ({}): a verdict is on different work, see what differs.",
            planned.join("; ")
        ));
    }
    for factor in unknown {
        cautions.push(format!(
            "Only one of the two varies {factor}, and it is not known what it was in the other: cells are matched \
             whatever their {factor}."
        ));
    }
    cautions.extend(too_few_runs(comparison));
    for side in [&comparison.baseline, &comparison.candidate] {
        if side.other_runs > 0 {
            cautions.push(format!(
                "{} of the {} runs of {} do not count: they are not complete, or too many of their transactions \
                 failed or of their clients were lost, or a check failed.",
                side.other_runs,
                side.complete_runs + side.other_runs,
                side.name
            ));
        }
    }
    if comparison.workloads().next().is_some() {
        cautions.push(
            "The campaigns were made one after the other, so what changed on the machines meanwhile is part of \
             every ratio. Where both can be levels of \
             one factor, a single campaign with its runs in mixed order is more certain."
                .to_owned(),
        );
    }
    cautions
}

/// The fewest runs by which no verdict is possible, whatever they say.
fn too_few_runs(comparison: &Comparison) -> Option<String> {
    let runs = comparison
        .workloads()
        .map(|(_, workload)| (workload.baseline_runs.len(), workload.candidate_runs.len()));
    let least = |(baseline, candidate): &(usize, usize)| least_p_value(*baseline, *candidate);
    let few = runs.filter(|runs| least(runs) > FALSE_JUDGEMENTS);
    let (baseline, candidate) = few.max_by(|one, other| least(one).total_cmp(&least(other)))?;
    Some(format!(
        "There are cells with {baseline} complete run{} against {candidate}, with which no verdict is possible: \
         the least p of the rank test is then {:.2}, and {FALSE_JUDGEMENTS} is needed. Make {FEWEST_RUNS} of each \
         (--repeat {FEWEST_RUNS}).",
        if baseline == 1 { "" } else { "s" },
        least(&(baseline, candidate)),
    ))
}

/// What the seed is called among the differences.
const SEED: &str = "seed";

/// What the kind of database is called among them.
const PRODUCT: &str = "server.product";

impl Comparison {
    /// How many comparisons had which verdict.
    #[must_use]
    pub fn verdict_counts(&self) -> VerdictCounts {
        let mut counted = VerdictCounts::default();
        for (_, _, measure) in self.measures() {
            match measure.verdict {
                Verdict::Better => counted.better += 1,
                Verdict::Worse => counted.worse += 1,
                Verdict::CannotTellYet { .. } => counted.unknown += 1,
            }
        }
        counted
    }

    /// What became worse by at least the share `least` (0.05 is 5 %), the greatest loss first. Of latencies only
    /// p99 counts: p50 and p95 say less about what users feel, and go with it.
    #[must_use]
    pub fn losses(&self, least: f64) -> Vec<Loss<'_>> {
        let counts = |measure: &MeasureComparison| -> bool {
            matches!(measure.measure, Measure::Tps | Measure::P99)
                && measure.verdict == Verdict::Worse
                && measure.loss() >= least
        };
        let mut losses: Vec<Loss<'_>> = self
            .measures()
            .filter(|(_, _, measure)| counts(measure))
            .map(|(cell, workload, measure)| Loss {
                cell,
                workload,
                measure,
            })
            .collect();
        losses.sort_by(|one, other| other.measure.loss().total_cmp(&one.measure.loss()));
        losses
    }

    /// Each workload that the baseline finished and the other did not, with its cell.
    pub fn unfinished(&self) -> impl Iterator<Item = (&CellComparison, &WorkloadComparison)> {
        self.workloads().filter(|(_, workload)| workload.is_unfinished())
    }

    /// Each workload that both ran, with its cell.
    pub fn workloads(&self) -> impl Iterator<Item = (&CellComparison, &WorkloadComparison)> {
        let cells = self.cells.iter();
        cells.flat_map(|cell| cell.workloads.iter().map(move |workload| (cell, workload)))
    }

    fn measures(&self) -> impl Iterator<Item = (&CellComparison, &WorkloadComparison, &MeasureComparison)> {
        self.workloads().flat_map(|(cell, workload)| {
            let measures = workload.measures.iter();
            measures.map(move |measure| (cell, workload, measure))
        })
    }
}
