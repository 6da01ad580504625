//! Hears scripts: what they print is dropped, and what is said of them is kept for the run's notes.

use dyno_lua::{Level, Voice};
use std::sync::{Arc, Mutex, PoisonError};

/// No more different sentences are kept: thousands of clients may say the same with other numbers.
const MOST: usize = 8;

/// Keeps what is said of scripts.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    said: Mutex<Vec<String>>,
}

impl Heard {
    /// This as somebody who hears scripts.
    pub fn voice(self: &Arc<Self>) -> Arc<dyn Voice> {
        Arc::clone(self) as Arc<dyn Voice>
    }

    /// What was said so far, the first few sentences.
    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Voice for Heard {
    fn print(&self, _: &[u8]) {}

    fn say(&self, level: Level, message: &str) {
        if level == Level::Debug {
            return;
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() < MOST && !said.iter().any(|known| known == message) {
            said.push(message.to_owned());
        }
    }
}
