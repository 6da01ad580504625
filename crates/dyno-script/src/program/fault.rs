//! Why a script cannot go on.

use super::CaptureFault;
use crate::EvaluationError;

/// Why a script cannot go on, as [`ProgramError::of`](dyno_engine::ProgramError::of) gives it.
#[derive(Debug, thiserror::Error)]
pub enum ScriptFault {
    /// An expression has no value, or a command stands where it must not.
    #[error(transparent)]
    Evaluation(EvaluationError),
    /// The result of `\gset` or `\aset` cannot be kept.
    #[error("{described}")]
    Capture {
        /// What is wrong with it.
        fault: CaptureFault,
        /// The same with its place in the script.
        described: EvaluationError,
    },
}
