//! File descriptors: whether the process may have as many as a load needs, asked before anything is begun.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a thread of the load has open beside its clients' connections: its event queue, and what wakes it.
const OF_A_THREAD: u64 = 4;

/// The system does not allow so many.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{clients} clients need {needed} file descriptors, but this process may have at most {allowed}; raise the limit \
     (ulimit -Hn, LimitNOFILE= of a service) or use fewer clients"
)]
pub struct TooFewDescriptors {
    /// How many clients there are to be.
    pub clients: usize,
    /// What they and everything else need.
    pub needed: u64,
    /// The hard limit.
    pub allowed: u64,
}

/// Makes sure that a load of so many clients and threads can have its descriptors beside those that are open and
/// `others` to come, if need be by raising the limit as far as the process may.
///
/// # Errors
/// The process may not have so many.
pub fn allow_descriptors(clients: usize, threads: usize, others: u64) -> Result<(), TooFewDescriptors> {
    let needed = beside_clients(threads, others) + clients as u64;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    match limit.maximum {
        Some(allowed) if allowed < needed => Err(TooFewDescriptors {
            clients,
            needed,
            allowed,
        }),
        _ => {
            raise_descriptor_limit();
            Ok(())
        }
    }
}

/// The most clients that a load of so many threads can have with the descriptors that the process may have, beside
/// those that are open and `others` to come; `None`: as many as it likes.
#[must_use]
pub fn most_clients(threads: usize, others: u64) -> Option<u64> {
    let allowed = getrlimit(Resource::Nofile).maximum?;
    Some(allowed.saturating_sub(beside_clients(threads, others)))
}

/// What is open while a load of so many threads runs, beside its connections.
fn beside_clients(threads: usize, others: u64) -> u64 {
    open_descriptors() + OF_A_THREAD * threads as u64 + others
}

/// Raises the limit on open files as far as this process may. Where the system refuses after all, the connection
/// that is one too many says so.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = setrlimit(Resource::Nofile, raised);
}

/// How many are open now. The folder that tells it is open while it is read, and tells of itself.
fn open_descriptors() -> u64 {
    std::fs::read_dir("/dev/fd").map_or(0, |entries| (entries.count() as u64).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_system_has_is_refused() {
        assert_eq!(allow_descriptors(1, 1, 0), Ok(()));
        let Some(allowed) = getrlimit(Resource::Nofile).maximum else {
            return;
        };
        let error = allow_descriptors(8, 2, allowed).unwrap_err();
        assert!(error.needed > allowed + 8 + 2 * OF_A_THREAD, "{error}");
        assert_eq!((error.clients, error.allowed), (8, allowed));
        let most = most_clients(2, 0).unwrap();
        assert!(most > 0 && most < allowed);
    }
}
