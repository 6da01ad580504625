//! PostgreSQL's protocol 3.0, servers 9.3 and later.
//!
//! Protocol details follow PostgreSQL's documentation, chapter "Frontend/Backend Protocol".

mod authentication;
mod cancel;
mod capture;
mod config;
mod error_response;
mod framing;
mod guard;
mod known;
mod parameter_status;
mod peer;
mod policy;
mod session;
mod start_up;
mod statement;
mod stranger;

pub use cancel::{BackendKey, cancel_request};
pub use config::{PgConfig, Secret, SessionKind};
pub use guard::{AuthenticationGuard, LogInMethod};
pub use peer::RequiredPeer;
pub use policy::{AuthenticationPolicy, Channel, ChannelBinding, RequireAuth};
pub use session::PgSession;
pub use statement::PgStatement;
pub use stranger::{Listener, OtherDatabase};
pub(crate) use stranger::{MYSQL, is_mysql};

use crate::WireError;

/// The database's name in messages.
const NAME: &str = "PostgreSQL";

/// A message breaks the protocol's own rules.
const fn malformed(what: &'static str) -> WireError {
    WireError::Malformed { database: NAME, what }
}
