//! The draws of an open loop's schedule.

use crate::random::Random;
use crate::seeds::Seeds;
use dyno_engine::NewDraws;

impl Seeds {
    /// The random numbers of an open loop's schedule.
    #[must_use]
    pub fn schedule(&self) -> NewDraws {
        let threads: Vec<Random> = self.threads.iter().map(|thread| thread.throttle.clone()).collect();
        Box::new(move |thread| {
            let random = threads.get(thread).cloned();
            let mut random = random.unwrap_or_else(|| Random::new(thread as u64));
            Box::new(move || random.unit())
        })
    }
}
