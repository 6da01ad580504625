//! Connections enough for a load: an instance has only so many processes and sessions, and a user may have fewer.
//!
//! 12.1 has all columns that are read here.

use super::rights::refusable;
use super::{Client, ClientError};

/// Connections that are there beside those of the load, and the server's own processes.
const BESIDE: u64 = 10;

/// What the instance allows, and how much of it is taken.
const OF_INSTANCE: &str = "select resource_name, current_utilization, trim(limit_value) from v$resource_limit where \
                           resource_name in ('processes', 'sessions')";

/// What the user's profile allows: a number, `UNLIMITED`, or `DEFAULT`, which is that of another profile.
const OF_USER: &str = "select \"LIMIT\" from user_resource_limits where resource_name = 'SESSIONS_PER_USER'";

/// The name of the user's limit.
const PER_USER: &str = "sessions_per_user";

/// How many there may be of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// What the server calls it.
    pub name: String,
    pub allowed: u64,
    /// How many are taken, as far as this user may know.
    pub used: u64,
}

impl Limit {
    /// How it is raised.
    pub(super) fn remedy(&self) -> String {
        match self.name.as_str() {
            PER_USER => "raise it in the user's profile (alter profile … limit sessions_per_user …)".to_owned(),
            name => format!("raise {name} (alter system set {name} = … scope = spfile) and restart the server"),
        }
    }
}

/// Too few connections are allowed for the load.
#[derive(Debug, thiserror::Error)]
#[error(
    "{limit} is {allowed}, of which {used} are in use: too few for {clients} clients and {BESIDE} connections beside \
     them; raise it on the server"
)]
pub(super) struct TooFewConnections {
    limit: String,
    allowed: u64,
    used: u64,
    clients: usize,
}

/// The limits, as far as they may be read; `None`: not those of the instance. Who may not read them learns of too few
/// when the load connects.
pub(super) fn limits(client: &mut Client) -> Result<Option<Vec<Limit>>, ClientError> {
    let Ok(found) = refusable(client.query::<(String, u64, String)>(OF_INSTANCE))? else {
        return Ok(None);
    };
    let mut limits: Vec<Limit> = found
        .into_iter()
        .filter_map(|(name, used, allowed)| {
            let allowed = allowed.parse().ok()?;
            Some(Limit { name, allowed, used })
        })
        .collect();
    let own = refusable(client.query_first::<Option<String>>(OF_USER))?.ok().flatten();
    limits.extend(
        own.flatten()
            .and_then(|own| own.trim().parse().ok())
            .map(|allowed| Limit {
                name: PER_USER.to_owned(),
                allowed,
                used: 0,
            }),
    );
    Ok(Some(limits))
}

/// The most clients of a load that a limit allows.
pub(super) fn most_clients(limit: &Limit) -> u64 {
    limit.allowed.saturating_sub(limit.used + BESIDE)
}

/// Makes sure that the limits do for a load of this many clients.
pub(super) fn check(limits: &[Limit], clients: usize) -> Result<(), TooFewConnections> {
    match limits.iter().find(|limit| most_clients(limit) < clients as u64) {
        Some(limit) => Err(TooFewConnections {
            limit: limit.name.clone(),
            allowed: limit.allowed,
            used: limit.used,
            clients,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_counts() {
        let limit = |name: &str, allowed, used| Limit {
            name: name.to_owned(),
            allowed,
            used,
        };
        let limits = [limit("processes", 300, 60), limit(PER_USER, 50, 0)];
        assert_eq!(limits.each_ref().map(most_clients), [230, 40]);
        assert!(check(&limits, 40).is_ok());
        let error = check(&limits, 41).unwrap_err().to_string();
        assert!(error.starts_with("sessions_per_user is 50, of which 0"), "{error}");
        let error = check(&limits[..1], 231).unwrap_err().to_string();
        assert!(error.contains("processes is 300, of which 60 are in use"), "{error}");
    }
}
