//! What went wrong with connections, in libpq's words.

use crate::excerpt::server_text;
use dyno_engine::ConnectError;
use dyno_wire::{ServerError, SqlState};
use postgres::error::ErrorPosition;

/// An error of the connection for everything else.
pub fn of_client(error: &postgres::Error, query: &str) -> String {
    let Some(said) = error.as_db_error() else {
        return error.to_string();
    };
    let mut error = ServerError {
        severity: said.severity().to_owned(),
        sqlstate: SqlState::default(),
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
    server_text(&error, Some(query))
}

/// Why one of the load's own connections could not be made.
pub fn of_connecting(error: &ConnectError) -> String {
    let server = |address: &str| match address.strip_prefix("unix socket ") {
        Some(path) => format!("on socket \"{path}\""),
        None => match address.rsplit_once(':') {
            Some((host, port)) => format!("at \"{host}\", port {port}"),
            None => format!("at \"{address}\""),
        },
    };
    match error {
        ConnectError::Refused { address, error } => {
            format!("connection to server {} failed: {error}", server(address))
        }
        ConnectError::Unreachable { address, cause } => {
            let cause = crate::system_text(cause);
            format!("connection to server {} failed: {cause}", server(address))
        }
        ConnectError::Unwanted { address, why } => format!("connection to server {} failed: {why}", server(address)),
        ConnectError::Everywhere(errors) => errors.iter().map(of_connecting).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}
