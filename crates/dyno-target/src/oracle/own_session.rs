//! A session as the clients of a load have it, for what is looked at or tried before a load.

use super::EndpointError;
use super::address::ConnectionInfo;
use crate::target::StopFlag;
use dyno_connect::{Client, ConnectError, Limit, Stop};
use dyno_wire::OraSession;
use std::sync::Arc;

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// It is not known where to connect to, or how.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The server cannot be reached, or does not let us in.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

/// Logs in on the first of the hosts that lets us in; gives the address narrowed to it, too.
pub(super) fn log_in(
    info: &ConnectionInfo,
    stop: &StopFlag,
) -> Result<(ConnectionInfo, Client<OraSession>), SessionError> {
    let stop = Stop::from(Arc::clone(stop));
    let mut errors = Vec::new();
    for host in info.hosts() {
        let narrowed = info.narrowed(host);
        match first(&narrowed, &stop) {
            Ok(client) => return Ok((narrowed, client)),
            Err(SessionError::Connect(error)) => {
                let is_last = !error.is_elsewhere_better();
                errors.push(error);
                if is_last {
                    break;
                }
            }
            // Another name may be known.
            Err(SessionError::Endpoint(EndpointError::Host { .. })) if info.hosts().count() > 1 => {}
            Err(error) => return Err(error),
        }
    }
    match errors.is_empty() {
        true => first(info, &stop).map(|client| (info.clone(), client)),
        false => Err(ConnectError::of_all(errors).into()),
    }
}

fn first(info: &ConnectionInfo, stop: &Stop) -> Result<Client<OraSession>, SessionError> {
    let endpoint = info.endpoints()?.into_iter().next().ok_or(ConnectError::NoEndpoint)?;
    let limit = Limit { stop, until: None };
    Ok(Client::connect(endpoint, info.sessions(), limit)?)
}
