//! What is read beside a running load from MariaDB and MySQL: counters, sessions, statements, tables, and the log of a
//! server of dyno's own.

mod activity;
mod blocked;
mod events;
mod link;
mod log;
pub(super) mod replication;
mod server;
mod set;
mod statements;
mod states;
mod survey;
mod tables;

pub use self::set::sampler_set;
pub(super) use self::survey::{Lack, Seen, Survey};
