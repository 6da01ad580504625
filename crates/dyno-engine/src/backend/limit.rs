//! How long the opening of a connection may take.

use crate::load::Stop;
use std::time::{Duration, Instant};

/// What ends the opening of a connection before its time.
#[derive(Clone, Copy)]
pub struct Limit<'a> {
    /// Asks to stop.
    pub stop: &'a Stop,
    /// From then on it is of no use.
    pub until: Option<Instant>,
}

impl Limit<'_> {
    /// When something that begins now and may take so long has taken too long.
    #[must_use]
    pub fn deadline(self, timeout: Duration) -> Instant {
        let deadline = Instant::now() + timeout;
        self.until.map_or(deadline, |until| until.min(deadline))
    }
}
