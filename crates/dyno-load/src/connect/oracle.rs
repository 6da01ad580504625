//! From the address of an Oracle server to what the engine's clients connect with.

use dyno_engine::Connector;
use dyno_target::oracle::EndpointError;
use dyno_target::oracle::address::ConnectionInfo;
use dyno_wire::OraSession;
use std::sync::Arc;

/// Looks the hosts up.
///
/// # Errors
/// No host's name is known, or TLS cannot be set up.
pub fn connector(info: &ConnectionInfo) -> Result<Connector<OraSession>, EndpointError> {
    let session = info.sessions();
    Ok(Connector {
        endpoints: info.endpoints()?,
        session: Arc::new(move |_, tls| session(tls)),
    })
}
