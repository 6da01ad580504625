//! The data that an experiment works on, as it is to be brought onto a server.

use super::{Progress, Reach, StopFlag};
use crate::table_file::{TableFile, TableFileError};
use dyno_script::{ColumnError, Rows};
use std::fmt;
use std::sync::Arc;

/// A text of SQL statements.
#[derive(Clone, Debug, Default)]
pub struct Sql {
    /// The statements; may be empty. Line breaks at its front make its lines those of the file.
    pub text: String,
    /// What messages call it, such as its file.
    pub name: String,
}

/// What to fill a table with.
#[derive(Clone, Debug)]
pub struct Fill {
    /// Table, as in SQL (quoted and qualified where needed).
    pub table: String,
    /// Rows to insert, numbered from 1.
    pub rows: u64,
    /// Columns and their expressions, in which `row` is the row's number.
    pub columns: Vec<(String, String)>,
    /// Who makes the rows.
    pub source: RowSource,
}

/// Who makes the rows of a table.
#[derive(Clone, Debug)]
pub enum RowSource {
    /// The server: expressions are SQL.
    Server,
    /// dyno, from this seed: expressions are in its own language, and rows the same on every database.
    Seed(u64),
    /// Nobody, they stand in this file: an expression is the number of a value in its rows, from 1.
    File(Arc<TableFile>),
}

impl RowSource {
    /// The rows of `table`, ready to be sent; `None`: the server makes them.
    ///
    /// # Errors
    /// An expression is wrong, or the file cannot be read.
    pub(crate) fn rows<E: From<ColumnError> + From<TableFileError>>(
        &self,
        table: &str,
        columns: &[(String, String)],
    ) -> Result<Option<Rows>, E> {
        let columns = columns.iter();
        let columns = columns.map(|(name, expression)| (name.as_str(), expression.as_str()));
        Ok(match self {
            Self::Server => None,
            Self::Seed(seed) => Some(Rows::compile(table, *seed, columns)?),
            Self::File(file) => Some(file.rows(columns)?),
        })
    }

    /// Makes sure that the rows which were loaded are still the ones that stand in the file.
    ///
    /// # Errors
    /// It was changed meanwhile.
    pub(crate) fn check_unchanged(&self) -> Result<(), TableFileError> {
        match self {
            Self::Server | Self::Seed(_) => Ok(()),
            Self::File(file) => file.check_unchanged(),
        }
    }

    /// Where these rows stand, to be put behind their numbers; empty if they are made.
    pub(crate) fn lines(&self, first: u64, last: u64) -> String {
        match self {
            Self::Server | Self::Seed(_) => String::new(),
            Self::File(file) => format!(" ({})", file.lines(first, last)),
        }
    }
}

/// What a run finds of what the run before it did to the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing: it gets a copy of the data as loaded where copies can be made, else newly loaded data.
    Copy,
    /// Nothing: the data is loaded anew.
    Reload,
    /// Everything: it goes on with the data as it is.
    Keep,
}

/// Makes data over connections of its own, as a client of the database would: a program that whoever loads the data
/// knows nothing of.
pub trait Maker: fmt::Debug + Send + Sync {
    /// Makes the data in the database that `reach` leads to, until `stop` is raised.
    ///
    /// # Errors
    /// It cannot.
    fn make(&self, reach: Reach<'_>, stop: &StopFlag, progress: &mut dyn Progress) -> Result<(), MakeError>;
}

/// Why a [`Maker`] could not make data, in its own words.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// Something is wrong.
    #[error("the data cannot be prepared: {0}")]
    Failed(String),
    /// Somebody asked to stop.
    #[error("stopped while preparing data")]
    Stopped,
}

/// How an experiment's data is made: first `setup`, then the tables of `fill`, then by a `maker`, then `finish`.
#[derive(Clone, Debug)]
pub struct Data {
    /// The experiment's name, by which its data is known.
    pub experiment: String,
    /// Makes the schema.
    pub setup: Sql,
    /// Tables filled with generated rows.
    pub fill: Vec<Fill>,
    /// Makes more data; `None`: nobody does.
    pub maker: Option<Arc<dyn Maker>>,
    /// Completes it, such as indexes.
    pub finish: Sql,
    /// Tablespaces that `setup` uses.
    pub tablespaces: Vec<String>,
    /// What makes the data what it is, as text: data of the same definition is the same.
    pub definition: String,
    /// The locale that a database made for it gets.
    pub locale: Option<String>,
    /// Whether the workloads leave the data as they found it, so that another run may use it as it is.
    pub read_only: bool,
    /// What a run finds of what the run before it did to the data.
    pub state: State,
    /// Whether tables of another server will be its foreign tables.
    pub linked: bool,
}

impl Data {
    /// Whether the server needs a place for it, if only for foreign tables.
    #[must_use]
    pub fn needs_place(&self) -> bool {
        self.is_some() || self.linked
    }

    /// Whether the experiment brings data at all.
    #[must_use]
    pub fn is_some(&self) -> bool {
        let has_sql = [&self.setup, &self.finish]
            .iter()
            .any(|sql| !sql.text.trim().is_empty());
        has_sql || !self.fill.is_empty() || self.maker.is_some()
    }
}

/// The data that a run needs, and who asks for it.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The data of the cell at hand.
    pub data: &'a Data,
    /// The data of all cells of the campaign: what any of them needs is kept.
    pub all: &'a [Data],
    /// The name of the campaign's folder: what one campaign left is no state for another to go on with.
    pub campaign: &'a str,
}

/// What an experiment asks of a server.
#[derive(Clone, Copy)]
pub struct Needs<'a> {
    /// Settings as written: sizes may be relative to the machine.
    pub settings: &'a [(String, String)],
    /// Connections of the load.
    pub clients: usize,
    /// Whether replicas are to follow the server.
    pub followed: bool,
}
