//! How long it took to make a run's data and to bring the server to rest.

use serde::{Deserialize, Serialize};

/// A step before the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreparationStep {
    /// What was done, such as `Loading tbl`.
    pub step: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The table that was filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// How many rows it got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// How large it was before the load, without its indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl PreparationStep {
    /// Rows per second, where there were any.
    #[must_use]
    pub fn rows_per_s(&self) -> Option<f64> {
        self.rate(self.rows?)
    }

    /// Bytes per second, where they are known.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f64> {
        self.rate(self.bytes?)
    }

    fn rate(&self, number: u64) -> Option<f64> {
        Some(number as f64 / self.seconds).filter(|rate| rate.is_finite())
    }
}

/// What was done before the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// The run of this campaign that loaded the data; absent if this one did, if it has none, or if it was there before
    /// the campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_by: Option<String>,
    /// Whether the data was there although no run of this invocation had loaded it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
    /// The steps in order, each with the time until the next began.
    #[serde(default)]
    pub steps: Vec<PreparationStep>,
}

impl Preparation {
    /// Where the data comes from, if this run did not load it, as a sentence.
    #[must_use]
    pub fn origin(&self) -> Option<String> {
        match &self.loaded_by {
            Some(run) => Some(format!("The data was loaded by the run {run}.")),
            None => self
                .found
                .then(|| "The data was there: an earlier campaign or attempt had loaded it.".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_by_the_time_of_the_step() {
        let step = PreparationStep {
            step: "Loading t".to_owned(),
            seconds: 2.0,
            table: Some("t".to_owned()),
            rows: Some(10),
            bytes: None,
        };
        assert_eq!((step.rows_per_s(), step.bytes_per_s()), (Some(5.0), None));
        let at_once = PreparationStep { seconds: 0.0, ..step };
        assert_eq!(at_once.rows_per_s(), None);
    }
}
