//! The end at once.

use dyno_target::target::KillSwitch;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Ends the private servers of a campaign at once, from anywhere: for a user who does not want to wait for an
/// orderly end.
#[derive(Clone, Debug, Default)]
pub struct Emergency {
    switch: KillSwitch,
    changed: Arc<Mutex<Vec<PathBuf>>>,
}

impl Emergency {
    /// Kills the servers that are up. The next start of each recovers.
    pub fn stop_now(&self) {
        self.switch.stop_now();
    }

    /// Where the settings stand that servers which are not dyno's own had before they were changed, as long as they
    /// are.
    #[must_use]
    pub fn changed(&self) -> Vec<PathBuf> {
        self.changed
            .lock()
            .map_or_else(|_| Vec::new(), |changed| changed.clone())
    }

    pub(super) fn switch(&self) -> &KillSwitch {
        &self.switch
    }

    /// Settings are changed as of now, and what they were stands there.
    pub(super) fn add_changed(&self, restore: &Path) {
        if let Ok(mut changed) = self.changed.lock() {
            changed.push(restore.to_owned());
        }
    }

    /// They are not any more.
    pub(super) fn remove_changed(&self, restore: &Path) {
        if let Ok(mut changed) = self.changed.lock() {
            changed.retain(|known| known != restore);
        }
    }
}
