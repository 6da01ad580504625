//! `[factors]`: what is varied.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::plan::range;
use crate::experiment::section::{Section, scalar, wrong_type};
use crate::experiment::set::{PLAN, SETTINGS, STAGE};
use crate::experiment::{Change, NamedLevels};
use dyno_archive::plan::Value;
use indexmap::{IndexMap, IndexSet};
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

const RANGE_KEYS: [&str; 3] = ["from", "to", "step"];

impl Reader<'_> {
    pub(super) fn factors(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, span, value) in Section::open(self.source, "[factors]", value)?.entries() {
            let change = self.factor(name, span.clone(), value)?;
            let made = self.experiment.change(&change);
            made.map_err(|error| self.source.refuse(span, &error))?;
        }
        Ok(())
    }

    /// The factor called `name`, which stands at `span`, with the levels in `value`.
    pub(super) fn factor(
        &self,
        name: &str,
        span: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Change, Diagnostic> {
        let is_table = |(_, value): (_, &Spanned<DeValue<'_>>)| value.get_ref().is_table();
        if value
            .get_ref()
            .as_table()
            .is_some_and(|table| table.iter().any(is_table))
        {
            return Ok(Change::Named(name.to_owned(), self.named_levels(name, span, value)?));
        }
        let factor = self.experiment.factor(name);
        let factor = factor.map_err(|error| self.source.refuse(span, &error))?;
        let levels = self.levels(&factor, value)?;
        Ok(Change::Factor(factor, levels))
    }

    /// The levels of a factor that are names for sets of values: a table of each.
    fn named_levels(
        &self,
        name: &str,
        span: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<NamedLevels, Diagnostic> {
        self.check_name("a factor", name, span.clone())?;
        let known = self.experiment.factor(name).is_ok() && !self.experiment.is_named(name);
        if known || [SETTINGS, STAGE, PLAN].contains(&name) {
            let message = format!("`{name}` already has a meaning, so its levels cannot be names for other values");
            let help = "give the factor a name of its own";
            return Err(self.source.complain(span, message, help));
        }
        let mut levels = NamedLevels::new();
        for (level, span, value) in Section::open(self.source, name, value)?.entries() {
            if level.trim() != level || level.is_empty() || level.contains(char::is_control) {
                let message = "this cannot name a level";
                let help = "a name must be one line without blanks at either end";
                return Err(self.source.complain(span, message, help));
            }
            let mut meaning = IndexMap::new();
            self.meaning("", Section::open(self.source, level, value)?, &mut meaning)?;
            levels.insert(level.to_owned(), meaning);
        }
        Ok(levels)
    }

    /// Adds the values in `section` to `meaning`. Keys of nested tables are joined by dots.
    fn meaning(
        &self,
        prefix: &str,
        section: Section<'_>,
        meaning: &mut IndexMap<String, Value>,
    ) -> Result<(), Diagnostic> {
        for (key, span, value) in section.entries() {
            let name = format!("{prefix}{key}");
            if value.get_ref().is_table() {
                let section = Section::open(self.source, &name, value)?;
                self.meaning(&format!("{name}."), section, meaning)?;
                continue;
            }
            if self.experiment.is_named(&name) {
                let message = format!("`{name}` is itself a factor whose levels are names");
                return Err(self.source.complain(span, message, "give the values themselves"));
            }
            let factor = self.experiment.factor(&name);
            let factor = factor.map_err(|error| self.source.refuse(span.clone(), &error))?;
            let set = self.level_value(&factor, value)?;
            let level = self.experiment.level(&factor, &set);
            level.map_err(|error| self.source.refuse(value.span(), &error))?;
            if meaning.insert(factor, set).is_some() {
                let message = format!("`{name}` is given twice");
                return Err(self.source.complain(span, message, "keep only one of them"));
            }
        }
        Ok(())
    }

    /// The levels in a list of values and ranges, or of one range or value.
    pub(super) fn levels(&self, factor: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Diagnostic> {
        let mut levels: IndexSet<String> = IndexSet::new();
        let items = match value.get_ref().as_array() {
            Some(list) => list.iter().collect(),
            None => vec![value],
        };
        for item in items {
            let values = match item.get_ref() {
                DeValue::Table(_) => self.range(item)?,
                _ => vec![self.level_value(factor, item)?],
            };
            for value in values {
                let level = self.experiment.level(factor, &value);
                let level = level.map_err(|error| self.source.refuse(item.span(), &error))?;
                levels.insert(level);
            }
        }
        if levels.is_empty() {
            let message = format!("`{factor}` has no levels");
            let help = "give at least one, or leave out the factor";
            return Err(self.source.complain(value.span(), message, help));
        }
        Ok(levels.into_iter().collect())
    }

    /// A value as it may stand in a list of levels.
    pub(super) fn level_value(&self, factor: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, Diagnostic> {
        match value.get_ref() {
            // As PostgreSQL shows them.
            DeValue::Boolean(on) if self.experiment.setting(factor).is_some() || self.experiment.is_option(factor) => {
                Ok(Value::from(if *on { "on" } else { "off" }))
            }
            DeValue::Array(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Table(_) => {
                let expected = "a number, a string in quotes, or a range such as { from = 10, to = 120, step = 10 }";
                Err(wrong_type(self.source, value, factor, expected))
            }
            _ => scalar(self.source, factor, value),
        }
    }

    fn range(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<Value>, Diagnostic> {
        let section = Section::of(self.source, "a range", value, &RANGE_KEYS)?;
        let end = |key: &str| {
            let value = section
                .get(key)
                .ok_or_else(|| section.missing(key, "write a range like { from = 10, to = 120, step = 10 }"))?;
            scalar(self.source, key, value)
        };
        let step = section.get("step");
        let step = step.map(|value| scalar(self.source, "step", value)).transpose()?;
        range(&end("from")?, &end("to")?, step.as_ref())
            .map_err(|reason| self.source.complain(value.span(), "this range has no levels", reason))
    }
}
