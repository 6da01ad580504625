//! `[plan]`: how the cells are measured, and which.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::did_you_mean;
use crate::experiment::section::{Section, list, scalar};
use crate::experiment::set::PLAN_NAMES;
use crate::nearest::nearest;
use dyno_archive::plan::Levels;
use toml::Spanned;
use toml::de::DeValue;

pub(super) const PLAN_KEYS: [&str; 7] = [
    "repetitions",
    "order",
    "on_failure",
    "max_errors",
    "baseline",
    "exclude",
    "include",
];

impl Reader<'_> {
    pub(super) fn plan(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let section = Section::of(self.source, "[plan]", value, &PLAN_KEYS)?;
        for key in PLAN_NAMES {
            if let Some(value) = section.get(key) {
                let scalar = scalar(self.source, key, value)?;
                self.experiment.set_plan(key, &scalar).map_err(|reason| {
                    self.source
                        .complain(value.span(), format!("`{key}` cannot be `{scalar}`"), reason)
                })?;
            }
        }
        // The order matters: what may be left out or compared with depends on what is there.
        if let Some(value) = section.get("include") {
            self.experiment.design.include = self.included(value)?;
        }
        if let Some(value) = section.get("exclude") {
            self.experiment.design.exclude = self.excluded(value)?;
        }
        if let Some(value) = section.get("baseline") {
            self.experiment.design.baseline = self.baseline(value)?;
        }
        Ok(())
    }

    /// Whole cells.
    pub(super) fn included(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<Levels>, Diagnostic> {
        let cells = list(
            self.source,
            value,
            "include",
            "a list of cells such as [{ clients = 200 }]",
        )?;
        let whole = |value: &Spanned<DeValue<'_>>| {
            let cell = self.cell("include", value)?;
            let factors = &self.experiment.design.factors;
            match factors.keys().find(|factor| !cell.contains_key(*factor)) {
                Some(missing) => {
                    let message = format!("the included cell has no level for `{missing}`");
                    let help = "an included cell needs a level for each factor";
                    Err(self.source.complain(value.span(), message, help))
                }
                None => Ok(cell),
            }
        };
        cells.iter().map(whole).collect()
    }

    /// Levels of cells that there would be otherwise.
    pub(super) fn excluded(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<Levels>, Diagnostic> {
        let cells = list(
            self.source,
            value,
            "exclude",
            "a list of cells such as [{ clients = 1 }]",
        )?;
        let part = |value: &Spanned<DeValue<'_>>| {
            let cell = self.cell("exclude", value)?;
            let factors = &self.experiment.design.factors;
            let known = |(factor, level): &(&String, &String)| {
                factors.get(*factor).is_some_and(|levels| levels.contains(level))
            };
            match cell.iter().find(|level| !known(level)) {
                Some((factor, level)) => {
                    let message = format!("`exclude` matches nothing, because `{factor}` has no level `{level}`");
                    let levels = factors.get(factor).map(|levels| listed(levels)).unwrap_or_default();
                    Err(self.source.complain(value.span(), message, format!("levels: {levels}")))
                }
                None => Ok(cell),
            }
        };
        cells.iter().map(part).collect()
    }

    /// Levels of at least one cell.
    pub(super) fn baseline(&self, value: &Spanned<DeValue<'_>>) -> Result<Levels, Diagnostic> {
        let baseline = self.cell("baseline", value)?;
        let cells = self.experiment.design.cells();
        let cells = cells.map_err(|error| self.source.refuse(value.span(), &error))?;
        let is_one = |cell: &Levels| baseline.iter().all(|(factor, level)| cell.get(factor) == Some(level));
        if cells.iter().any(is_one) {
            return Ok(baseline);
        }
        let message = "no cell has the levels of `baseline`";
        let help = "choose levels that are measured and not excluded";
        Err(self.source.complain(value.span(), message, help))
    }

    /// The levels in a table, at least one, in the order of the factors.
    fn cell(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Levels, Diagnostic> {
        let mut cell = Levels::new();
        let factors = &self.experiment.design.factors;
        for (name, span, value) in Section::open(self.source, key, value)?.entries() {
            let factor = self.experiment.factor(name).unwrap_or_else(|_| name.to_owned());
            if !factors.contains_key(&factor) {
                let known = || factors.keys().map(String::as_str);
                let message = format!("there is no factor `{name}`{}", did_you_mean(nearest(name, known())));
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
        if cell.is_empty() {
            let message = format!("`{key}` names no level");
            return Err(self
                .source
                .complain(value.span(), message, "write FACTOR = LEVEL between the braces"));
        }
        cell.sort_by_key(|factor, _| factors.get_index_of(factor));
        Ok(cell)
    }
}

/// Levels as text, few enough to be read.
fn listed(levels: &[String]) -> String {
    const MOST: usize = 20;
    let shown: Vec<_> = levels.iter().take(MOST).map(String::as_str).collect();
    let more = if levels.len() > MOST { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
