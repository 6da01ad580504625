//! dyno itself did not run: stopped by a signal, or with the whole machine. Without a CPU it is a victim of
//! something else.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;
use dyno_record::Who;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let stalls = recording.stalled.iter();
    let stalls = stalls.filter(|stall| stall.who == Who::Dyno && !stall.starved);
    let mut lost_s = 0.0;
    let mut words = None;
    for stall in stalls {
        let window = Window {
            start_s: stall.start_s,
            end_s: stall.end_s,
        };
        // The ends of a stall are known to a tenth of a second.
        let overlap_s = window.widened(0.1).overlap_s(dip);
        if overlap_s > 0.0 {
            lost_s += overlap_s;
            words.get_or_insert_with(|| {
                format!(
                    "dyno did not run from {:.1} to {:.1} s: {}",
                    stall.start_s,
                    stall.end_s,
                    stall.detail.trim_end_matches('.')
                )
            });
        }
    }
    let words = words?;
    let share = (lost_s / dip.length_s()).min(1.0);
    Some(Evidence {
        cause: Cause::DynoStopped,
        score: (0.5 + 0.5 * share) * if share < 0.2 { 0.5 } else { 1.0 },
        words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm};
    use dyno_record::Stalled;

    fn stalled(start_s: f64, end_s: f64) -> Recording {
        let mut recording = calm();
        recording.stalled.push(Stalled {
            who: Who::Dyno,
            start_s,
            end_s,
            starved: false,
            detail: "it was stopped.".to_owned(),
        });
        recording
    }

    #[test]
    fn a_stop_at_the_time_is_nearly_certain() {
        let found = look(&stalled(60.2, 63.1), DIP).unwrap();
        assert!(found.score > 0.95, "{found:?}");
        assert_eq!(found.words, "dyno did not run from 60.2 to 63.1 s: it was stopped");
    }

    #[test]
    fn a_stop_at_another_time_is_none() {
        assert_eq!(look(&stalled(50.0, 53.0), DIP), None);
    }

    #[test]
    fn a_dyno_without_a_cpu_was_not_stopped() {
        let mut recording = stalled(60.2, 63.1);
        recording.stalled[0].starved = true;
        assert_eq!(look(&recording, DIP), None);
    }
}
