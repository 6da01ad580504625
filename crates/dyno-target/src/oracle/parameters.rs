//! The server's parameters: what it runs with.

use super::{Client, ClientError};
use crate::nearest::nearest;
use std::collections::HashMap;

/// How a parameter can be changed while the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// At once.
    Immediate,
    /// At once, for sessions that begin later.
    Deferred,
    /// At a start alone.
    Start,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    /// Sizes are bytes.
    pub value: String,
    pub change: Change,
    /// Whether it can be changed where we are: in a pluggable database only some can.
    pub is_ours: bool,
    /// Whether it has its default.
    pub is_default: bool,
}

/// Every parameter, by name in lower case.
pub(super) struct Parameters(HashMap<String, Parameter>);

/// All of `v$parameter` that is asked for has been there since 12.1; before it there were no pluggable databases.
const ALL: &str = "select lower(name), value, issys_modifiable, ispdb_modifiable, isdefault from v$parameter";

/// Whether this is a pluggable database: the root and those that are none have the number 1 or 0.
const PLUGGABLE: &str = "select sys_context('userenv', 'con_id') from dual";

impl Parameters {
    /// Asks a server for them.
    ///
    /// # Errors
    /// This user may not read them, or the connection is lost.
    pub fn read(client: &mut Client) -> Result<Self, ClientError> {
        let container: Option<Option<u64>> = client.query_first(PLUGGABLE)?;
        let is_pluggable = container.flatten().is_some_and(|number| number > 1);
        type Row = (String, Option<String>, String, Option<String>, String);
        let rows = client.query::<Row>(ALL)?.into_iter();
        let parameters = rows.map(|(name, value, system, pluggable, default)| {
            let parameter = Parameter {
                value: value.unwrap_or_default(),
                change: match system.as_str() {
                    "IMMEDIATE" => Change::Immediate,
                    "DEFERRED" => Change::Deferred,
                    _ => Change::Start,
                },
                is_ours: !is_pluggable || pluggable.as_deref() != Some("FALSE"),
                is_default: default == "TRUE",
            };
            (name, parameter)
        });
        Ok(Self(parameters.collect()))
    }

    /// The parameter of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.0.get(name)
    }

    /// Its value.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(|parameter| parameter.value.as_str())
    }

    /// The same as a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    /// All that do not have their defaults, by name.
    pub fn changed(&self) -> Vec<(&str, &str)> {
        let changed = self.0.iter().filter(|(_, parameter)| !parameter.is_default);
        let mut changed: Vec<_> = changed
            .map(|(name, parameter)| (name.as_str(), parameter.value.as_str()))
            .collect();
        changed.sort_unstable();
        changed
    }

    /// The name that is most like this one, if any is.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.0.keys().map(String::as_str))
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Parameters {
    fn from(parameters: [(&str, &str); N]) -> Self {
        let parameters = parameters.map(|(name, value)| {
            let parameter = Parameter {
                value: value.to_owned(),
                change: Change::Immediate,
                is_ours: true,
                is_default: false,
            };
            (name.to_owned(), parameter)
        });
        Self(parameters.into_iter().collect())
    }
}
