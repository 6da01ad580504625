//! What is read beside a running load from Oracle: counters, sessions and what they wait for, log switches, tables.
//!
//! All of it is from views that every edition has and no pack is needed for. A user who may not read them gets what the
//! load itself measures, and what of the host can be seen.

mod activity;
mod events;
mod link;
mod server;
mod set;
mod statements;
mod tables;
mod waiting;

pub(super) use self::set::sampler_set;
