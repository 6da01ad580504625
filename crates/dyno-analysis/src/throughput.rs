//! The throughput of a run over time, second by second.

mod builder;

use crate::series::{Series, Window};
use crate::summary::is_complete;
use builder::Builder;
use dyno_archive::figures::{count, counted, decimal};
use dyno_archive::plan::WARMUP;
use dyno_archive::summary::{LONG_INTERVAL_S, WorkloadFacts};
use dyno_archive::{IntervalRow, Run};
use dyno_stats::Stationarity;
use std::collections::BTreeMap;
use std::ops::Range;

/// Intervals shorter than this are taken together: causes are recorded once a second.
const SHORTEST_S: f64 = 1.0;

/// How long the window of the running median lasts: short enough to follow a machine whose neighbours come and go,
/// and more than twice as long as a dip is. A longer one is a new level, unless next to nothing is left.
const MEDIAN_S: f64 = 41.0;

/// The window in a stage whose load changes, in values: only at short range is a slope none, and near its ends
/// there is no telling.
const RAMP_WINDOW: usize = 7;

/// In a stretch in which fewer transactions are usual, one more or less is a large share of them: dips are looked
/// for in longer ones.
const LEAST_COUNT: f64 = 20.0;

/// A fall that transactions arriving at random show by themselves, once in 30,000 stretches, is no dip: as many of
/// the spreads of such counts.
const LEAST_SPREADS: f64 = 4.0;

/// Of fewer stretches than this nobody can say what is usual.
const FEWEST: usize = 10;

/// Transactions per second in the time measured: of all workloads together, or of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Throughput {
    /// Stretches of about equal length, in order and without a gap within a phase.
    pub windows: Vec<Window>,
    /// The rate in each.
    pub tps: Vec<f64>,
    /// The phases that were measured.
    pub phases: Vec<Phase>,
    /// Whether stretches are several intervals each.
    pub taken_together: bool,
}

/// A phase that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Phase {
    pub name: String,
    /// The position of its first stretch.
    pub first: usize,
    /// Whether the load changes meanwhile.
    pub ramp: bool,
}

/// The intervals of a run's measured time, each with when it was.
fn measured(run: &Run) -> impl Iterator<Item = (IntervalRow, Window)> {
    let rows = run.intervals().into_iter().flatten();
    rows.filter(|row| row.phase != WARMUP).map(|row| {
        let window = Window {
            start_s: row.interval_start_s,
            end_s: row.interval_start_s + row.interval_s,
        };
        (row, window)
    })
}

impl Throughput {
    /// The throughput in the intervals of `run`, of all workloads together and of each by name; none if they cannot be
    /// read.
    pub fn read(run: &Run) -> (Self, BTreeMap<String, Self>) {
        let workloads = run.record.as_ref().map_or(&[][..], |record| &record.workloads);
        let (mut all, mut each) = (Builder::default(), BTreeMap::<String, Builder>::new());
        for (row, window) in measured(run) {
            if !all.push(&row.phase, window, row.transactions) {
                break;
            }
            // What rests by plan, or is not known, has no throughput of its own.
            let at_work = |facts: &&WorkloadFacts| {
                facts.name == row.workload
                    && facts.takes_part(&row.phase)
                    && row.interval_start_s >= facts.start_delay_s
            };
            if workloads.iter().any(|facts| at_work(&facts)) {
                let one = each.entry(row.workload).or_default();
                one.push(&row.phase, window, row.transactions);
            }
        }
        let ramps = |phase: &str, of: &str| {
            let workloads = workloads.iter().filter(|workload| of.is_empty() || workload.name == of);
            let mut stages = workloads.flat_map(|workload| &workload.stages);
            stages.any(|stage| stage.name == phase && stage.ramp)
        };
        let finish = |builder: Builder, of: &str| {
            let mut throughput = builder.finish();
            for phase in &mut throughput.phases {
                phase.ramp = ramps(&phase.name, of);
            }
            throughput
        };
        let each = each.into_iter().map(|(name, builder)| {
            let one = finish(builder, &name);
            (name, one)
        });
        let each = each.collect();
        (finish(all, ""), each)
    }

    /// The throughput of the workloads that are `wanted`, together.
    pub fn of(run: &Run, wanted: &dyn Fn(&str) -> bool) -> Self {
        let mut builder = Builder::default();
        for (row, window) in measured(run) {
            if wanted(&row.workload) && !builder.push(&row.phase, window, row.transactions) {
                break;
            }
        }
        builder.finish()
    }

    /// Whether it would have a steady state if all is well: with one load, for long enough to tell.
    pub fn may_be_steady(&self) -> bool {
        self.has_one_load() && !matches!(dyno_stats::stationarity(&self.tps), Stationarity::TooShort { .. })
    }

    /// Whether the load was the same all the time.
    fn has_one_load(&self) -> bool {
        self.phases.len() < 2 && !self.phases.iter().any(|phase| phase.ramp)
    }

    /// How many stretches there are, as the begin of a sentence: those that are not cut short, as the figures of a run
    /// count its intervals.
    pub fn stretches_are(&self) -> String {
        let longest_s = self.longest_s();
        let whole = |window: &&Window| is_complete(window.length_s(), longest_s);
        let number = self.windows.iter().filter(whole).count() as u64;
        let are = if number == 1 { "is" } else { "are" };
        match (self.taken_together, number) {
            (false, _) if longest_s > LONG_INTERVAL_S => {
                format!("{} of {} s {are}", counted(number, "interval"), decimal(longest_s, 0))
            }
            (false, _) => format!("{} {are}", counted(number, "interval")),
            (true, 1) => format!("1 stretch of about a second {are}"),
            (true, _) => format!("{} stretches of about a second {are}", count(number)),
        }
    }

    /// What to do about too few of them besides measuring longer, as the end of a sentence; empty: nothing.
    pub fn may_be_shorter(&self) -> &'static str {
        match self.longest_s() > LONG_INTERVAL_S {
            true => ", and one need not last longer than 1 s",
            false => "",
        }
    }

    fn longest_s(&self) -> f64 {
        self.windows.iter().map(|window| window.length_s()).fold(0.0, f64::max)
    }

    /// The longest stretch of time in which no transaction completed, if it is half of the time measured or more.
    pub fn idle(&self) -> Option<Window> {
        let idle = self.tps.chunk_by(|one, other| (*one > 0.0) == (*other > 0.0));
        let mut first = 0;
        let idle = idle.map(|values| {
            first += values.len();
            (first - values.len()..first, values)
        });
        let idle = idle.filter(|(_, values)| values.first().is_some_and(|tps| *tps <= 0.0));
        let (longest, _) = idle.max_by_key(|(range, _)| range.len())?;
        (2 * longest.len() >= self.tps.len()).then(|| span(&self.windows[longest]))
    }

    /// What is to be said of it.
    pub fn standstill(&self) -> Option<String> {
        let idle = self.idle()?;
        Some(format!(
            "no transaction completed for {} s of the {} s measured",
            decimal(idle.length_s(), 0),
            decimal(self.measured().length_s(), 0)
        ))
    }

    /// How many transactions completed.
    pub fn transactions(&self) -> f64 {
        transactions(&self.windows, &self.tps)
    }

    /// The phases with their stretches.
    fn ranges(&self) -> impl Iterator<Item = (&Phase, Range<usize>)> {
        let ends = self.phases.iter().skip(1).map(|phase| phase.first);
        let ends = ends.chain([self.windows.len()]);
        self.phases
            .iter()
            .zip(ends)
            .map(|(phase, end)| (phase, phase.first..end))
    }

    /// The phases in which the load was the same all the time.
    pub fn levels(&self) -> Vec<Window> {
        let phases = self.ranges().filter(|(phase, _)| !phase.ramp);
        let times = phases.filter_map(|(_, range)| {
            let windows = self.windows.get(range).filter(|windows| !windows.is_empty())?;
            Some(span(windows))
        });
        times.collect()
    }

    /// The time from the first to the last.
    pub fn measured(&self) -> Window {
        span(&self.windows)
    }

    /// Why nothing can be said of dips if none is found; `None` if something can.
    pub fn no_dips_because(&self) -> Option<String> {
        if let Some(standstill) = self.standstill() {
            return Some(standstill);
        }
        let ranges: Vec<_> = self.ranges().map(|(_, range)| range).collect();
        if ranges
            .iter()
            .any(|range| self.countable(range.clone()).1.len() >= FEWEST)
        {
            return None;
        }
        Some(match ranges.as_slice() {
            [] => "nothing was measured".to_owned(),
            [only] if only.len() < FEWEST => {
                format!(
                    "{} too few; at least {FEWEST} are needed{}",
                    self.stretches_are(),
                    self.may_be_shorter()
                )
            }
            several if several.iter().all(|range| range.len() < FEWEST) => {
                format!("no stage has the {FEWEST} intervals of a second or more that are needed")
            }
            _ => {
                let transactions = self.transactions().round() as u64;
                format!(
                    "{} in {} s are too few to tell a dip from chance",
                    counted(transactions, "transaction"),
                    decimal(self.measured().length_s(), 0)
                )
            }
        })
    }

    /// Where it dips, with the depth of each dip as a share of the running median. Each phase has a level of its own.
    pub fn dips(&self) -> Vec<(Window, f64)> {
        let mut dips = Vec::new();
        for (phase, range) in self.ranges() {
            let (windows, tps) = self.countable(range);
            if tps.len() < FEWEST {
                continue;
            }
            let usual_s = windows.first().map_or(1.0, |window| window.length_s());
            let (window, margin) = if phase.ramp {
                (RAMP_WINDOW, RAMP_WINDOW / 2)
            } else {
                (((MEDIAN_S / usual_s).round() as usize).max(7), 0)
            };
            let certain = |range: &Range<usize>| range.start >= margin && range.end + margin <= tps.len();
            for dip in dyno_stats::dips(&tps, window) {
                let time = span(&windows[dip.range.clone()]);
                let count = transactions(&windows[dip.range.clone()], &tps[dip.range.clone()]);
                if certain(&dip.range) && beyond_chance(count, dip.usual * time.length_s()) {
                    dips.push((time, dip.depth));
                }
            }
        }
        dips
    }

    /// The stretches of `range` with their rates, as many of them taken together as it takes for counts that mean
    /// something.
    fn countable(&self, range: Range<usize>) -> (Vec<Window>, Vec<f64>) {
        let (windows, tps) = (&self.windows[range.clone()], &self.tps[range]);
        let usual = transactions(windows, tps) / windows.len().max(1) as f64;
        if usual <= 0.0 {
            return (Vec::new(), Vec::new());
        }
        let together = ((LEAST_COUNT / usual).ceil() as usize).max(1);
        let groups = windows.chunks_exact(together).zip(tps.chunks_exact(together));
        let groups = groups.map(|(windows, tps)| {
            let time = span(windows);
            (time, transactions(windows, tps) / time.length_s())
        });
        groups.unzip()
    }

    /// As a series over time.
    pub fn series(&self) -> Series {
        let mut series = Series::default();
        for (window, tps) in self.windows.iter().zip(&self.tps) {
            series.push(*window, *tps);
        }
        series
    }
}

/// The time from the begin of the first to the end of the last.
fn span(windows: &[Window]) -> Window {
    Window {
        start_s: windows.first().map_or(0.0, |first| first.start_s),
        end_s: windows.last().map_or(0.0, |last| last.end_s),
    }
}

/// How many transactions completed in stretches with these rates.
fn transactions(windows: &[Window], tps: &[f64]) -> f64 {
    windows
        .iter()
        .zip(tps)
        .map(|(window, tps)| window.length_s() * tps)
        .sum()
}

/// Whether `count` transactions where `usual` were to be expected are fewer than chance explains. Counts have a
/// spread of about 1 as roots, doubled; the 3/8 make that hold for small ones as well (F. J. Anscombe, "The
/// transformation of Poisson, binomial and negative-binomial data", Biometrika 35, 1948).
fn beyond_chance(count: f64, usual: f64) -> bool {
    let root = |count: f64| 2.0 * (count + 0.375).sqrt();
    root(usual) - root(count) >= LEAST_SPREADS
}

#[cfg(test)]
mod tests {
    use super::builder::tests::{row, throughput};
    use super::*;

    /// Name, whether the load changes, and what is done second by second.
    type Stage<'a> = (&'a str, bool, &'a dyn Fn(usize) -> u64);

    #[test]
    fn a_stage_with_less_load_is_no_dip_and_neither_is_the_begin_of_a_ramp() {
        let of = |stages: &[Stage<'_>]| {
            let mut rows = Vec::new();
            for (name, _, tps) in stages {
                for second in 0..20 {
                    rows.push(row(name, rows.len() as f64, 1.0, tps(second)));
                }
            }
            let mut found = throughput(rows);
            for (phase, (_, ramp, _)) in found.phases.iter_mut().zip(stages) {
                phase.ramp = *ramp;
            }
            (found.dips().len(), found.has_one_load())
        };
        let calm = |second: usize| 1_000 + second as u64 % 7;
        let stages: [Stage<'_>; 3] = [
            ("a", false, &calm),
            ("b", false, &|second| calm(second) / 10),
            ("c", false, &calm),
        ];
        assert_eq!(of(&stages), (0, false));
        assert_eq!(of(&[("up", true, &|second| 50 + 500 * second as u64)]), (0, false));
        // What happens within a stage is still seen.
        let halting = |second: usize| if second == 10 { 0 } else { 50 + 500 * second as u64 };
        assert_eq!(of(&[("up", true, &halting)]), (1, false));
        assert_eq!(
            of(&[("one", false, &|second| if second == 10 { 0 } else { calm(second) })]),
            (1, true)
        );
    }

    /// What is found where `counts` transactions are done second by second.
    fn dips_of(counts: impl IntoIterator<Item = u64>) -> Vec<(Window, f64)> {
        let counts = counts.into_iter().enumerate();
        throughput(counts.map(|(second, count)| row("measure", second as f64, 1.0, count))).dips()
    }

    #[test]
    fn few_transactions_come_one_by_one_which_is_no_dip() {
        // One client whose transactions take so long each.
        for length_s in [0.3, 0.7, 1.1, 1.7, 1.95, 2.3, 7.0] {
            let until = |second: u32| (f64::from(second) / length_s).floor() as u64;
            let counts = (0..300).map(|second| until(second + 1) - until(second));
            assert_eq!(dips_of(counts), [], "{length_s} s each");
        }
    }

    #[test]
    fn a_few_stretches_tell_of_no_dip() {
        let dips = |seconds: u64| {
            let count = |second| if second == 4 { 100 } else { 1_000 + second };
            throughput((0..seconds).map(|second| row("measure", second as f64, 1.0, count(second)))).dips()
        };
        assert_eq!((dips(9).len(), dips(10).len()), (0, 1));
    }

    #[test]
    fn why_there_are_no_dips_is_said_unless_they_were_looked_for() {
        let because = |interval_s: f64, counts: &mut dyn Iterator<Item = u64>| {
            let rows = counts.enumerate();
            let row = |(place, count)| row("measure", place as f64 * interval_s, interval_s, count);
            throughput(rows.map(row)).no_dips_because()
        };
        let steady = |length: usize| std::iter::repeat_n(100, length);
        assert_eq!(because(1.0, &mut steady(10)), None);
        let words = |interval_s, counts: &mut dyn Iterator<Item = u64>| because(interval_s, counts).unwrap();
        assert_eq!(
            words(1.0, &mut steady(9)),
            "9 intervals are too few; at least 10 are needed"
        );
        assert_eq!(
            words(5.0, &mut steady(1)),
            "1 interval of 5 s is too few; at least 10 are needed, and one need not last longer than 1 s"
        );
        assert_eq!(
            words(0.1, &mut steady(80)),
            "8 stretches of about a second are too few; at least 10 are needed"
        );
        assert_eq!(
            words(1.0, &mut (0..30).map(|second| u64::from(second % 3 == 0))),
            "10 transactions in 30 s are too few to tell a dip from chance"
        );
        // The server fell silent.
        let silent = "no transaction completed for 59 s of the 60 s measured";
        assert_eq!(
            words(1.0, &mut (0..60).map(|second| if second == 0 { 1_000 } else { 0 })),
            silent
        );
        assert_eq!(
            because(1.0, &mut (0..60).map(|second| if second < 31 { 1_000 } else { 0 })),
            None
        );
        assert_eq!(words(1.0, &mut std::iter::empty()), "nothing was measured");
    }

    #[test]
    fn arrivals_at_random_have_empty_seconds_which_are_no_dips() {
        // Numbers between 0 and 1 that look random (a linear congruential generator).
        let mut state = 7_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut found = 0;
        for rate in [0.5, 2.0, 4.0, 10.0, 25.0, 100.0] {
            for _ in 0..10 {
                let mut counts = [0_u64; 300];
                let mut at_s = 0.0_f64;
                loop {
                    at_s -= (1.0 - random()).ln() / rate;
                    let Some(count) = counts.get_mut(at_s as usize) else {
                        break;
                    };
                    *count += 1;
                }
                found += dips_of(counts).len();
            }
        }
        // 18,000 seconds of them.
        assert!(found <= 1, "{found} dips");
    }

    #[test]
    fn a_standstill_of_a_slow_load_is_still_a_dip() {
        let counts = (0..120).map(|second| if (50..65).contains(&second) { 0 } else { 3 + second % 3 });
        let found = dips_of(counts);
        assert_eq!(found.len(), 1, "{found:?}");
        // To the accuracy of the stretches that were taken together.
        let (time, depth) = found[0];
        assert!(
            (44.0..=50.0).contains(&time.start_s) && (65.0..=71.0).contains(&time.end_s),
            "{time:?}"
        );
        assert_eq!(depth, 1.0);
    }

    #[test]
    fn dips_have_times() {
        let rows = (0..90).map(|at| {
            row(
                "measure",
                f64::from(at),
                1.0,
                if (40..43).contains(&at) {
                    0
                } else {
                    1_000 + at as u64 % 7
                },
            )
        });
        let dips = throughput(rows).dips();
        assert_eq!(
            dips,
            [(
                Window {
                    start_s: 40.0,
                    end_s: 43.0
                },
                1.0
            )]
        );
    }
}
