//! Log switches and checkpoints, told from counters that are looked at once a second.

use crate::sampler::{Moment, Sink};
use dyno_record::{Checkpoint, Event, Said};
use std::collections::VecDeque;

/// What the counters said last, and the checkpoints that have begun.
#[derive(Default)]
pub(super) struct Switches {
    sequence: Option<f64>,
    started: Option<f64>,
    completed: Option<f64>,
    open: VecDeque<f64>,
}

impl Switches {
    /// Takes the number of the log's group that is written, and how many checkpoints have begun and come to an end.
    pub(super) fn seen(&mut self, moment: Moment, numbers: [Option<f64>; 3], sink: &mut dyn Sink) {
        let [sequence, started, completed] = numbers;
        let at_s = moment.at_s();
        let switched = grown(&mut self.sequence, sequence);
        if let Some(number) = sequence.filter(|_| switched > 0) {
            let several = if switched > 1 {
                format!(" ({switched} since the last look)")
            } else {
                String::new()
            };
            sink.event(Event::Said(Said {
                at_s,
                text: format!("log switch: group number {number} is written now{several}"),
            }));
        }
        for _ in 0..grown(&mut self.started, started) {
            self.open.push_back(at_s);
        }
        for _ in 0..grown(&mut self.completed, completed) {
            // One that was under way when sampling began has no known begin.
            if let Some(start_s) = self.open.pop_front() {
                sink.event(Event::Checkpoint(checkpoint(start_s, Some(at_s))));
            }
        }
    }

    /// Sampling ends: those under way have only begun.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        for start_s in self.open.drain(..) {
            sink.event(Event::Checkpoint(checkpoint(start_s, None)));
        }
    }
}

fn checkpoint(start_s: f64, end_s: Option<f64>) -> Checkpoint {
    Checkpoint {
        reason: "log switch".to_owned(),
        start_s,
        end_s,
        ..Checkpoint::default()
    }
}

/// By how much a counter has grown since it was looked at, which is never much.
fn grown(before: &mut Option<f64>, now: Option<f64>) -> u32 {
    let Some(now) = now else { return 0 };
    let last = before.replace(now);
    last.map_or(0, |last| (now - last).clamp(0.0, 100.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::heard::Heard;
    use std::time::Duration;

    #[test]
    fn a_switch_and_its_checkpoint_are_told() {
        let (mut switches, mut heard) = (Switches::default(), Heard::default());
        for (at, numbers) in [
            (1, [7.0, 3.0, 3.0]),
            (2, [8.0, 4.0, 3.0]),
            (5, [8.0, 4.0, 4.0]),
            (6, [10.0, 5.0, 4.0]),
        ] {
            let moment = Moment {
                at: Duration::from_secs(at),
                late: Duration::ZERO,
            };
            switches.seen(moment, numbers.map(Some), &mut heard);
        }
        switches.finish(&mut heard);
        let shown: Vec<String> = heard
            .events
            .iter()
            .map(|event| match event {
                Event::Said(said) => format!("{} {}", said.at_s, said.text),
                Event::Checkpoint(checkpoint) => format!("{} to {:?}", checkpoint.start_s, checkpoint.end_s),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(
            shown,
            [
                "2 log switch: group number 8 is written now",
                "2 to Some(5.0)",
                "6 log switch: group number 10 is written now (2 since the last look)",
                "6 to None",
            ]
        );
    }
}
