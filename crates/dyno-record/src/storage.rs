//! How a database keeps the data of an experiment, as far as what it takes is estimated before there is a server.

/// Declared by a target, of its kind of database and of how that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Bytes that it adds to the values of a row.
    pub row_bytes: u64,
    /// Whether a table is kept in its primary key, which so takes no room of its own.
    pub is_clustered: bool,
    /// Whether a run can work on a copy of what was loaded. Otherwise data that workloads change is loaded again for
    /// each run.
    pub makes_copies: bool,
}
