//! What the author of an experiment asks the server around the load: to check a run, or to keep the answer with it.

use super::exact::Exact;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// When a server is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// When the data is ready, before clients connect.
    Before,
    /// When the load is over.
    #[default]
    After,
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "before",
            Self::After => "after",
        })
    }
}

/// A statement whose rows are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Unique name of letters, digits, `-` and `_`.
    pub name: String,
    /// When it is asked.
    #[serde(default)]
    pub when: When,
    /// The server that is asked; `None`: the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// A single SQL statement.
    pub sql: String,
}

/// A statement and what it has to give, or the run does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What is asked.
    #[serde(flatten)]
    pub question: Question,
    /// What has to come of it.
    pub expect: Expect,
}

/// What a check expects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Exactly these rows, in this order. Numbers are compared as such.
    Rows(Vec<Vec<String>>),
    /// A single number within these limits.
    Number {
        /// The least that it may be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least: Option<Limit>,
        /// The most that it may be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<Limit>,
    },
}

/// A number that is compared as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Limit {
    /// A whole number, none of which is rounded.
    Whole(i64),
    /// Any other, or a whole one of an archive that had it so.
    Number(f64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl Expect {
    /// Whether these rows, which are all, are what is expected.
    #[must_use]
    pub fn is_met(&self, rows: &[Vec<Option<String>>]) -> bool {
        match self {
            Self::Rows(expected) => {
                let same = |(one, other): (&Vec<String>, &Vec<Option<String>>)| {
                    let mut values = one.iter().zip(other);
                    one.len() == other.len() && values.all(|(one, other)| is_same(one, other.as_deref()))
                };
                expected.len() == rows.len() && expected.iter().zip(rows).all(same)
            }
            Self::Number { at_least, at_most } => {
                let [row] = rows else { return false };
                let [Some(value)] = row.as_slice() else { return false };
                at_least.is_none_or(|least| compared(value, least).is_some_and(Ordering::is_ge))
                    && at_most.is_none_or(|most| compared(value, most).is_some_and(Ordering::is_le))
            }
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => {
                let rows = rows
                    .iter()
                    .map(|row| row.iter().map(|value| Some(value.clone())).collect());
                f.write_str(&rows_in_words(&rows.collect::<Vec<_>>()))
            }
            Self::Number { at_least, at_most } => {
                let limits = [("at least", at_least), ("at most", at_most)];
                let limits = limits
                    .iter()
                    .filter_map(|(word, limit)| Some(format!("{word} {}", limit.as_ref()?)));
                f.write_str(&limits.collect::<Vec<_>>().join(" and "))
            }
        }
    }
}

/// Whether a value that was found is the one that is expected.
fn is_same(expected: &str, found: Option<&str>) -> bool {
    let Some(found) = found else { return false };
    expected == found || Exact::read(expected).is_some_and(|expected| Exact::read(found) == Some(expected))
}

/// How what was found compares with a limit; `None` if it is no number.
fn compared(found: &str, limit: Limit) -> Option<Ordering> {
    match Exact::read(found) {
        Some(found) => Some(found.cmp(&Exact::read(&limit.to_string())?)),
        // Servers have infinite numbers, too.
        None => match found.trim().parse::<f64>().ok().filter(|found| found.is_infinite())? {
            number if number > 0.0 => Some(Ordering::Greater),
            _ => Some(Ordering::Less),
        },
    }
}

/// Rows in a few words: a value as it is, an empty one as quotes, several in parentheses.
#[must_use]
pub fn rows_in_words(rows: &[Vec<Option<String>>]) -> String {
    const MOST: usize = 5;
    let in_words = |row: &Vec<Option<String>>| {
        let values: Vec<&str> = row.iter().map(|value| value_in_words(value.as_deref())).collect();
        match values.as_slice() {
            [only] => (*only).to_owned(),
            values => format!("({})", values.join(", ")),
        }
    };
    if rows.is_empty() {
        return "no row".to_owned();
    }
    let shown: Vec<String> = rows.iter().take(MOST).map(in_words).collect();
    let more = rows.len().saturating_sub(MOST);
    let more = if more > 0 {
        format!(" and {more} more rows")
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

fn value_in_words(value: Option<&str>) -> &str {
    match value {
        None => "NULL",
        Some("") => "\"\"",
        Some(value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &[&[Option<&str>]]) -> Vec<Vec<Option<String>>> {
        let row = |row: &&[Option<&str>]| row.iter().map(|value| value.map(str::to_owned)).collect();
        rows.iter().map(row).collect()
    }

    fn rows(rows: &[&[&str]]) -> Expect {
        let row = |row: &&[&str]| row.iter().map(|value| (*value).to_owned()).collect();
        Expect::Rows(rows.iter().map(row).collect())
    }

    #[test]
    fn rows_are_the_same_value_by_value() {
        let expected = rows(&[&["1", "a"], &["2", "b"]]);
        assert!(expected.is_met(&found(&[&[Some("1.0"), Some("a")], &[Some("2"), Some("b")]])));
        assert!(!expected.is_met(&found(&[&[Some("1"), Some("a")]])));
        assert!(!expected.is_met(&found(&[&[Some("1"), None], &[Some("2"), Some("b")]])));
        assert!(!rows(&[&["1"]]).is_met(&found(&[&[Some("1"), Some("2")]])));
        assert!(rows(&[]).is_met(&[]));
        assert_eq!(expected.to_string(), "(1, a), (2, b)");
        assert_eq!(rows(&[]).to_string(), "no row");
        assert_eq!(rows(&[&[""]]).to_string(), "\"\"");
    }

    #[test]
    fn a_number_is_within_limits() {
        let limits = |at_least: Option<f64>, at_most: Option<f64>| Expect::Number {
            at_least: at_least.map(Limit::Number),
            at_most: at_most.map(Limit::Number),
        };
        let one = |value| found(&[&[value]]);
        assert!(limits(Some(1.0), None).is_met(&one(Some("1"))));
        assert!(!limits(Some(1.0), Some(2.0)).is_met(&one(Some("2.5"))));
        for none in [one(Some("many")), one(None), Vec::new()] {
            assert!(!limits(None, Some(9.0)).is_met(&none));
        }
        assert_eq!(limits(Some(1.0), Some(2.5)).to_string(), "at least 1 and at most 2.5");
        assert!(limits(Some(1.0), None).is_met(&one(Some("Infinity"))));
        assert!(!limits(Some(1.0), None).is_met(&one(Some("NaN"))));
    }

    #[test]
    fn numbers_are_compared_to_the_last_digit() {
        let one = |value| found(&[&[Some(value)]]);
        let large = "9007199254740993";
        assert!(rows(&[&[large]]).is_met(&one("9007199254740993.0")));
        assert!(!rows(&[&["9007199254740992"]]).is_met(&one(large)));
        assert!(!rows(&[&["0.1"]]).is_met(&one("0.10000000000000000001")));
        let most = Expect::Number {
            at_least: None,
            at_most: Some(Limit::Whole(9_007_199_254_740_992)),
        };
        assert!(most.is_met(&one("9007199254740992.00")) && !most.is_met(&one(large)));
        // As archives before had it.
        let earlier: Expect = serde_json::from_str("{\"number\":{\"at_least\":4.0}}").unwrap();
        assert_eq!(earlier.to_string(), "at least 4");
        let whole = serde_json::to_string(&most).unwrap();
        assert_eq!(serde_json::from_str::<Expect>(&whole).unwrap(), most);
    }
}
