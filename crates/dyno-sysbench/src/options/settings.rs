//! The values of all general options.

use super::error::OptionError;
use super::table::{self, Definition, OPTIONS};
use super::value::{Kind, Value};
use crate::version::Version;
use std::collections::BTreeMap;

/// Values by the names of options, words joined by `-`.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    given: BTreeMap<&'static str, Value>,
    /// The first word that is no value of its option, which is said only once there is a test.
    refused: Option<String>,
    defaults: BTreeMap<&'static str, Value>,
}

/// The limits of 0.5 unless others are given: 10,000 events and as long as they take.
const OLD_LIMITS: [(&str, i64); 2] = [("events", 10_000), ("time", 0)];

impl Settings {
    /// Takes an option that was given; `false`: there is no general one of this name.
    ///
    /// # Errors
    /// It cannot have the value.
    pub(super) fn take(&mut self, name: &str, written: Option<&str>) -> Result<bool, OptionError> {
        let Some(option) = table::find(name) else {
            return Ok(false);
        };
        match (option.kind.value(written), option.kind) {
            (Ok(value), _) => {
                self.given.insert(option.name, value);
            }
            (Err(_), Kind::Int) => {
                return Err(OptionError::Number {
                    option: option.name.replace('-', "_"),
                    value: written.unwrap_or_default().to_owned(),
                });
            }
            (Err(_), _) => {
                let value = written.map(|value| format!("={value}")).unwrap_or_default();
                self.refused.get_or_insert(format!("--{name}{value}"));
            }
        }
        Ok(true)
    }

    /// Whether every value was one that its option can have, numbers apart.
    ///
    /// # Errors
    /// The first one that was not.
    pub fn check(&self) -> Result<(), OptionError> {
        match &self.refused {
            None => Ok(()),
            Some(word) => Err(OptionError::Invalid(word.clone())),
        }
    }

    /// The version whose texts and defaults hold.
    ///
    /// # Errors
    /// There is no such version.
    pub(super) fn format(&self) -> Result<Version, OptionError> {
        let Some(Value::Text(text)) = self.given.get("report-format") else {
            return Ok(Version::default());
        };
        text.parse().map_err(|()| {
            OptionError::Value(format!(
                "Invalid value for --report-format: {text}; give 0.5, 1.0 or 1.1"
            ))
        })
    }

    /// Gives every option that has a default, and was not given, that of the version.
    pub(super) fn fill(&mut self, format: Version) {
        let old_limit = |name: &str| {
            let (_, number) = OLD_LIMITS.iter().find(|(limit, _)| *limit == name)?;
            (format == Version::V0_5).then_some(Value::Int(*number))
        };
        let usual = |option: &Definition| match (format, option.name) {
            (Version::V1_1, "rand-type") => Some(Value::Text("uniform".to_owned())),
            (Version::V0_5, "mysql-ignore-errors") => Some(Value::List(vec!["1213".to_owned()])),
            (_, name) => old_limit(name).or_else(|| option.kind.value(Some(option.default?)).ok()),
        };
        for option in OPTIONS {
            if let Some(value) = usual(option) {
                self.defaults.insert(option.name, value);
            }
        }
    }

    /// Has messages of all levels shown.
    pub(super) fn say_all(&mut self) {
        self.given.insert("verbosity", Value::Int(5));
    }

    /// Lets what was given by an older name be given by the newer one, and tells what to say of that.
    pub(super) fn resolve_aliases(&mut self, format: Version) -> Vec<String> {
        let mut warnings = Vec::new();
        // In the order in which sysbench looks at them.
        for alias in ["num-threads", "max-requests", "max-time", "tx-rate"] {
            let newer = table::find(alias).and_then(|option| option.alias_of);
            let (Some(newer), Some(value)) = (newer, self.given.get(alias).cloned()) else {
                continue;
            };
            if format != Version::V0_5 {
                // What would change nothing there is not looked at.
                let least = if alias == "num-threads" { 1.0 } else { 0.0 };
                let counts = match &value {
                    Value::Int(number) => *number as f64 > least,
                    Value::Double(number) => *number > least,
                    _ => true,
                };
                if !counts {
                    continue;
                }
                warnings.push(format!("--{alias} is deprecated, use --{newer} instead"));
            }
            self.given.insert(newer, value);
        }
        warnings
    }

    /// Whether the option was given.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// An option's value, given or not.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.given.get(name).or_else(|| self.defaults.get(name))
    }

    /// A number; 0 if the option has none.
    #[must_use]
    pub fn int(&self, name: &str) -> i64 {
        match self.value(name) {
            Some(Value::Int(number)) => *number,
            _ => 0,
        }
    }

    /// A number that need not be whole; 0 if the option has none.
    #[must_use]
    pub fn double(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Double(number)) => *number,
            _ => 0.0,
        }
    }

    /// A text, empty if the option has none.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// A list, empty if the option has none.
    #[must_use]
    pub fn list(&self, name: &str) -> &[String] {
        match self.value(name) {
            Some(Value::List(parts)) => parts,
            _ => &[],
        }
    }

    /// Whether the option is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Bool(true)))
    }

    /// All values that there are, given or not: what scripts see of them.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        OPTIONS
            .iter()
            .filter_map(|option| Some((option.name, self.value(option.name)?)))
    }
}
