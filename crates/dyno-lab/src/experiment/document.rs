//! Reading an experiment file.
//!
//! The document is walked by hand rather than mapped onto types, because every complaint is to show the place, the line and the remedy.

use super::diagnostic::Diagnostic;
use super::section::{Section, Source, scalar};
use super::set::{PHASE_NAMES, SETTINGS, WORKLOAD_NAMES, unknown_parameter};
use super::{Experiment, FillPlan, Protocol, Size, Value, WorkloadPlan, placeholder};
use indexmap::IndexMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const FILE_KEYS: [&str; 9] = [
    "title",
    "question",
    "source",
    "parameters",
    "server",
    "data",
    "workload",
    "phases",
    "size",
];
const SERVER_KEYS: [&str; 1] = ["settings"];
const DATA_KEYS: [&str; 4] = ["setup", "fill", "finish", "read_only"];
const FILL_KEYS: [&str; 2] = ["rows", "columns"];
const WORKLOAD_KEYS: [&str; 7] = [
    "name",
    "clients",
    "threads",
    "protocol",
    "rate",
    "script",
    "script_file",
];

/// What a workload without a name is called.
const ONLY_WORKLOAD: &str = "main";

/// Reads the text of an experiment file.
pub(super) fn parse(path: &Path, text: &str) -> Result<Experiment, Diagnostic> {
    let source = Source { path, text };
    let document = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        source.complain(span, error.message().trim(), "this is not valid TOML")
    })?;
    let file = Section::document(source, document.get_ref(), &FILE_KEYS)?;
    let name = path
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let (title, _) = file.text("title")?.ok_or_else(|| {
        file.missing(
            "title",
            "say in a few words what is measured, for example: title = \"Primary-key update\"",
        )
    })?;
    let mut experiment = Experiment {
        name,
        title,
        question: file.text("question")?.unwrap_or_default().0,
        source: file.text("source")?.unwrap_or_default().0,
        parameters: IndexMap::new(),
        settings: IndexMap::new(),
        setup: String::new(),
        fill: Vec::new(),
        finish: String::new(),
        read_only: false,
        workloads: Vec::new(),
        warmup: Duration::from_secs(10),
        measure: Duration::from_secs(60),
        interval: Duration::from_secs(1),
        sizes: Vec::new(),
    };
    let mut reader = Reader {
        source,
        experiment: &mut experiment,
    };
    if let Some(value) = file.get("parameters") {
        reader.parameters(value)?;
    }
    if let Some(value) = file.get("server") {
        reader.server(value)?;
    }
    if let Some(value) = file.get("data") {
        reader.data(value)?;
    }
    match file.get("workload") {
        Some(value) => reader.workloads(value)?,
        None => {
            let help = "add a section [[workload]] with at least a script";
            return Err(file.missing("[[workload]]", help));
        }
    }
    if let Some(value) = file.get("phases") {
        reader.phases(value)?;
    }
    if let Some(value) = file.get("size") {
        reader.sizes(value)?;
    }
    Ok(experiment)
}

/// Fills an experiment section by section, in an order in which each can be checked against those before.
struct Reader<'a> {
    source: Source<'a>,
    experiment: &'a mut Experiment,
}

impl Reader<'_> {
    fn parameters(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, span, value) in Section::open(self.source, "[parameters]", value)?.entries() {
            if !placeholder::is_name(name) {
                let message = format!("`{name}` cannot name a parameter");
                let help = "scripts call it :name, so it consists of letters, digits and `_`, and begins with no digit";
                return Err(self.source.complain(span, message, help));
            }
            if name == SETTINGS || WORKLOAD_NAMES.contains(&name) || PHASE_NAMES.contains(&name) {
                let message = format!("`{name}` cannot name a parameter");
                return Err(self.source.complain(
                    span,
                    message,
                    "every experiment has a value of that name; choose another",
                ));
            }
            self.experiment
                .parameters
                .insert(name.to_owned(), scalar(self.source, name, value)?);
        }
        Ok(())
    }

    fn server(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let server = Section::of(self.source, "[server]", value, &SERVER_KEYS)?;
        let Some(settings) = server.get("settings") else {
            return Ok(());
        };
        for (name, span, value) in Section::open(self.source, "settings", settings)?.entries() {
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
            self.experiment.settings.insert(name.to_owned(), checked);
        }
        Ok(())
    }

    fn data(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let data = Section::of(self.source, "[data]", value, &DATA_KEYS)?;
        self.experiment.setup = self.sql(&data, "setup")?;
        self.experiment.finish = self.sql(&data, "finish")?;
        self.experiment.read_only = data.flag("read_only")?.unwrap_or(false);
        let Some(fill) = data.get("fill") else {
            return Ok(());
        };
        for (table, _, value) in Section::open(self.source, "fill", fill)?.entries() {
            let title = format!("fill.{table}");
            let section = Section::of(self.source, title, value, &FILL_KEYS)?;
            let rows = section
                .get("rows")
                .ok_or_else(|| section.missing("rows", "say how many rows to make, for example: rows = \"{rows}\""))?;
            let columns = section.get("columns").ok_or_else(|| {
                section.missing(
                    "columns",
                    "say what to fill in, for example: columns = { id = \"row\" }",
                )
            })?;
            let mut plan = FillPlan {
                table: table.to_owned(),
                rows: scalar(self.source, "rows", rows)?.to_string(),
                columns: IndexMap::new(),
            };
            self.check_placeholders(&plan.rows, rows.span())?;
            for (column, _, value) in Section::open(self.source, "columns", columns)?.entries() {
                let expression = scalar(self.source, column, value)?.to_string();
                self.check_placeholders(&expression, value.span())?;
                plan.columns.insert(column.to_owned(), expression);
            }
            if plan.columns.is_empty() {
                return Err(self.source.complain(columns.span(), "`columns` names no column", ""));
            }
            self.experiment.fill.push(plan);
        }
        Ok(())
    }

    fn workloads(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let Some(list) = value.get_ref().as_array().filter(|list| !list.is_empty()) else {
            return Err(self.source.complain(
                value.span(),
                "`workload` is a list",
                "write [[workload]], with two brackets",
            ));
        };
        for value in list.iter() {
            let section = Section::of(self.source, "[[workload]]", value, &WORKLOAD_KEYS)?;
            let name = match section.text("name")? {
                Some((name, span)) => self.checked_workload_name(name, span)?,
                None if list.len() == 1 => ONLY_WORKLOAD.to_owned(),
                None => {
                    return Err(section.missing("name", "several workloads are told apart by their names"));
                }
            };
            let (script_name, script_offset, script) = self.script(&section, &name)?;
            let mut workload = WorkloadPlan {
                name,
                clients: 1,
                threads: None,
                protocol: Protocol::default(),
                rate_per_s: None,
                script_name,
                script_offset,
                script,
            };
            // The order matters: how many threads there may be depends on the clients.
            for key in WORKLOAD_NAMES {
                if let Some(value) = section.get(key) {
                    let scalar = scalar(self.source, key, value)?;
                    let result = workload.set(key, &scalar);
                    result.map_err(|reason| {
                        self.source
                            .complain(value.span(), format!("`{key}` cannot be `{scalar}`"), reason)
                    })?;
                }
            }
            self.experiment.workloads.push(workload);
        }
        Ok(())
    }

    fn checked_workload_name(&self, name: String, span: Range<usize>) -> Result<String, Diagnostic> {
        let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        if name.is_empty() || !name.chars().all(allowed) {
            let message = format!("`{name}` cannot name a workload");
            return Err(self.source.complain(span, message, "use letters, digits, `-` and `_`"));
        }
        if name == SETTINGS {
            let help = "`settings.` begins the names of server settings; choose another";
            return Err(self
                .source
                .complain(span, "a workload cannot be called `settings`", help));
        }
        if self.experiment.workloads.iter().any(|known| known.name == name) {
            let message = format!("two workloads are called `{name}`");
            return Err(self
                .source
                .complain(span, message, "results are kept by name; choose another"));
        }
        Ok(name)
    }

    /// The name of a workload's script, where in the file of that name it begins, and its text.
    fn script(&self, section: &Section<'_>, workload: &str) -> Result<(String, (usize, usize), String), Diagnostic> {
        let (name, offset, script, span) = match (section.text("script")?, section.text("script_file")?) {
            (Some((script, span)), None) => {
                let path = self.source.path.display();
                match self.source.literal(&span) {
                    Some(offset) => (path.to_string(), offset, script, span),
                    None => (format!("{path}, workload {workload}"), (0, 0), script, span),
                }
            }
            (None, Some((file, span))) => {
                let path = self.source.path.parent().unwrap_or(Path::new("")).join(file);
                let script = std::fs::read_to_string(&path).map_err(|cause| {
                    let message = format!("cannot read {}: {cause}", path.display());
                    self.source
                        .complain(span.clone(), message, "the path is relative to the experiment file")
                })?;
                (path.display().to_string(), (0, 0), script, span)
            }
            (None, None) => {
                return Err(section.missing(
                    "script",
                    "say what each client does, or name a file: script_file = \"update.sql\"",
                ));
            }
            (Some(_), Some((_, span))) => {
                let help = "keep one of the two";
                return Err(self
                    .source
                    .complain(span, "the workload has both a `script` and a `script_file`", help));
            }
        };
        if script.trim().is_empty() {
            return Err(self
                .source
                .complain(span, "the script is empty", "it needs at least one statement"));
        }
        Ok((name, offset, script))
    }

    fn phases(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, _, value) in Section::of(self.source, "[phases]", value, &PHASE_NAMES)?.entries() {
            let scalar = scalar(self.source, name, value)?;
            self.experiment.set_phase(name, &scalar).map_err(|reason| {
                self.source
                    .complain(value.span(), format!("`{name}` cannot be `{scalar}`"), reason)
            })?;
        }
        Ok(())
    }

    fn sizes(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, _, value) in Section::of(self.source, "[size]", value, &Size::NAMES)?.entries() {
            let Ok(size) = name.parse() else { continue };
            let mut values = Vec::new();
            self.flatten("", value, &format!("[size.{name}]"), &mut values)?;
            // Tried on a copy, so that a size is checked when the file is read and not when it is first asked for.
            let mut trial = self.experiment.clone();
            for (name, span, value) in &values {
                trial.set(name, value).map_err(|error| {
                    let text = error.to_string();
                    let (message, help) = text.split_once('\n').unwrap_or((&text, ""));
                    self.source.complain(span.clone(), message, help)
                })?;
            }
            let values = values.into_iter().map(|(name, _, value)| (name, value)).collect();
            self.experiment.sizes.push((size, values));
        }
        Ok(())
    }

    /// Collects the values of a size under the names that [`Experiment::set`] knows: keys of nested tables are joined by dots.
    fn flatten(
        &self,
        prefix: &str,
        value: &Spanned<DeValue<'_>>,
        title: &str,
        values: &mut Vec<(String, Range<usize>, Value)>,
    ) -> Result<(), Diagnostic> {
        for (key, span, value) in Section::open(self.source, title, value)?.entries() {
            let name = format!("{prefix}{key}");
            match value.get_ref() {
                DeValue::Table(_) => self.flatten(&format!("{name}."), value, title, values)?,
                _ => values.push((name, span, scalar(self.source, key, value)?)),
            }
        }
        Ok(())
    }

    /// The SQL under `key`; empty if there is none.
    fn sql(&self, section: &Section<'_>, key: &str) -> Result<String, Diagnostic> {
        let Some((sql, span)) = section.text(key)? else {
            return Ok(String::new());
        };
        self.check_placeholders(&sql, span)?;
        Ok(sql)
    }

    /// Complains about the first placeholder of `text` that names no parameter. `span` is the place of the whole text in the file.
    fn check_placeholders(&self, text: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        let Some((name, _)) = placeholder::unknown(text, &self.experiment.parameters) else {
            return Ok(());
        };
        // Where the text is written without escapes the placeholder is found again in the file.
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        let place = written.find(&format!("{{{name}}}")).map_or(span.clone(), |at| {
            let start = span.start + at;
            start..start + name.len() + 2
        });
        let message = unknown_parameter(name, self.experiment);
        let help = format!("add it under [parameters], or write {{{{{name}}}}} if the braces are meant");
        Err(self.source.complain(place, message, help))
    }
}

#[cfg(test)]
mod tests;
