//! How many transactions may fail before a run says nothing about the system that it measured.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The share of a workload's transactions that may end with an error, and of its clients that may end before their
/// time, in percent. A run in which any workload has more does not count.
///
/// Errors are often quicker than work, and what they leave undone makes room for the rest: throughput and latency
/// of such a run are not those of the system under the load that was asked for. What was skipped, and what
/// succeeded after a retry, is no error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorLimit {
    percent: f64,
}

impl Default for ErrorLimit {
    fn default() -> Self {
        Self { percent: 1.0 }
    }
}

impl FromStr for ErrorLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%').map(str::trim);
        let percent = number.and_then(|number| number.parse::<f64>().ok());
        let possible = |percent: &f64| (0.0..=100.0).contains(percent);
        if let Some(percent) = percent.filter(possible) {
            return Ok(Self { percent });
        }
        // 0.01 may be meant as a share.
        let plain = text.trim();
        Err(match plain.parse().ok().filter(possible) {
            Some(_) => format!("a percentage needs a percent sign: write \"{plain}%\""),
            None => "expected a percentage from \"0%\" to \"100%\", such as \"1%\" or \"0.5%\"".to_owned(),
        })
    }
}

impl fmt::Display for ErrorLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.percent)
    }
}

impl ErrorLimit {
    /// Any number of errors.
    pub const ANY: Self = Self { percent: 100.0 };

    /// Whether a workload may have so many errors.
    pub(crate) fn allows(self, transactions: u64, errors: u64) -> bool {
        let all = transactions as f64 + errors as f64;
        errors as f64 * 100.0 <= self.percent * all
    }

    /// The share in percent.
    pub(crate) fn percent(self) -> f64 {
        self.percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_percentage_with_its_sign() {
        for wrong in ["", "%", "5", "-1%", "101%", "NaN%", "inf%", "five%"] {
            assert!(wrong.parse::<ErrorLimit>().is_err(), "{wrong:?} was accepted");
        }
        let said = |text: &str| text.parse::<ErrorLimit>().unwrap_err();
        assert_eq!(said(" 10 "), "a percentage needs a percent sign: write \"10%\"");
        assert!(said("101").starts_with("expected a percentage from"), "{}", said("101"));
        let limit: ErrorLimit = " 0.5 % ".parse().unwrap();
        assert_eq!((limit.to_string().as_str(), limit.percent), ("0.5 %", 0.5));
        assert_eq!(serde_json::to_value(ErrorLimit::default()).unwrap(), 1.0);
    }
}
