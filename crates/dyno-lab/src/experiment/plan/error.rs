//! Why there is no plan.

use crate::experiment::SetError;
use crate::experiment::plan::design::NoCells;

/// Why an experiment cannot be planned as asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A value on the command line cannot be.
    #[error("--set {name}={value}: {cause}")]
    Override {
        /// What was to be set.
        name: String,
        /// To what, without passwords.
        value: String,
        /// Why it cannot be.
        cause: Box<SetError>,
    },
    /// A value of the file cannot be.
    #[error(transparent)]
    Value(#[from] SetError),
    /// The levels of a cell cannot be together.
    #[error(
        "{cell} cannot be measured: {cause}\nLeave it out with exclude = [{{ … }}] under [plan], or change its levels."
    )]
    Cell {
        /// Its levels, such as `clients=1, threads=8`.
        cell: String,
        /// Why not.
        cause: SetError,
    },
    /// A cell wants more load hosts than there are.
    #[error("{cell} cannot be measured: {cause}\nMeasure with as many as there are: --set hosts={possible}")]
    TooFewHosts {
        /// Its levels.
        cell: String,
        /// Why not.
        cause: Box<SetError>,
        /// The levels of `hosts` that can be.
        possible: String,
    },
    /// Two factors say the same thing.
    #[error("the factors `{one}` and `{other}` both set `{name}`; keep only one of them")]
    Twice {
        /// One of them.
        one: String,
        /// The other.
        other: String,
        /// What both set.
        name: String,
    },
    /// Levels cannot be told apart without their passwords.
    #[error(
        "two levels of `target` differ only in their passwords; use different users or hosts, and put passwords into \
         ~/.pgpass"
    )]
    SameTargets,
    /// Levels that nobody may see cannot be told apart.
    #[error(
        "the levels of `{name}` are secrets, so results could not say which is which; give them names: [factors.NAME] \
         with a = {{ {name} = \"…\" }}"
    )]
    SecretLevels {
        /// The factor.
        name: String,
    },
    /// There are no cells, or too many.
    #[error(transparent)]
    NoCells(#[from] NoCells),
    /// There are too many runs.
    #[error(
        "{cells} cells with {repetitions} repetitions each are more than {most} runs; reduce the levels or the \
         repetitions"
    )]
    TooManyRuns {
        /// How many cells.
        cells: usize,
        /// How often each is to be measured.
        repetitions: usize,
        /// How many runs are possible.
        most: usize,
    },
}
