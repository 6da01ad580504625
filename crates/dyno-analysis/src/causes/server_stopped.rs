//! The server did not run, or answered nobody.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;
use dyno_record::Who;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let stopped = recording.server_stopped.as_ref().and_then(|signal| {
        let number = signal.series.max_in(dip.widened(1.0))?;
        (number >= 1.0 && signal.usual.median < 1.0).then_some(number)
    });
    let stalls = recording.stalled.iter().filter(|stall| stall.who == Who::Server);
    let times: Vec<_> = stalls
        .clone()
        .map(|stall| Window {
            start_s: stall.start_s,
            end_s: stall.end_s,
        })
        .collect();
    let silent = recording.coincidence(dip, &times);
    let said = stalls
        .zip(&times)
        .find(|(_, time)| time.widened(0.5).overlap_s(dip) > 0.0)
        .map(|(stall, _)| {
            let detail = stall.detail.trim_end_matches('.');
            format!(
                "from {:.1} to {:.1} s the server did not run or answer: {detail}",
                stall.start_s, stall.end_s
            )
        });
    let (score, words) = match (stopped, said) {
        (Some(number), said) => (
            0.95,
            said.unwrap_or_else(|| format!("{number:.0} of the server's processes were stopped")),
        ),
        // A server that does not answer may be held up by something that has a better name.
        (None, Some(said)) => (0.45 + 0.35 * silent.max(0.0), said),
        (None, None) => return None,
    };
    Some(Evidence {
        cause: Cause::ServerStopped,
        score,
        words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};
    use dyno_record::Stalled;

    #[test]
    fn stopped_processes_are_nearly_certain() {
        let mut recording = calm();
        recording.server_stopped = signal(0.0, 9.0);
        let found = look(&recording, DIP).unwrap();
        assert_eq!(
            (found.score, found.words.as_str()),
            (0.95, "9 of the server's processes were stopped")
        );
    }

    #[test]
    fn a_server_that_does_not_answer_is_likely() {
        let mut recording = calm();
        recording.stalled.push(Stalled {
            who: Who::Server,
            start_s: 60.0,
            end_s: 63.0,
            starved: false,
            detail: "no answer to the sampler for 3.0 s".to_owned(),
        });
        let found = look(&recording, DIP).unwrap();
        assert!((found.score - 0.8).abs() < 1e-9, "{found:?}");
        recording.stalled[0].who = Who::Dyno;
        assert_eq!(look(&recording, DIP), None);
    }
}
