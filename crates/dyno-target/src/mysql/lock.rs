//! Keeps two campaigns from measuring on one server at the same time.
//!
//! The server's own named locks do that (MySQL Reference Manual, "Locking Functions"): one is held as long as its
//! connection stands, and is free by itself when the process that took it is gone. Campaigns take turns: there is one
//! lock for the whole server, whatever database they work on.

use super::address::ConnectionInfo;
use super::{Client, connect_until};
use crate::target::{Lock, StopFlag, TargetError};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// The lock of a server that is measured.
const NAME: &str = "dyno";

/// How long the server waits for the lock at a time, in seconds, so that a request to stop is noticed.
const PATIENCE_S: u32 = 1;

/// The lock, held or lost.
pub(super) struct ServerLock {
    info: ConnectionInfo,
    client: Mutex<Client>,
}

impl ServerLock {
    /// Takes the lock, waiting for who has it; `waiting` is told of that once.
    pub fn take(info: &ConnectionInfo, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<Self, TargetError> {
        let client = held(info, stop, waiting)?;
        Ok(Self {
            info: info.clone(),
            client: Mutex::new(client),
        })
    }
}

fn held(info: &ConnectionInfo, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<Client, TargetError> {
    let mut client = connect_until(info, stop)?;
    let mut told = false;
    loop {
        let wait_s = if told { PATIENCE_S } else { 0 };
        let taken: Option<Option<u8>> = client.query_first(&format!("select get_lock('{NAME}', {wait_s})"))?;
        if taken.flatten() == Some(1) {
            return Ok(client);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(TargetError::Stopped("stopped while waiting for another dyno".into()));
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

impl Lock for ServerLock {
    fn is_held(&self) -> bool {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = client.query_first::<Option<u8>>(&format!("select is_used_lock('{NAME}') = connection_id()"));
        matches!(mine, Ok(Some(Some(1))))
    }

    fn ensure(&self, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        if !self.is_held() {
            let again = held(&self.info, stop, waiting)?;
            *self.client.lock().unwrap_or_else(PoisonError::into_inner) = again;
        }
        Ok(())
    }

    fn sharers(&self) -> Vec<String> {
        Vec::new()
    }
}
