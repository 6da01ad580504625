//! What a server says, in libpq's layout: severity and message, the statement's line with a mark, detail, hint.

use crate::init::server_text;
use dyno_engine::ConnectError;
use dyno_wire::{ServerError, SqlState};
use postgres::error::ErrorPosition;

/// An error of the load's own connections; `query` is the statement as it was sent, if its text was.
pub fn of_server(error: &ServerError, query: Option<&str>) -> String {
    match query {
        Some(query) => server_text(error, query),
        None => error.to_string(),
    }
}

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
        ..ServerError::default()
    };
    if let Some(ErrorPosition::Original(position)) = said.position() {
        error.position = Some(*position);
    }
    server_text(&error, query)
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
        other => other.to_string(),
    }
}
