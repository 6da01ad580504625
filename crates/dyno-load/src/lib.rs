//! The plan of a load: everything that a load is, as plain data.
//!
//! A front end turns its words into a [`LoadPlan`], and [`Ready::of`] turns that into what the engine drives. Nothing
//! in a plan depends on the process that made it: [`to_bytes`] and [`from_bytes`] carry it to whoever is to drive it.
//! Everything random in a load is a function of the plan and of the number of a client or thread ([`Scripts::seeds`]),
//! and so are the clients of a thread and its part of the rate and the stages, which the engine works out. So whoever
//! knows the plan and the numbers of some threads can do their part of the load.

mod bytes;
mod check;
pub mod connect;
mod log;
mod lua;
mod plan;
mod ready;
mod scripts;

pub use bytes::{BytesError, from_bytes, to_bytes};
pub use check::InvalidPlan;
pub use log::{LogError, LogPlan, OpenLog, no_log};
pub use lua::{LuaLoad, LuaScript, has_asked_for_exit};
pub use plan::{Access, LoadPlan, Server, Work, WorkloadPlan};
pub use ready::{LoadError, MixedDriver, Ready};
pub use scripts::{Given, ParsedScripts, ScriptText, Scripts};
