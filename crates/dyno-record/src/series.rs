//! What is read again and again beside a load: rows of numbers and names.

/// Rows of the same columns, which are kept together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Name of the file they belong into, such as `host.csv`.
    pub file: &'static str,
    /// Names of the columns, units last. The time of the sample, which comes first, is not among them.
    pub columns: Vec<String>,
}

impl Series {
    /// The series of the file `file` with these columns.
    #[must_use]
    pub fn new<S: Into<String>>(file: &'static str, columns: impl IntoIterator<Item = S>) -> Self {
        Self {
            file,
            columns: columns.into_iter().map(Into::into).collect(),
        }
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
