//! From the address of a MariaDB or MySQL server to what the engine's clients connect with.

use dyno_engine::Connector;
use dyno_target::mysql::EndpointError;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_wire::MySession;
use std::sync::Arc;

/// Looks the hosts up.
///
/// # Errors
/// No host's name is known, or TLS cannot be set up.
pub fn connector(info: &ConnectionInfo) -> Result<Connector<MySession>, EndpointError> {
    let session = info.sessions();
    Ok(Connector {
        endpoints: info.endpoints()?,
        session: Arc::new(move |_, tls| session(tls)),
    })
}
