//! Oracle's protocol, as the servers from 12.1 (protocol version 315) to 26ai speak it.
//!
//! There is no public specification. What is here was written afresh from what Oracle's own open drivers
//! (python-oracledb, node-oracledb, the crate `oracledb`, all in "thin" mode) send and understand, and is tried against
//! a stand-in that these drivers accept as a server; `docs/oracle.md` says what was shown how.
//!
//! Packets hold messages, and a message does not say how long it is: the end of a response is found by reading it. A
//! server takes one request at a time, so what is asked for meanwhile waits here.

mod agreed;
mod authentication;
mod bind;
mod bulk;
mod capabilities;
mod cipher;
mod column;
mod config;
mod connect;
mod data_types;
mod error;
mod kind;
mod message;
mod moment;
mod number;
mod packet;
mod placeholders;
mod reader;
mod request;
mod returning;
mod server_error;
mod session;
mod start_up;
mod statement;
mod writer;

pub use agreed::{OraAgreed, OraVerifier};
pub use bulk::OraRows;
pub use config::OraConfig;
pub use error::OraError;
pub use kind::Kind as OraKind;
pub use session::OraSession;
pub use statement::OraStatement;

use crate::{OtherDatabase, WireError};

/// The database's name in messages.
const NAME: &str = "Oracle";

/// What answers if one meets a PostgreSQL server.
static POSTGRESQL: OtherDatabase = OtherDatabase {
    found: "PostgreSQL",
    expected: NAME,
    scheme: "postgresql://",
};

/// A message breaks the protocol's own rules.
const fn malformed(what: &'static str) -> WireError {
    WireError::Malformed { database: NAME, what }
}
