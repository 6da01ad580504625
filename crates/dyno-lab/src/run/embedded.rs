//! The embedded servers of a campaign: one is held at a time, of the version that the next run wants.

use super::progress::Told;
use super::{Emergency, Progress, RunError};
use dyno_target::target::{Embedded, Instance};

/// Holds embedded servers and lets go of them. Dropped, it stops the one that is up.
pub(super) struct EmbeddedServers<'a> {
    emergency: &'a Emergency,
    /// Which one it is, in words, and the server.
    held: Option<(String, Box<dyn Instance>)>,
}

impl<'a> EmbeddedServers<'a> {
    pub(super) fn new(emergency: &'a Emergency) -> Self {
        Self { emergency, held: None }
    }

    /// Holds this server, and lets go of any other.
    pub(super) fn hold(
        &mut self,
        embedded: &dyn Embedded,
        progress: &mut dyn Progress,
    ) -> Result<&mut dyn Instance, RunError> {
        let name = embedded.to_string();
        if self.held.as_ref().is_some_and(|(held, _)| *held != name) {
            self.stop(progress);
        }
        let held = match self.held.take() {
            Some(held) => held,
            None => (name, embedded.hold(self.emergency.switch(), &mut Told(progress))?),
        };
        Ok(self.held.insert(held).1.as_mut())
    }

    /// Stops the server that is up, if one is, and lets go of it.
    pub(super) fn stop(&mut self, progress: &mut dyn Progress) {
        if let Some((_, mut instance)) = self.held.take() {
            instance.stop(&mut Told(progress));
        }
    }

    /// The server that is held.
    pub(super) fn held(&mut self) -> Option<&mut dyn Instance> {
        match &mut self.held {
            Some((_, instance)) => Some(instance.as_mut()),
            None => None,
        }
    }
}
