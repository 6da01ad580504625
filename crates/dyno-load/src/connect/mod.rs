//! From the address of a server to what the engine's clients connect with.

mod mysql;
mod postgres;

pub(crate) use mysql::connector as mysql;
pub(crate) use postgres::connector as postgres;

use dyno_engine::{Endpoint, NewSession};
use dyno_wire::tls::SslMode;
use std::sync::Arc;

/// The hosts of a server, looked up, with what logging in to each of them takes. Clones are for further workloads.
pub(crate) struct Connector<S> {
    /// The hosts in the order in which they are tried.
    pub endpoints: Vec<Endpoint>,
    /// Makes the session of a connection to the endpoint of this index.
    session: Arc<dyn Fn(usize, Option<SslMode>) -> S + Send + Sync>,
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
    pub fn sessions(&self) -> NewSession<S> {
        let session = Arc::clone(&self.session);
        Box::new(move |endpoint, tls| session(endpoint, tls))
    }
}
