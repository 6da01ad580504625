//! Rows of a table whose columns are expressions: pgbench's, with texts besides.
//!
//! What a row holds follows from the seed, the table's name and the row's number alone. So it is the same on every
//! database, whoever makes which rows in what order. What a seed has once given it gives for good: data that is loaded
//! is known by the expressions and the seed.

mod counted;
mod date;
mod escape;
mod given;
mod json;
mod parse;
mod pattern;
mod text;
mod words;

use crate::expression::Expression;
use crate::hash::fnv1a_of;
use crate::random::Random;
use crate::symbols::{Symbols, VariableId};
use crate::token::ROW;
use crate::value::{Scalar, Value};
use crate::variables::Variables;
use counted::{IS_NULL, IS_VALUE, set_length};
use escape::{escape, in_line, in_literal};
use pattern::Digits;
use std::fmt;
use std::sync::Arc;
use text::{State, Text};

pub use given::{GivenReader, GivenRows};

/// The seed of hashes and permutations that name none.
const DEFAULT_SEED: &str = "default_seed";

/// How many rows are made to find out how long they are.
const SAMPLE: u64 = 100;

/// The rows of a table, ready to be made.
#[derive(Debug)]
pub struct Rows {
    columns: Box<[Column]>,
    variables: Variables,
    row: VariableId,
    /// From this and a row's number follows what is drawn for it.
    base: u64,
    /// Where they come from, if they are not made.
    given: Option<Arc<dyn GivenRows>>,
}

#[derive(Debug)]
struct Column {
    name: Box<str>,
    text: Text,
    /// Whether no value of it needs escaping, whatever the format.
    is_plain: bool,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// A line each, with tabs between the values, `\N` for NULL, and backslashes before what is special: what
    /// PostgreSQL's COPY and MySQL's LOAD DATA read unless told otherwise.
    Lines,
    /// `('…','…')` each, for MySQL's INSERT, whose strings have backslash escapes.
    Literals,
    /// For each value a byte, 0 or else 1 for NULL, and behind a 0 its text with its length before it: what MariaDB
    /// takes as rows of values for a statement.
    Values,
}

/// Draws the whole numbers of a column by a distribution that the language of columns does not have. Each row gives it
/// random bits of its own, from which alone its number has to follow.
#[derive(Clone)]
pub struct Draw(Arc<dyn Fn([u64; 2]) -> i64 + Send + Sync>);

impl Draw {
    /// By this function of random bits.
    pub fn new(draw: impl Fn([u64; 2]) -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(draw))
    }

    /// The number that follows from these bits.
    #[must_use]
    pub fn number(&self, bits: [u64; 2]) -> i64 {
        (self.0)(bits)
    }
}

impl fmt::Debug for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draw").finish_non_exhaustive()
    }
}

/// What the values of a column are.
#[derive(Clone, Debug)]
pub enum Making<'c> {
    /// What an expression gives.
    Expression(&'c str),
    /// Whole numbers from the caller.
    Drawn(Draw),
}

/// An expression that is no column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the column {column}: {message}")]
pub struct ColumnError {
    /// The column's name.
    pub column: String,
    /// What is wrong with its expression, and where.
    pub message: String,
}

/// A row that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row}{}: {message}", of_column(column))]
pub struct RowError {
    /// The row's number.
    pub row: u64,
    /// The column's name; empty if there is nothing of the row.
    pub column: String,
    /// Why the column has no value.
    pub message: String,
}

fn of_column(column: &str) -> String {
    match column {
        "" => String::new(),
        column => format!(", column {column}"),
    }
}

impl Rows {
    /// Compiles the columns of `table`, each a name and an expression. Quotation marks about the table's name do not
    /// count, as they differ between databases.
    ///
    /// # Errors
    /// An expression is wrong.
    pub fn compile<'c>(
        table: &str,
        seed: u64,
        columns: impl IntoIterator<Item = (&'c str, &'c str)>,
    ) -> Result<Rows, ColumnError> {
        let columns = columns.into_iter();
        Self::of(
            table,
            seed,
            columns.map(|(name, expression)| (name, Making::Expression(expression))),
        )
    }

    /// The same of columns that need not be expressions.
    ///
    /// # Errors
    /// An expression is wrong.
    pub fn of<'c>(
        table: &str,
        seed: u64,
        columns: impl IntoIterator<Item = (&'c str, Making<'c>)>,
    ) -> Result<Rows, ColumnError> {
        let mut symbols = Symbols::new();
        let (row, default_seed) = (symbols.intern(ROW), symbols.intern(DEFAULT_SEED));
        let compiled = columns.into_iter().map(|(name, making)| {
            let text = match making {
                Making::Expression(expression) => {
                    parse::parse(expression, &mut symbols).map_err(|message| ColumnError {
                        column: name.to_owned(),
                        message,
                    })?
                }
                Making::Drawn(draw) => Text::Drawn(draw),
            };
            Ok(Column {
                name: name.into(),
                is_plain: text.is_plain(),
                text,
            })
        });
        let columns = compiled.collect::<Result<Box<[Column]>, ColumnError>>()?;
        let mut variables = Variables::new(&symbols);
        variables.set(default_seed, Value::Int(seed as i64));
        let name: Vec<u8> = table.bytes().filter(|byte| !matches!(byte, b'"' | b'`')).collect();
        Ok(Rows {
            columns,
            variables,
            row,
            base: Random::new(fnv1a_of(&name, seed)).bits(),
            given: None,
        })
    }

    /// Rows that come from elsewhere, with these columns in the order of their values.
    #[must_use]
    pub fn given<'c>(columns: impl IntoIterator<Item = &'c str>, source: Arc<dyn GivenRows>) -> Rows {
        let mut symbols = Symbols::new();
        let row = symbols.intern(ROW);
        let columns = columns.into_iter().enumerate().map(|(number, name)| Column {
            name: name.into(),
            text: Text::Given(number),
            is_plain: false,
        });
        Rows {
            columns: columns.collect(),
            variables: Variables::new(&symbols),
            row,
            base: 0,
            given: Some(source),
        }
    }

    /// Writes rows in a format. There may be several at a time.
    pub fn writer(&self, format: RowFormat) -> RowWriter<'_> {
        RowWriter {
            rows: self,
            format,
            state: State {
                variables: self.variables.clone(),
                random: Random::new(self.base),
                digits: Digits::new(),
                given: self.given.as_ref().map(|given| given.open()),
            },
        }
    }

    /// How many bytes a line has, on average of the first of `rows` rows.
    ///
    /// # Errors
    /// One of these cannot be made.
    pub fn mean_bytes(&self, rows: u64) -> Result<u64, RowError> {
        let mut writer = self.writer(RowFormat::Lines);
        let mut out = Vec::new();
        let sample = rows.min(SAMPLE);
        for row in 1..=sample {
            writer.append(row, &mut out)?;
        }
        Ok(out.len() as u64 / sample.max(1))
    }
}

/// Makes rows, one after the other.
#[derive(Debug)]
pub struct RowWriter<'r> {
    rows: &'r Rows,
    format: RowFormat,
    state: State,
}

impl RowWriter<'_> {
    /// Appends the row of this number.
    ///
    /// # Errors
    /// A column has no value; then nothing is appended.
    #[inline]
    pub fn append(&mut self, row: u64, out: &mut Vec<u8>) -> Result<(), RowError> {
        let start = out.len();
        let appended = match self.format {
            RowFormat::Lines => self.line(row, out),
            RowFormat::Literals => self.literals(row, out),
            RowFormat::Values => self.counted(row, out),
        };
        if appended.is_err() {
            out.truncate(start);
        }
        appended
    }

    /// The values of a row as they are, one for each column; `None` for NULL.
    ///
    /// # Errors
    /// As for [`append`](Self::append).
    pub fn values(&mut self, row: u64) -> Result<Vec<Option<String>>, RowError> {
        self.begin(row)?;
        let columns = self.rows.columns.iter();
        columns
            .map(|column| {
                let mut text = Vec::new();
                let is_value = self.value(row, column, &mut text)?;
                Ok(is_value.then(|| dyno_text::decode(&text).into_owned()))
            })
            .collect()
    }

    fn line(&mut self, row: u64, out: &mut Vec<u8>) -> Result<(), RowError> {
        self.begin(row)?;
        for (place, column) in self.rows.columns.iter().enumerate() {
            if place > 0 {
                out.push(b'\t');
            }
            let start = out.len();
            if !self.value(row, column, out)? {
                out.truncate(start);
                out.extend_from_slice(b"\\N");
            } else if !column.is_plain {
                escape(out, start, in_line);
            }
        }
        out.push(b'\n');
        Ok(())
    }

    fn literals(&mut self, row: u64, out: &mut Vec<u8>) -> Result<(), RowError> {
        self.begin(row)?;
        for (place, column) in self.rows.columns.iter().enumerate() {
            out.push(if place > 0 { b',' } else { b'(' });
            let start = out.len();
            // Numbers, too: a number that is written into a text column is to keep its digits.
            out.push(b'\'');
            if self.value(row, column, out)? {
                if !column.is_plain {
                    escape(out, start + 1, in_literal);
                }
                out.push(b'\'');
            } else {
                out.truncate(start);
                out.extend_from_slice(b"null");
            }
        }
        out.push(b')');
        Ok(())
    }

    fn counted(&mut self, row: u64, out: &mut Vec<u8>) -> Result<(), RowError> {
        self.begin(row)?;
        for column in &self.rows.columns {
            let start = out.len();
            // Room for a short length.
            out.extend_from_slice(&[IS_VALUE, 0]);
            if self.value(row, column, out)? {
                set_length(out, start + 1);
            } else {
                out.truncate(start);
                out.push(IS_NULL);
            }
        }
        Ok(())
    }

    #[inline]
    fn begin(&mut self, row: u64) -> Result<(), RowError> {
        if let Some(given) = &mut self.state.given {
            return given.read(row).map_err(|message| RowError {
                row,
                column: String::new(),
                message,
            });
        }
        self.state.variables.forget_debugged();
        self.state.variables.set_scalar(self.rows.row, Scalar::Int(row as i64));
        self.state.random = Random::new(self.rows.base.wrapping_add(row));
        Ok(())
    }

    /// Appends the value of a column, and says whether there is one.
    #[inline]
    fn value(&mut self, row: u64, column: &Column, out: &mut Vec<u8>) -> Result<bool, RowError> {
        let written = column.text.write(&mut self.state, out);
        written.map_err(|fault| RowError {
            row,
            column: column.name.to_string(),
            message: fault.kind.message(&self.state.variables),
        })
    }
}

/// A whole number that an expression gives; `None` for NULL.
fn whole(expression: &Expression, state: &mut State) -> Result<Option<i64>, crate::fault::Fault> {
    match expression.evaluate(&mut state.variables, &mut state.random)? {
        Scalar::Null => Ok(None),
        value => crate::evaluate::integer(value).map(Some).map_err(|kind| kind.at(0)),
    }
}

#[cfg(test)]
mod tests;
