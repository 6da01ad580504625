//! The one way a value of an experiment is changed: by a size of its file, or on the command line.

use super::value::parse_duration;
use super::{Experiment, MEASURE, Value, WARMUP, WorkloadPlan, did_you_mean, placeholder};
use crate::nearest::nearest;
use std::time::Duration;

/// Names every experiment has; each reaches all workloads. A parameter may not be called so.
pub(super) const WORKLOAD_NAMES: [&str; 4] = ["clients", "threads", "protocol", "rate"];
/// Names of the phases' values.
pub(super) const PHASE_NAMES: [&str; 3] = [WARMUP, MEASURE, INTERVAL];
/// Begins the name of a server setting, listed in the file or not.
pub(super) const SETTINGS: &str = "settings";
const INTERVAL: &str = "interval";

/// Below this, timer and scheduler noise are all an interval would show.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// More connections than any server accepts, and few enough to be counted in memory.
const MOST_CLIENTS: i64 = 1_000_000;

/// Why a value was not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// Nothing of this experiment has the name.
    #[error(
        "`{name}` is nothing that this experiment can set{}\nIt can set: {}, and settings.NAME for any server setting.",
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
    #[error("`{name}` cannot be `{value}`: {reason}")]
    Invalid {
        /// The name.
        name: String,
        /// The value.
        value: String,
        /// What was expected.
        reason: String,
    },
}

impl Experiment {
    /// Sets one value.
    ///
    /// `name` is a parameter; `clients`, `threads`, `protocol` or `rate` for all workloads, or `WORKLOAD.clients` for one; `warmup`, `measure` or
    /// `interval`; `settings.NAME` for any server setting, or its plain name if the experiment lists it. A number may also come as text.
    /// Fewer clients than threads take the threads down with them.
    ///
    /// # Errors
    ///
    /// If the name is unknown, or the value of the wrong kind or out of range; then nothing was changed.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), SetError> {
        let changed = self.try_set(name, value).map_err(|reason| SetError::Invalid {
            name: name.to_owned(),
            value: value.to_string(),
            reason,
        })?;
        if changed {
            return Ok(());
        }
        let known = self.names();
        Err(SetError::Unknown {
            name: name.to_owned(),
            nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
            known,
        })
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
        names.extend(self.settings.keys().cloned());
        names
    }

    /// Sets one value; `false` if nothing has the name, else the reason why it cannot be.
    fn try_set(&mut self, name: &str, value: &Value) -> Result<bool, String> {
        if let Some(parameter) = self.parameters.get_mut(name) {
            *parameter = like(parameter, value)?;
        } else if let Some(setting) = name.strip_prefix(SETTINGS).and_then(|rest| rest.strip_prefix('.')) {
            let value = self.checked_setting(setting, value)?;
            self.settings.insert(setting.to_owned(), value);
        } else if self.settings.contains_key(name) {
            let value = self.checked_setting(name, value)?;
            self.settings.insert(name.to_owned(), value);
        } else if WORKLOAD_NAMES.contains(&name) {
            // On a copy: a value that one workload refuses must not reach the others.
            let mut workloads = self.workloads.clone();
            for workload in &mut workloads {
                workload.set(name, value)?;
            }
            self.workloads = workloads;
        } else if PHASE_NAMES.contains(&name) {
            self.set_phase(name, value)?;
        } else if let Some((workload, name)) = name.split_once('.')
            && WORKLOAD_NAMES.contains(&name)
            && let Some(workload) = self.workloads.iter_mut().find(|known| known.name == workload)
        {
            workload.set(name, value)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// The text of a server setting's value, if name and value can be right.
    pub(super) fn checked_setting(&self, name: &str, value: &Value) -> Result<String, String> {
        let well_formed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '$');
        if name.is_empty() || !name.chars().all(well_formed) {
            return Err("the name of a server setting consists of letters, digits, `_` and `.`".to_owned());
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
            WARMUP => self.warmup = duration,
            MEASURE if duration.is_zero() => return Err("something has to be measured".to_owned()),
            MEASURE => self.measure = duration,
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
            _ => {
                let rate_per_s = value.to_float().filter(|rate| (1e-3..=1e9).contains(rate));
                let expected = "expected a number of transactions per second, above 0";
                self.rate_per_s = Some(rate_per_s.ok_or(expected)?);
            }
        }
        Ok(())
    }
}

/// `value` as the kind of value `old` is.
fn like(old: &Value, value: &Value) -> Result<Value, String> {
    match old {
        Value::Integer(_) => value
            .to_integer()
            .map(Value::Integer)
            .ok_or("expected a whole number".to_owned()),
        Value::Float(_) => value.to_float().map(Value::Float).ok_or("expected a number".to_owned()),
        Value::Text(_) => Ok(Value::Text(value.to_string())),
    }
}

/// A number of clients or threads.
fn count(value: &Value) -> Result<usize, String> {
    value
        .to_integer()
        .filter(|number| (1..=MOST_CLIENTS).contains(number))
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| "expected a whole number from 1 to 1,000,000".to_owned())
}

/// Says that braces hold a name that no parameter has.
pub(super) fn unknown_parameter(name: &str, experiment: &Experiment) -> String {
    let known = experiment.parameters.keys().map(String::as_str);
    format!("`{{{name}}}` names no parameter{}", did_you_mean(nearest(name, known)))
}

#[cfg(test)]
mod tests;
