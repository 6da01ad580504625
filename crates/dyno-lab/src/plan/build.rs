//! Making a plan of an experiment.

use super::{Cell, Factor, Levels, Plan, PlanError, order};
use crate::experiment::{Experiment, SetError, Size, Value, set};

impl Experiment {
    /// Plans a campaign: the file's values, those of `size`, then `overrides` in order. A single value for a factor pins it to that level.
    /// `repetitions`, if given, has the last word on how often each cell is measured. `cores` is what the load's machine has.
    ///
    /// # Errors
    ///
    /// If an override names nothing or does not fit, or levels cannot be together.
    pub fn plan(
        &self,
        size: Size,
        overrides: &[(String, String)],
        repetitions: Option<usize>,
        seed: u64,
        cores: usize,
    ) -> Result<Plan, PlanError> {
        let mut experiment = self.at(size)?;
        for (name, value) in overrides {
            let refused = |cause| PlanError::Override {
                name: name.clone(),
                value: value.clone(),
                cause,
            };
            let levels: Vec<&str> = value.split(',').collect();
            if levels.len() > 1 {
                let factor = experiment.factor(name).map_err(refused)?;
                let levels: Result<Vec<_>, _> = levels
                    .iter()
                    .map(|level| experiment.level(&factor, &Value::from(*level)))
                    .collect();
                let levels = levels.map_err(refused)?;
                experiment.design.vary(&factor, levels);
            } else {
                experiment.set(name, &Value::from(value.as_str())).map_err(refused)?;
            }
        }
        let design = experiment.design.clone();
        let repetitions = repetitions.unwrap_or(design.repetitions).max(1);
        let resolve = |levels: Levels| {
            let mut experiment = experiment.clone();
            for (factor, level) in &levels {
                experiment.set(factor, &Value::from(level.as_str()))?;
            }
            Ok(Cell {
                levels,
                experiment: experiment.resolved(size, cores)?,
            })
        };
        let cells: Result<Vec<Cell>, SetError> = design.cells().into_iter().map(resolve).collect();
        let cells = cells?;
        let levels: Vec<&Levels> = cells.iter().map(|cell| &cell.levels).collect();
        let runs = order::runs(&levels, repetitions, design.order, seed);
        Ok(Plan {
            factors: design
                .factors
                .into_iter()
                .map(|(name, levels)| Factor { name, levels })
                .collect(),
            cells,
            runs,
            order: design.order,
            on_failure: design.on_failure,
            baseline: design.baseline,
            seed,
        })
    }

    /// The one name of the factor that may be called `name`.
    pub(crate) fn factor(&self, name: &str) -> Result<String, SetError> {
        let plain = set::plain(name);
        match self.setting(plain) {
            Some(setting) if self.setting(setting).is_some() => Ok(setting.to_owned()),
            Some(setting) => Ok(format!("{}.{setting}", set::SETTINGS)),
            None if set::dotted(plain, set::PLAN).is_some() => Err(SetError::Invalid {
                name: name.to_owned(),
                value: "a factor".to_owned(),
                reason: "it says how cells are measured, not what they are".to_owned(),
            }),
            None if self.can_set(plain) => Ok(plain.to_owned()),
            None => Err(self.unknown(name)),
        }
    }

    /// The text of a level of `factor`.
    pub(crate) fn level(&self, factor: &str, value: &Value) -> Result<String, SetError> {
        self.clone().set(factor, value)?;
        Ok(value.to_string())
    }
}
