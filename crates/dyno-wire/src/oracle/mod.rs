//! Oracle's protocol, as the servers from 12.1 (protocol version 315) to 26ai speak it.

mod config;
mod session;

pub use config::OraConfig;
pub use session::{OraSession, OraStatement};

/// The database's name in messages.
const NAME: &str = "Oracle";
