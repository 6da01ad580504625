//! What the clients of a workload share to reach a server in its own protocol.

use super::transport::Connection;
use crate::load::{NewSession, Preparing};
use dyno_connect::Endpoint;
use dyno_wire::Session;

/// A server that is spoken to in its own protocol, through the engine's event loop.
pub struct WireDriver<S: Session> {
    /// Where connections go, tried in order for each of them. At least 1.
    pub endpoints: Vec<Endpoint>,
    /// Makes the session of a new connection.
    pub session: NewSession<S>,
    /// The statements of the workload, encoded once for all clients.
    pub statements: Vec<S::Statement>,
    /// The same as a person wrote them, for messages.
    pub texts: Vec<String>,
    /// When the server is told of statements that it is to know before their execution.
    pub preparing: Preparing,
}

/// A connection that is logged in.
pub struct LoggedIn<S> {
    pub(crate) connection: Connection,
    pub(crate) session: S,
}
