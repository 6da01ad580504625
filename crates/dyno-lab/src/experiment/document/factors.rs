//! `[factors]`: what is varied.

use super::Reader;
use crate::experiment::Value;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, scalar, wrong_type};
use crate::plan::range;
use toml::Spanned;
use toml::de::DeValue;

const RANGE_KEYS: [&str; 3] = ["from", "to", "step"];

impl Reader<'_> {
    pub(super) fn factors(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, span, value) in Section::open(self.source, "[factors]", value)?.entries() {
            let factor = self
                .experiment
                .factor(name)
                .map_err(|error| self.source.refuse(span, &error))?;
            let levels = self.levels(&factor, value)?;
            self.experiment.design.vary(&factor, levels);
        }
        Ok(())
    }

    /// The levels in a list of values and ranges, or of one range or value.
    pub(super) fn levels(&self, factor: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Diagnostic> {
        let mut levels: Vec<String> = Vec::new();
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
                if !levels.contains(&level) {
                    levels.push(level);
                }
            }
        }
        if levels.is_empty() {
            let message = format!("`{factor}` has no levels");
            let help = "name at least one, or leave the factor out";
            return Err(self.source.complain(value.span(), message, help));
        }
        Ok(levels)
    }

    /// A value as it may stand in a list of levels.
    pub(super) fn level_value(&self, factor: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, Diagnostic> {
        match value.get_ref() {
            // As PostgreSQL shows them.
            DeValue::Boolean(on) if self.experiment.setting(factor).is_some() => {
                Ok(Value::from(if *on { "on" } else { "off" }))
            }
            DeValue::Array(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Table(_) => {
                let expected = "a number, a text in quotes, or a range such as { from = 10, to = 120, step = 10 }";
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
                .ok_or_else(|| section.missing(key, "a range is such as { from = 10, to = 120, step = 10 }"))?;
            scalar(self.source, key, value)
        };
        let step = section.get("step");
        let step = step.map(|value| scalar(self.source, "step", value)).transpose()?;
        range(&end("from")?, &end("to")?, step.as_ref())
            .map_err(|reason| self.source.complain(value.span(), "this range has no levels", reason))
    }
}
