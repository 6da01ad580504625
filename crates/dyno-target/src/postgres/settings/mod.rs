//! Server settings: what an experiment asks for, made to fit a server, given to it, checked, and taken back.
//!
//! Experiments say `shared_buffers = "25% of memory"` so that they fit every machine
//! ([`resolve_size`](crate::host::resolve_size)), and `max_wal_size` so that they fit every version ([`plan_for`]).
//! A server that is not ours gets them through [`Change`], which notes first what was there, so that [`restore`]
//! can put exactly that back. Whatever happened, [`verify`](verify()) says what the server really runs with, and a
//! report says the rest.

mod change;
mod connections;
mod known;
mod mapping;
mod permission;
mod restart;
mod rules;
mod survey;
mod verify;

pub use change::{Applied, Change, ChangeError, plan_for_server, restore};
pub(in crate::postgres) use connections::{MAX_CONNECTIONS, most_clients};
pub use connections::{TooFewConnections, check_connections, with_connections};
pub use known::names;
pub use mapping::{MappingError, plan_for};
pub(in crate::postgres) use permission::missing;
pub(in crate::postgres) use survey::alter_system;
pub use verify::{SettingsError, verify};
