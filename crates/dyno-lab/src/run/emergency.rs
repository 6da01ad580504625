//! The end at once.

use dyno_target::embedded::ServerHandle;
use std::sync::{Arc, Mutex};

/// Ends the embedded server of a campaign at once, from anywhere: for a user who does not want to wait for an orderly end.
#[derive(Clone, Debug, Default)]
pub struct Emergency(Arc<Mutex<Option<ServerHandle>>>);

impl Emergency {
    /// Kills the server if there is one. Its next start recovers.
    pub fn stop_now(&self) {
        if let Ok(guard) = self.0.lock()
            && let Some(handle) = guard.as_ref()
        {
            handle.stop_now();
        }
    }

    pub(super) fn set(&self, handle: Option<ServerHandle>) {
        if let Ok(mut guard) = self.0.lock() {
            *guard = handle;
        }
    }
}
