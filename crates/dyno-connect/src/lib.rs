//! Connections to servers, opened with blocking calls: the way in for the clients of a load, and for what is asked of
//! MySQL and MariaDB beside it. (What is asked of PostgreSQL, and loading it, has its own way in `dyno-target`.)
//!
//! A `dyno_wire::Session` says what is said; here are the sockets, TLS, time limits and requests to stop around it, and
//! the sentences for what goes wrong.

mod cancel;
mod client;
mod decrypt;
mod dial;
mod endpoint;
mod error;
mod opening;
mod outage;
mod socket;
mod stop;
mod system;

pub use cancel::{CANCEL_PATIENCE, cancel};
pub use client::{Client, ClientError};
pub use decrypt::decrypt;
pub use dial::{Limit, dial};
pub use endpoint::{Address, Endpoint, Tls};
pub use error::ConnectError;
pub use opening::{Opening, log_in};
pub use outage::notice_outage;
pub use socket::{Socket, is_gone};
pub use stop::Stop;
pub use system::{NO_SIGNAL, peer_user};
