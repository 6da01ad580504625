//! CPU time went where it cannot be seen from inside: to other guests of the virtual machine's host, or to waiting
//! for a core that somebody had.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;

/// Less stolen time than this does not make a dip.
const LEAST_STEAL_SHARE: f64 = 0.04;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    if let Some(raised) = recording
        .steal_share
        .as_ref()
        .and_then(|signal| signal.raised_in(dip, LEAST_STEAL_SHARE))
    {
        return Some(Evidence {
            cause: Cause::HostNoise,
            score: (0.5 + 1.5 * (raised.inside - raised.usual)).min(0.9),
            words: format!(
                "the host took {:.0} % of the CPU time away (steal), usually {:.0} %",
                raised.inside * 100.0,
                raised.usual * 100.0
            ),
        });
    }
    let (inside, usual) = recording.queue(dip)?;
    recording.is_starved(dip)?.then(|| Evidence {
        cause: Cause::HostNoise,
        score: 0.5,
        words: format!("dyno's threads waited {inside:.1} s for a core for each second they ran, usually {usual:.1} s"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};

    #[test]
    fn stolen_time_and_waiting_for_a_core() {
        let mut recording = calm();
        recording.run_queue = signal(0.2, 1.5);
        assert_eq!(look(&recording, DIP).unwrap().score, 0.5);
        recording.steal_share = signal(0.01, 0.2);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.75 && found.words.contains("20 %"), "{found:?}");
        recording.steal_share = signal(0.15, 0.16);
        assert_eq!(look(&recording, DIP).unwrap().score, 0.5);
    }
}
