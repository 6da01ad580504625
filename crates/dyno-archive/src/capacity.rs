//! The highest load that holds limits, and how it was found: `capacity.json` and `capacity.csv` in the campaign's
//! folder.

use crate::{ArchiveError, read_json, replace_json};
use jiff::fmt::friendly::SpanParser;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

const CAPACITY_JSON: &str = "capacity.json";
const CAPACITY_CSV: &str = "capacity.csv";

/// That the highest load is sought that holds some limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacitySearch {
    /// What has to hold, at least one limit.
    pub limits: Vec<LoadLimit>,
    /// What is varied.
    pub over: LoadDimension,
    /// Sought until the highest load that holds and the lowest that does not are as near as this share: 0.05 is 5 %.
    pub within: f64,
    /// The part that each workload has of the rate; they add up to 1.
    pub shares: Vec<f64>,
}

/// What is varied to find the capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadDimension {
    /// The rate of an open loop, in transactions per second.
    #[default]
    Rate,
    /// The number of clients of a closed loop.
    Clients,
}

/// What must stay below a bound, such as `p99 < 5ms`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadLimit {
    /// What.
    pub measure: LimitedMeasure,
    /// The bound: microseconds of a latency, a share (0.01 is 1 %) of errors; above 0.
    pub below: f64,
}

/// A figure that can have a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitedMeasure {
    /// Median latency of transactions.
    P50,
    /// Its 95th percentile.
    P95,
    /// Its 99th percentile.
    P99,
    /// Its 99.9th percentile.
    #[serde(rename = "p99.9")]
    P999,
    /// Mean latency of transactions.
    Mean,
    /// The share of transactions that fail.
    Errors,
}

/// What is known of the highest load that holds the limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The limits.
    pub limits: Vec<LoadLimit>,
    /// What was varied, and what the loads below are of.
    pub over: LoadDimension,
    /// What came of it.
    pub answer: CapacityAnswer,
    /// The highest load that was shown to hold the limits.
    pub holds: Option<f64>,
    /// The lowest load above it that was shown not to hold them.
    pub fails: Option<f64>,
    /// The clients that there are.
    pub clients: usize,
    /// Transactions per second of all clients in a closed loop, in the warm-up.
    pub closed_loop_tps: f64,
    /// Every load that was tried, in this order.
    pub steps: Vec<CapacityStep>,
    /// How long all steps took together, in seconds, with the times between them.
    pub measured_s: f64,
    /// What was short at the lowest load that did not hold, as far as it was seen: sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gave_way: Vec<String>,
}

/// What came of the search for the highest load that holds the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CapacityAnswer {
    /// It lies between [`Capacity::holds`] and [`Capacity::fails`].
    Found,
    /// No load holds them, however low.
    Never,
    /// What keeps a higher rate from holding them is that transactions wait for a free client: with all clients busy
    /// the server still answers within the limits. Over clients: all that there are hold them.
    Clients,
    /// It was not found in time.
    Unknown,
}

/// What was seen at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityStep {
    /// The load.
    pub load: f64,
    /// What is said of it.
    pub verdict: StepVerdict,
    /// What decided that it does not hold: a limit, or that the clients did not keep up; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// When what counts of it began, in seconds since the load began.
    pub start_s: f64,
    /// When it ended.
    pub end_s: f64,
    /// Transactions that completed without error, per second.
    pub tps: f64,
    /// The share of transactions that failed.
    pub errors: f64,
    /// Mean latency in microseconds; of a rate from the scheduled instant. This and those below are 0 if no transaction
    /// completed.
    pub mean_us: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// How much of the mean latency was waiting for a free client, in microseconds; 0 in a closed loop.
    pub lag_us: f64,
}

/// What is said of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepVerdict {
    /// It holds the limits.
    Holds,
    /// It does not.
    Fails,
    /// It is so near to its limit that this could not be told in time.
    Unsure,
}

impl CapacitySearch {
    /// The longest time that is a limit; zero if none is.
    #[must_use]
    pub fn longest_limit(&self) -> Duration {
        let times = self
            .limits
            .iter()
            .filter(|limit| limit.measure != LimitedMeasure::Errors);
        let longest_us = times.map(|limit| limit.below).fold(0.0, f64::max);
        Duration::try_from_secs_f64(longest_us / 1e6).unwrap_or(Duration::MAX)
    }
}

impl StepVerdict {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Unsure => "unsure",
        }
    }
}

impl Capacity {
    /// Writes it into the `campaign`'s folder.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn write(&self, campaign: &Path) -> Result<(), ArchiveError> {
        let mut text =
            "step,load,verdict,start_s,end_s,tps,errors,mean_us,p50_us,p95_us,p99_us,p999_us,lag_us\n".to_owned();
        for (step, number) in self.steps.iter().zip(1..) {
            let figures = [
                step.tps,
                step.errors,
                step.mean_us,
                step.p50_us,
                step.p95_us,
                step.p99_us,
                step.p999_us,
                step.lag_us,
            ];
            let figures = figures.map(|figure| format!("{figure:.6}")).join(",");
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{number},{:.3},{},{:.3},{:.3},{figures}",
                step.load,
                step.verdict.word(),
                step.start_s,
                step.end_s
            );
        }
        let path = campaign.join(CAPACITY_CSV);
        fs::write(&path, text).map_err(ArchiveError::write(&path))?;
        replace_json(&campaign.join(CAPACITY_JSON), self)
    }

    /// That of the `campaign`'s folder; `None` if there is none, or it cannot be read.
    #[must_use]
    pub fn read(campaign: &Path) -> Option<Self> {
        read_json(&campaign.join(CAPACITY_JSON)).ok()
    }
}

impl LimitedMeasure {
    const ALL: [Self; 6] = [Self::P50, Self::P95, Self::P99, Self::P999, Self::Mean, Self::Errors];

    /// The share of transactions that may take longer; `None` of what is no percentile.
    #[must_use]
    pub fn may_exceed(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P95 => Some(0.05),
            Self::P99 => Some(0.01),
            Self::P999 => Some(0.001),
            Self::Mean | Self::Errors => None,
        }
    }
}

impl fmt::Display for LimitedMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Mean => "mean",
            Self::Errors => "errors",
        })
    }
}

impl fmt::Display for LoadLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (below, unit) = match (self.measure, self.below) {
            (LimitedMeasure::Errors, share) => (share * 100.0, "%"),
            (_, us) if us >= 1e6 => (us / 1e6, "s"),
            (_, us) if us >= 1e3 => (us / 1e3, "ms"),
            (_, us) => (us, "µs"),
        };
        // What was typed, without what binary fractions add to it.
        let below = (below * 1e6).round() / 1e6;
        write!(f, "{} < {below} {unit}", self.measure)
    }
}

/// What is expected of a limit as it is typed.
const EXPECTED: &str = "write what has to stay below what, such as \"p99 < 5ms\" or \"errors < 0.1%\": p50, p95, p99, \
                        p99.9 or mean below a time from 1us to 1h, or errors below a percentage";

impl FromStr for LoadLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || EXPECTED.to_owned();
        let (name, bound) = text.split_once('<').ok_or_else(expected)?;
        let name = name.trim().to_lowercase();
        let measure = LimitedMeasure::ALL
            .into_iter()
            .find(|measure| measure.to_string() == name)
            .ok_or_else(expected)?;
        let bound = bound.trim();
        let below = match measure {
            LimitedMeasure::Errors => {
                let percent = bound.strip_suffix('%').ok_or_else(expected)?.trim().parse::<f64>();
                percent
                    .ok()
                    .filter(|percent| *percent > 0.0 && *percent < 100.0)
                    .map(|percent| percent / 100.0)
            }
            _ => {
                let time = SpanParser::new().parse_unsigned_duration(bound).ok();
                time.map(|time| time.as_secs_f64() * 1e6)
                    .filter(|us| (1.0..=3.6e9).contains(us))
            }
        };
        Ok(Self {
            measure,
            below: below.ok_or_else(expected)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_are_read_and_written() {
        for (text, measure, below, shown) in [
            ("p99 < 5ms", LimitedMeasure::P99, 5_000.0, "p99 < 5 ms"),
            ("P99.9<1.5s", LimitedMeasure::P999, 1_500_000.0, "p99.9 < 1.5 s"),
            (" mean <800us", LimitedMeasure::Mean, 800.0, "mean < 800 µs"),
            ("errors < 0.1%", LimitedMeasure::Errors, 0.001, "errors < 0.1 %"),
        ] {
            let limit: LoadLimit = text.parse().unwrap();
            assert_eq!(limit.measure, measure);
            assert!((limit.below - below).abs() < 1e-9, "{limit:?}");
            assert_eq!(limit.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_limit_is_told() {
        let wrong = [
            "",
            "p99",
            "p98 < 5ms",
            "p99 < 5",
            "p99 < 0s",
            "p99 < -5ms",
            "p99 > 5ms",
            "errors < 5ms",
            "errors < 0%",
            "errors < 100%",
            "errors < 1",
            "p99 < 2h",
            "errors < NaN%",
        ];
        for text in wrong {
            let error = text.parse::<LoadLimit>().unwrap_err();
            assert!(error.contains("p99 < 5ms"), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(text in ".{0,30}") {
            let _ = text.parse::<LoadLimit>();
        }

        #[test]
        fn what_is_shown_can_be_typed(ms in 1_u32..100_000) {
            let limit: LoadLimit = format!("p95 < {ms}ms").parse().unwrap();
            let again: LoadLimit = limit.to_string().parse().unwrap();
            prop_assert_eq!(limit, again);
        }
    }
}
