//! Making a plan of an experiment.

use crate::experiment::plan::range::{Given, given};
use crate::experiment::plan::{Design, MOST_RUNS, PlanError, order};
use crate::experiment::{Experiment, HOSTS, SetError, TARGET};
use dyno_archive::plan::{Cell, Factor, Levels, Plan, Resolved, Size, Value};
use dyno_target::target::{without_secrets, word_without_secrets};
use dyno_text::{HIDDEN, is_secret};
use indexmap::IndexSet;
use std::collections::HashSet;

/// A value of the command line that holds in every cell.
#[derive(Clone)]
struct Override<'a> {
    name: &'a str,
    value: Value,
}

impl Experiment {
    /// Plans a campaign: the file's values, those of `size`, then `overrides` in order. An override of several
    /// values or a range, `1,2` or `10..120:10`, gives a factor these levels; a single value for a factor pins it
    /// to that level. `repetitions`, if given, has the last word on how often each cell is measured. `cores` is
    /// what the load's machine has, for workloads that do not say how many threads they want.
    ///
    /// # Errors
    ///
    /// If an override names nothing or does not fit, levels cannot be together, or nothing or too much is to be
    /// measured.
    pub fn plan(
        &self,
        size: Size,
        overrides: &[(String, String)],
        repetitions: Option<usize>,
        seed: u64,
        cores: usize,
    ) -> Result<Plan, PlanError> {
        let mut experiment = self.at(size)?;
        let mut fixed = Vec::new();
        for (name, text) in overrides {
            let one = experiment
                .vary(name, text)
                .map_err(|cause| refused(name, text, cause))?;
            fixed.extend(one.map(|value| Override { name, value }));
        }
        fixed.sort_by_key(|given| rank(given.name));
        experiment.planned(size, &fixed, repetitions, seed, cores)
    }

    /// Gives a factor the levels in `text`. Gives back what is in it if it is one value of something that is no
    /// factor, or that belongs to the plan.
    fn vary(&mut self, name: &str, text: &str) -> Result<Option<Value>, SetError> {
        let invalid = |reason| SetError::Invalid {
            name: name.to_owned(),
            value: text.to_owned(),
            reason,
        };
        let levels = match given(text).map_err(invalid)? {
            Given::One(value) => {
                if self.is_of_plan(name) {
                    self.set(name, &value)?;
                    return Ok(None);
                }
                let factor = self.factor(name)?;
                let level = self.level(&factor, &value)?;
                if !self.design.factors.contains_key(&factor) {
                    return Ok(Some(value));
                }
                self.design.vary(&factor, vec![level]);
                return Ok(None);
            }
            Given::Levels(levels) => levels,
        };
        let factor = self.factor(name)?;
        // Two texts may be one level, and there may be thousands.
        let different: IndexSet<String> = levels
            .iter()
            .map(|value| self.level(&factor, value))
            .collect::<Result<_, _>>()?;
        self.design.vary(&factor, different.into_iter().collect());
        Ok(None)
    }

    /// Makes sure that all cells of the experiment, as it is set now, can be measured. The command line may still name
    /// another database.
    pub(crate) fn check_cells(&self) -> Result<(), PlanError> {
        match self.planned(Size::Full, &[], None, 0, 1) {
            Ok(_)
            | Err(
                PlanError::Value(SetError::OtherDatabase(_))
                | PlanError::Cell {
                    cause: SetError::OtherDatabase(_),
                    ..
                },
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The plan of the experiment as it is set now, with values that hold in every cell.
    fn planned(
        &self,
        size: Size,
        fixed: &[Override<'_>],
        repetitions: Option<usize>,
        seed: u64,
        cores: usize,
    ) -> Result<Plan, PlanError> {
        let Design { factors, order, .. } = &self.design;
        self.check_overlap()?;
        let hides = |(name, levels): &(&String, &Vec<String>)| {
            levels.len() > 1 && levels.iter().any(|level| self.is_secret_level(name, level))
        };
        if let Some((name, _)) = factors.iter().find(hides) {
            return Err(PlanError::SecretLevels { name: name.clone() });
        }
        let combinations = self.design.cells()?;
        let repetitions = repetitions.unwrap_or(self.design.repetitions).max(1);
        if combinations.len().saturating_mul(repetitions) > MOST_RUNS {
            return Err(PlanError::TooManyRuns {
                cells: combinations.len(),
                repetitions,
                most: MOST_RUNS,
            });
        }
        // Without what is not needed a thousand times.
        let base = self.without_design();
        let resolved = |everywhere: &[&str]| {
            let cell = |levels: &Levels| {
                let cell = base.cell(levels, size, fixed, everywhere, cores);
                Ok(Cell {
                    experiment: cell.map_err(|error| self.with_fewer_hosts(error))?,
                    levels: self.shown(levels.clone()),
                })
            };
            combinations.iter().map(cell).collect::<Result<Vec<Cell>, PlanError>>()
        };
        let mut cells = resolved(&[])?;
        // What nobody has taken was for a kind of database that no cell is for. It is not left out silently.
        let is_taken = |setting: &str| cells.iter().any(|cell| cell.experiment.settings.contains_key(setting));
        let left_out = |given: &&Override<'_>| base.setting(given.name).is_some_and(|setting| !is_taken(setting));
        let left_out: Vec<&str> = fixed.iter().filter(left_out).map(|given| given.name).collect();
        if !left_out.is_empty() {
            cells = resolved(&left_out)?;
        }
        let levels: Vec<&Levels> = cells.iter().map(|cell| &cell.levels).collect();
        let targets: HashSet<_> = levels
            .iter()
            .map(|levels| levels.values().collect::<Vec<_>>())
            .collect();
        if targets.len() < levels.len() {
            return Err(PlanError::SameTargets);
        }
        let runs = order::runs(&levels, repetitions, *order, seed);
        let meaning = |factor: &str, level: &String| {
            let values = self.meaning(factor, level)?.iter();
            let values = values.map(|(name, value)| (name.clone(), value.to_string()));
            Some((level.clone(), self.shown(values.collect())))
        };
        let factor = |(name, levels): (&String, &Vec<String>)| Factor {
            name: name.clone(),
            levels: levels.iter().map(|level| self.label(name, level)).collect(),
            meanings: levels.iter().filter_map(|level| meaning(name, level)).collect(),
        };
        Ok(Plan {
            factors: factors.iter().map(factor).collect(),
            runs,
            order: *order,
            on_failure: self.design.on_failure,
            max_errors: self.design.max_errors,
            baseline: self.shown(self.baseline()),
            seed,
            published: self.published.clone(),
            defaults: self.defaults.clone(),
            turns: None,
            screen: None,
            capacity: None,
            cells,
        })
    }

    /// The levels of the cells that the others are compared with: of several databases the first, unless the file says
    /// otherwise.
    fn baseline(&self) -> Levels {
        let Design { factors, baseline, .. } = &self.design;
        match factors.get(TARGET).map(Vec::as_slice) {
            Some([first, _, ..]) if baseline.is_empty() => Levels::from([(TARGET.to_owned(), first.clone())]),
            _ => baseline.clone(),
        }
    }

    /// Makes sure that no two factors say the same thing.
    fn check_overlap(&self) -> Result<(), PlanError> {
        let factors = self.design.factors.keys();
        let said: Vec<_> = factors
            .flat_map(|factor| self.said_by(factor).into_iter().map(move |name| (factor, name)))
            .collect();
        for (one, general) in &said {
            let same = |name: &str| name == *general || name.split_once('.').is_some_and(|(_, name)| name == *general);
            if let Some((other, name)) = said.iter().find(|(other, name)| other != one && same(name)) {
                return Err(PlanError::Twice {
                    one: (*one).clone(),
                    other: (*other).clone(),
                    name: (*name).to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The exact work of a cell. A setting that the file has for another kind of database alone is left out, unless it
    /// is to be set `everywhere`.
    fn cell(
        &self,
        levels: &Levels,
        size: Size,
        fixed: &[Override<'_>],
        everywhere: &[&str],
        cores: usize,
    ) -> Result<Resolved, PlanError> {
        let mut cell = self.assembled(levels, fixed)?;
        if self.has_dialects() {
            // Which database it is for is known now; what was set goes on top of what is said for that one.
            let spoken = self.spoken_for(&cell, size);
            let spoken = spoken.map_err(|cause| match self.says_target(levels) {
                true => self.impossible(levels, cause),
                false => PlanError::Value(cause),
            })?;
            let is_own = |given: &&Override<'_>| everywhere.contains(&given.name) || !spoken.is_of_others(given.name);
            let own: Vec<_> = fixed.iter().filter(is_own).cloned().collect();
            cell = spoken.assembled(levels, &own)?;
        }
        cell.resolved(size, cores)
            .map_err(|cause| self.impossible(levels, cause))
    }

    /// Whether levels say which database is measured.
    fn says_target(&self, levels: &Levels) -> bool {
        levels.iter().any(|(factor, level)| {
            let meaning = self.meaning(factor, level);
            factor == TARGET || meaning.is_some_and(|meaning| meaning.contains_key(TARGET))
        })
    }

    /// The experiment with the levels of a cell and the values that hold in every cell.
    fn assembled(&self, levels: &Levels, fixed: &[Override<'_>]) -> Result<Self, PlanError> {
        let mut experiment = self.clone();
        // Threads that were asked for once and for all are as many as there are clients at most; as a level, they
        // have to fit.
        let meant = levels.iter().filter_map(|(factor, level)| self.meaning(factor, level));
        let meant: HashSet<&str> = meant.flat_map(|meaning| meaning.keys()).map(String::as_str).collect();
        let said = levels.keys().map(String::as_str).chain(meant.iter().copied());
        let varies_clients = said.into_iter().any(|name| is_count_of("clients", name));
        let (threads, others): (Vec<_>, Vec<_>) = fixed
            .iter()
            .partition(|given| varies_clients && is_count_of("threads", given.name));
        for given in others {
            let set = experiment.put(given.name, &given.value);
            set.map_err(|cause| refused(given.name, &given.value.to_string(), cause))?;
        }
        let mut sorted: Vec<_> = levels.iter().collect();
        sorted.sort_by_key(|(factor, _)| rank(factor));
        for (factor, level) in sorted {
            let set = experiment.put(factor, &Value::from(level.as_str()));
            set.map_err(|cause| self.impossible(levels, cause))?;
        }
        for given in threads {
            experiment.limit_threads(given.name, &given.value);
        }
        // What holds for one workload has been asked for in particular: a level for all of them does not undo it,
        // nor does the name of a level.
        let undone =
            |name: &str| name.ends_with(".clients") || self.factor(name).is_ok_and(|name| meant.contains(&*name));
        for given in fixed.iter().filter(|given| undone(given.name)) {
            if is_count_of("threads", given.name) {
                experiment.limit_threads(given.name, &given.value);
                continue;
            }
            let set = experiment.put(given.name, &given.value);
            set.map_err(|cause| refused(given.name, &given.value.to_string(), cause))?;
        }
        Ok(experiment)
    }

    /// Says which cell cannot be.
    fn impossible(&self, levels: &Levels, cause: SetError) -> PlanError {
        let level = |(name, level): (&String, &String)| format!("{name}={}", self.label(name, level));
        match levels.is_empty() {
            true => PlanError::Value(cause),
            false => PlanError::Cell {
                cell: levels.iter().map(level).collect::<Vec<_>>().join(", "),
                cause,
            },
        }
    }

    /// The same error with the numbers of load hosts that can be, if it is about one that cannot.
    fn with_fewer_hosts(&self, error: PlanError) -> PlanError {
        let there = self.load_hosts.hosts.len();
        let levels = self.design.factors.get(HOSTS);
        match (error, levels) {
            (PlanError::Cell { cell, cause }, Some(levels))
                if there > 0 && matches!(&cause, SetError::Invalid { name, .. } if name == HOSTS) =>
            {
                let can_be = |level: &&String| level.parse().is_ok_and(|number: usize| number <= there);
                let possible: Vec<_> = levels.iter().filter(can_be).cloned().collect();
                let possible = match possible.is_empty() {
                    true => there.to_string(),
                    false => possible.join(","),
                };
                PlanError::TooFewHosts {
                    cell,
                    cause: Box::new(cause),
                    possible,
                }
            }
            (error, _) => error,
        }
    }

    /// A level as it may be shown and archived.
    fn label(&self, factor: &str, level: &str) -> String {
        match factor {
            _ if self.is_target(factor) => without_secrets(level),
            _ if self.is_secret_level(factor, level) => HIDDEN.to_owned(),
            _ => level.to_owned(),
        }
    }

    /// Levels as they may be shown and archived.
    fn shown(&self, mut levels: Levels) -> Levels {
        for (factor, level) in &mut levels {
            *level = self.label(factor, level);
        }
        levels
    }
}

/// Says which option of the command line cannot be.
fn refused(name: &str, value: &str, cause: SetError) -> PlanError {
    PlanError::Override {
        name: name.to_owned(),
        value: match name.rsplit('.').next() {
            Some(TARGET) => without_secrets(value),
            _ if is_secret(name, value) => HIDDEN.to_owned(),
            _ => word_without_secrets(value),
        },
        cause: Box::new(cause),
    }
}

/// Values that others depend on are set before them: clients before threads, and what is for all workloads before
/// what is for one.
pub(crate) fn rank(name: &str) -> u8 {
    let special = u8::from(name.contains('.'));
    match name.rsplit('.').next() {
        Some("clients") => special,
        Some("threads") => 2 + special,
        _ => 4 + special,
    }
}

/// Whether a factor is the number of clients, or of threads, of all workloads or of one. A parameter may have a
/// name that ends alike.
pub(crate) fn is_count_of(what: &str, name: &str) -> bool {
    name.rsplit('.').next() == Some(what)
}
