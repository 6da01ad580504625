//! From the address of a target to what the engine's clients connect with.

use dyno_engine::{Address, Endpoint, NewSession, Tls};
use dyno_target::postgres::address::{self, ConnectError, ConnectionInfo};
use dyno_wire::{PgConfig, PgSession};
use std::sync::Arc;
use std::time::Duration;

/// How long connecting may take when the target does not say: longer than a server needs that is forking hundreds
/// of processes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The hosts of a target, looked up, with what logging in to each of them takes. Clones are for further workloads.
#[derive(Clone)]
pub struct Connector {
    endpoints: Vec<Endpoint>,
    /// One for each endpoint: passwords may differ.
    configs: Vec<Arc<PgConfig>>,
}

impl Connector {
    /// Looks the target's hosts up.
    ///
    /// # Errors
    /// No host's name is known, or TLS cannot be set up.
    pub fn to(target: &ConnectionInfo) -> Result<Self, ConnectError> {
        let connect_timeout = target.connect_timeout().unwrap_or(CONNECT_TIMEOUT);
        let resolved = target.endpoints()?.into_iter();
        let (endpoints, configs) = resolved
            .map(|endpoint| {
                let reached = Endpoint {
                    address: match endpoint.socket {
                        address::Socket::Unix(path) => Address::Unix(path),
                        address::Socket::Tcp(addresses) => Address::Tcp(addresses),
                    },
                    tls: endpoint.tls.map(|config| Tls {
                        mode: endpoint.ssl_mode,
                        config,
                        server_name: endpoint.server_name,
                    }),
                    required_peer: endpoint.required_peer,
                    connect_timeout,
                };
                (reached, endpoint.config)
            })
            .unzip();
        Ok(Self { endpoints, configs })
    }

    /// Logs in with what `change` makes of the target's start-up parameters.
    #[must_use]
    pub fn with(mut self, change: impl Fn(&PgConfig) -> PgConfig) -> Self {
        for config in &mut self.configs {
            *config = Arc::new(change(config));
        }
        self
    }

    /// The hosts in the order in which they are tried.
    #[must_use]
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.endpoints.clone()
    }

    /// Makes the sessions of connections to them.
    #[must_use]
    pub fn sessions(&self) -> NewSession<PgSession> {
        let configs = self.configs.clone();
        Box::new(move |endpoint, tls| {
            // The engine numbers endpoints as they were given.
            let config = configs.get(endpoint).or_else(|| configs.first()).map(Arc::clone);
            let session = PgSession::new(config.unwrap_or_default());
            match tls {
                Some(mode) => session.asking_for_tls(mode),
                None => session,
            }
        })
    }
}
