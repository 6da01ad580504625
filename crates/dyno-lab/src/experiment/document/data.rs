//! `[server]` and `[data]`: what is there before a run.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, scalar};
use crate::experiment::{FillPlan, placeholder};
use dyno_archive::plan::Value;
use indexmap::IndexMap;
use toml::Spanned;
use toml::de::DeValue;

pub(super) const SERVER_KEYS: [&str; 4] = ["target", "path", "locale", "settings"];
pub(super) const DATA_KEYS: [&str; 14] = [
    "setup",
    "setup_file",
    "fill",
    "load",
    "finish",
    "finish_file",
    "read_only",
    "state",
    "cache",
    "tablespaces",
    "lua",
    "options",
    "safe_lua",
    "threads",
];
pub(super) const FILL_KEYS: [&str; 4] = ["rows", "columns", "generate", "seed"];

const COLUMNS: &str = "columns";
const GENERATE: &str = "generate";

/// What dyno makes rows from unless told otherwise.
const SEED: &str = "0";

impl Reader<'_> {
    pub(super) fn server(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let keys = [&["name"], &SERVER_KEYS[..]].concat();
        let server = Section::of(self.source, "[server]", value, &keys)?;
        self.server_name(&server)?;
        self.place(&server)
    }

    /// Reads where a server is and how it is set.
    pub(super) fn place(&mut self, server: &Section<'_>) -> Result<(), Diagnostic> {
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

    /// Reads the section of data that is called `title`.
    pub(super) fn data(&mut self, title: &str, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let data = Section::of(self.source, title, value, &DATA_KEYS)?;
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
        self.experiment.fill.extend(self.rows_of_files(&data)?);
        self.experiment.prepare = self.prepare(&data)?;
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
            let (key, columns) = self.columns(&section)?;
            let mut plan = FillPlan {
                table: table.to_owned(),
                rows: scalar(self.source, "rows", rows)?.to_string(),
                columns: IndexMap::new(),
                seed: (key == GENERATE).then(|| SEED.to_owned()),
                file: None,
            };
            self.check_placeholders(&plan.rows, rows.span())?;
            let count = plan.row_count(&self.experiment.parameters);
            count.map_err(|error| self.source.refuse(rows.span(), &error))?;
            if let Some(seed) = section.get("seed") {
                let text = scalar(self.source, "seed", seed)?.to_string();
                self.check_placeholders(&text, seed.span())?;
                if plan.seed.is_none() {
                    let help = "the server makes these rows; with `generate` in place of `columns`, dyno does";
                    return Err(self.source.complain(seed.span(), "`seed` is of no use here", help));
                }
                plan.seed = Some(text);
                let seeded = plan.seed(&self.experiment.parameters);
                seeded.map_err(|error| self.source.refuse(seed.span(), &error))?;
            }
            for (column, _, value) in Section::open(self.source, key, columns)?.entries() {
                let expression = scalar(self.source, column, value)?.to_string();
                self.check_placeholders(&expression, value.span())?;
                plan.columns.insert(column.to_owned(), expression);
                let checked = plan.check_column(column, &self.experiment.parameters);
                checked.map_err(|error| self.source.refuse(value.span(), &error))?;
            }
            if plan.columns.is_empty() {
                let message = format!("`{key}` names no column");
                return Err(self.source.complain(columns.span(), message, ""));
            }
            plans.push(plan);
        }
        Ok(plans)
    }

    /// The columns of a fill and the key that says who evaluates their expressions: the server (`columns`) or dyno
    /// (`generate`).
    fn columns<'a>(&self, section: &Section<'a>) -> Result<(&'static str, &'a Spanned<DeValue<'a>>), Diagnostic> {
        match (section.get(COLUMNS), section.get(GENERATE)) {
            (Some(columns), None) => Ok((COLUMNS, columns)),
            (None, Some(columns)) => Ok((GENERATE, columns)),
            (Some(_), Some(columns)) => {
                let message = format!("{} has both `{COLUMNS}` and `{GENERATE}`", section.path());
                let help = "with `columns`, the server makes the rows from SQL; with `generate`, dyno makes them";
                Err(self.source.complain(columns.span(), message, help))
            }
            (None, None) => Err(section.missing(
                COLUMNS,
                "give an expression for each column: in SQL, for example columns = { id = \"row\" }, or in dyno's own \
                 language, generate = { id = \"row\" }",
            )),
        }
    }
}
