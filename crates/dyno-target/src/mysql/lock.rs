//! Keeps two campaigns from measuring on one server at the same time.
//!
//! The server's own named locks do that (MySQL Reference Manual, "Locking Functions"): one is held as long as its
//! connection stands, and is free by itself when the process that took it is gone. Campaigns take turns: there is one
//! lock for the whole server, whatever database they work on.
//!
//! A campaign may know one server by several addresses. So whoever takes the lock takes another one before, which has
//! the name of its process: if both belong to one connection, the server is reserved for this process already.

use super::address::ConnectionInfo;
use super::{Client, connect_until};
use crate::target::{Lock, StopFlag, TargetError};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The lock of a server that is measured.
pub(super) const NAME: &str = "dyno";

/// How long the server waits for the lock at a time, in seconds, so that a request to stop is noticed.
const PATIENCE_S: u32 = 1;

/// How long the server may take to say whether the lock is held. One that stands still for less is measured; of one
/// that is out of reach nothing ever comes.
const ANSWER: Duration = Duration::from_secs(60);

/// The lock, held or lost.
pub(super) struct ServerLock {
    info: ConnectionInfo,
    /// The connection, as long as it is there.
    client: Mutex<Option<Client>>,
}

impl ServerLock {
    /// Takes the lock, waiting for who has it; `waiting` is told of that once.
    pub fn take(info: &ConnectionInfo, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<Self, TargetError> {
        let client = held(info, stop, waiting)?;
        Ok(Self {
            info: info.clone(),
            client: Mutex::new(Some(client)),
        })
    }

    fn client(&self) -> MutexGuard<'_, Option<Client>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn held(info: &ConnectionInfo, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<Client, TargetError> {
    let mut client = connect_until(info, stop)?;
    client.set_patience(Some(ANSWER));
    // Another connection of this process has it if it holds the lock itself, by another address of the same server.
    client.execute(&format!("do get_lock('{}', 0)", own_name()))?;
    let mut told = false;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(TargetError::Stopped("stopped while waiting for another dyno".into()));
        }
        let wait_s = if told { PATIENCE_S } else { 0 };
        let taken: Option<Option<u8>> = client.query_first(&format!("select get_lock('{NAME}', {wait_s})"))?;
        if taken.flatten() == Some(1) || is_ours(&mut client) {
            return Ok(client);
        }
        if !std::mem::replace(&mut told, true) {
            let holder: Option<Option<u64>> = client.query_first(&format!("select is_used_lock('{NAME}')"))?;
            let holder = holder
                .flatten()
                .map_or_else(String::new, |id| format!(" (connection {id})"));
            waiting(&format!("another dyno{holder}"));
        }
    }
}

/// Whether a connection of this process holds the lock.
fn is_ours(client: &mut Client) -> bool {
    let query = format!("select is_used_lock('{NAME}') = is_used_lock('{}')", own_name());
    matches!(client.query_first::<Option<u8>>(&query), Ok(Some(Some(1))))
}

/// The name of the lock that tells this process from others, on this machine and elsewhere. A name has at most 64
/// characters.
fn own_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("dyno {} since {}", std::process::id(), since.as_nanos())
    })
}

impl Lock for ServerLock {
    fn is_held(&self) -> bool {
        self.client().as_mut().is_some_and(is_ours)
    }

    fn ensure(&self, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        if !self.is_held() {
            // Should it still stand, nothing is to depend on it.
            *self.client() = None;
            let again = held(&self.info, stop, waiting)?;
            *self.client() = Some(again);
        }
        Ok(())
    }

    fn sharers(&self) -> Vec<String> {
        // Nobody may share the server.
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits() {
        assert!(own_name().len() <= 64, "{}", own_name());
    }
}
