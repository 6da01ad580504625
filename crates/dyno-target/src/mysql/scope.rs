//! Which tables of a database are the experiment's: only these are analyzed, warmed and counted.

/// What of a database is the experiment's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every table: the database is dyno's own.
    Database,
    /// None: the experiment brings no data.
    Nothing,
}
