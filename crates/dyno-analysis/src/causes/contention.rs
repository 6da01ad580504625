//! Sessions waited for what other sessions used in the server's memory: a page that many change, a latch.
//!
//! That is mostly the workload's nature, and whatever holds up those who have the page holds up those who want it. So
//! it is a cause only if it is rare otherwise, and if nothing says better what was waited for.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;

/// When so large a share of the clients waits so, it is what limits the throughput.
const MOST_CLIENTS: f64 = 0.5;

/// More than this share of them otherwise is usual.
const RARE: f64 = 0.1;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let clients = recording.clients;
    let raised = recording.memory_waits.as_ref()?.raised_in(dip, 0.25 * clients)?;
    let tells = raised.inside >= MOST_CLIENTS * clients && raised.usual <= RARE * clients;
    Some(Evidence {
        cause: Cause::Contention,
        score: if tells { 0.52 } else { 0.4 },
        words: format!(
            "{:.1} clients waited for what others used in the server's memory, usually {:.1}",
            raised.inside, raised.usual
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};

    #[test]
    fn what_nearly_all_wait_for_only_then_is_the_cause() {
        let mut recording = calm();
        assert_eq!(look(&recording, DIP), None);
        recording.memory_waits = signal(0.2, 7.0);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score >= 0.5, "{found:?}");
        let said = "7.0 clients waited for what others used in the server's memory, usually 0.2";
        assert_eq!(found.words, said);
    }

    #[test]
    fn what_is_waited_for_all_the_time_is_a_mention_or_nothing() {
        let mut recording = calm();
        recording.memory_waits = signal(3.0, 7.0);
        assert!(look(&recording, DIP).unwrap().score < 0.5);
        recording.memory_waits = signal(7.0, 7.0);
        assert_eq!(look(&recording, DIP), None);
    }
}
