//! Checkpoints as the counters show them, for servers whose log is not ours to read.
//!
//! A checkpoint counts as timed or requested when it begins; its times for writing and syncing are added when it is
//! complete (PostgreSQL's `CheckpointerMain` and `LogCheckpointEnd`). In between lies the checkpoint, as exact as
//! the samples are close. There is one at a time: where a command asks for one during another, that one is hurried
//! up, and the new one begins when it is complete, often within one sample.

use crate::sampler::{Moment, Sink};
use dyno_record::{Checkpoint, Event};

/// The names of each counter: in `pg_stat_checkpointer` from version 17 on, in `pg_stat_bgwriter` before.
const COUNTERS: [[&str; 2]; 5] = [
    ["pg_stat_checkpointer.num_timed", "pg_stat_bgwriter.checkpoints_timed"],
    ["pg_stat_checkpointer.num_requested", "pg_stat_bgwriter.checkpoints_req"],
    [
        "pg_stat_checkpointer.write_time",
        "pg_stat_bgwriter.checkpoint_write_time",
    ],
    [
        "pg_stat_checkpointer.sync_time",
        "pg_stat_bgwriter.checkpoint_sync_time",
    ],
    [
        "pg_stat_checkpointer.buffers_written",
        "pg_stat_bgwriter.buffers_checkpoint",
    ],
];

/// The reason of one that a command or the amount of WAL asked for.
const REQUESTED: &str = "requested";

/// Follows the counters from sample to sample.
#[derive(Debug, Default)]
pub(super) struct CheckpointCounters {
    last: Option<(f64, [f64; COUNTERS.len()])>,
    open: Option<Open>,
}

/// A checkpoint that has begun.
#[derive(Debug)]
struct Open {
    checkpoint: Checkpoint,
    /// When it was seen for the first time.
    seen_s: f64,
    /// Whether it was seen at work after that. Else it ended before the next sample, and its times were among those
    /// that came with it.
    worked: bool,
}

impl Open {
    /// Whether what was written now is the next one's already: a requested one that is never seen at work ended
    /// with the sample in which it began.
    fn is_over(&self, growth: &Growth, begun: &[&str]) -> bool {
        let at_once = !self.worked && self.checkpoint.reason == REQUESTED;
        at_once && !growth.completed() && !begun.is_empty()
    }
}

/// What the counters grew by between two samples.
struct Growth {
    last_s: f64,
    at_s: f64,
    timed: f64,
    requested: f64,
    write_s: f64,
    sync_s: f64,
    buffers: f64,
}

impl Growth {
    /// Whether a checkpoint was completed.
    fn completed(&self) -> bool {
        self.write_s > 0.0 || self.sync_s > 0.0
    }

    /// The reasons of the checkpoints that began, in the order in which they can have.
    fn begun(&self) -> Vec<&'static str> {
        let times = |number: f64, reason| vec![reason; number.clamp(0.0, 100.0) as usize];
        [times(self.timed, "time"), times(self.requested, REQUESTED)].concat()
    }

    /// Says when `checkpoint` ended, and what is known of it then.
    fn complete(&self, checkpoint: &mut Checkpoint) {
        checkpoint.end_s = Some(self.at_s);
        if self.completed() {
            (checkpoint.write_s, checkpoint.sync_s) = (Some(self.write_s), Some(self.sync_s));
        }
    }
}

impl CheckpointCounters {
    pub(super) fn advance(&mut self, moment: Moment, columns: &[String], numbers: &[Option<f64>], sink: &mut dyn Sink) {
        let at_s = moment.at_s();
        let mut now = [0.0; COUNTERS.len()];
        for (value, names) in now.iter_mut().zip(COUNTERS) {
            let column = columns.iter().position(|column| names.contains(&column.as_str()));
            let Some(number) = column.and_then(|column| numbers.get(column).copied().flatten()) else {
                return;
            };
            *value = number;
        }
        let Some((last_s, before)) = self.last.replace((at_s, now)) else {
            return;
        };
        let [timed, requested, write_ms, sync_ms, buffers]: [f64; COUNTERS.len()] =
            std::array::from_fn(|index| now[index] - before[index]);
        self.grown(
            &Growth {
                last_s,
                at_s,
                timed,
                requested,
                write_s: write_ms / 1e3,
                sync_s: sync_ms / 1e3,
                buffers: buffers.max(0.0),
            },
            sink,
        );
    }

    fn grown(&mut self, growth: &Growth, sink: &mut dyn Sink) {
        let mut begun = growth.begun();
        let mut buffers = Some(growth.buffers as u64);
        if self.open.as_ref().is_some_and(|open| open.is_over(growth, &begun)) {
            self.finish(sink);
        } else if let Some(open) = &mut self.open {
            let wrote = buffers.take().unwrap_or(0);
            *open.checkpoint.buffers.get_or_insert(0) += wrote;
            open.worked |= wrote > 0 || growth.completed();
            if growth.completed() && open.worked {
                growth.complete(&mut open.checkpoint);
            }
            // There is one at a time: it has ended when the next begins.
            if growth.completed() || !begun.is_empty() {
                self.finish(sink);
            }
        } else if begun.is_empty() && growth.completed() {
            // It began before the samples did.
            let mut checkpoint = Checkpoint {
                reason: "requested or time".to_owned(),
                start_s: growth.at_s - growth.write_s - growth.sync_s,
                buffers: buffers.take(),
                ..Checkpoint::default()
            };
            growth.complete(&mut checkpoint);
            sink.event(Event::Checkpoint(checkpoint));
        } else if let ([reason], true) = (begun.as_slice(), growth.completed()) {
            // It began and ended between two samples.
            let mut checkpoint = Checkpoint {
                reason: (*reason).to_owned(),
                start_s: (growth.at_s - growth.write_s - growth.sync_s).max(growth.last_s),
                buffers: buffers.take(),
                ..Checkpoint::default()
            };
            growth.complete(&mut checkpoint);
            sink.event(Event::Checkpoint(checkpoint));
            begun.clear();
        }
        for reason in begun {
            if let Some(open) = &mut self.open {
                growth.complete(&mut open.checkpoint);
                self.finish(sink);
            }
            self.open = Some(Open {
                checkpoint: Checkpoint {
                    reason: reason.to_owned(),
                    start_s: growth.last_s,
                    buffers: Some(buffers.take().unwrap_or(0)),
                    ..Checkpoint::default()
                },
                seen_s: growth.at_s,
                worked: false,
            });
        }
    }

    /// Tells of the checkpoint that is open, as far as is known. If it was never seen at work, it ended with the
    /// sample in which it began, unless that is the last one.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        let Some(mut open) = self.open.take() else { return };
        let sampled_later = self.last.is_some_and(|(last_s, _)| last_s > open.seen_s);
        let at_once = open.checkpoint.reason == REQUESTED && sampled_later;
        if !open.worked && at_once {
            open.checkpoint.end_s = Some(open.seen_s);
        }
        sink.event(Event::Checkpoint(open.checkpoint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::heard::Heard;
    use std::time::Duration;

    /// What is told of samples, one a second: timed, requested, milliseconds of writing and of syncing, buffers.
    fn told(samples: &[[f64; 5]]) -> Vec<(String, f64, Option<f64>, Option<u64>)> {
        let columns: Vec<String> = COUNTERS.iter().map(|[_, old]| (*old).to_owned()).collect();
        let (mut counters, mut heard) = (CheckpointCounters::default(), Heard::default());
        for (second, sample) in (0..).zip(samples) {
            let moment = Moment {
                at: Duration::from_secs(second),
                late: Duration::ZERO,
            };
            counters.advance(moment, &columns, &sample.map(Some), &mut heard);
        }
        counters.finish(&mut heard);
        let each = heard.events.into_iter().filter_map(|event| match event {
            Event::Checkpoint(checkpoint) => Some(checkpoint),
            _ => None,
        });
        each.map(|checkpoint| {
            (
                checkpoint.reason,
                checkpoint.start_s,
                checkpoint.end_s,
                checkpoint.buffers,
            )
        })
        .collect()
    }

    fn one(
        reason: &str,
        start_s: f64,
        end_s: impl Into<Option<f64>>,
        buffers: u64,
    ) -> (String, f64, Option<f64>, Option<u64>) {
        (reason.to_owned(), start_s, end_s.into(), Some(buffers))
    }

    const NONE: [f64; 5] = [7.0, 3.0, 500.0, 20.0, 900.0];

    /// Counters that are so much above [`NONE`].
    fn more(timed: f64, requested: f64, write_ms: f64, sync_ms: f64, buffers: f64) -> [f64; 5] {
        let growth = [timed, requested, write_ms, sync_ms, buffers];
        std::array::from_fn(|index| NONE[index] + growth[index])
    }

    #[test]
    fn a_timed_one_from_begin_to_end() {
        let samples = [
            NONE,
            more(1.0, 0.0, 0.0, 0.0, 10.0),
            more(1.0, 0.0, 0.0, 0.0, 30.0),
            more(1.0, 0.0, 2_500.0, 4.0, 40.0),
            more(1.0, 0.0, 2_500.0, 4.0, 40.0),
        ];
        assert_eq!(told(&samples), [one("time", 0.0, 3.0, 40)]);
        assert_eq!(told(&samples[..2]), [one("time", 0.0, None, 10)]);
        // Samples that begin in the midst of it.
        assert_eq!(told(&samples[2..]), [one("requested or time", -1.504, 1.0, 10)]);
    }

    #[test]
    fn one_that_is_requested_during_a_timed_one_is_told_as_well() {
        // The timed one is hurried up, and the requested one begins in the same second. It takes a while.
        let samples = [
            NONE,
            more(1.0, 0.0, 0.0, 0.0, 10.0),
            more(1.0, 1.0, 1_400.0, 3.0, 50.0),
            more(1.0, 1.0, 1_400.0, 3.0, 60.0),
            more(1.0, 1.0, 3_000.0, 9.0, 75.0),
        ];
        assert_eq!(
            told(&samples),
            [one("time", 0.0, 2.0, 50), one("requested", 1.0, 4.0, 25)]
        );
        // It ends within that second, too: its times are in the same sample, and nothing more is heard of it.
        let quick = [samples[0], samples[1], samples[2], samples[2], samples[2]];
        assert_eq!(told(&quick), [one("time", 0.0, 2.0, 50), one("requested", 1.0, 2.0, 0)]);
        // The next one is told by itself.
        let next = [
            quick.as_slice(),
            &[more(2.0, 1.0, 1_400.0, 3.0, 55.0), more(2.0, 1.0, 2_400.0, 4.0, 56.0)],
        ];
        let told = told(&next.concat());
        assert_eq!(told[1..], [one("requested", 1.0, 2.0, 0), one("time", 4.0, 6.0, 6)]);
    }

    #[test]
    fn both_within_a_second_are_two() {
        let samples = [NONE, more(1.0, 1.0, 300.0, 3.0, 20.0), more(1.0, 1.0, 300.0, 3.0, 20.0)];
        assert_eq!(
            told(&samples),
            [one("time", 0.0, 1.0, 20), one("requested", 0.0, 1.0, 0)]
        );
        assert_eq!(
            told(&[NONE, more(0.0, 1.0, 300.0, 100.0, 20.0)]),
            [one("requested", 0.6, 1.0, 20)]
        );
    }
}
