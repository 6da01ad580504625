//! Which cells of two campaigns are the same.

use crate::comparison::Pool;
use crate::comparison::facts::{is_of_factor, of_experiment};
use crate::summary::{summary_of, sums};
use dyno_archive::plan::{Levels, Resolved};
use dyno_archive::summary::Summary;
use dyno_archive::{CampaignRecord, Run, RunState};
use indexmap::{IndexMap, IndexSet};

/// The cells of a campaign, or of several that are taken together, that have complete runs.
pub(crate) struct Cells<'a> {
    pub records: Vec<&'a CampaignRecord>,
    pub cells: Vec<Cell<'a>>,
}

/// A combination of levels with its complete runs: those alone count.
pub(crate) struct Cell<'a> {
    pub levels: Levels,
    /// What was done in it, if that is known; of several campaigns what each did.
    pub experiments: Vec<&'a Resolved>,
    /// The runs with their figures.
    pub runs: Vec<(&'a Run, Summary)>,
}

impl<'a> Cells<'a> {
    pub fn of(pool: &Pool<'a>) -> Self {
        let records: Vec<&CampaignRecord> = pool
            .campaigns()
            .iter()
            .filter_map(|campaign| campaign.record.as_ref().ok())
            .collect();
        let mut cells: IndexMap<Vec<(&String, &String)>, Cell<'a>> = IndexMap::new();
        // In the order of the plan; runs are in the order in which they were made.
        for cell in records.iter().flat_map(|record| &record.cells) {
            let new = || Cell {
                levels: cell.levels.clone(),
                experiments: Vec::new(),
                runs: Vec::new(),
            };
            let known = cells.entry(cell.levels.iter().collect()).or_insert_with(new);
            known.experiments.push(&cell.experiment);
        }
        for run in pool.runs().filter(|run| run.state == RunState::Complete) {
            if let (Ok(made), Ok(mut summary)) = (&run.record, summary_of(run)) {
                let sums = sums(&made.workloads, &summary.workloads);
                summary.workloads.extend(sums);
                let cell = cells.entry(made.cell.iter().collect()).or_insert_with(|| Cell {
                    levels: made.cell.clone(),
                    // A load that dyno did not plan, and the first dynos, have no cells.
                    experiments: records
                        .iter()
                        .filter(|record| record.cells.is_empty())
                        .map(|record| &record.experiment)
                        .collect(),
                    runs: Vec::new(),
                });
                cell.runs.push((run, summary));
            }
        }
        Self {
            records,
            cells: cells.into_values().filter(|cell| !cell.runs.is_empty()).collect(),
        }
    }

    /// The names of what is varied, and of what these names stand for.
    pub fn factors(&self) -> IndexSet<String> {
        let planned = self
            .records
            .iter()
            .flat_map(|record| &record.factors)
            .map(|factor| &factor.name);
        let made = self.cells.iter().flat_map(|cell| cell.levels.keys());
        planned.chain(made).cloned().collect()
    }

    /// The level of `factor` in each cell; none where it is not known.
    fn levels(&self, factor: &str) -> Vec<Option<String>> {
        self.cells.iter().map(|cell| cell.level(factor)).collect()
    }
}

impl Cell<'_> {
    /// The level of `factor`; of one that this campaign does not vary, what its experiment has in its place.
    pub(crate) fn level(&self, factor: &str) -> Option<String> {
        if let Some(level) = self.levels.get(factor) {
            return Some(level.clone());
        }
        let facts = self.experiments.iter().flat_map(|experiment| of_experiment(experiment));
        let mut values = facts
            .filter(|(name, _)| is_of_factor(name, factor))
            .map(|(_, value)| value);
        let first = values.next()?;
        // Workloads that differ in it have no level in common.
        values.all(|value| value == first).then_some(first)
    }
}

/// Which cells of two campaigns belong together.
pub(super) struct Matches<'m, 'a> {
    /// Cells of the baseline, each with a cell of the other campaign.
    pub pairs: Vec<(&'m Cell<'a>, &'m Cell<'a>)>,
    /// The levels of the baseline's other cells.
    pub only_baseline: Vec<Levels>,
    /// The levels of the other campaign's other cells.
    pub only_candidate: Vec<Levels>,
    /// The factors by whose levels cells were matched.
    pub matched_by: Vec<String>,
    /// Factors that each campaign has at one level only, with that level: they tell the campaigns apart, not the cells.
    pub fixed: Vec<(String, Option<String>, Option<String>)>,
    /// Factors that one campaign varies and of which nobody knows what they are in the other.
    pub unknown: Vec<String>,
}

impl<'m, 'a> Matches<'m, 'a> {
    pub fn of(baseline: &'m Cells<'a>, candidate: &'m Cells<'a>) -> Self {
        let (mut matched_by, mut fixed, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        // The levels that cells are matched by, cell by cell.
        let mut base_keys = vec![Vec::new(); baseline.cells.len()];
        let mut other_keys = vec![Vec::new(); candidate.cells.len()];
        let factors: IndexSet<String> = baseline.factors().union(&candidate.factors()).cloned().collect();
        for factor in factors {
            let (base, other) = (baseline.levels(&factor), candidate.levels(&factor));
            if let (Some(one), Some(another)) = (only(&base), only(&other)) {
                fixed.push((factor, one, another));
                continue;
            }
            let nobody_knows = |levels: &[Option<String>]| levels.iter().all(Option::is_none);
            if nobody_knows(&base) || nobody_knows(&other) {
                unknown.push(factor);
                continue;
            }
            base_keys.iter_mut().zip(base).for_each(|(key, level)| key.push(level));
            other_keys
                .iter_mut()
                .zip(other)
                .for_each(|(key, level)| key.push(level));
            matched_by.push(factor);
        }
        let mut pairs = Vec::new();
        let mut met = vec![false; candidate.cells.len()];
        let mut only_baseline = Vec::new();
        for (cell, key) in baseline.cells.iter().zip(&base_keys) {
            let before = pairs.len();
            for ((other, other_key), met) in candidate.cells.iter().zip(&other_keys).zip(&mut met) {
                if key == other_key {
                    pairs.push((cell, other));
                    *met = true;
                }
            }
            if pairs.len() == before {
                only_baseline.push(with_known(cell, &matched_by, key));
            }
        }
        let other_cells = candidate.cells.iter().zip(&other_keys).zip(met);
        let only_candidate = other_cells
            .filter(|(_, met)| !met)
            .map(|((cell, key), _)| with_known(cell, &matched_by, key));
        Self {
            pairs,
            only_baseline,
            only_candidate: only_candidate.collect(),
            matched_by,
            fixed,
            unknown,
        }
    }
}

/// The levels of a cell, with those that its experiment has in place of factors of the other campaign.
fn with_known(cell: &Cell<'_>, factors: &[String], key: &[Option<String>]) -> Levels {
    let mut levels = cell.levels.clone();
    for (factor, level) in factors.iter().zip(key) {
        if let Some(level) = level {
            levels.entry(factor.clone()).or_insert_with(|| level.clone());
        }
    }
    levels
}

/// The level that all cells have, which may be unknown; `None` if they differ.
fn only(levels: &[Option<String>]) -> Option<Option<String>> {
    let first = levels.first()?;
    levels.iter().all(|level| level == first).then(|| first.clone())
}
