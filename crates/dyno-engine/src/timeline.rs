//! The run's phases cut into intervals, as instants.
//!
//! Every thread computes the same boundaries from the same start, so recordings of different threads can be added
//! interval by interval.

use crate::clock::duration_ns;
use crate::load::Phase;
use std::time::Duration;

/// A stretch of time that gets its own recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Number since the start of the run.
    pub index: usize,
    /// The phase it belongs to.
    pub phase: usize,
    /// First instant, in nanoseconds of the run's clock.
    pub start_ns: u64,
    /// The instant after the last.
    pub end_ns: u64,
}

/// Yields the slices of a run in order.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    durations_ns: Vec<u64>,
    interval_ns: u64,
    index: usize,
    phase: usize,
    phase_start_ns: u64,
    next_ns: u64,
    /// Whether the last phase has slices beyond its end.
    open: bool,
}

impl Timeline {
    /// The slices of `phases` from `start_ns` on, in steps of `interval` (at least a millisecond) from each phase's
    /// begin. The first phase began `spent_ns` before: what is over by then has no slices.
    pub fn new(phases: &[Phase], interval: Duration, start_ns: u64, spent_ns: u64) -> Self {
        Self {
            durations_ns: phases.iter().map(|phase| duration_ns(phase.duration)).collect(),
            interval_ns: duration_ns(interval).max(1_000_000),
            index: 0,
            phase: 0,
            phase_start_ns: start_ns.saturating_sub(spent_ns),
            next_ns: start_ns,
            open: false,
        }
    }

    /// The same with a last phase whose slices go on without end, in whole intervals: what is finished after its
    /// end is recorded, too.
    pub fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// When the phase of the last slice began.
    pub fn phase_start_ns(&self) -> u64 {
        self.phase_start_ns
    }

    /// Ends the phase of `slice`, the last one that was given, at this instant, unless it ends before. Gives what is
    /// left of that slice, or else the one that takes its place.
    pub fn end_phase(&mut self, slice: Slice, at_ns: u64) -> Option<Slice> {
        let lasted_ns = at_ns.saturating_sub(self.phase_start_ns);
        let duration_ns = self.durations_ns.get_mut(slice.phase)?;
        *duration_ns = lasted_ns.min(*duration_ns);
        let at_ns = self.phase_start_ns.saturating_add(*duration_ns);
        if slice.end_ns <= at_ns {
            return Some(slice);
        }
        self.next_ns = at_ns;
        if slice.start_ns < at_ns {
            return Some(Slice { end_ns: at_ns, ..slice });
        }
        self.index = slice.index;
        self.next()
    }

    /// Whether the phase of the last slice would end earlier if it ended at this instant.
    pub fn is_before_end(&self, at_ns: u64) -> bool {
        let duration_ns = self.durations_ns.get(self.phase).copied().unwrap_or_default();
        at_ns.saturating_sub(self.phase_start_ns) < duration_ns
    }

    /// When the last phase is over.
    pub fn end_ns(&self) -> u64 {
        let phases = self.durations_ns.iter().skip(self.phase);
        phases.fold(self.phase_start_ns, |end_ns, &duration_ns| {
            end_ns.saturating_add(duration_ns)
        })
    }
}

impl Iterator for Timeline {
    type Item = Slice;

    fn next(&mut self) -> Option<Slice> {
        loop {
            let duration_ns = *self.durations_ns.get(self.phase)?;
            let phase_end_ns = match self.open && self.phase + 1 == self.durations_ns.len() {
                true => u64::MAX,
                false => self.phase_start_ns.saturating_add(duration_ns),
            };
            if self.next_ns < phase_end_ns {
                let step_ns = self.interval_ns - (self.next_ns - self.phase_start_ns) % self.interval_ns;
                let slice = Slice {
                    index: self.index,
                    phase: self.phase,
                    start_ns: self.next_ns,
                    end_ns: self.next_ns.saturating_add(step_ns).min(phase_end_ns),
                };
                self.index += 1;
                self.next_ns = slice.end_ns;
                return Some(slice);
            }
            self.phase += 1;
            self.phase_start_ns = phase_end_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, ms: u64) -> Phase {
        Phase {
            name: name.into(),
            duration: Duration::from_millis(ms),
            until: Vec::new(),
        }
    }

    #[test]
    fn intervals_fill_each_phase_and_the_last_may_be_shorter() {
        let phases = [phase("warmup", 25), phase("none", 0), phase("measure", 20)];
        let slices: Vec<_> = Timeline::new(&phases, Duration::from_millis(10), 5, 0)
            .map(|slice| (slice.index, slice.phase, slice.start_ns, slice.end_ns))
            .collect();
        assert_eq!(
            Timeline::new(&phases, Duration::from_millis(10), 5, 0).end_ns(),
            45_000_005
        );
        assert_eq!(
            slices,
            [
                (0, 0, 5, 10_000_005),
                (1, 0, 10_000_005, 20_000_005),
                (2, 0, 20_000_005, 25_000_005),
                (3, 2, 25_000_005, 35_000_005),
                (4, 2, 35_000_005, 45_000_005),
            ]
        );
    }

    #[test]
    fn what_is_spent_is_taken_off_the_first_phases() {
        let phases = [phase("warmup", 25), phase("measure", 20)];
        let slices = |interval_ms, spent_ns| {
            let slices = Timeline::new(&phases, Duration::from_millis(interval_ms), spent_ns + 7, spent_ns);
            slices
                .map(|slice| (slice.phase, slice.start_ns, slice.end_ns))
                .collect::<Vec<_>>()
        };
        assert_eq!(slices(100, 30_000_000), [(1, 30_000_007, 45_000_007)]);
        assert_eq!(
            slices(10, 12_000_000),
            [
                (0, 12_000_007, 20_000_007),
                (0, 20_000_007, 25_000_007),
                (1, 25_000_007, 35_000_007),
                (1, 35_000_007, 45_000_007),
            ]
        );
        assert_eq!(slices(100, 45_000_000), []);
        let endless = [Phase {
            name: "all".into(),
            duration: Duration::MAX,
            until: Vec::new(),
        }];
        let first = Timeline::new(&endless, Duration::MAX, 45_000_007, 45_000_000).next();
        assert!(first.is_some_and(|slice| slice.end_ns > u64::MAX / 2));
    }

    #[test]
    fn a_phase_can_end_early_and_what_follows_moves() {
        let timeline = || {
            Timeline::new(
                &[phase("load", 100), phase("read", 20)],
                Duration::from_millis(10),
                0,
                0,
            )
        };
        let ms = |slice: Slice| {
            (
                slice.index,
                slice.phase,
                slice.start_ns / 1_000_000,
                slice.end_ns / 1_000_000,
            )
        };
        // Within a slice, in a later one, and before one that was given already.
        for (given, at_ms, left) in [
            (2, 15, vec![(1, 0, 10, 15), (2, 1, 15, 25), (3, 1, 25, 35)]),
            (
                1,
                15,
                vec![(0, 0, 0, 10), (1, 0, 10, 15), (2, 1, 15, 25), (3, 1, 25, 35)],
            ),
            (2, 10, vec![(1, 1, 10, 20), (2, 1, 20, 30)]),
        ] {
            let mut timeline = timeline();
            let slice = timeline.by_ref().take(given).last().unwrap();
            assert!(timeline.is_before_end(at_ms * 1_000_000));
            let first = timeline.end_phase(slice, at_ms * 1_000_000);
            let found: Vec<_> = first.into_iter().chain(&mut timeline).map(ms).collect();
            assert_eq!(found, left, "{given} given, ended at {at_ms} ms");
        }
        let mut timeline = timeline();
        let slice = timeline.next().unwrap();
        assert!(!timeline.is_before_end(100_000_000));
        assert_eq!(timeline.end_phase(slice, 200_000_000), Some(slice));
        assert_eq!(timeline.end_ns(), 120_000_000);
    }

    #[test]
    fn an_open_end_goes_on_in_whole_intervals() {
        let phases = [phase("warmup", 25), phase("measure", 15)];
        let mut timeline = Timeline::new(&phases, Duration::from_millis(10), 5, 0).open();
        let slices: Vec<_> = timeline
            .by_ref()
            .take(6)
            .map(|slice| slice.end_ns / 1_000_000)
            .collect();
        assert_eq!(slices, [10, 20, 25, 35, 45, 55]);
        assert_eq!(timeline.end_ns(), 40_000_005);
    }

    proptest::proptest! {
        #[test]
        fn slices_touch_and_cover_every_phase(
            durations_ms in proptest::collection::vec(0_u64..5_000, 0..6),
            interval_ms in 1_u64..1_000,
            start_ns: u32,
        ) {
            let phases: Vec<_> = durations_ms.iter().map(|&ms| phase("any", ms)).collect();
            let slices: Vec<_> = Timeline::new(&phases, Duration::from_millis(interval_ms), start_ns.into(), 0)
                .collect();
            let mut next_ns = u64::from(start_ns);
            let mut covered_ns = vec![0; phases.len()];
            for (index, slice) in slices.iter().enumerate() {
                assert_eq!((slice.index, slice.start_ns), (index, next_ns));
                assert!(slice.end_ns > slice.start_ns && slice.end_ns - slice.start_ns <= interval_ms * 1_000_000);
                covered_ns[slice.phase] += slice.end_ns - slice.start_ns;
                next_ns = slice.end_ns;
            }
            let planned_ns: Vec<_> = durations_ms.iter().map(|ms| ms * 1_000_000).collect();
            assert_eq!(covered_ns, planned_ns);
        }
    }
}
