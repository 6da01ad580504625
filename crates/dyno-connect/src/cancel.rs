//! Asks a server, by a session of its own, to give up what it executes for others.

use crate::opening::log_in;
use crate::{ConnectError, Endpoint, Limit, Stop};
use dyno_wire::Session;
use dyno_wire::tls::SslMode;
use std::time::{Duration, Instant};

/// How long a server may take to accept a connection for a request to cancel, and then to take the request: more than
/// any distance, and not so long that somebody who has asked for the end would give up.
pub const CANCEL_PATIENCE: Duration = Duration::from_secs(2);

/// Executes statements that cancel, one after the other. `session` is as for [`log_in`].
///
/// # Errors
/// The server cannot be asked; it goes on until it notices that its client is gone.
pub fn cancel<S: Session>(
    endpoint: &Endpoint,
    session: impl Fn(Option<SslMode>) -> S,
    statements: &[String],
) -> Result<(), ConnectError> {
    let limit = Limit {
        stop: &Stop::new(),
        until: Instant::now().checked_add(CANCEL_PATIENCE),
    };
    let (mut opening, mut session) = log_in(endpoint, session, limit)?;
    let mut out = Vec::new();
    for statement in statements {
        session.query(|text| text.extend_from_slice(statement.as_bytes()), &mut out);
        // One that is refused was for a session that has ended meanwhile.
        opening.ask(&mut session, &mut out, "cancelling")?;
        out.clear();
    }
    session.terminate(&mut out);
    opening.tell(&out, CANCEL_PATIENCE)
}
