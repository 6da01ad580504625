//! The one way a value of an experiment is changed: by its file, by a size of the file, by a factor, or on the
//! command line.

use super::dialect::OtherDatabase;
use super::duration::parse_duration;
use super::load_hosts::MOST_HOSTS;
use super::{Experiment, StagePlan, WorkPlan, WorkloadPlan, did_you_mean, placeholder};
use crate::lua::{LuaPlan, OPTIONS, spelt};
use crate::nearest::nearest;
use dyno_archive::plan::{MEASURE, Span, Value, WARMUP};
use dyno_target::target::{locale, setting_names};
use dyno_text::{HIDDEN, is_secret};
use indexmap::IndexSet;
use std::time::Duration;

/// Names every experiment has; each reaches all workloads. A parameter may not be called so.
pub(super) const WORKLOAD_NAMES: [&str; 7] = [
    "clients",
    "threads",
    "protocol",
    "driver",
    "rate",
    "transactions",
    "start_delay",
];
/// Names of the phases' values.
pub(super) const PHASE_NAMES: [&str; 4] = [WARMUP, MEASURE, INTERVAL, GRACE];
/// Names of what is there before a run: the database, the way to it, its data; which workloads run, and on how many
/// load hosts.
pub(super) const PLACE_NAMES: [&str; 7] = [TARGET, "path", LOCALE, "state", "cache", WORKLOAD, HOSTS];
/// Names of what a server beside the main one has, after its own; and there are its settings.
pub(super) const SERVER_NAMES: [&str; 5] = [TARGET, "path", LOCALE, "state", "cache"];
/// Names of what a stage has, after `stage.NAME.`.
pub(super) const STAGE_NAMES: [&str; 3] = ["lasts", "clients", "rate"];
/// Names of what the plan has, after `plan.`.
pub(super) const PLAN_NAMES: [&str; 4] = ["repetitions", "order", "on_failure", "max_errors"];
/// Names the database.
pub(crate) const TARGET: &str = "target";
/// Names the locale of the embedded server's databases.
pub(crate) const LOCALE: &str = "locale";
/// Names those of the workloads that run.
pub(super) const WORKLOAD: &str = "workload";
/// Names how many load hosts drive the workloads.
pub(crate) const HOSTS: &str = "hosts";
/// Begins the name of a server setting, listed in the file or not.
pub(super) const SETTINGS: &str = "settings";
/// Begins the name of a stage's value.
pub(super) const STAGE: &str = "stage";
/// Names the data's own script before an option of it.
const DATA: &str = "data";
/// Begins the name of a value of the plan.
pub(super) const PLAN: &str = "plan";
const INTERVAL: &str = "interval";
const GRACE: &str = "grace";

/// More than a client has in a year.
const MOST_TRANSACTIONS: i64 = 1_000_000_000_000;

/// Below this, timer and scheduler noise are all an interval would show.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// More connections than any server accepts, and few enough to be counted in memory.
pub(super) const MOST_CLIENTS: i64 = 1_000_000;
/// More often than anybody measures.
const MOST_REPETITIONS: i64 = 10_000;

/// Why a value was not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// Nothing of this experiment has the name.
    #[error(
        "`{name}` cannot be set in this experiment{}\nYou can set: {}, and settings.NAME for any server setting.",
        did_you_mean(nearest.as_deref()),
        known.join(", ")
    )]
    Unknown {
        /// The name.
        name: String,
        /// The known name most like it.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The value cannot be what the name stands for.
    #[error("`{name}` cannot be `{}`: {reason}", if is_secret(name, value) { HIDDEN } else { value })]
    Invalid {
        /// The name.
        name: String,
        /// The value.
        value: String,
        /// What was expected.
        reason: String,
    },
    /// What is in the file is for other databases.
    #[error(transparent)]
    OtherDatabase(Box<OtherDatabase>),
}

impl Experiment {
    /// Sets one value.
    ///
    /// `name` is a parameter; `clients`, `threads`, `protocol`, `driver`, `rate`, `transactions` or `start_delay` for
    /// all workloads, or `WORKLOAD.clients` for one; `warmup`, `measure`, `interval` or `grace`; `target`, `path`,
    /// `locale`, `state`, `cache`, `workload` or `hosts`; `options.NAME` of all scripts in Lua, or
    /// `WORKLOAD.options.NAME` or `data.options.NAME` of one; `SERVER.target`, `.path`, `.locale`, `.state`, `.cache`
    /// or `SERVER.settings.NAME` of a server beside the main one; `stage.NAME.lasts`, `.clients` or `.rate`;
    /// `plan.repetitions`, `.order`, `.on_failure` or
    /// `.max_errors`; `settings.NAME` for any server setting, or its plain name if the experiment lists it or
    /// PostgreSQL has it. What is written in a section `[server]` or `[data]` may be called by it, too: `data.state`. A
    /// number may also come as text. Fewer clients than threads take the threads down with them. A factor is pinned to
    /// the value. The name of a level of a factor sets all that it stands for.
    ///
    /// # Errors
    ///
    /// If the name is unknown, or the value of the wrong kind or out of range; then nothing was changed.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), SetError> {
        self.put(name, value)?;
        if let Ok(factor) = self.factor(name)
            && self.design.factors.contains_key(&factor)
        {
            let level = self.level(&factor, value)?;
            self.design.vary(&factor, vec![level]);
        }
        Ok(())
    }

    /// Sets one value as [`Self::set`] does, but leaves factors alone.
    pub(crate) fn put(&mut self, name: &str, value: &Value) -> Result<(), SetError> {
        let changed = self.try_set(plain(name), value).map_err(|reason| SetError::Invalid {
            name: name.to_owned(),
            value: value.to_string(),
            reason,
        })?;
        if changed { Ok(()) } else { Err(self.unknown(name)) }
    }

    /// Whether [`Self::set`] knows `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        let of_workload = |(workload, name): (&str, &str)| {
            WORKLOAD_NAMES.contains(&name) && self.workloads.iter().any(|known| known.name == workload)
        };
        self.setting(name).is_some()
            || self.is_option(name)
            || self.value_of_server(name).is_some()
            || self.names().iter().any(|known| known == name)
            || name.split_once('.').is_some_and(of_workload)
    }

    /// Says that nothing is called `name`.
    pub(super) fn unknown(&self, name: &str) -> SetError {
        let known = self.names();
        let mut candidates: Vec<&str> = known.iter().map(String::as_str).collect();
        setting_names().for_each(|setting| candidates.push(setting));
        let nearest = nearest(name, candidates).map(str::to_owned);
        SetError::Unknown {
            name: name.to_owned(),
            nearest,
            known,
        }
    }

    /// Every name [`Self::set`] knows, except settings that the experiment does not list.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.parameters.keys().cloned().collect();
        names.extend(WORKLOAD_NAMES.map(str::to_owned));
        if let [_, _, ..] = self.workloads.as_slice() {
            for workload in &self.workloads {
                names.extend(WORKLOAD_NAMES.map(|name| format!("{}.{name}", workload.name)));
            }
        }
        names.extend(PHASE_NAMES.map(str::to_owned));
        names.extend(PLACE_NAMES.map(str::to_owned));
        for server in self.servers.keys() {
            names.extend(SERVER_NAMES.map(|name| format!("{server}.{name}")));
        }
        for stage in &self.stages {
            names.extend(STAGE_NAMES.map(|name| format!("{STAGE}.{}.{name}", stage.name)));
        }
        names.extend(PLAN_NAMES.map(|name| format!("{PLAN}.{name}")));
        names.extend(self.option_names());
        let of_dialects = self.dialects.values().flat_map(|dialect| dialect.settings.keys());
        let settings: IndexSet<&String> = self.settings.keys().chain(of_dialects).collect();
        names.extend(settings.into_iter().cloned());
        names.extend(self.named.keys().cloned());
        names
    }

    /// Sets one value; `false` if nothing has the name, else the reason why it cannot be.
    fn try_set(&mut self, name: &str, value: &Value) -> Result<bool, String> {
        if let Some(parameter) = self.parameters.get_mut(name) {
            *parameter = like(parameter, value)?;
        } else if let Some(setting) = self.setting(name) {
            let value = self.checked_setting(setting, value)?;
            self.settings.insert(setting.to_owned(), value);
        } else if WORKLOAD_NAMES.contains(&name) {
            // On a copy: a value that one workload refuses must not reach the others.
            let mut workloads = self.workloads.clone();
            for workload in &mut workloads {
                workload.set(name, value)?;
            }
            self.workloads = workloads;
        } else if PHASE_NAMES.contains(&name) {
            self.set_phase(name, value)?;
        } else if PLACE_NAMES.contains(&name) {
            self.set_place(name, value)?;
        } else if let Some((stage, name)) = dotted(name, STAGE).and_then(|rest| rest.rsplit_once('.'))
            && STAGE_NAMES.contains(&name)
            && let Some(stage) = self.stages.iter_mut().find(|known| known.name == stage)
        {
            stage.set(name, value)?;
        } else if let Some(name) = dotted(name, PLAN).filter(|name| PLAN_NAMES.contains(name)) {
            self.set_plan(name, value)?;
        } else if let Some((server, name)) = self.value_of_server(name)
            && let Some(server) = self.servers.get_mut(server)
        {
            return server.place.try_set(name, value);
        } else if let Some((workload, name)) = name.split_once('.')
            && WORKLOAD_NAMES.contains(&name)
            && let Some(workload) = self.workloads.iter_mut().find(|known| known.name == workload)
        {
            workload.set(name, value)?;
        } else if self.is_option(name) {
            self.set_option(name, value)?;
        } else if let Some(levels) = self.named.get(name).cloned() {
            self.set_meaning(&levels, value.to_string().trim())?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether this is the name of an option of a script in Lua.
    pub(super) fn is_option(&self, name: &str) -> bool {
        let Some((whose, option)) = option_of(name) else {
            return false;
        };
        self.luas(whose).any(|script| script.knows(option))
    }

    /// The names of the options of scripts in Lua, as they are set for all that have them.
    fn option_names(&self) -> IndexSet<String> {
        let scripts = self.luas(None);
        scripts
            .flat_map(LuaPlan::names)
            .map(|option| format!("{OPTIONS}.{option}"))
            .collect()
    }

    /// The scripts in Lua of a workload, of the data, or all of them.
    fn luas<'a>(&'a self, whose: Option<&'a str>) -> impl Iterator<Item = &'a LuaPlan> {
        let workloads = self.workloads.iter().filter_map(|workload| match &workload.scripts {
            WorkPlan::Lua(script) => Some((workload.name.as_str(), &**script)),
            WorkPlan::Scripts(_) => None,
        });
        let data = self.prepare.iter().map(|prepare| (DATA, &prepare.script));
        let is_meant = move |name: &str| whose.is_none_or(|whose| whose == name);
        workloads
            .chain(data)
            .filter(move |(name, _)| is_meant(name))
            .map(|(_, script)| script)
    }

    /// Sets an option of all scripts that have it, or of one.
    fn set_option(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let Some((whose, option)) = option_of(name) else {
            return Ok(());
        };
        let parameters = &self.parameters;
        let is_meant = |name: &str| whose.is_none_or(|whose| whose == name);
        // On copies: a value that one script refuses must not reach the others.
        let (mut workloads, mut prepare) = (self.workloads.clone(), self.prepare.clone());
        for workload in workloads.iter_mut().filter(|workload| is_meant(&workload.name)) {
            if let WorkPlan::Lua(script) = &mut workload.scripts
                && script.knows(option)
            {
                script.set(option, value, parameters)?;
            }
        }
        if let Some(prepare) = prepare
            .as_mut()
            .filter(|prepare| is_meant(DATA) && prepare.script.knows(option))
        {
            prepare.script.set(option, value, parameters)?;
        }
        (self.workloads, self.prepare) = (workloads, prepare);
        Ok(())
    }

    /// The server setting that `name` stands for, with `settings.` before it or without.
    pub(super) fn setting<'a>(&self, name: &'a str) -> Option<&'a str> {
        let known = |name: &str| {
            self.settings.contains_key(name)
                || self.dialect_of(name).is_some()
                || setting_names().any(|known| known == name)
        };
        dotted(name, SETTINGS).or_else(|| known(name).then_some(name))
    }

    /// Sets one of [`PLACE_NAMES`].
    pub(super) fn set_place(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let (number, value) = (value.to_integer(), value.to_string());
        match name {
            TARGET if value.trim().is_empty() => {
                return Err("expected \"embedded\", \"embedded:mariadb\", a URI or a conninfo string".to_owned());
            }
            TARGET => self.target = Some(value),
            "path" => self.path = Some(value.parse()?),
            LOCALE => self.locale = Some(locale(&value)?),
            "state" => self.state = value.parse()?,
            "cache" => self.cache = value.parse()?,
            HOSTS => {
                let number = number.filter(|number| (0..=MOST_HOSTS).contains(number));
                let number = number.and_then(|number| usize::try_from(number).ok());
                self.hosts = Some(number.ok_or("expected how many of the load hosts, or 0: dyno itself")?);
            }
            _ => self.selected = self.selection(&value)?,
        }
        Ok(())
    }

    /// The workloads whose names are in `text` between plus signs, in the order of the file.
    fn selection(&self, text: &str) -> Result<Vec<String>, String> {
        let names = || self.workloads.iter().map(|workload| workload.name.as_str());
        let asked: Vec<_> = text.split('+').map(str::trim).collect();
        if let Some(unknown) = asked.iter().find(|asked| !names().any(|known| known == **asked)) {
            let hint = did_you_mean(nearest(unknown, names()));
            let known: Vec<_> = names().collect();
            return Err(format!(
                "there is no workload `{unknown}`{hint}\nexpected one or more of {}, joined by `+`",
                known.join(", ")
            ));
        }
        Ok(names().filter(|name| asked.contains(name)).map(str::to_owned).collect())
    }

    /// Sets one of [`PLAN_NAMES`].
    pub(super) fn set_plan(&mut self, name: &str, value: &Value) -> Result<(), String> {
        match name {
            "repetitions" => {
                let times = value
                    .to_integer()
                    .filter(|times| (1..=MOST_REPETITIONS).contains(times));
                let times = times.and_then(|times| usize::try_from(times).ok());
                self.design.repetitions = times.ok_or("expected a whole number from 1 to 10,000")?;
            }
            "order" => self.design.order = value.to_string().parse()?,
            "on_failure" => self.design.on_failure = value.to_string().parse()?,
            _ => self.design.max_errors = value.to_string().parse()?,
        }
        Ok(())
    }

    /// The text of a server setting's value, if name and value can be right.
    pub(super) fn checked_setting(&self, name: &str, value: &Value) -> Result<String, String> {
        let well_formed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '$');
        if name.is_empty() || !name.chars().all(well_formed) {
            return Err("the name of a server setting can only contain letters, digits, `_` and `.`".to_owned());
        }
        let value = value.to_string();
        match placeholder::unknown(&value, &self.parameters) {
            None => Ok(value),
            Some((unknown, _)) => Err(unknown_parameter(unknown, self)),
        }
    }

    /// Sets one of [`PHASE_NAMES`].
    pub(super) fn set_phase(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let duration = parse_duration(&value.to_string())?;
        match name {
            WARMUP => self.warmup = Some(duration),
            GRACE => self.grace = duration,
            MEASURE if !self.stages.is_empty() => {
                return Err("the stages determine how long is measured; set stage.NAME.lasts".to_owned());
            }
            MEASURE if duration.is_zero() => return Err("it must be longer than 0".to_owned()),
            MEASURE => self.measure = Some(duration),
            _ if duration < SHORTEST_INTERVAL => {
                return Err("the shortest interval is 10ms".to_owned());
            }
            _ => self.interval = duration,
        }
        Ok(())
    }
}

impl WorkloadPlan {
    /// Sets one of [`WORKLOAD_NAMES`].
    pub(super) fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        match name {
            "clients" => {
                self.clients = count(value)?;
                self.threads = self.threads.map(|threads| threads.min(self.clients));
            }
            "threads" => {
                let threads = count(value)?;
                if threads > self.clients {
                    return Err(format!(
                        "expected at most {}, because no client needs more than one thread",
                        self.clients
                    ));
                }
                self.threads = Some(threads);
            }
            "protocol" => self.protocol = value.to_string().parse()?,
            "driver" => {
                self.driver = value.to_string().parse()?;
                self.driver_place = None;
            }
            "start_delay" => self.start_delay = parse_duration(&value.to_string())?,
            "transactions" => self.transactions = Some(transactions(value)?),
            _ => self.rate_per_s = Some(rate(value)?),
        }
        Ok(())
    }
}

impl StagePlan {
    /// Sets one of [`STAGE_NAMES`]; a number stays the same all through the stage.
    pub(super) fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        match name {
            "lasts" => {
                let lasts = parse_duration(&value.to_string())?;
                if lasts.is_zero() {
                    return Err("a stage must be longer than 0".to_owned());
                }
                self.lasts = Some(lasts);
            }
            "clients" => self.clients = Some(Span::constant(count(value)? as f64)),
            _ => self.rate = Some(Span::constant(rate(value)?)),
        }
        Ok(())
    }
}

/// `name` without the section it may be called by.
pub(super) fn plain(name: &str) -> &str {
    let of = |section: &str, names: &[&str]| dotted(name, section).filter(|rest| names.contains(rest));
    of("server", &[TARGET, "path", LOCALE])
        .or_else(|| of("data", &["state", "cache"]))
        .unwrap_or(name)
}

/// Whose option this is, if that is said, and its name.
pub(crate) fn option_of(name: &str) -> Option<(Option<&str>, &str)> {
    if let Some(option) = dotted(name, OPTIONS) {
        return Some((None, option));
    }
    let (whose, rest) = name.split_once('.')?;
    dotted(rest, OPTIONS).map(|option| (Some(whose), option))
}

/// The name of an option of scripts as it is spelt in them, so that it has one name.
pub(super) fn spelt_option(name: &str) -> String {
    match option_of(name) {
        Some((Some(whose), option)) => format!("{whose}.{OPTIONS}.{}", spelt(option)),
        Some((None, option)) => format!("{OPTIONS}.{}", spelt(option)),
        None => name.to_owned(),
    }
}

/// What follows `section.` in `name`.
pub(super) fn dotted<'a>(name: &'a str, section: &str) -> Option<&'a str> {
    name.strip_prefix(section)?.strip_prefix('.')
}

/// `value` as the kind of value `old` is.
pub(super) fn like(old: &Value, value: &Value) -> Result<Value, String> {
    match old {
        Value::Integer(_) => value
            .to_integer()
            .map(Value::Integer)
            .ok_or("expected a whole number".to_owned()),
        Value::Float(_) => value.to_float().map(Value::Float).ok_or("expected a number".to_owned()),
        Value::Text(_) => Ok(Value::Text(value.to_string())),
    }
}

/// A number of transactions per second.
pub(super) fn rate(value: &Value) -> Result<f64, String> {
    value
        .to_float()
        .filter(|rate| (1e-3..=1e9).contains(rate))
        .ok_or_else(|| "expected a number of transactions per second, above 0".to_owned())
}

/// A number of transactions of each client.
fn transactions(value: &Value) -> Result<u64, String> {
    value
        .to_integer()
        .filter(|number| (1..=MOST_TRANSACTIONS).contains(number))
        .map(i64::unsigned_abs)
        .ok_or_else(|| "expected a whole number from 1 on, of transactions of each client".to_owned())
}

/// A number of clients or threads.
pub(super) fn count(value: &Value) -> Result<usize, String> {
    value
        .to_integer()
        .filter(|number| (1..=MOST_CLIENTS).contains(number))
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| "expected a whole number from 1 to 1,000,000".to_owned())
}

/// Says that braces hold a name that no parameter has.
pub(super) fn unknown_parameter(name: &str, experiment: &Experiment) -> String {
    let known = experiment.parameters.keys().map(String::as_str);
    format!(
        "there is no parameter `{{{name}}}`{}",
        did_you_mean(nearest(name, known))
    )
}

#[cfg(test)]
mod tests;
