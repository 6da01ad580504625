//! sysbench's Lua scripts, driven by dyno's engine.
//!
//! sysbench gives each of its threads a Lua state and a connection that blocks. Here each *client* has a state of its
//! own, and each of its functions runs as a coroutine: whatever needs the server yields to the event loop, so a few
//! threads serve thousands of clients. Scripts see the same API, down to counters, restarts and error messages, which
//! is written afresh from its described behaviour (`src/api`).
//!
//! How the parts are used:
//!
//! 1. [`Source`] is the script: a file (with sysbench's search for modules), or a text with a table of modules.
//! 2. [`Environment::load`] runs it in a state of its own and tells what it [declares](Environment::declared): options,
//!    commands, functions. The front end reads its command line by that, and loads it once more with all values set.
//! 3. [`Environment::command`] runs a command (`prepare`, `cleanup`, `help`, one of the script's), in as many states as
//!    it wants ([`run_parallel`]), over connections that block.
//! 4. [`LuaProgram`] is what the engine drives for `run`. It counts for itself ([`LuaProgram::counts`]), because an
//!    event can be restarted without the engine hearing of it.
//! 5. The environment is asked for `init`, `done` and the hooks that replace reports.
//!
//! What a script prints, and what is to be said of it, goes to a [`Voice`]: nothing here knows how messages look, but
//! their words are sysbench's, without the `FATAL: ` before them.

mod blocking;
mod chunks;
mod client;
mod counts;
mod declared;
mod environment;
mod error;
mod fill;
mod hear;
mod label;
mod mentioned;
mod operation;
mod place;
mod program;
mod random;
mod settings;
mod source;
mod state;
mod statement;
mod unconnected;
mod voice;
mod watchdog;
pub mod workloads;

pub use blocking::{Link, Server, run_parallel};
pub use counts::{Counts, Work};
pub use declared::{Declared, DeclaredCommand, DeclaredOption, Function, OptionKind};
pub use environment::{Environment, Parts, Statistics};
pub use error::LuaError;
pub use fill::{Column, FilledTable, Filler};
pub use hear::Heard;
pub use label::told_apart;
pub use program::{LuaProgram, LuaState, Tally};
pub use random::{Distribution, RandomSettings};
pub use settings::{Dialect, IgnoredErrors, OptionValue, PreparedStatements, Settings, Version};
pub use source::Source;
pub use voice::{Level, Terminal, Voice};
