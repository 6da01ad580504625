//! That no connection could be made, in the words of sysbench and of the client libraries that it is linked with: those
//! of MySQL's (`errmsg.h`) and libpq. Whoever looks for what they know finds it so, with the number that belongs to it.

use crate::settings::Dialect;
use dyno_wire::{ErrorCode, Place, ServerError, Unreached};
use std::io;

/// No connection through a socket (`CR_CONNECTION_ERROR`).
const NO_SOCKET: u32 = 2002;

/// No connection to a host (`CR_CONN_HOST_ERROR`).
const NO_HOST: u32 = 2003;

/// What is said, message by message.
pub(crate) fn unconnected(error: &ServerError, dialect: Dialect) -> Vec<String> {
    let unreached = error.unreached.as_deref();
    match dialect {
        Dialect::Mysql => {
            let place = match unreached.map(Unreached::place) {
                Some(Place::Socket(path)) => format!(" on socket '{path}'"),
                Some(Place::Host(host, port)) => format!(" on host '{host}', port {port}"),
                None => String::new(),
            };
            let (number, message) = of_mysql(error, unreached);
            vec![
                format!("unable to connect to MySQL server{place}, aborting..."),
                format!("error {number}: {message}"),
            ]
        }
        Dialect::Postgres => {
            let message = unreached.and_then(|unreached| of_libpq(error, unreached));
            let message = message.unwrap_or_else(|| error.message.clone());
            vec![format!("Connection to database failed: {message}")]
        }
    }
}

/// The number and the words of MySQL's client; those of the server if it has refused us.
fn of_mysql(error: &ServerError, unreached: Option<&Unreached>) -> (u32, String) {
    if error.code != ErrorCode::UNABLE_TO_CONNECT {
        return (error.code.as_str().parse().unwrap_or(NO_HOST), error.message.clone());
    }
    let Some(unreached) = unreached else {
        return (NO_HOST, error.message.clone());
    };
    match (unreached.place(), unreached.os_error) {
        (Place::Socket(path), Some(number)) => (
            NO_SOCKET,
            format!("Can't connect to local MySQL server through socket '{path}' ({number})"),
        ),
        (Place::Host(host, port), Some(number)) => (
            NO_HOST,
            format!("Can't connect to MySQL server on '{host}:{port}' ({number})"),
        ),
        (Place::Socket(_), None) => (NO_SOCKET, error.message.clone()),
        (Place::Host(..), None) => (NO_HOST, error.message.clone()),
    }
}

/// The words of libpq; `None`: it is not known what it would say.
fn of_libpq(error: &ServerError, unreached: &Unreached) -> Option<String> {
    let (place, hint) = match unreached.place() {
        Place::Socket(path) => (
            format!("on socket \"{path}\""),
            "Is the server running locally and accepting connections on that socket?",
        ),
        Place::Host(host, port) => (
            format!("at \"{host}\", port {port}"),
            "Is the server running on that host and accepting TCP/IP connections?",
        ),
    };
    match unreached.os_error {
        Some(number) => {
            let system = io::Error::from_raw_os_error(number).to_string();
            let words = system.split(" (os error").next().unwrap_or_default();
            Some(format!("connection to server {place} failed: {words}\n\t{hint}"))
        }
        None if error.code != ErrorCode::UNABLE_TO_CONNECT && !error.severity.is_empty() => Some(format!(
            "connection to server {place} failed: {}:  {}",
            error.severity, error.message
        )),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(address: &str, os_error: Option<i32>) -> ServerError {
        ServerError {
            code: ErrorCode::UNABLE_TO_CONNECT,
            message: "in words of our own".to_owned(),
            unreached: Some(Box::new(Unreached {
                address: address.to_owned(),
                os_error,
            })),
            ..ServerError::default()
        }
    }

    #[test]
    fn a_missing_server_is_told_as_clients_tell_it() {
        let mysql = |address, os_error| unconnected(&error(address, os_error), Dialect::Mysql);
        assert_eq!(
            mysql("unix socket /m.sock", Some(2)),
            [
                "unable to connect to MySQL server on socket '/m.sock', aborting...",
                "error 2002: Can't connect to local MySQL server through socket '/m.sock' (2)",
            ]
        );
        assert_eq!(
            mysql("127.0.0.1:1", Some(111)),
            [
                "unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...",
                "error 2003: Can't connect to MySQL server on '127.0.0.1:1' (111)",
            ]
        );
        assert_eq!(mysql("[::1]:1", None)[1], "error 2003: in words of our own");
        let postgres = |address, os_error| unconnected(&error(address, os_error), Dialect::Postgres);
        assert_eq!(
            postgres("127.0.0.1:1", Some(111)),
            [
                "Connection to database failed: connection to server at \"127.0.0.1\", port 1 failed: Connection \
                 refused\n\tIs the server running on that host and accepting TCP/IP connections?"
            ]
        );
        assert_eq!(
            postgres("unix socket /s/.s.PGSQL.5432", Some(2)),
            [
                "Connection to database failed: connection to server on socket \"/s/.s.PGSQL.5432\" failed: No such \
                 file or directory\n\tIs the server running locally and accepting connections on that socket?"
            ]
        );
    }

    #[test]
    fn a_server_that_refuses_has_its_own_words() {
        let refused = |code: &str| ServerError {
            code: ErrorCode::new(code),
            severity: "FATAL".to_owned(),
            message: "no entry".to_owned(),
            ..error("127.0.0.1:1", None)
        };
        assert_eq!(unconnected(&refused("1045"), Dialect::Mysql)[1], "error 1045: no entry");
        assert_eq!(
            unconnected(&refused("28P01"), Dialect::Postgres),
            ["Connection to database failed: connection to server at \"127.0.0.1\", port 1 failed: FATAL:  no entry"]
        );
        let nowhere = ServerError {
            unreached: None,
            ..refused("1045")
        };
        assert_eq!(
            unconnected(&nowhere, Dialect::Mysql)[0],
            "unable to connect to MySQL server, aborting..."
        );
    }
}
