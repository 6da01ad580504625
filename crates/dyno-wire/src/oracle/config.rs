//! Who connects to what, the same for all connections of a workload.

use crate::Secret;

/// How many rows the server is asked for at a time, unless the address says otherwise.
const ROWS_PER_FETCH: u32 = 100;

/// The size of packets that is asked for, unless the address says otherwise: what Oracle's own drivers ask for.
const SDU: u32 = 8192;

/// What a start-up needs to know; shared by all sessions through an `Arc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OraConfig {
    /// The user to log in as.
    pub user: String,
    /// The user's password. Without one there is no log-in.
    pub password: Option<Secret>,
    /// The host as the address names it: a listener that serves many may look at it.
    pub host: String,
    /// The listener's port.
    pub port: u16,
    /// What the listener is to connect to, as a connect descriptor has it inside `CONNECT_DATA`, such as
    /// `(SERVICE_NAME=orcl)(SERVER=dedicated)`; see [`service`](Self::service).
    pub connect_data: String,
    /// What `v$session` shows as `machine`: where we are.
    pub machine: String,
    /// What `v$session` shows as `program`.
    pub program_name: String,
    /// How many rows the server is asked for at a time, with the execution and with each further fetch. At least 1.
    pub rows_per_fetch: u32,
    /// The size of packets that is asked for, in bytes (`SDU`): 512 to 2,097,152. Servers may answer with a
    /// smaller one.
    pub sdu: u32,
}

impl Default for OraConfig {
    fn default() -> Self {
        Self {
            user: String::new(),
            password: None,
            host: String::new(),
            port: 1521,
            connect_data: String::new(),
            machine: String::new(),
            program_name: String::new(),
            rows_per_fetch: ROWS_PER_FETCH,
            sdu: SDU,
        }
    }
}

impl OraConfig {
    /// What sessions are told of how they represent values as text. Another client that is to get the same executes it.
    pub const SETTINGS: &str = super::authentication::SETTINGS;

    /// The `connect_data` for a service of this name.
    #[must_use]
    pub fn service(name: &str) -> String {
        format!("(SERVICE_NAME={name})")
    }
}
