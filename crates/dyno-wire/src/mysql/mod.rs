//! The MySQL client/server protocol, as MySQL 5.7 and later and MariaDB 10.4 and later speak it.
//!
//! The server speaks first, packets carry numbers, a statement's id is the server's own choice, and a reply ends where
//! its status says that no further result follows. Formats of packets follow the MySQL source documentation, "MySQL
//! Client/Server Protocol", and where they differ the MariaDB documentation, "Client/Server Protocol". The crate
//! `mysql_common` knows flags, types and password scrambles; what is parsed here is parsed by hand, because a
//! transaction should touch few bytes and because no byte a server sends may cause a panic.

mod authentication;
mod bulk;
mod capture;
mod config;
mod error;
mod framing;
mod greeting;
mod literal;
mod local_data;
mod packet;
mod placeholders;
mod public_key;
mod response;
mod server_error;
mod session;
mod start_up;
mod statement;

pub use config::MyConfig;
pub use error::MyError;
pub use local_data::LocalData;
pub use session::MySession;
pub use statement::MyStatement;

use crate::{OtherDatabase, WireError};

/// The database's name in messages.
const NAME: &str = "MySQL or MariaDB";

/// What answers if one meets a PostgreSQL server.
static POSTGRESQL: OtherDatabase = OtherDatabase {
    found: "PostgreSQL",
    expected: NAME,
    scheme: "postgresql://",
};

/// A packet breaks the protocol's own rules.
const fn malformed(what: &'static str) -> WireError {
    WireError::Malformed { database: NAME, what }
}
