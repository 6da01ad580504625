//! The server's global variables: what it runs with.

use super::{Client, ClientError};
use crate::nearest::nearest;
use std::collections::HashMap;

/// Every global variable with its value, by name in lower case.
pub(super) struct Variables(HashMap<String, String>);

impl Variables {
    /// Asks a server for them.
    pub fn read(client: &mut Client) -> Result<Self, ClientError> {
        let rows = client.query::<(String, String)>("show global variables")?;
        Ok(rows.into_iter().collect())
    }

    /// The value of a variable, if there is one of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The name that is most like this one, if any is.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.0.keys().map(String::as_str))
    }

    /// The same as a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        let named = variables.into_iter();
        Self(named.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect())
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Variables {
    fn from(variables: [(&str, &str); N]) -> Self {
        variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect()
    }
}

/// A name as the server shows it.
pub(super) fn canonical(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Settings by the names that the server shows. Of those that are given twice, in two spellings, the last counts.
pub(super) fn by_canonical_name(settings: &[(String, String)]) -> Vec<(String, String)> {
    let mut named: Vec<(String, String)> = Vec::new();
    for (name, value) in settings {
        let name = canonical(name);
        match named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.clone_from(value),
            None => named.push((name, value.clone())),
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_has_one_name_and_one_value() {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let given = [
            ("max_connections", "260"),
            ("sync-binlog", "0"),
            ("Max-Connections", "300"),
        ]
        .map(owned);
        let named = [("max_connections", "300"), ("sync_binlog", "0")].map(owned);
        assert_eq!(by_canonical_name(&given), named);
    }
}
