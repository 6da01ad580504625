//! The kinds of values an experiment file has beside words and text: parameters and spans.

use serde::{Deserialize, Serialize};
use std::fmt;

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
    #[must_use]
    pub fn to_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Float(_) => None,
            Self::Text(text) => without_separators(text)?.parse().ok(),
        }
    }

    /// The finite number this is or, as text, spells.
    #[must_use]
    pub fn to_float(&self) -> Option<f64> {
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

/// From one number to another, in a straight line over the time of a stage; a constant if they are equal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// At the stage's begin.
    pub from: f64,
    /// At its end.
    pub to: f64,
}

impl Span {
    /// The same number all the time.
    #[must_use]
    pub fn constant(number: f64) -> Self {
        Self {
            from: number,
            to: number,
        }
    }

    /// Its mean over the stage.
    #[must_use]
    pub fn mean(self) -> f64 {
        f64::midpoint(self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
