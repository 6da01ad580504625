//! A vacuum or the autovacuum was at work.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;

/// Less coincidence than this is chance.
const LEAST: f64 = 0.3;

/// Work that at other times cost less than this share of the throughput makes no dip.
const LEAST_HARM: f64 = 0.1;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let vacuums = recording.vacuums.iter().map(|vacuum| {
        let time = Window {
            start_s: vacuum.start_s,
            end_s: vacuum.end_s,
        };
        (time, format!("vacuum of {}", vacuum.table), 0.8)
    });
    let autovacuums = recording.autovacuums.iter().map(|work| {
        let time = Window {
            start_s: work.start_s,
            end_s: work.end_s,
        };
        let (what, weight) = if work.analyze {
            ("auto-analyze", 0.4)
        } else {
            ("autovacuum", 0.7)
        };
        (time, format!("{what} of {}", work.table), weight)
    });
    let work: Vec<_> = vacuums.chain(autovacuums).collect();
    // Each kind by itself: rare work among frequent work is still rare.
    let best = work
        .iter()
        .filter(|(time, ..)| time.overlap_s(dip) > 0.0)
        .map(|(time, what, weight)| {
            let alike: Vec<_> = work
                .iter()
                .filter(|(_, other, _)| other == what)
                .map(|(time, ..)| *time)
                .collect();
            let harmless = recording
                .harm_elsewhere(dip, &alike)
                .is_some_and(|harm| harm < LEAST_HARM);
            let weight = if harmless { 0.5 * weight } else { *weight };
            (recording.coincidence(dip, &alike), time, what, weight)
        });
    let (coincidence, time, what, weight) =
        best.max_by(|one, other| (one.0 * one.3).total_cmp(&(other.0 * other.3)))?;
    (coincidence >= LEAST).then(|| Evidence {
        cause: Cause::Vacuum,
        score: weight * coincidence,
        words: format!("{what} from {:.1} to {:.1} s", time.start_s, time.end_s),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm};
    use crate::series::Series;
    use dyno_record::{Autovacuum, Vacuum};

    fn autovacuum(start_s: f64, end_s: f64, analyze: bool) -> Autovacuum {
        Autovacuum {
            table: "public.tbl".to_owned(),
            start_s,
            end_s,
            analyze,
        }
    }

    #[test]
    fn a_vacuum_during_the_dip_explains_it() {
        let mut recording = calm();
        recording.vacuums.push(Vacuum {
            table: "public.tbl".to_owned(),
            start_s: 59.5,
            end_s: 64.0,
        });
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.7, "{found:?}");
        assert_eq!(found.words, "vacuum of public.tbl from 59.5 to 64.0 s");
    }

    #[test]
    fn one_that_goes_on_most_of_the_time_does_not() {
        let mut recording = calm();
        recording.autovacuums.push(autovacuum(20.0, 118.0, false));
        assert_eq!(look(&recording, DIP), None);
    }

    #[test]
    fn collecting_statistics_is_a_mention() {
        let mut recording = calm();
        recording.autovacuums.push(autovacuum(60.0, 63.0, true));
        assert!(look(&recording, DIP).unwrap().score < 0.5);
    }

    #[test]
    fn what_does_no_harm_at_other_times_is_a_mention() {
        let mut recording = calm();
        for start_s in [10.0, 35.0, 60.0, 85.0, 105.0] {
            recording.autovacuums.push(autovacuum(start_s, start_s + 3.0, false));
        }
        assert!(look(&recording, DIP).unwrap().score < 0.5);
        recording.tps = Series::default();
        for second in 0..120 {
            let window = Window {
                start_s: f64::from(second),
                end_s: f64::from(second + 1),
            };
            let busy = recording
                .autovacuums
                .iter()
                .any(|work| work.start_s < window.end_s && work.end_s > window.start_s);
            recording.tps.push(window, if busy { 600.0 } else { 1_000.0 });
        }
        assert!(look(&recording, DIP).unwrap().score >= 0.5);
    }
}
