//! `[server]` and `[data]`: what is there before a run.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, scalar};
use crate::experiment::{FillPlan, placeholder};
use dyno_archive::plan::Value;
use indexmap::IndexMap;
use toml::Spanned;
use toml::de::DeValue;

const SERVER_KEYS: [&str; 4] = ["target", "path", "locale", "settings"];
pub(super) const DATA_KEYS: [&str; 7] = ["setup", "fill", "finish", "read_only", "state", "cache", "tablespaces"];
const FILL_KEYS: [&str; 2] = ["rows", "columns"];

impl Reader<'_> {
    pub(super) fn server(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let server = Section::of(self.source, "[server]", value, &SERVER_KEYS)?;
        for key in ["target", "path", "locale"] {
            if let Some((text, span)) = server.text(key)? {
                self.set(key, &Value::Text(text), span)?;
            }
        }
        if let Some(settings) = server.get("settings") {
            self.experiment.settings = self.settings(settings)?;
        }
        Ok(())
    }

    /// The settings in a table.
    pub(super) fn settings(&self, table: &Spanned<DeValue<'_>>) -> Result<IndexMap<String, String>, Diagnostic> {
        let mut settings = IndexMap::new();
        for (name, span, value) in Section::open(self.source, "settings", table)?.entries() {
            if self.experiment.parameters.contains_key(name) {
                let message = format!("`{name}` is both a parameter and a setting");
                let help = "a plain name must mean one thing; rename the parameter";
                return Err(self.source.complain(span, message, help));
            }
            let text = match value.get_ref() {
                // As PostgreSQL shows them.
                DeValue::Boolean(on) => Value::from(if *on { "on" } else { "off" }),
                _ => scalar(self.source, name, value)?,
            };
            let checked = self.experiment.checked_setting(name, &text);
            let checked = checked.map_err(|reason| self.source.complain(value.span(), reason, ""))?;
            settings.insert(name.to_owned(), checked);
        }
        Ok(settings)
    }

    pub(super) fn data(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let data = Section::of(self.source, "[data]", value, &DATA_KEYS)?;
        (self.experiment.setup, self.experiment.setup_place) = self.sql(&data, "setup")?.unwrap_or_default();
        (self.experiment.finish, self.experiment.finish_place) = self.sql(&data, "finish")?.unwrap_or_default();
        self.experiment.read_only = data.flag("read_only")?.unwrap_or(false);
        for key in ["state", "cache"] {
            if let Some((text, span)) = data.text(key)? {
                self.set(key, &Value::Text(text), span)?;
            }
        }
        self.experiment.tablespaces = self.tablespaces(&data)?;
        self.experiment.fill = self.fill(&data)?;
        Ok(())
    }

    /// The names of the tablespaces in a section of data.
    pub(super) fn tablespaces(&self, data: &Section<'_>) -> Result<Vec<String>, Diagnostic> {
        let mut names = Vec::new();
        for (name, span) in data.texts("tablespaces")? {
            if !placeholder::is_name(&name) || name.starts_with("pg_") {
                let message = format!("`{name}` cannot name a tablespace");
                let help = "use letters, digits and `_`, but do not begin with a digit or `pg_`";
                return Err(self.source.complain(span, message, help));
            }
            names.push(name);
        }
        Ok(names)
    }

    /// What a section of data fills tables with.
    pub(super) fn fill(&self, data: &Section<'_>) -> Result<Vec<FillPlan>, Diagnostic> {
        let Some(fill) = data.get("fill") else {
            return Ok(Vec::new());
        };
        let mut plans = Vec::new();
        for (table, _, value) in Section::open(self.source, "fill", fill)?.entries() {
            let title = format!("fill.{table}");
            let section = Section::of(self.source, title, value, &FILL_KEYS)?;
            let rows = section
                .get("rows")
                .ok_or_else(|| section.missing("rows", "give the number of rows, for example: rows = \"{rows}\""))?;
            let columns = section.get("columns").ok_or_else(|| {
                section.missing(
                    "columns",
                    "give an expression for each column, for example: columns = { id = \"row\" }",
                )
            })?;
            let mut plan = FillPlan {
                table: table.to_owned(),
                rows: scalar(self.source, "rows", rows)?.to_string(),
                columns: IndexMap::new(),
            };
            self.check_placeholders(&plan.rows, rows.span())?;
            let count = plan.row_count(&self.experiment.parameters);
            count.map_err(|error| self.source.refuse(rows.span(), &error))?;
            for (column, _, value) in Section::open(self.source, "columns", columns)?.entries() {
                let expression = scalar(self.source, column, value)?.to_string();
                self.check_placeholders(&expression, value.span())?;
                plan.columns.insert(column.to_owned(), expression);
            }
            if plan.columns.is_empty() {
                return Err(self.source.complain(columns.span(), "`columns` names no column", ""));
            }
            plans.push(plan);
        }
        Ok(plans)
    }
}
