//! What the source of an experiment published: figures to be read beside those that are measured, never among them.

use super::Levels;
use serde::{Deserialize, Serialize};

/// What was published, and on what it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Publication {
    /// The source's machine, in words; empty if it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The figures in the order of the file.
    #[serde(default)]
    pub figures: Vec<PublishedFigure>,
}

impl Publication {
    /// Whether nothing was published.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// What was measured, if not what the experiment measures: another database, another machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// The levels with which it was measured; a level that is not there may be any.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub levels: Levels,
    /// The workload; `None`: the only one, or all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// What it is: the name of a metric, or one of those that `dyno_analysis` knows.
    pub measure: String,
    /// How much.
    pub value: f64,
    /// In which unit; empty: a plain number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// What else is to be known of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}
