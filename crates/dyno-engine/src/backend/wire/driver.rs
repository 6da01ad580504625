//! What the clients of a workload share to reach a server in its own protocol.

use super::transport::Connection;
use crate::load::{NewSession, Preparing};
use dyno_connect::Endpoint;
use dyno_wire::Session;
use dyno_wire::tls::SslMode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A server that is spoken to in its own protocol, through the engine's event loop.
pub struct WireDriver<S: Session> {
    /// Where connections go. At least 1.
    pub endpoints: Vec<Endpoint>,
    /// Which of them a connection tries.
    pub choice: Choice,
    /// Makes the session of a new connection.
    pub session: NewSession<S>,
    /// The statements of the workload, encoded once for all clients.
    pub statements: Vec<S::Statement>,
    /// The same as a person wrote them, for messages.
    pub texts: Vec<String>,
    /// When the server is told of statements that it is to know before their execution.
    pub preparing: Preparing,
}

/// Which endpoints a new connection tries.
#[derive(Debug, Default)]
pub enum Choice {
    /// All of them in order, until one lets it in.
    #[default]
    First,
    /// One: the first connection the first endpoint, the second one the second, and so on. So many were made.
    InTurn(AtomicUsize),
}

/// The hosts of a server, looked up, with what logging in to each of them takes. Clones are for further workloads, and
/// for what is asked beside a load.
pub struct Connector<S> {
    /// The hosts in the order in which they are tried.
    pub endpoints: Vec<Endpoint>,
    /// Makes the session of a connection to the endpoint of this index.
    pub session: Arc<dyn Fn(usize, Option<SslMode>) -> S + Send + Sync>,
}

impl<S> Clone for Connector<S> {
    fn clone(&self) -> Self {
        Self {
            endpoints: self.endpoints.clone(),
            session: Arc::clone(&self.session),
        }
    }
}

impl<S: 'static> Connector<S> {
    /// Makes the sessions of connections.
    #[must_use]
    pub fn sessions(&self) -> NewSession<S> {
        let session = Arc::clone(&self.session);
        Box::new(move |endpoint, tls| session(endpoint, tls))
    }
}

/// A connection that is logged in.
pub struct LoggedIn<S> {
    pub(crate) connection: Connection,
    pub(crate) session: S,
}
