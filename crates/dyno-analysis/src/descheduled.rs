//! Whether dyno itself was let run. What its threads waited for a CPU is in every latency, and the server had no
//! part in it.

use crate::recording::Recording;
use crate::series::Window;
use crate::warnings::growth;
use dyno_archive::Run;
use dyno_archive::summary::Warning;
use dyno_record::{Meaning, Who};

/// Waiting for a CPU for this share of the time is worth a word.
const WAITED_SHARE: f64 = 0.1;

/// So is being held back by a limit, or standing still, for this share of it.
const HELD_SHARE: f64 = 0.01;

/// The warning that the recording of `run` gives reason for.
pub(super) fn warning(run: &Run, recording: &Recording) -> Option<Warning> {
    let counted = |counter| growth(run, recording, counter).unwrap_or(0.0);
    Held {
        measured_s: recording.measured.length_s(),
        threads: recording.threads.max(1.0),
        waited_s: counted(Meaning::RunQueueS),
        switches: counted(Meaning::InvoluntarySwitches),
        throttled_s: counted(Meaning::ThrottledS),
        stood_still_s: stood_still_s(recording),
    }
    .warning()
}

/// How long dyno stood still in the time measured.
fn stood_still_s(recording: &Recording) -> f64 {
    let stalls = recording.stalled.iter().filter(|stall| stall.who == Who::Dyno);
    let times = stalls.map(|stall| Window {
        start_s: stall.start_s,
        end_s: stall.end_s,
    });
    times.map(|time| time.overlap_s(recording.measured)).sum()
}

/// How dyno's threads were kept from running while was measured.
struct Held {
    measured_s: f64,
    threads: f64,
    waited_s: f64,
    switches: f64,
    throttled_s: f64,
    stood_still_s: f64,
}

impl Held {
    fn warning(&self) -> Option<Warning> {
        let waited_share = self.waited_s / (self.measured_s * self.threads).max(f64::MIN_POSITIVE);
        let held_s = HELD_SHARE * self.measured_s;
        let notable = waited_share >= WAITED_SHARE || self.throttled_s > held_s || self.stood_still_s > held_s;
        notable.then_some(Warning::Descheduled {
            waited_s: self.waited_s,
            waited_percent: waited_share * 100.0,
            switches: self.switches as u64,
            throttled_s: self.throttled_s,
            stood_still_s: self.stood_still_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::Stalled;

    const UNDISTURBED: Held = Held {
        measured_s: 100.0,
        threads: 2.0,
        waited_s: 3.0,
        switches: 400.0,
        throttled_s: 0.0,
        stood_still_s: 0.0,
    };

    #[test]
    fn a_little_waiting_is_nothing_to_speak_of() {
        assert_eq!(UNDISTURBED.warning(), None);
    }

    #[test]
    fn standing_still_outside_of_the_time_measured_is_left_out() {
        let stall = |who, start_s, end_s| Stalled {
            who,
            start_s,
            end_s,
            starved: false,
            detail: String::new(),
        };
        let recording = Recording {
            measured: Window {
                start_s: 60.0,
                end_s: 80.0,
            },
            stalled: vec![
                stall(Who::Dyno, 30.0, 31.0),
                stall(Who::Dyno, 59.0, 60.5),
                stall(Who::Server, 70.0, 75.0),
            ],
            ..Recording::default()
        };
        assert_eq!(stood_still_s(&recording), 0.5);
    }

    #[test]
    fn what_kept_dyno_from_running_is_told_with_its_numbers() {
        let disturbed = [
            (
                Held {
                    waited_s: 50.0,
                    ..UNDISTURBED
                },
                "dyno's threads waited 50.0 s for a CPU (25 % of their time; preempted 400 times); latencies \
                 include this.",
            ),
            (
                Held {
                    throttled_s: 4.0,
                    stood_still_s: 2.5,
                    ..UNDISTURBED
                },
                "dyno's threads waited 3.0 s for a CPU (2 % of their time; preempted 400 times), were throttled for \
                 4.0 s by a CPU limit and stood still for 2.5 s; latencies include this.",
            ),
        ];
        for (held, text) in disturbed {
            let warning = held.warning().unwrap().to_string();
            assert!(warning.starts_with(text), "{warning}");
        }
    }
}
