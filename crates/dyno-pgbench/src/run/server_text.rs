//! What went wrong with connections, in libpq's words.

use crate::excerpt::server_text;
use dyno_engine::ConnectError;
use dyno_target::postgres::address::{ConnectionInfo, Host, LIBPQ_LOST};
use dyno_wire::ServerError;
use postgres::error::{ErrorPosition, Severity};
use std::io;

/// An error of the connection for everything else.
pub fn of_client(error: &postgres::Error, query: &str) -> String {
    let Some(said) = error.as_db_error() else {
        let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
        let is_lost = cause.is_some_and(|cause| {
            use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
            matches!(cause.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
        });
        return match is_lost || error.is_closed() {
            true => LIBPQ_LOST.to_owned(),
            false => error.to_string(),
        };
    };
    let is_last = matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    let mut error = ServerError {
        severity: said.severity().to_owned(),
        message: said.message().to_owned(),
        detail: said.detail().map(str::to_owned),
        hint: said.hint().map(str::to_owned),
        context: said.where_().map(str::to_owned),
        ..ServerError::default()
    };
    match said.position() {
        Some(ErrorPosition::Original(position)) => error.position = Some(*position),
        Some(ErrorPosition::Internal { position, query }) => {
            error.internal_position = Some(*position);
            error.internal_query = Some(query.clone());
        }
        None => {}
    }
    let text = server_text(&error, Some(query));
    if is_last { format!("{text}\n{LIBPQ_LOST}") } else { text }
}

/// Why one of the load's own connections could not be made.
pub fn of_connecting(error: &ConnectError, target: &ConnectionInfo) -> String {
    let failure = |address: &str, reason: &dyn Fn(&Host) -> String| {
        let path = address.strip_prefix("unix socket ").unwrap_or(address);
        target.host_at(path).map(|host| host.libpq_failure(&reason(host)))
    };
    let told = match error {
        ConnectError::Refused { address, error } | ConnectError::Ended { address, error, .. } => {
            failure(address, &|_| error.to_string())
        }
        ConnectError::Unreachable { address, cause } | ConnectError::Broken { address, cause, .. } => {
            failure(address, &|host| host.libpq_reason(cause))
        }
        ConnectError::Unwanted { address, why } => failure(address, &|_| (*why).to_owned()),
        ConnectError::Distrusted { address, why } => failure(address, &|_| why.clone()),
        ConnectError::Everywhere(errors) => {
            let each = errors.iter().map(|error| of_connecting(error, target));
            Some(each.collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    };
    told.unwrap_or_else(|| error.to_string())
}
