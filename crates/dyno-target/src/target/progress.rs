//! What whoever waits is told while a server is brought and filled.

use std::fmt;

/// A part of what makes the data ready, whose time is worth to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Statements that make the schema.
    Schema,
    /// This table is filled.
    Fill(&'a str),
    /// Statements that complete the data, such as indexes.
    Finish,
    /// What was loaded is vacuumed and analyzed.
    Vacuum,
    /// A run gets its copy of what was loaded.
    Copy,
    /// The tables of this server are made to be seen in a proxy.
    Link(&'a str),
    /// The replica that is called so gets a copy of what its primary has.
    Replica(&'a str),
    /// The replica that is called so starts, and follows its primary when this is over.
    Follow(&'a str),
    /// A replica executes what its primary has done before the load.
    CatchUp,
    /// The database is brought to rest.
    Settle,
    /// The data is read into the cache.
    Warm,
}

impl Part<'_> {
    /// The table that is filled.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Fill(table) => Some(table),
            _ => None,
        }
    }

    /// Whether data is being made.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        matches!(self, Self::Schema | Self::Fill(_) | Self::Finish)
    }
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Schema => "Creating the schema",
            Self::Fill(table) => return write!(f, "Loading {table}"),
            Self::Finish => "Finishing the schema",
            Self::Vacuum => "Vacuuming and analyzing",
            Self::Copy => "Copying the loaded data",
            Self::Link(server) => return write!(f, "Linking the tables of {server}"),
            Self::Replica(replica) => return write!(f, "Copying the data to {replica}"),
            Self::Follow(replica) => return write!(f, "Having {replica} follow"),
            Self::CatchUp => "Catching up with the primary",
            Self::Settle => "Settling the database",
            Self::Warm => "Reading the data into the cache",
        })
    }
}

/// Is told what happens, on the thread that does it. What it has no interest in it need not take note of.
pub trait Progress {
    /// A step begins, such as "Creating the schema".
    fn step(&mut self, _text: &str) {}

    /// A step begins that is a part of making the data ready.
    fn part(&mut self, part: Part<'_>) {
        self.step(&part.to_string());
    }

    /// A step begins that is over when a server has answered, such as "Starting PostgreSQL".
    fn asks(&mut self, text: &str) {
        self.step(text);
    }

    /// How far the current step has come.
    fn amount(&mut self, _done: u64, _total: u64, _unit: &str) {}

    /// The current step, which filled a table, is done. It took this many seconds, at this many rows per second.
    fn filled(&mut self, _elapsed_s: f64, _rows_per_s: f64) {}

    /// Something to know that ends nothing.
    fn note(&mut self, text: &str);
}
