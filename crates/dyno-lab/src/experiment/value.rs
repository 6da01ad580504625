//! The kinds of values an experiment file has beside text: parameters, protocols, sizes, durations.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The value of a parameter, or what something is set to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// Any other finite number.
    Float(f64),
    /// Text.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Value {
    /// The whole number this is or, as text, spells (`1_000` as in TOML).
    pub(super) fn to_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Float(_) => None,
            Self::Text(text) => without_separators(text)?.parse().ok(),
        }
    }

    /// The finite number this is or, as text, spells.
    pub(super) fn to_float(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Text(text) => without_separators(text)?.parse().ok(),
        }
        .filter(|number: &f64| number.is_finite())
    }
}

/// The digits of a number whose groups may be separated by single underscores.
fn without_separators(text: &str) -> Option<String> {
    let text = text.trim();
    let misplaced = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    (!misplaced).then(|| text.replace('_', ""))
}

/// How statements are sent to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// As text, with values written into it.
    Simple,
    /// As text with separate values, analysed each time.
    Extended,
    /// Analysed once per connection, then executed by name.
    #[default]
    Prepared,
}

impl Protocol {
    pub(super) const NAMES: [&str; 3] = ["simple", "extended", "prepared"];

    /// The name used in files and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "simple" => Ok(Self::Simple),
            "extended" => Ok(Self::Extended),
            "prepared" => Ok(Self::Prepared),
            _ => Err(one_of(&Self::NAMES)),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much of an experiment is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// About a minute, loading included.
    Small,
    /// Some minutes.
    Medium,
    /// As published.
    Full,
}

impl Size {
    /// The names used in files and on the command line.
    pub const NAMES: [&str; 3] = ["small", "medium", "full"];

    /// The name used in files and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Full => "full",
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "small" => Ok(Self::Small),
            "medium" => Ok(Self::Medium),
            "full" => Ok(Self::Full),
            _ => Err(one_of(&Self::NAMES)),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Says which names there are.
fn one_of(names: &[&str]) -> String {
    format!("expected one of {}", names.join(", "))
}

/// Reads a duration such as `20s`, `8h`, `10ms` or `1h 30m`.
///
/// # Errors
///
/// What was expected, if the text is no duration, is negative, or is longer than a hundred years.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "expected a duration with its unit, such as \"10ms\", \"20s\", \"5m\" or \"8h\"";
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    // The friendly format alone: ISO 8601's "PT20S" would be one more spelling for nobody.
    let parser = jiff::fmt::friendly::SpanParser::new();
    parser
        .parse_unsigned_duration(text)
        .ok()
        .filter(|duration| *duration <= LONGEST)
        .ok_or_else(|| EXPECTED.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_duration("8h"), Ok(Duration::from_secs(8 * 3600)));
        assert_eq!(parse_duration("1h 30m"), Ok(Duration::from_secs(5400)));
        for wrong in ["", "20", "s", "-5s", "20 parsecs", "5s ago", "999999999999h", "PT5S"] {
            assert!(parse_duration(wrong).is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn numbers_are_read_from_text_as_toml_spells_them() {
        assert_eq!(Value::from("1_000_000").to_integer(), Some(1_000_000));
        assert_eq!(Value::from("-5").to_integer(), Some(-5));
        assert_eq!(Value::from("2.5").to_float(), Some(2.5));
        for wrong in ["", "_1", "1_", "1__0", "1.5", "ten", "99999999999999999999"] {
            assert_eq!(Value::from(wrong).to_integer(), None, "{wrong:?}");
        }
        assert_eq!(Value::from("inf").to_float(), None);
    }
}
