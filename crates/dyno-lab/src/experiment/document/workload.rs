//! `[[workload]]`: what runs.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, list, scalar};
use crate::experiment::set::{PLAN, SETTINGS, STAGE, WORKLOAD_NAMES};
use crate::experiment::{WorkPlan, WorkloadPlan};
use crate::lua::{OPTIONS, Purpose};
use dyno_archive::plan::{Driver, Protocol, Script, Scripts, WeightedScript};
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use toml::de::DeValue;

pub(super) const WORKLOAD_KEYS: [&str; 17] = [
    "name",
    "clients",
    "threads",
    "protocol",
    "driver",
    "rate",
    "transactions",
    "start_delay",
    "script",
    "script_file",
    "scripts",
    "lua",
    "options",
    "safe_lua",
    "server",
    "sum",
    "hosts",
];
/// The keys of what the clients of a workload do.
pub(super) const SCRIPT_SOURCES: [&str; 6] = ["script", "script_file", "scripts", "lua", "options", "safe_lua"];
pub(super) const SCRIPT_KEYS: [&str; 4] = ["name", "weight", "script", "script_file"];

/// What a workload without a name is called.
const ONLY_WORKLOAD: &str = "main";

/// The largest weight of a script: pgbench's, whose weights are 32-bit integers.
const MOST_WEIGHT: i64 = i32::MAX as i64;

impl Reader<'_> {
    pub(super) fn workloads(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
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
                    return Err(section.missing("name", "with several workloads, each needs a name"));
                }
            };
            let scripts = self.work(&section, &name)?;
            let server = self.server_of(&section)?;
            let mut workload = WorkloadPlan {
                hosts: self.on_hosts(&section, server.as_deref())?,
                server,
                sum: section.flag("sum")?.unwrap_or(false),
                name,
                clients: 1,
                threads: None,
                protocol: Protocol::default(),
                driver: Driver::default(),
                driver_place: None,
                rate_per_s: None,
                transactions: None,
                start_delay: Duration::ZERO,
                scripts,
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
            // What it can be depends on the target, which is not known yet.
            workload.driver_place = section.get("driver").map(|value| self.source.line_of(&value.span()));
            self.experiment.workloads.push(workload);
        }
        Ok(())
    }

    /// The further server that a workload is for; `None`: the main one.
    fn server_of(&self, section: &Section<'_>) -> Result<Option<String>, Diagnostic> {
        let Some((server, span)) = section.text("server")? else {
            return Ok(None);
        };
        self.check_server(&server, span)?;
        Ok((server != self.main_server()).then_some(server))
    }

    fn checked_workload_name(&self, name: String, span: Range<usize>) -> Result<String, Diagnostic> {
        self.check_name("a workload", &name, span.clone())?;
        if [SETTINGS, STAGE, PLAN, OPTIONS].contains(&name.as_str()) {
            let message = format!("a workload cannot be called `{name}`");
            let help = format!("`{name}.` begins the names of other values; choose another");
            return Err(self.source.complain(span, message, help));
        }
        if self.experiment.workloads.iter().any(|known| known.name == name) {
            let message = format!("two workloads are called `{name}`");
            return Err(self
                .source
                .complain(span, message, "results are kept by name; choose another"));
        }
        Ok(name)
    }

    /// What the clients of a workload execute: scripts in pgbench's language, or one in Lua.
    pub(super) fn work(&self, section: &Section<'_>, workload: &str) -> Result<WorkPlan, Diagnostic> {
        match self.lua(section, Purpose::Workload, &["script", "script_file", "scripts"])? {
            Some(script) => Ok(WorkPlan::Lua(Box::new(script))),
            None => Ok(WorkPlan::Scripts(self.scripts(section, workload)?)),
        }
    }

    /// Scripts in pgbench's language.
    fn scripts(&self, section: &Section<'_>, workload: &str) -> Result<Scripts, Diagnostic> {
        let Some(value) = section.get("scripts") else {
            return Ok(Scripts::One(self.script(section, workload)?));
        };
        for key in ["script", "script_file"] {
            if let Some(one) = section.get(key) {
                let message = format!("the workload has both `scripts` and a `{key}`");
                return Err(self.source.complain(one.span(), message, "keep only one of them"));
            }
        }
        let mut scripts: Vec<WeightedScript> = Vec::new();
        for value in list(self.source, value, "scripts", "a list of scripts")?.iter() {
            let section = Section::of(self.source, "a script of `scripts`", value, &SCRIPT_KEYS)?;
            let (name, span) = section
                .text("name")?
                .ok_or_else(|| section.missing("name", "results are kept by the name of the script"))?;
            self.check_name("a script", &name, span.clone())?;
            if scripts.iter().any(|known| known.script.script_name == name) {
                let message = format!("two scripts are called `{name}`");
                let help = "results are kept by name; choose another";
                return Err(self.source.complain(span, message, help));
            }
            let weight = match section.get("weight") {
                None => 1,
                Some(value) => {
                    let weight = scalar(self.source, "weight", value)?;
                    let number = weight.to_integer().filter(|weight| (1..=MOST_WEIGHT).contains(weight));
                    number.map(i64::unsigned_abs).ok_or_else(|| {
                        let message = format!("`weight` cannot be `{weight}`");
                        self.source
                            .complain(value.span(), message, "expected a whole number of at least 1")
                    })?
                }
            };
            let script = Script {
                script_name: name,
                // Lines are counted in the script: what messages name is not the file.
                script_offset: (0, 0),
                ..self.script(&section, workload)?
            };
            scripts.push(WeightedScript { weight, script });
        }
        if scripts.is_empty() {
            let help = "it needs at least one, such as { name = \"read\", script = \"select 1\" }";
            return Err(self.source.complain(value.span(), "`scripts` is empty", help));
        }
        Ok(Scripts::Several { scripts })
    }

    /// The script of `section`: its text, what messages call it, and where in the file of that name it begins.
    fn script(&self, section: &Section<'_>, workload: &str) -> Result<Script, Diagnostic> {
        let (script_name, script_offset, script, span) = match (section.text("script")?, section.text("script_file")?) {
            (Some((script, span)), None) => {
                let path = self.source.path.display();
                match self.source.literal(&span) {
                    Some(offset) => (path.to_string(), offset, script, span),
                    None => (format!("{path}, workload {workload}"), (0, 0), script, span),
                }
            }
            (None, Some((file, span))) => {
                let (name, script) = self.text_beside(&file, &span)?;
                (name, (0, 0), script, span)
            }
            (None, None) => {
                return Err(section.missing(
                    "script",
                    "write what each client does, or name a file: script_file = \"update.sql\", or lua = \"mine.lua\"",
                ));
            }
            (Some(_), Some((_, span))) => {
                let help = "keep only one of them";
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
        Ok(Script {
            script_name,
            script_offset,
            script,
        })
    }
}
