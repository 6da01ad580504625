//! dyno was the limit: its threads had as much CPU as they can use, and did less with it.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;

/// Threads that run for this share of the time have nothing left.
const BUSY_SHARE: f64 = 0.9;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let threads = recording.threads.max(1.0);
    let raised = recording.dyno_cores.as_ref()?.raised_in(dip, 0.1 * threads)?;
    (raised.inside >= BUSY_SHARE * threads).then(|| Evidence {
        cause: Cause::LoadGenerator,
        score: 0.55,
        words: format!(
            "dyno's {threads:.0} threads kept {:.1} cores busy, usually {:.1}: they were the limit",
            raised.inside, raised.usual
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};

    #[test]
    fn threads_without_rest_are_the_limit() {
        let mut recording = calm();
        recording.dyno_cores = signal(0.4, 1.95);
        assert_eq!(look(&recording, DIP).unwrap().cause, Cause::LoadGenerator);
        recording.dyno_cores = signal(0.4, 1.2);
        assert_eq!(look(&recording, DIP), None);
    }
}
