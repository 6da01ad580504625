//! `[size.small]` and its siblings: what differs from the published experiment.

use super::Reader;
use crate::experiment::Change;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, option_value, scalar};
use crate::experiment::set::PLAN;
use dyno_archive::plan::Size;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

impl Reader<'_> {
    pub(super) fn sizes(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, span, value) in Section::of(self.source, "[size]", value, Size::NAMES)?.entries() {
            let Ok(size) = name.parse() else { continue };
            let changes = self.size(&format!("[size.{name}]"), span, value)?;
            self.experiment.sizes.push((size, changes));
        }
        Ok(())
    }

    /// What a size changes. It is tried on a copy, so that a size is checked when the file is read and not when it
    /// is first asked for.
    fn size(
        &self,
        title: &str,
        size_span: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<Change>, Diagnostic> {
        let mut experiment = self.experiment.clone();
        let mut trial = Reader {
            source: self.source,
            experiment: &mut experiment,
        };
        let section = Section::open(self.source, title, value)?;
        let mut changes = Vec::new();
        // Factors first: what is excluded refers to them.
        if let Some(factors) = section.get("factors") {
            for (name, span, value) in Section::open(self.source, "factors", factors)?.entries() {
                let change = trial.factor(name, span.clone(), value)?;
                let made = trial.experiment.change(&change);
                made.map_err(|error| self.source.refuse(span, &error))?;
                changes.push(change);
            }
        }
        for (name, span, value) in section.entries().filter(|(name, ..)| *name != "factors") {
            trial.change((name, span), value, &mut changes)?;
        }
        trial.whole(size_span)?;
        Ok(changes)
    }

    /// Makes sure that a setting which `name` may be is not one that stands under a kind of database, as what is said
    /// there comes after this.
    fn check_not_of_dialect(&self, name: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        let setting = self.experiment.setting(name);
        let Some(key) = setting.and_then(|setting| self.experiment.dialect_of(setting)) else {
            return Ok(());
        };
        let message = format!("`{name}` is set under [{key}], so a size that changes it must be there, too");
        let help = format!("write it under [{key}.size.…], as settings.NAME");
        Err(self.source.complain(span, message, help))
    }

    /// Makes the change that `value` under `name` stands for, and adds it to `changes`. Keys of nested tables are
    /// joined by dots.
    fn change(
        &mut self,
        (name, span): (&str, Range<usize>),
        value: &Spanned<DeValue<'_>>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Diagnostic> {
        let part = name.strip_prefix(PLAN).and_then(|rest| rest.strip_prefix('.'));
        let change = match (part, value.get_ref()) {
            (Some("baseline"), _) => Change::Baseline(self.baseline(value)?),
            (Some("exclude"), _) => Change::Exclude(self.excluded(value)?),
            (Some("include"), _) => Change::Include(self.included(value)?),
            (_, DeValue::Table(_)) => {
                let mut entries: Vec<_> = Section::open(self.source, name, value)?.entries().collect();
                // Which cell is compared with depends on which there are.
                entries.sort_by_key(|(key, ..)| {
                    (name == PLAN).then_some(["include", "exclude", "baseline"].iter().position(|known| known == key))
                });
                for (key, span, value) in entries {
                    self.change((&format!("{name}.{key}"), span), value, changes)?;
                }
                return Ok(());
            }
            _ => {
                self.check_not_of_dialect(name, span.clone())?;
                let key = name.rsplit('.').next().unwrap_or(name);
                let value = match self.experiment.is_option(name) {
                    true => option_value(self.source, key, value)?,
                    false => scalar(self.source, key, value)?,
                };
                Change::Value(name.to_owned(), value)
            }
        };
        let made = self.experiment.change(&change);
        made.map_err(|error| self.source.refuse(span, &error))?;
        changes.push(change);
        Ok(())
    }
}
