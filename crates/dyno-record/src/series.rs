//! What is read again and again beside a load: rows of numbers and names.

use crate::Meaning;
use std::collections::BTreeMap;

/// Rows of the same columns, which are kept together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Name of the file they belong into, such as `host.csv`.
    pub file: &'static str,
    /// Names of the columns, units last. The time of the sample, which comes first, is not among them.
    pub columns: Vec<String>,
    /// The columns by what they mean, as far as anybody asks for that.
    pub meanings: BTreeMap<Meaning, String>,
}

impl Series {
    /// The series of the file `file` with these columns, of which nothing is said yet.
    #[must_use]
    pub fn new<S: Into<String>>(file: &'static str, columns: impl IntoIterator<Item = S>) -> Self {
        Self {
            file,
            columns: columns.into_iter().map(Into::into).collect(),
            meanings: BTreeMap::new(),
        }
    }

    /// Says what columns mean. Columns that the series does not have are passed over; of several with one meaning the
    /// first counts, because some servers count the same in two places.
    #[must_use]
    pub fn meaning<'a>(mut self, meanings: impl IntoIterator<Item = (&'a str, Meaning)>) -> Self {
        for (column, meaning) in meanings {
            if self.columns.iter().any(|own| own == column) {
                self.meanings.entry(meaning).or_insert_with(|| column.to_owned());
            }
        }
        self
    }
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The source has none now.
    Absent,
    /// A number.
    Number(f64),
    /// A name.
    Text(String),
}

impl From<Option<f64>> for Value {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Absent, Self::Number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_column_with_a_meaning_has_it() {
        let series = Series::new("server.csv", ["a", "b", "c"]).meaning([
            ("absent", Meaning::PagesRead),
            ("b", Meaning::LogBytes),
            ("a", Meaning::LogBytes),
            ("c", Meaning::PagesRead),
        ]);
        let expected = [
            (Meaning::LogBytes, "b".to_owned()),
            (Meaning::PagesRead, "c".to_owned()),
        ];
        assert_eq!(series.meanings, BTreeMap::from(expected));
    }
}
