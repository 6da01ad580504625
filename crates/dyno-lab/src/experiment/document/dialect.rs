//! `[postgres]` and `[mysql]`: what is for one kind of database alone.

use super::Reader;
use super::workload::SCRIPT_SOURCES;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::dialect::Dialect;
use crate::experiment::did_you_mean;
use crate::experiment::section::Section;
use crate::nearest::nearest;
use dyno_archive::plan::Size;
use dyno_target::target::locale;
use toml::Spanned;
use toml::de::DeValue;

pub(super) const DIALECT_KEYS: [&str; 7] = ["only_because", "server", "data", "workload", "check", "output", "size"];
const SERVER_KEYS: [&str; 2] = ["settings", "locale"];
const SETTINGS_ONLY: [&str; 1] = ["settings"];
pub(super) const DATA_KEYS: [&str; 11] = [
    "setup",
    "setup_file",
    "fill",
    "load",
    "finish",
    "finish_file",
    "tablespaces",
    "lua",
    "options",
    "safe_lua",
    "threads",
];

impl Reader<'_> {
    /// Reads what is said for the kind of database `key`, in a file with sections for these `others`, too.
    pub(super) fn dialect(
        &mut self,
        key: &'static str,
        others: &[&str],
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Diagnostic> {
        let section = Section::of(self.source, format!("[{key}]"), value, &DIALECT_KEYS)?;
        let mut dialect = Dialect::default();
        if let Some((reason, span)) = section.text("only_because")? {
            if let Some(other) = others.first() {
                let message = format!("`only_because` says that no other kind of database is meant, but [{other}] is");
                return Err(self.source.complain(span, message, "leave one of them out"));
            }
            dialect.only_because = Some(reason);
        }
        if let Some(value) = section.get("server") {
            let server = Section::of(self.source, format!("[{key}.server]"), value, &SERVER_KEYS)?;
            if let Some(settings) = server.get("settings") {
                dialect.settings = self.settings(settings)?;
            }
            if let Some((text, span)) = server.text("locale")? {
                let locale = locale(&text).map_err(|reason| {
                    self.source
                        .complain(span, format!("`locale` cannot be `{text}`"), reason)
                })?;
                dialect.locale = Some(locale);
            }
        }
        if let Some(value) = section.get("data") {
            let data = Section::of(self.source, format!("[{key}.data]"), value, &DATA_KEYS)?;
            self.check_mentions(self.main_server(), value)?;
            dialect.setup = self.sql(&data, "setup")?;
            dialect.fill = self.fill(&data)?;
            dialect.fill.extend(self.rows_of_files(&data)?);
            dialect.finish = self.sql(&data, "finish")?;
            dialect.prepare = self.prepare(&data)?;
            if data.get("tablespaces").is_some() {
                dialect.tablespaces = Some(self.tablespaces(&data)?);
            }
        }
        if let Some(value) = section.get("workload") {
            self.dialect_scripts(key, value, &mut dialect)?;
        }
        if let Some(value) = section.get("check") {
            dialect.checks = self.asked_otherwise(key, "check", value)?;
        }
        if let Some(value) = section.get("output") {
            dialect.outputs = self.asked_otherwise(key, "output", value)?;
        }
        if let Some(value) = section.get("size") {
            let title = format!("[{key}.size]");
            for (name, _, value) in Section::of(self.source, title, value, Size::NAMES)?.entries() {
                let Ok(size) = name.parse() else { continue };
                let title = format!("[{key}.size.{name}]");
                let section = Section::of(self.source, title, value, &SETTINGS_ONLY)?;
                if let Some(settings) = section.get("settings") {
                    dialect.sizes.push((size, self.settings(settings)?));
                }
            }
        }
        self.experiment.dialects.insert(key, dialect);
        Ok(())
    }

    /// Reads the scripts of workloads, which are known by their names.
    fn dialect_scripts(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        dialect: &mut Dialect,
    ) -> Result<(), Diagnostic> {
        for (name, span, value) in Section::open(self.source, format!("[{key}.workload]"), value)?.entries() {
            let known = || self.experiment.workloads.iter().map(|workload| workload.name.as_str());
            if !known().any(|known| known == name) {
                let message = format!("there is no workload `{name}`{}", did_you_mean(nearest(name, known())));
                let help = format!("there are: {}", known().collect::<Vec<_>>().join(", "));
                return Err(self.source.complain(span, message, help));
            }
            let title = format!("[{key}.workload.{name}]");
            let section = Section::of(self.source, title, value, &SCRIPT_SOURCES)?;
            dialect.scripts.insert(name.to_owned(), self.work(&section, name)?);
        }
        Ok(())
    }
}
