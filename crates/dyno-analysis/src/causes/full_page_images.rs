//! After a checkpoint the first change of each page writes the whole page into the log.
//!
//! Every checkpoint has such a burst, and on storage with room to spare it costs nothing. So more is asked for than
//! the burst: that clients waited for the log, or that the dip began together with the burst, and that
//! bursts like this one did not pass without harm.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::{Signal, Window};
use dyno_archive::analysis::Cause;
use dyno_archive::figures::figure;
use dyno_record::{Checkpoint, Words};

/// How long after the begin of a checkpoint a dip may begin.
const AFTER_S: f64 = 30.0;

/// A dip that begins within this time after it comes with the burst, which is highest then.
const PROMPT_S: f64 = 5.0;

/// A checkpoint may be seen to begin this much later than it did: counters are sampled, and an interval has begun
/// before what happens in it.
const SEEN_LATE_S: f64 = 2.0;

/// The server's processes say how many images they wrote once a second.
const COUNTED_LATE_S: f64 = 1.0;

/// As many times more than usual is a burst.
const BURST: f64 = 2.0;

/// How long before a checkpoint it is looked whether there was a burst already.
const BEFORE_S: f64 = 3.0;

/// When so large a share of the clients waits for the log, that is what limits the throughput, however
/// usual it is.
const MOST_CLIENTS: f64 = 0.6;

/// Bursts that cost less than this share of the throughput make no dip.
const LEAST_HARM: f64 = 0.05;

/// Fewer other bursts say nothing about what one does.
const FEWEST_ELSEWHERE: usize = 3;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let delay_s = |checkpoint: &Checkpoint| dip.start_s - checkpoint.start_s;
    let before = recording
        .checkpoints
        .iter()
        .filter(|checkpoint| (-SEEN_LATE_S..=AFTER_S).contains(&delay_s(checkpoint)));
    let checkpoint = before.min_by(|one, other| delay_s(one).total_cmp(&delay_s(other)))?;
    let started_s = checkpoint.start_s;
    let burst = Burst::of(recording, dip).filter(|burst| burst.is_new(started_s))?;

    let clients = recording.clients.max(1.0);
    let waits = recording.log_waits.as_ref();
    let waited = waits.and_then(|waits| waits.raised_in(dip, 0.15 * clients));
    let waiting = waits.and_then(|waits| waits.series.mean_in(dip));
    let stuck = waiting.is_some_and(|waiting| waiting >= MOST_CLIENTS * clients);
    let prompt = delay_s(checkpoint) <= PROMPT_S;
    // In a short cycle much of the time is right after a checkpoint, and a dip may be there by chance.
    let rare = if prompt { 1.0 - right_after(recording) } else { 0.0 };

    let mut score = if burst.counted { 0.4 } else { 0.35 } + 0.25 * rare;
    if waited.is_some() {
        score += 0.3;
    } else if stuck && prompt {
        score += 0.2;
    } else if lacks_cpu(recording, dip) {
        // Nobody waited for the log, and somebody for a core.
        score *= 0.7;
    }
    if burst.is_harmless_elsewhere(recording, dip, started_s) {
        score *= 0.6;
    }
    let mut words = format!(
        "a checkpoint began at {started_s:.1} s; {}",
        burst.words(&recording.words)
    );
    let log = &recording.words.log_in_full;
    if let Some(waited) = waited {
        words.push_str(&format!(
            "; {:.1} clients waited for the {log}, usually {:.1}",
            waited.inside, waited.usual
        ));
    } else if let Some(waiting) = waiting.filter(|_| stuck) {
        words.push_str(&format!("; {waiting:.1} clients waited for the {log}"));
    }
    Some(Evidence {
        cause: Cause::FullPageImages,
        score: score.min(0.9),
        words,
    })
}

/// The share of the time measured that is right after the begin of a checkpoint.
fn right_after(recording: &Recording) -> f64 {
    let times = recording.checkpoints.iter().map(|checkpoint| Window {
        start_s: checkpoint.start_s,
        end_s: checkpoint.start_s + PROMPT_S,
    });
    let covered_s: f64 = times.map(|time| time.overlap_s(recording.measured)).sum();
    (covered_s / recording.measured.length_s().max(PROMPT_S)).min(1.0)
}

/// Whether dyno waited for a core, or the host took CPU time away.
fn lacks_cpu(recording: &Recording, dip: Window) -> bool {
    let steal = recording.steal_share.as_ref();
    recording.is_starved(dip) == Some(true) || steal.is_some_and(|steal| steal.raised_in(dip, 0.04).is_some())
}

/// More whole pages in the log than usual; or where they are not counted, more log. With a checkpoint every half
/// minute bursts are as usual as the time between them, so how far the signal spreads is no measure.
struct Burst<'a> {
    signal: &'a Signal,
    inside: f64,
    counted: bool,
}

impl<'a> Burst<'a> {
    /// The burst during `dip`, if there is one.
    fn of(recording: &'a Recording, dip: Window) -> Option<Self> {
        let is_burst = |signal: &Signal, inside: f64| inside >= BURST * signal.usual.median && inside >= 1.0;
        let Some(signal) = &recording.page_images else {
            let signal = recording.log_per_transaction.as_ref()?;
            let inside = signal.series.mean_in(dip)?;
            return (is_burst(signal, inside) && !recording.no_page_images).then_some(Self {
                signal,
                inside,
                counted: false,
            });
        };
        let later = Window {
            start_s: dip.start_s + COUNTED_LATE_S,
            end_s: dip.end_s + COUNTED_LATE_S,
        };
        let images = [dip, later].map(|window| signal.series.mean_in(window));
        let inside = images.into_iter().flatten().max_by(f64::total_cmp)?;
        is_burst(signal, inside).then_some(Self {
            signal,
            inside,
            counted: true,
        })
    }

    /// Whether it was not there before the checkpoint at `started_s`.
    fn is_new(&self, started_s: f64) -> bool {
        let before = self.signal.series.mean_in(Window {
            start_s: started_s - BEFORE_S,
            end_s: started_s - COUNTED_LATE_S,
        });
        before.is_none_or(|before| self.inside >= BURST * before)
    }

    /// Whether other checkpoints brought about bursts like this one and no loss of throughput: at the time after
    /// them at which the dip is after the one at `started_s`.
    fn is_harmless_elsewhere(&self, recording: &Recording, dip: Window, started_s: f64) -> bool {
        let (mut during, mut before, mut count) = (0.0, 0.0, 0);
        let others = recording.checkpoints.iter().map(|other| other.start_s);
        for other_s in others.filter(|other_s| (other_s - started_s).abs() > SEEN_LATE_S) {
            let same_time = Window {
                start_s: dip.start_s - started_s + other_s,
                end_s: dip.end_s - started_s + other_s,
            };
            let earlier = Window {
                start_s: other_s - SEEN_LATE_S - PROMPT_S,
                end_s: other_s - SEEN_LATE_S,
            };
            let alike = self.signal.series.mean_in(same_time);
            if alike.is_none_or(|alike| alike < self.inside / BURST) || same_time.overlap_s(dip) > 0.0 {
                continue;
            }
            if let (Some(tps), Some(usual)) = (recording.tps.mean_in(same_time), recording.tps.mean_in(earlier)) {
                (during, before, count) = (during + tps, before + usual, count + 1);
            }
        }
        count >= FEWEST_ELSEWHERE && during > (1.0 - LEAST_HARM) * before
    }

    fn words(&self, words: &Words) -> String {
        let (inside, usual) = (figure(self.inside), figure(self.signal.usual.median));
        if self.counted {
            format!("{inside} {}s per second, usually {usual}", words.page_image)
        } else {
            let log = &words.log_in_full;
            format!("{inside} bytes of {log} per transaction, usually {usual}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, cause_of, signal};
    use crate::series::Series;

    fn began(recording: &mut Recording, start_s: f64) {
        recording.checkpoints.push(Checkpoint {
            start_s,
            ..Checkpoint::default()
        });
    }

    /// Seconds of half a second each, with a dip, and a burst that decays after each checkpoint.
    fn half_seconds(dip: Window, checkpoints: &[f64], images: f64) -> Recording {
        let mut recording = calm();
        recording.dips = vec![dip];
        let (mut tps, mut counted, mut wal) = (Series::default(), Series::default(), Series::default());
        for half in 0..240 {
            let start_s = f64::from(half) / 2.0;
            let window = Window {
                start_s,
                end_s: start_s + 0.5,
            };
            let since = |late_s: f64| {
                let since = checkpoints.iter().map(|begun_s| start_s - late_s - begun_s);
                since.filter(|since_s| *since_s >= 0.0).fold(f64::INFINITY, f64::min)
            };
            let noise = 1.0 + 0.02 * f64::from(half % 5 - 2);
            let burst = |late_s: f64| images * (-since(late_s) / 3.0).exp();
            tps.push(
                window,
                if dip.overlap_s(window) > 0.0 {
                    420.0
                } else {
                    1_000.0 * noise
                },
            );
            counted.push(window, (55.0 + burst(COUNTED_LATE_S)) * noise);
            wal.push(window, (300.0 + 8.0 * burst(0.0)) * noise);
        }
        recording.tps = tps;
        recording.page_images = Signal::new(counted, &[dip]);
        recording.log_per_transaction = Signal::new(wal, &[dip]);
        for start_s in checkpoints {
            began(&mut recording, *start_s);
        }
        recording
    }

    /// A dip of this length so long after a checkpoint at 60 s.
    fn after(delay_s: f64, lasts_s: f64) -> Window {
        Window {
            start_s: 60.0 + delay_s,
            end_s: 60.0 + delay_s + lasts_s,
        }
    }

    #[test]
    fn a_burst_of_images_that_clients_wait_for() {
        let mut recording = calm();
        recording.page_images = signal(10.0, 900.0);
        recording.log_waits = signal(1.0, 6.0);
        assert_eq!(look(&recording, DIP), None);
        began(&mut recording, 58.5);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.85, "{found:?}");
        assert_eq!(
            found.words,
            "a checkpoint began at 58.5 s; 900 full page images per second, usually 10; 6.0 clients waited for the \
             write-ahead log, usually 1.0"
        );
        recording.page_images = signal(10.0, 11.0);
        assert_eq!(look(&recording, DIP), None);
    }

    #[test]
    fn dips_right_after_a_checkpoint_are_its_images() {
        // Figures of two dips: 40 and 62 % deep, 2 s and 0.5 s after the begin of a checkpoint, in intervals of
        // half a second.
        for (delay_s, lasts_s, images) in [(2.0, 1.0, 1_594.0), (0.5, 0.5, 1_815.0), (0.5, 3.0, 1_815.0)] {
            let dip = after(delay_s, lasts_s);
            let recording = half_seconds(dip, &[60.0], 1.5 * images);
            let (cause, evidence) = cause_of(&recording, dip);
            assert_eq!(cause, Cause::FullPageImages, "{delay_s} {evidence:?}");
        }
    }

    #[test]
    fn a_checkpoint_that_is_seen_late_counts_and_one_after_the_dip_does_not() {
        let dip = after(0.5, 2.0);
        let mut recording = half_seconds(dip, &[60.0], 2_000.0);
        recording.checkpoints[0].start_s = 62.0;
        assert_eq!(cause_of(&recording, dip).0, Cause::FullPageImages);
        recording.checkpoints[0].start_s = 63.0;
        assert_eq!(look(&recording, dip), None);
    }

    #[test]
    fn without_counters_the_log_of_a_transaction_tells() {
        let dip = after(0.5, 2.0);
        let mut recording = half_seconds(dip, &[60.0], 2_000.0);
        recording.page_images = None;
        let (cause, evidence) = cause_of(&recording, dip);
        assert_eq!(cause, Cause::FullPageImages);
        assert!(
            evidence[0].contains("bytes of write-ahead log per transaction"),
            "{evidence:?}"
        );
        recording.no_page_images = true;
        assert_eq!(look(&recording, dip), None);
        recording.no_page_images = false;
        recording.log_per_transaction = None;
        assert_eq!(look(&recording, dip), None);
    }

    #[test]
    fn no_images_are_no_cause() {
        let dip = after(0.5, 2.0);
        assert_eq!(cause_of(&half_seconds(dip, &[60.0], 0.0), dip).0, Cause::Unknown);
    }

    #[test]
    fn a_dip_long_after_the_begin_needs_clients_that_wait() {
        let dip = after(9.0, 2.0);
        let mut recording = half_seconds(dip, &[60.0], 3_000.0);
        assert!(look(&recording, dip).unwrap().score < 0.5);
        let mut waits = Series::default();
        for (window, _) in recording.tps.iter() {
            waits.push(window, if dip.overlap_s(window) > 0.0 { 7.0 } else { 1.0 });
        }
        recording.log_waits = Signal::new(waits, &[dip]);
        assert!(look(&recording, dip).unwrap().score > 0.6);
    }

    #[test]
    fn a_burst_that_was_there_before_the_checkpoint_is_not_its() {
        let dip = after(0.5, 2.0);
        let mut recording = half_seconds(dip, &[50.0], 20_000.0);
        recording.checkpoints.clear();
        began(&mut recording, 59.5);
        assert_eq!(look(&recording, dip), None);
    }

    #[test]
    fn bursts_that_pass_without_harm_make_no_dip() {
        let dip = after(0.5, 2.0);
        let checkpoints = [20.0, 40.0, 60.0, 80.0, 100.0];
        let mut recording = half_seconds(dip, &checkpoints, 2_000.0);
        let (cause, evidence) = cause_of(&recording, dip);
        assert_eq!((cause, evidence.len()), (Cause::Unknown, 1));
        // Each costs a little.
        let mut tps = Series::default();
        for (window, value) in recording.tps.iter() {
            let slow = checkpoints
                .iter()
                .any(|begun_s| (0.0..4.0).contains(&(window.start_s - begun_s)));
            tps.push(window, if slow { 0.85 * value } else { value });
        }
        recording.tps = tps;
        assert_eq!(cause_of(&recording, dip).0, Cause::FullPageImages);
    }

    #[test]
    fn with_a_checkpoint_every_half_minute_bursts_are_usual_and_still_a_cause() {
        // Figures of a run with a slow log: after each checkpoint the images decay over most of the cycle.
        let dip = after(0.0, 3.0);
        let checkpoints = [0.0, 30.0, 60.0, 90.0];
        let mut recording = half_seconds(dip, &checkpoints, 0.0);
        let (mut images, mut tps) = (Series::default(), Series::default());
        for (window, _) in recording.tps.iter() {
            let burst = (-(window.start_s % 30.0) / 12.0).exp();
            images.push(window, 10.0 + 500.0 * burst);
            tps.push(window, 1_500.0 - 900.0 * burst);
        }
        recording.tps = tps;
        recording.page_images = Signal::new(images, &[dip]);
        recording.log_waits = signal(5.3, 5.9);
        let (cause, evidence) = cause_of(&recording, dip);
        assert_eq!(cause, Cause::FullPageImages, "{evidence:?}");
    }

    #[test]
    fn where_a_core_is_waited_for_the_burst_is_a_mention() {
        let dip = after(0.5, 2.0);
        let mut recording = half_seconds(dip, &[60.0], 2_000.0);
        let mut waits = Series::default();
        for (window, _) in recording.tps.iter() {
            waits.push(window, if dip.overlap_s(window) > 0.0 { 1.5 } else { 0.2 });
        }
        recording.run_queue = Signal::new(waits, &[dip]);
        assert_eq!(cause_of(&recording, dip).0, Cause::HostNoise);
    }
}
