//! Asks work to end early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a running load to end early; clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    /// When this asks to stop, so does the flag.
    outer: Option<Arc<Stop>>,
}

impl Stop {
    /// A flag not yet raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag for a part of what this one is for: it counts as raised when this one is, and raising it ends that
    /// part alone.
    #[must_use]
    pub fn within(&self) -> Self {
        Self {
            flag: Arc::default(),
            outer: Some(Arc::new(self.clone())),
        }
    }

    /// Asks the load to end: no transaction begins from now on.
    pub fn request(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for code that knows nothing of loads. True asks to stop. What it is within is not seen in it.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Whether the end was asked for.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.outer.as_ref().is_some_and(|outer| outer.requested())
    }
}

impl From<Arc<AtomicBool>> for Stop {
    /// The stop of a flag that others raise.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self { flag, outer: None }
    }
}
