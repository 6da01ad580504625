//! Who connects to what, the same for all connections of a workload.

use crate::Secret;

/// What a start-up needs to know; shared by all sessions through an `Arc`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MyConfig {
    /// The user to log in as; the server adds the host it sees us come from.
    pub user: String,
    /// The user's password, if there is one.
    pub password: Option<Secret>,
    /// The database statements refer to; if empty, none.
    pub database: String,
    /// What the server's tables of connections show as `program_name`; not sent if empty.
    pub program_name: String,
    /// Whether the connection is a Unix-domain socket, on which nobody can listen in.
    pub local: bool,
}
