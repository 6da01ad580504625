//! The end at once.

use dyno_target::target::KillSwitch;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Ends the embedded server of a campaign at once, from anywhere: for a user who does not want to wait for an
/// orderly end.
#[derive(Clone, Debug, Default)]
pub struct Emergency {
    switch: KillSwitch,
    changed: Arc<Mutex<Option<PathBuf>>>,
}

impl Emergency {
    /// Kills the server if there is one. Its next start recovers.
    pub fn stop_now(&self) {
        self.switch.stop_now();
    }

    /// Where the settings stand that a server which is not dyno's own had before they were changed, as long as they
    /// are.
    #[must_use]
    pub fn changed(&self) -> Option<PathBuf> {
        self.changed.lock().ok()?.clone()
    }

    pub(super) fn switch(&self) -> &KillSwitch {
        &self.switch
    }

    pub(super) fn set_changed(&self, restore: Option<&Path>) {
        if let Ok(mut changed) = self.changed.lock() {
            *changed = restore.map(Path::to_owned);
        }
    }
}
