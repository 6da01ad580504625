//! Processes that do not run for a while.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Stopped processes; they go on when this is dropped.
pub struct Stopped(Vec<Pid>);

impl Stopped {
    /// Stops processes. Those that are gone meanwhile are passed over.
    #[must_use]
    pub fn all(pids: &[i32]) -> Self {
        let stopped = pids.iter().map(|pid| Pid::from_raw(*pid));
        Self(stopped.filter(|pid| kill(*pid, Signal::SIGSTOP).is_ok()).collect())
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for pid in &self.0 {
            // It may be gone.
            let _ = kill(*pid, Signal::SIGCONT);
        }
    }
}
