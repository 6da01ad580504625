//! Why there is no plan.

use crate::experiment::SetError;

/// Why an experiment cannot be planned as asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A value on the command line cannot be.
    #[error("--set {name}={value}: {cause}")]
    Override {
        /// What was to be set.
        name: String,
        /// To what.
        value: String,
        /// Why it cannot be.
        cause: SetError,
    },
    /// A value of the file cannot be.
    #[error(transparent)]
    Value(#[from] SetError),
    /// The levels of a cell cannot be together.
    #[error(
        "the cell {cell} cannot be measured: {cause}\nLeave it out with exclude = [{{ … }}] under [plan], or change the levels."
    )]
    Cell {
        /// Its levels.
        cell: String,
        /// Why not.
        cause: SetError,
    },
}
