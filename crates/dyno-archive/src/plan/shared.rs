//! What an experiment has from the file that all experiments of its folder share.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The keys that an experiment took over, because its own file does not have them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedDefaults {
    /// The file, as it was found.
    pub file: String,
    /// The values as they are written there, by their keys joined by dots: `phases.measure`. Secrets are hidden.
    pub values: IndexMap<String, String>,
}

impl SharedDefaults {
    /// Whether nothing was taken over.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}
