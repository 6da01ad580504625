//! From the address of a PostgreSQL server to what the engine's clients connect with.

use super::Connector;
use dyno_engine::{Address, Endpoint, Tls};
use dyno_target::postgres::address::{self, ConnectError, ConnectionInfo};
use dyno_wire::PgSession;
use std::sync::Arc;
use std::time::Duration;

/// How long connecting may take when the address does not say: longer than a server needs that is forking hundreds
/// of processes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Looks the server's hosts up.
///
/// # Errors
/// No host's name is known, or TLS cannot be set up.
pub(crate) fn connector(info: &ConnectionInfo) -> Result<Connector<PgSession>, ConnectError> {
    let connect_timeout = info.connect_timeout().unwrap_or(CONNECT_TIMEOUT);
    let resolved = info.endpoints()?.into_iter();
    // One log-in for each endpoint: passwords may differ.
    let (endpoints, configs): (Vec<_>, Vec<_>) = resolved
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
    Ok(Connector {
        endpoints,
        session: Arc::new(move |endpoint, tls| {
            // The engine numbers endpoints as they were given.
            let config = configs.get(endpoint).or_else(|| configs.first()).map(Arc::clone);
            let session = PgSession::new(config.unwrap_or_default());
            match tls {
                Some(mode) => session.asking_for_tls(mode),
                None => session,
            }
        }),
    })
}
