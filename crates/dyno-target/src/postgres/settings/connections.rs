//! Whether a server allows as many connections as an experiment takes.

use crate::postgres::Client;
use crate::postgres::error::AskError;

/// Connections beside the clients: control, the lock's, four of samplers, and a spare one for a person who looks in
/// with psql.
const OTHER_CONNECTIONS: usize = 7;

/// The setting.
pub(in crate::postgres) const MAX_CONNECTIONS: &str = "max_connections";

/// PostgreSQL's default for it.
const USUAL_CONNECTIONS: usize = 100;

/// A server that does not allow enough connections.
#[derive(Debug, thiserror::Error)]
#[error(
    "the experiment needs {needed} connections, but the server allows {available} (max_connections minus reserved \
     ones); set max_connections to at least {advice}, or use fewer clients with --set clients=N"
)]
pub struct TooFewConnections {
    needed: usize,
    available: usize,
    advice: usize,
}

/// Connections that a load of this many clients takes, dyno's own included.
fn needed(clients: usize) -> usize {
    clients.saturating_add(OTHER_CONNECTIONS)
}

/// Raises `max_connections` for a load of many clients, if it is not set.
///
/// # Errors
/// It is set, and too low.
pub fn with_connections(settings: &mut Vec<(String, String)>, clients: usize) -> Result<(), TooFewConnections> {
    let needed = needed(clients);
    match settings.iter().find(|(name, _)| name == MAX_CONNECTIONS) {
        None if needed > USUAL_CONNECTIONS => {
            settings.push((MAX_CONNECTIONS.to_owned(), needed.to_string()));
            Ok(())
        }
        // What is no number is for the server to complain of.
        Some((_, given)) => match given.parse() {
            Ok(available) => enough(needed, available),
            Err(_) => Ok(()),
        },
        None => Ok(()),
    }
}

fn enough(needed: usize, available: usize) -> Result<(), TooFewConnections> {
    if needed <= available {
        return Ok(());
    }
    Err(TooFewConnections {
        needed,
        available,
        advice: needed + USUAL_CONNECTIONS / 10,
    })
}

/// Makes sure that the connected server has room for a load of this many clients.
///
/// # Errors
/// It has not (the inner error), or the connection is broken.
pub fn check_connections(client: &mut Client, clients: usize) -> Result<Result<(), TooFewConnections>, AskError> {
    Ok(enough(needed(clients), available(client)?))
}

/// The most clients of a load that the connected server has room for.
///
/// # Errors
/// The connection is broken.
pub(in crate::postgres) fn most_clients(client: &mut Client) -> Result<usize, AskError> {
    Ok(available(client)?.saturating_sub(OTHER_CONNECTIONS))
}

/// Connections that an ordinary role can have.
fn available(client: &mut Client) -> Result<usize, AskError> {
    let query =
        "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                        - coalesce(current_setting('reserved_connections', true)::int, 0)";
    // Before 9.6 current_setting takes one argument; the settings differ only from 16 on.
    let old = "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int";
    let row = client.query_one(query, &[]).or_else(|_| client.query_one(old, &[]));
    let row = row.map_err(|error| AskError::new("read max_connections", &error))?;
    Ok(usize::try_from(row.get::<_, i32>(0)).unwrap_or(0))
}
