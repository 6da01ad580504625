//! Settings of a server: as they are given to it, as they differ, and as they are put back.

use serde::{Deserialize, Serialize};

/// Settings as a version knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// Name and value, in the order given.
    pub settings: Vec<(String, String)>,
    /// What was translated or left out, as sentences for the user.
    pub notes: Vec<String>,
}

/// A setting that is not as wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// What was wanted.
    pub wanted: String,
    /// What the server shows; none: it does not know the setting.
    pub found: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.found {
            Some(found) => write!(f, "{} is {found}, not {}", self.name, self.wanted),
            None => write!(
                f,
                "{} is not known to this server ({} was wanted)",
                self.name, self.wanted
            ),
        }
    }
}

/// What a server's configuration held before a change: enough to put it back, even by a later process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// One for each setting that the change touches on the server; empty: the server is not changed.
    pub settings: Vec<SavedSetting>,
}

/// One setting of a server's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSetting {
    /// Its name.
    pub name: String,
    /// Its value there; none: the file did not have it.
    pub value: Option<String>,
    /// Whether only a restart brings it into effect.
    pub needs_restart: bool,
    /// What the change gives it: if the file has something else than that later, it is not the change's any more.
    /// Unknown of changes made by dyno 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_to: Option<String>,
}

impl Saved {
    /// What is to be put back of two changes that follow each other: what was there before the first.
    #[must_use]
    pub fn before(mut self, later: &Self) -> Self {
        for setting in &later.settings {
            match self.settings.iter_mut().find(|earlier| earlier.name == setting.name) {
                Some(earlier) => earlier.set_to.clone_from(&setting.set_to),
                None => self.settings.push(setting.clone()),
            }
        }
        self
    }
}

/// A setting that could not be set, which a report must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unset {
    /// Its name.
    pub name: String,
    /// What was wanted.
    pub wanted: String,
    /// What the server runs with.
    pub found: String,
    /// Why it was not set and what to do.
    pub reason: String,
}

impl std::fmt::Display for Unset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} is {}, not {}: {}",
            self.name, self.found, self.wanted, self.reason
        )
    }
}

/// What putting back did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Whether the server was restarted.
    pub restarted: bool,
    /// Settings that are back in the file, but need a restart to take effect.
    pub pending_restart: Vec<String>,
    /// Settings that no longer have what the change gave them, or never did, and that stay as they are.
    pub others: Vec<String>,
}
