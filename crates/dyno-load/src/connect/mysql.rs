//! From the address of a MariaDB or MySQL server to what the engine's clients connect with.

use super::Connector;
use dyno_target::mysql::EndpointError;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_wire::MySession;
use std::sync::Arc;

/// Looks the server up.
///
/// # Errors
/// Its host's name is not known, or TLS cannot be set up.
pub(crate) fn connector(info: &ConnectionInfo) -> Result<Connector<MySession>, EndpointError> {
    let session = info.sessions();
    Ok(Connector {
        endpoints: vec![info.endpoint()?],
        session: Arc::new(move |_, tls| session(tls)),
    })
}
