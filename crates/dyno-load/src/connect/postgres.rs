//! From the address of a PostgreSQL server to what the engine's clients connect with.

use dyno_engine::{Address, Connector, Endpoint, Tls};
use dyno_target::postgres::address::{self, ConnectError, ConnectionInfo};
use dyno_wire::PgSession;
use std::sync::Arc;
use std::time::Duration;

/// Looks the server's hosts up.
///
/// # Errors
/// No host's name is known, or TLS cannot be set up.
pub fn connector(info: &ConnectionInfo) -> Result<Connector<PgSession>, ConnectError> {
    // An address that sets none has got its own; none is meant.
    let connect_timeout = info.connect_timeout().unwrap_or(Duration::MAX);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn connect_timeout(target: &str) -> Duration {
        let info = ConnectionInfo::resolve(Some(target), &|_| None).expect("an address");
        let connector = connector(&info).expect("endpoints");
        connector.endpoints[0].connect_timeout
    }

    #[test]
    fn connecting_takes_as_long_as_the_address_says() {
        for (more, seconds) in [("", 15), (" connect_timeout=3", 3)] {
            let target = format!("host=127.0.0.1 user=u dbname=d{more}");
            assert_eq!(connect_timeout(&target), Duration::from_secs(seconds), "{target}");
        }
        let forever = "host=127.0.0.1 user=u dbname=d connect_timeout=0";
        assert_eq!(connect_timeout(forever), Duration::MAX);
    }
}
