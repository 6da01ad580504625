//! `[plan]`: how the cells are measured, and which.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::did_you_mean;
use crate::experiment::section::{Section, list, scalar};
use crate::nearest::nearest;
use crate::plan::Levels;
use toml::Spanned;
use toml::de::DeValue;

const PLAN_KEYS: [&str; 6] = ["repetitions", "order", "on_failure", "baseline", "exclude", "include"];

impl Reader<'_> {
    pub(super) fn plan(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let section = Section::of(self.source, "[plan]", value, &PLAN_KEYS)?;
        for key in ["repetitions", "order", "on_failure"] {
            if let Some(value) = section.get(key) {
                let scalar = scalar(self.source, key, value)?;
                self.experiment.set_plan(key, &scalar).map_err(|reason| {
                    self.source
                        .complain(value.span(), format!("`{key}` cannot be `{scalar}`"), reason)
                })?;
            }
        }
        if let Some(value) = section.get("include") {
            self.experiment.design.include = self.cells("include", value)?;
        }
        if let Some(value) = section.get("exclude") {
            self.experiment.design.exclude = self.cells("exclude", value)?;
        }
        if let Some(value) = section.get("baseline") {
            self.experiment.design.baseline = self.cell("baseline", value)?;
        }
        Ok(())
    }

    /// The levels in each table of a list.
    pub(super) fn cells(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<Levels>, Diagnostic> {
        let cells = list(self.source, value, key, "a list of cells such as [{ clients = 1 }]")?;
        cells.iter().map(|value| self.cell(key, value)).collect()
    }

    /// The levels in a table, in the order of the factors.
    pub(super) fn cell(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Levels, Diagnostic> {
        let mut cell = Levels::new();
        let factors = &self.experiment.design.factors;
        for (name, span, value) in Section::open(self.source, key, value)?.entries() {
            let factor = self.experiment.factor(name).unwrap_or_else(|_| name.to_owned());
            if !factors.contains_key(&factor) {
                let known = || factors.keys().map(String::as_str);
                let message = format!("no factor is called `{name}`{}", did_you_mean(nearest(name, known())));
                let help = match known().collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => "there is no section [factors]".to_owned(),
                    known => format!("factors: {known}"),
                };
                return Err(self.source.complain(span, message, help));
            }
            let level = self.experiment.level(&factor, &self.level_value(&factor, value)?);
            let level = level.map_err(|error| self.source.refuse(value.span(), &error))?;
            cell.insert(factor, level);
        }
        cell.sort_by_key(|factor, _| factors.get_index_of(factor));
        Ok(cell)
    }
}
