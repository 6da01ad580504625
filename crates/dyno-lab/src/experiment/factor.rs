//! What may be varied, and the one way in which each factor and level is written.

use super::set::{self, HOSTS, MOST_CLIENTS, PLAN, SETTINGS, WORKLOAD, option_of};
use super::{Experiment, SetError};
use dyno_archive::plan::Value;
use dyno_text::is_secret;

impl Experiment {
    /// The one name of the factor that may be called `name`.
    ///
    /// # Errors
    ///
    /// If nothing has the name, or if it is nothing that a cell has.
    pub(crate) fn factor(&self, name: &str) -> Result<String, SetError> {
        let plain = set::plain(name);
        if self.is_of_plan(plain) {
            return Err(SetError::Invalid {
                name: name.to_owned(),
                value: "a factor".to_owned(),
                reason: "it determines how cells are measured, not what they are".to_owned(),
            });
        }
        match self.setting(plain).filter(|_| !self.parameters.contains_key(plain)) {
            Some(setting) if self.setting(setting).is_some() => Ok(setting.to_owned()),
            Some(setting) => Ok(format!("{SETTINGS}.{setting}")),
            None if self.is_option(plain) => Ok(set::spelt_option(plain)),
            None if self.has(plain) => Ok(plain.to_owned()),
            None => Err(self.unknown(name)),
        }
    }

    /// Whether the command line can set or vary `name` in this experiment.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.is_of_plan(set::plain(name)) || self.factor(name).is_ok()
    }

    /// Whether `name` is that of a value of the plan, not of a cell.
    pub(crate) fn is_of_plan(&self, name: &str) -> bool {
        set::dotted(name, PLAN).is_some()
    }

    /// Whether nobody may see this level of `factor`, by its name or because it is an address with a password: of an
    /// option of scripts, or of a parameter that is a text. Numbers among the parameters are calculated with.
    pub(crate) fn is_secret_level(&self, factor: &str, level: &str) -> bool {
        let name = match self.parameters.get(factor) {
            Some(parameter) => matches!(parameter, Value::Text(_)).then_some(factor),
            None => option_of(factor).map(|(_, option)| option),
        };
        name.is_some_and(|name| is_secret(name, level))
    }

    /// The text of a level of `factor`; the same for all ways in which the value may be written.
    ///
    /// # Errors
    ///
    /// If the value cannot be.
    pub(crate) fn level(&self, factor: &str, value: &Value) -> Result<String, SetError> {
        let mut trial = self.clone();
        if crate::experiment::plan::is_count_of("threads", factor) || self.named.contains_key(factor) {
            // Whether there are clients enough depends on the cell.
            for workload in &mut trial.workloads {
                workload.clients = usize::try_from(MOST_CLIENTS).unwrap_or(usize::MAX);
            }
        }
        trial.put(factor, value)?;
        if let Some(parameter) = trial.parameters.get(factor) {
            return Ok(parameter.to_string());
        }
        let number = match factor.rsplit('.').next() {
            _ if self.setting(factor).is_some() => None,
            Some("clients" | "threads") => value.to_integer().map(|count| count.to_string()),
            Some("rate") => value.to_float().map(|rate| rate.to_string()),
            Some(HOSTS) => value.to_integer().map(|hosts| hosts.to_string()),
            _ if factor == WORKLOAD => Some(trial.selected.join("+")),
            _ => None,
        };
        Ok(number.unwrap_or_else(|| value.to_string().trim().to_owned()))
    }

    /// Sets `threads`, or `WORKLOAD.threads`, to a value that was checked before; where that is more than there are
    /// clients, to as many as these.
    pub(crate) fn limit_threads(&mut self, name: &str, value: &Value) {
        let Some(threads) = value.to_integer().and_then(|threads| usize::try_from(threads).ok()) else {
            return;
        };
        let of = name.rsplit_once('.').map(|(workload, _)| workload);
        for workload in &mut self.workloads {
            if of.is_none_or(|name| workload.name == name) {
                workload.threads = Some(threads.clamp(1, workload.clients));
            }
        }
    }
}
