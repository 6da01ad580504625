//! The private servers of a campaign: those are held that the next run wants.

use super::progress::Told;
use super::{Emergency, Progress, RunError};
use dyno_target::target::{Embedded, Instance};

/// Holds private servers and lets go of them. Dropped, it stops those that are up.
pub(super) struct EmbeddedServers<'a> {
    emergency: &'a Emergency,
    /// Which each is, in words, and the server, in the order in which they came up.
    held: Vec<Held>,
}

type Held = (String, Box<dyn Instance>);

impl<'a> EmbeddedServers<'a> {
    pub(super) fn new(emergency: &'a Emergency) -> Self {
        Self {
            emergency,
            held: Vec::new(),
        }
    }

    /// Holds this server, beside those that are held.
    pub(super) fn hold(
        &mut self,
        embedded: &dyn Embedded,
        progress: &mut dyn Progress,
    ) -> Result<&mut dyn Instance, RunError> {
        let name = embedded.to_string();
        let place = match self.held.iter().position(|(held, _)| *held == name) {
            Some(place) => place,
            None => {
                let instance = embedded.hold(self.emergency.switch(), &mut Told(progress))?;
                self.held.push((name, instance));
                self.held.len() - 1
            }
        };
        Ok(self.held[place].1.as_mut())
    }

    /// A server that is held, and another one that is.
    pub(super) fn two(&mut self, one: &str, other: &str) -> Option<(&mut dyn Instance, &mut dyn Instance)> {
        let place = |name: &str| self.held.iter().position(|(held, _)| held == name);
        let places = [place(one)?, place(other)?];
        let [(_, one), (_, other)] = self.held.get_disjoint_mut(places).ok()?;
        Some((one.as_mut(), other.as_mut()))
    }

    /// The server of this name, if it is held.
    pub(super) fn held(&self, name: &str) -> Option<&dyn Instance> {
        let found = self.held.iter().find(|(held, _)| held == name);
        found.map(|(_, instance)| instance.as_ref())
    }

    /// Stops all servers but those that are `wanted`, and lets go of them: the one that came up last first, as it may
    /// need those before it.
    pub(super) fn keep(&mut self, wanted: &[String], progress: &mut dyn Progress) {
        for place in (0..self.held.len()).rev() {
            if !wanted.contains(&self.held[place].0) {
                let (_, mut instance) = self.held.remove(place);
                instance.stop(&mut Told(progress));
            }
        }
    }

    /// Stops the servers that are up, and lets go of them.
    pub(super) fn stop(&mut self, progress: &mut dyn Progress) {
        self.keep(&[], progress);
    }

    /// All that are held.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Box<dyn Instance>> {
        self.held.iter_mut().map(|(_, instance)| instance)
    }
}

impl Drop for EmbeddedServers<'_> {
    fn drop(&mut self) {
        // Fields are dropped from the first to the last, and those that came up first are needed longest.
        while self.held.pop().is_some() {}
    }
}
