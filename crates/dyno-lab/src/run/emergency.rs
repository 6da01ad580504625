//! The end at once.

use dyno_target::postgres::embedded::ServerHandle;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Ends the embedded server of a campaign at once, from anywhere: for a user who does not want to wait for an orderly end.
#[derive(Clone, Debug, Default)]
pub struct Emergency(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    server: Option<ServerHandle>,
    changed: Option<PathBuf>,
}

impl Emergency {
    /// Kills the server if there is one. Its next start recovers.
    pub fn stop_now(&self) {
        if let Ok(state) = self.0.lock()
            && let Some(handle) = state.server.as_ref()
        {
            handle.stop_now();
        }
    }

    /// Where the settings stand that a server which is not dyno's own had before they were changed, as long as they are.
    #[must_use]
    pub fn changed(&self) -> Option<PathBuf> {
        self.0.lock().ok()?.changed.clone()
    }

    pub(super) fn set(&self, handle: Option<ServerHandle>) {
        if let Ok(mut state) = self.0.lock() {
            state.server = handle;
        }
    }

    pub(super) fn set_changed(&self, restore: Option<&Path>) {
        if let Ok(mut state) = self.0.lock() {
            state.changed = restore.map(Path::to_owned);
        }
    }
}
