//! A stand-in for an Oracle server, for tests and measurements; never a part of the program.
//!
//! No Oracle can be had where dyno is built, but what speaks to one has to be tested. This speaks the server's side of
//! Oracle's protocol (TNS, and TTC in it) and executes statements on a PostgreSQL ([`Postgres`]), or answers them at
//! once from memory ([`Instant`]). It is whatever generation of servers a test wants, unfriendly if need be
//! ([`Fault`]), and counts what clients ask of it ([`Counts`]): that a statement is parsed once is proven here.
//!
//! Its codec is its own. If it shared one with `dyno-wire`, both would misunderstand the protocol alike, and no test
//! would notice. For the same reason Oracle's own drivers have to accept it: python-oracledb does so in the tests, the
//! others by `examples/drivers`. What no driver looks at may still be wrong, and how fast a real server is, what it
//! locks and what a parse costs there is not to be learned here.

mod auth;
mod binds;
mod codec;
mod counters;
mod cursor;
mod executor;
mod handshake;
mod instant;
mod link;
mod log_in;
mod options;
mod perform;
mod postgres;
mod rare;
mod reply;
mod request;
mod sample;
mod session;
mod standin;
mod statement;
mod value;

pub use counters::Counts;
pub use executor::{Cancel, Executor, Executors, Failure, OracleError, Outcome, Work};
pub use instant::Instant;
pub use options::{Account, Fault, Listener, Misbehaviour, Moment, Options, Pieces, Profile, Verifier};
pub use postgres::Postgres;
pub use rare::{Rare, RareValue};
pub use standin::Standin;
pub use value::{Column, Kind, Value};
