//! `dyno sysbench` beside sysbench: the same command lines on the same servers, one after the other, must give the same
//! exit codes, the same texts once measured numbers are taken out, and the same statements where a seed fixes them.
//! What only dyno has is tested by itself, in `own`.
//!
//! The real one is sysbench 1.0.20, from PATH. Where there is none, nothing is compared and the tests pass, unless
//! `DYNO_REQUIRE_SYSBENCH=1` says that there must be one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod case;
mod cases;
mod endings;
mod endless;
mod many;
mod old;
mod own;
#[path = "../peer/mod.rs"]
mod peer;
mod real;
mod server;
mod text;
