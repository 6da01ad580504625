//! From the address of a server to what the engine's clients connect with.

mod mysql;
mod oracle;
pub mod oracledb;
mod postgres;

pub use mysql::connector as mysql;
pub use oracle::connector as oracle;
pub use postgres::connector as postgres;
