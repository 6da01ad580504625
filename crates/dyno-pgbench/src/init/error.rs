//! Why an initialization ended early.

use dyno_target::address::ConnectError;

/// Why an initialization ended early. pgbench's exit code for all of these is 1.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// No server could be connected to.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}
