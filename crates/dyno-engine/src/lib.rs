//! Drives a database with transactions from many connections and records how long they take.
//!
//! The engine knows nothing of files, experiments or SQL dialects: a [`Program`] says what a client does next, a `dyno_wire::Session` turns it into
//! bytes, a [`transport::Transport`] moves them, and an [`Observer`] is told of every interval. Threads share nothing while the load runs.

mod clock;
mod connect;
mod drive;
mod histogram;
mod load;
mod pacing;
mod program;
mod recording;
mod timeline;
pub mod transport;
mod worker;

pub use connect::ConnectError;
pub use drive::{Connected, DriveError, Ending, Interval, Observer, Outcome, drive};
pub use histogram::{HIGHEST_NS, LatencyHistogram};
pub use load::{Address, Endpoint, Load, NewSession, Pacing, Phase, Stop, Tls, Workload};
pub use program::{Action, Program, ProgramError, ScriptProgram, ScriptState};
pub use recording::{ErrorCount, Recording};
