//! Hears scripts: what they print is dropped, and what is said of them is kept for the run's notes.

use crate::voice::{Level, Voice};
use std::sync::{Arc, Mutex, PoisonError};

/// No more different warnings are kept: thousands of clients may say the same with other numbers.
const MOST: usize = 8;

/// So many more sentences are kept of what ended scripts: it must be told whatever else was said before.
const MOST_ENDS: usize = 8;

/// Keeps what is said of scripts.
#[derive(Debug, Default)]
pub struct Heard {
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    sentences: Vec<String>,
    warnings: usize,
    ends: usize,
}

impl Heard {
    /// This as somebody who hears scripts.
    #[must_use]
    pub fn voice(self: &Arc<Self>) -> Arc<dyn Voice> {
        Arc::clone(self) as Arc<dyn Voice>
    }

    /// What was said so far: the first few warnings, and the first few of what ended scripts.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.sentences.clone()
    }
}

impl Voice for Heard {
    fn print(&self, _: &[u8]) {}

    fn say(&self, level: Level, message: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let Said {
            sentences,
            warnings,
            ends,
        } = &mut *said;
        let (count, most) = match level {
            Level::Debug => return,
            Level::Warning => (warnings, MOST),
            Level::Fatal => (ends, MOST_ENDS),
        };
        if *count < most && !sentences.iter().any(|known| known == message) {
            *count += 1;
            sentences.push(message.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_a_script_is_kept_whatever_was_said_before() {
        let heard = Heard::default();
        for number in 0..3 * MOST {
            heard.say(Level::Warning, &format!("thread {number} is slow"));
        }
        heard.say(Level::Debug, "never mind");
        heard.say(Level::Fatal, "the script of thread 3 was ended at a.lua:7");
        let said = heard.said();
        assert_eq!(said.len(), MOST + 1);
        assert_eq!(said[MOST], "the script of thread 3 was ended at a.lua:7");
        // Thousands of clients may end alike.
        for number in 0..3 * MOST_ENDS {
            heard.say(
                Level::Fatal,
                &format!("the script of thread {number} was ended at a.lua:7"),
            );
        }
        assert_eq!(heard.said().len(), MOST + MOST_ENDS);
    }
}
