//! PostgreSQL's protocol 3.0, servers 9.3 and later.
//!
//! Protocol details follow PostgreSQL's documentation, chapter "Frontend/Backend Protocol".

mod authentication;
mod cancel;
mod capture;
mod config;
mod framing;
mod guard;
mod parameter_status;
mod peer;
mod policy;
mod session;
mod statement;

pub use cancel::{BackendKey, cancel_request};
pub use config::{PgConfig, Secret, SessionKind};
pub use guard::AuthenticationGuard;
pub use peer::RequiredPeer;
pub use policy::{AuthenticationPolicy, Channel, ChannelBinding, RequireAuth};
pub use session::PgSession;
pub use statement::PgStatement;
