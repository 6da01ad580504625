//! Connections enough for a load: a server allows only so many at a time.

use crate::target::TargetError;

/// The setting that bounds connections.
pub(super) const MAX_CONNECTIONS: &str = "max_connections";

/// Connections that are there beside those of the load: for the lock, for the samplers and for what is asked before and
/// after.
const BESIDE: usize = 10;

/// What the server allows unless told otherwise (MariaDB, "Server System Variables").
const USUAL: usize = 151;

/// Too few are allowed for the load.
#[derive(Debug, thiserror::Error)]
#[error("{MAX_CONNECTIONS} is {allowed}, too few for {clients} clients and {BESIDE} connections beside them; {remedy}")]
struct TooFewConnections {
    allowed: u64,
    clients: usize,
    remedy: &'static str,
}

/// The most clients of a load where this many connections are allowed.
pub(super) fn most_clients(allowed: u64) -> u64 {
    allowed.saturating_sub(BESIDE as u64)
}

/// How many connections the settings ask for, if that is a number.
pub(super) fn wanted(settings: &[(String, String)]) -> Option<u64> {
    let (_, value) = settings.iter().find(|(name, _)| name == MAX_CONNECTIONS)?;
    value.parse().ok()
}

/// Makes sure that `allowed` connections do for a load of this many clients; `remedy` says what to do if they do not.
pub(super) fn check(allowed: u64, clients: usize, remedy: &'static str) -> Result<(), TargetError> {
    match usize::try_from(allowed).is_ok_and(|allowed| allowed < clients + BESIDE) {
        true => Err(TargetError::other(TooFewConnections {
            allowed,
            clients,
            remedy,
        })),
        false => Ok(()),
    }
}

/// Makes sure that the settings of a server which is started with them do for a load of this many clients: a limit that
/// they set has to, without one they get what the load needs.
pub(super) fn provide(settings: &mut Vec<(String, String)>, clients: usize) -> Result<(), TargetError> {
    if let Some(allowed) = wanted(settings) {
        return check(allowed, clients, "raise it, or leave it out");
    }
    let needed = clients + BESIDE;
    if needed > USUAL && settings.iter().all(|(name, _)| name != MAX_CONNECTIONS) {
        settings.push((MAX_CONNECTIONS.to_owned(), needed.to_string()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provided(settings: &[(&str, &str)], clients: usize) -> Result<Vec<(String, String)>, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut settings: Vec<_> = settings.iter().map(owned).collect();
        match provide(&mut settings, clients) {
            Ok(()) => Ok(settings),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_load_gets_the_connections_that_it_needs() {
        assert_eq!(provided(&[], 8), Ok(vec![]));
        let needed = (MAX_CONNECTIONS.to_owned(), "310".to_owned());
        assert_eq!(provided(&[], 300), Ok(vec![needed]));
        let error = provided(&[(MAX_CONNECTIONS, "50")], 64).unwrap_err();
        assert!(
            error.contains("max_connections is 50") && error.contains("64 clients"),
            "{error}"
        );
    }

    #[test]
    fn those_of_dyno_count_too() {
        assert!(check(150, 140, "raise it").is_ok());
        let error = check(150, 141, "raise it").unwrap_err().to_string();
        assert!(
            error.contains("141 clients and 10 connections beside them; raise it"),
            "{error}"
        );
    }
}
