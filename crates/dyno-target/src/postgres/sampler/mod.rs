//! What is read beside a running load from PostgreSQL: its counters, sessions, statements and log.

mod activity;
mod blocked;
mod checkpoints;
mod link;
mod log;
mod process;
mod rights;
mod server;
mod set;
mod statements;
mod tables;
mod vacuums;
mod waits;

pub(super) use self::rights::{Lack, lack};
pub use self::set::sampler_set;
pub(super) use self::statements::are_counted;
