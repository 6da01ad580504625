//! What is kept in memory of a load host's counters while a load runs: what is to be said of the measured time, and no
//! more, however long it lasts.

use dyno_record::{Meaning, Series};
use std::collections::VecDeque;
use std::time::Duration;

/// What is looked at.
const READ: [Meaning; 6] = [
    Meaning::DynoCpuS,
    Meaning::CpuIdleShare,
    Meaning::CpuIowaitShare,
    Meaning::CpuStealShare,
    Meaning::ThrottledS,
    Meaning::RunQueueS,
];

/// The last sample is taken a little after the end of what is measured.
const AFTERWARDS: Duration = Duration::from_millis(500);

/// So much later than all before no sample is.
const FAR: Duration = Duration::from_secs(3600);

/// The counters of one host.
pub(super) struct HostCounters {
    /// Where in a sample each of [`READ`] is.
    columns: [Option<usize>; READ.len()],
    /// Begin and end of what was measured there so far.
    measured: Option<(Duration, Duration)>,
    /// Up to where intervals were told.
    told: Duration,
    /// When the last sample was taken that was settled.
    sampled: Duration,
    /// Samples of a time of which it is not known yet whether it is measured.
    waiting: VecDeque<(Duration, [Option<f64>; READ.len()])>,
    known: [Known; READ.len()],
}

/// What is known of a counter in the measured time.
#[derive(Clone, Copy, Default)]
struct Known {
    first: Option<(Duration, f64)>,
    /// If it is another one.
    last: Option<(Duration, f64)>,
    sum: f64,
    count: u32,
}

impl HostCounters {
    /// Of a host whose samples are in the columns of `series`.
    pub fn new(series: &Series) -> Self {
        let columns = READ.map(|meaning| {
            let name = series.meanings.get(&meaning)?;
            series.columns.iter().position(|column| column == name)
        });
        Self {
            columns,
            measured: None,
            told: Duration::ZERO,
            sampled: Duration::ZERO,
            waiting: VecDeque::new(),
            known: [Known::default(); READ.len()],
        }
    }

    /// An interval of the host has come.
    pub fn interval(&mut self, start: Duration, end: Duration, is_measured: bool) {
        if is_measured {
            let begin = self.measured.map_or(start, |(begin, _)| begin);
            self.measured = Some((begin, end));
        }
        self.told = end;
        self.settle();
    }

    /// A sample has come: a value for each column.
    pub fn sample(&mut self, at: Duration, values: &[Option<f64>]) {
        let last = self.waiting.back().map_or(self.sampled, |(at, _)| *at);
        // Who tells of the past, or of a time that is far off, tells nothing.
        if at <= last || at > self.told.max(last) + FAR {
            return;
        }
        let read = self.columns.map(|column| values.get(column?).copied().flatten());
        self.waiting.push_back((at, read));
        self.settle();
    }

    /// Counts the samples of which it is known by now whether they are to be counted.
    fn settle(&mut self) {
        let (measured, told) = (self.measured, self.told);
        let is_settled = |at: Duration| measured.map_or(at < told, |(_, end)| at <= end + AFTERWARDS);
        while let Some((at, values)) = self.waiting.pop_front_if(|(at, _)| is_settled(*at)) {
            self.sampled = at;
            if measured.is_none_or(|(begin, _)| at < begin) {
                continue;
            }
            for (known, value) in self.known.iter_mut().zip(values) {
                let Some(value) = value else { continue };
                match known.first {
                    None => known.first = Some((at, value)),
                    Some(_) => known.last = Some((at, value)),
                }
                known.sum += value;
                known.count += 1;
            }
        }
    }

    /// How long was measured.
    pub fn measured_s(&self) -> f64 {
        self.measured
            .map_or(0.0, |(start, end)| end.saturating_sub(start).as_secs_f64())
    }

    /// By how much a counter grew, in each second.
    fn growth_per_s(&self, place: usize) -> Option<f64> {
        let ((first_at, first), (last_at, last)) = self.known[place].first.zip(self.known[place].last)?;
        let passed = last_at.checked_sub(first_at).filter(|passed| !passed.is_zero())?;
        Some((last - first).max(0.0) / passed.as_secs_f64())
    }

    fn mean(&self, place: usize) -> Option<f64> {
        let Known { sum, count, .. } = self.known[place];
        (count > 0).then(|| sum / f64::from(count))
    }

    /// CPU time of the agent, in cores.
    pub fn agent_cores(&self) -> Option<f64> {
        self.growth_per_s(0)
    }

    /// The share of all CPUs that nobody used: a CPU is free while what would use it waits for storage.
    pub fn idle_share(&self) -> Option<f64> {
        Some(self.mean(1)? + self.mean(2).unwrap_or(0.0))
    }

    /// The share of all CPUs that other virtual machines took.
    pub fn steal_share(&self) -> f64 {
        self.mean(3).unwrap_or(0.0)
    }

    /// For which share of the time its control group held the agent back.
    pub fn throttled_share(&self) -> Option<f64> {
        self.growth_per_s(4)
    }

    /// How many threads waited for a CPU at a time.
    pub fn waiting_threads(&self) -> Option<f64> {
        self.growth_per_s(5)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use dyno_target::host::load_host_series;
    use proptest::prelude::*;

    /// A sample in which the counters that are looked at have these values.
    pub fn sample(values: [f64; READ.len()]) -> Vec<Option<f64>> {
        let series = load_host_series();
        let mut sample = vec![None; series.columns.len()];
        for (meaning, value) in READ.iter().zip(values) {
            let column = series
                .columns
                .iter()
                .position(|column| *column == series.meanings[meaning]);
            sample[column.unwrap()] = Some(value);
        }
        sample
    }

    /// What was measured there, and how many samples wait.
    fn state(counters: &HostCounters) -> (Option<f64>, Option<f64>, usize) {
        (counters.agent_cores(), counters.idle_share(), counters.waiting.len())
    }

    #[test]
    fn nothing_is_kept_however_long_it_lasts() {
        let mut counters = HostCounters::new(&load_host_series());
        for second in 1..100_000 {
            let at = Duration::from_secs(second);
            counters.interval(at - Duration::from_secs(1), at, second > 10);
            counters.sample(at, &sample([2.0 * second as f64, 0.25, 0.0, 0.0, 0.0, 0.0]));
            assert!(counters.waiting.len() <= 1);
        }
        assert_eq!(state(&counters), (Some(2.0), Some(0.25), 0));
    }

    proptest! {
        /// Intervals and samples come in two orders of their own, either sooner.
        #[test]
        fn it_is_what_all_samples_would_say(
            warmup in 0..3_u64,
            samples in prop::collection::vec((1..2_000_u64, 0.0..1.0_f64), 0..20),
            turns in prop::collection::vec(any::<bool>(), 0..40),
        ) {
            let mut at_ms = 0;
            let samples: Vec<_> = samples.into_iter().map(|(after_ms, value)| { at_ms += after_ms; (at_ms, value) })
                .collect();
            let mut counters = HostCounters::new(&load_host_series());
            let (mut intervals, mut coming) = (0..8_u64, samples.iter());
            let tell = |counters: &mut HostCounters, second: u64| {
                counters.interval(Duration::from_secs(second), Duration::from_secs(second + 1), second >= warmup);
            };
            let count = |counters: &mut HostCounters, (at_ms, value): &(u64, f64)| {
                counters.sample(Duration::from_millis(*at_ms), &sample([0.0, *value, 0.0, 0.0, 0.0, 0.0]));
            };
            for is_interval in turns {
                if is_interval {
                    if let Some(second) = intervals.next() { tell(&mut counters, second) }
                } else if let Some(sample) = coming.next() {
                    count(&mut counters, sample);
                }
            }
            intervals.for_each(|second| tell(&mut counters, second));
            coming.for_each(|sample| count(&mut counters, sample));
            let within: Vec<f64> = samples.iter()
                .filter(|(at_ms, _)| (warmup * 1000..=8_500).contains(at_ms)).map(|(_, value)| *value).collect();
            let mean = (!within.is_empty()).then(|| within.iter().sum::<f64>() / within.len() as f64);
            prop_assert_eq!(counters.idle_share(), mean);
        }
    }
}
