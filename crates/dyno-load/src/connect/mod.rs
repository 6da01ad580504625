//! From the address of a server to what the engine's clients connect with.

mod mysql;
mod postgres;

pub use mysql::connector as mysql;
pub use postgres::connector as postgres;
