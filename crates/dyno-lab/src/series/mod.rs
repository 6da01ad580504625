//! Several experiments that are measured one after the other and published as one: which they are, and what is to be
//! done of each.
//!
//! A series adds nothing to what an experiment is: each is planned and measured as if it were alone. What is asked for
//! all of them, such as `--set rows=1000`, holds where an experiment has it.

mod plan;
mod select;

pub use plan::{Member, Planned, plan};
pub use select::{Selected, select};

use crate::experiment::{ExperimentError, did_you_mean};
use std::io;
use std::path::PathBuf;

/// Why there is no series to be measured.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// An experiment cannot be read.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// Several cannot be measured: what is wrong with each.
    #[error("{number} of the experiments cannot be measured:\n{}", wrong.join("\n"))]
    Several {
        /// How many.
        number: usize,
        /// Why, each reason once.
        wrong: Vec<String>,
    },
    /// A folder cannot be read.
    #[error("cannot read the folder {}: {cause}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// A folder has no experiments.
    #[error("there is no experiment in the folder {}: experiments are files that end with .toml", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// Two experiments cannot be told apart.
    #[error("two experiments of the series are called `{name}`; rename the file of one of them, or leave it out")]
    Twice {
        /// What both are called.
        name: String,
    },
    /// A value is of no experiment.
    #[error("`{name}` cannot be set in any experiment of the series{}", did_you_mean(nearest.as_deref()))]
    Nobody {
        /// Its name.
        name: String,
        /// The known name most like it.
        nearest: Option<String>,
    },
}
