//! What a campaign answers, in one sentence of plain words, or why it does not: the first thing that anybody wants to
//! know of it. Wherever the figures come from (slices in turn, runs in mixed order, two campaigns), the sentence is
//! made here, so that a terminal, a report, JSON and a pipeline all say the same.

mod cells;
mod compared;
mod screen;
#[cfg(test)]
pub(crate) mod screen_tests;
#[cfg(test)]
mod tests;
mod turns;

pub(crate) use compared::answer_of_comparison;
pub use compared::comparison_json;
pub use screen::pair_line;
pub(crate) use screen::{by_size, matters};
pub(crate) use turns::names;
pub use turns::versus_line;

use crate::figures::{counted, decimals_of_change, signed};
use dyno_archive::figures::decimal;
use dyno_archive::{Campaign, Measure, Screen, Verdict, Versus};
use dyno_stats::{FEWEST_RUNS, Judgement, MANY_RUNS, Outcome};

/// What `campaign` answers; `None` if it compares nothing.
#[must_use]
pub fn answer(campaign: &Campaign) -> Option<String> {
    if let Some(screen) = Screen::read(&campaign.path) {
        return Some(screen::sentence(&screen, campaign));
    }
    match Versus::read(&campaign.path) {
        Some(versus) => Some(turns::answer(&versus, campaign)),
        None => cells::answer(campaign),
    }
}

/// A figure of the second of two as a ratio to that of the first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    measure: Measure,
    ratio: f64,
    /// Where it lies at 95 % confidence, if that is known.
    interval: Option<(f64, f64)>,
    /// Whether it is known to be another than 1.
    differs: bool,
}

impl Known {
    /// With how many decimals it is written as a change in percent.
    fn decimals(self) -> usize {
        self.interval.map_or(1, |(low, high)| {
            decimals_of_change((low - 1.0) * 100.0, (high - 1.0) * 100.0)
        })
    }
}

/// Two variants beside each other.
struct Pair {
    baseline: String,
    candidate: String,
    /// What both had to do, with its preposition: ` on pk-update`; may be empty.
    work: String,
    /// Of how many, in words, the candidate seems best, with the baseline next to it; `None`: these two are all.
    among: Option<String>,
    answer: Verdict,
    /// What decides, and what else is known. Without the former there is no answer.
    deciding: Result<Known, String>,
    others: Vec<Known>,
    /// How large a difference had to be to matter, as a share.
    detect: f64,
    /// What it took: `after 3 min 20 s`, `by 4 runs of each`.
    effort: String,
    /// What would decide it, if it is not decided.
    more: String,
}

impl Pair {
    fn sentence(&self) -> String {
        let Self {
            baseline,
            candidate,
            work,
            effort,
            more,
            ..
        } = self;
        let known = match &self.deciding {
            Ok(known) => *known,
            Err(why) => return format!("{candidate} beside {baseline}{work}: not known {effort}, {why}."),
        };
        let interval = interval(known);
        let also = self.also();
        match (self.answer, &self.among) {
            (Verdict::Higher | Verdict::Lower, None) => format!(
                "{candidate} {} {baseline}{work} ({interval}){also}; decided {effort}.",
                is_than(known)
            ),
            (Verdict::Higher | Verdict::Lower, Some(all)) => format!(
                "{candidate} {} of {all}{work}, {} {baseline}, the next ({interval}){also}; decided {effort}.",
                is_best(known.measure),
                than(known)
            ),
            (Verdict::Same, _) => format!(
                "{candidate} and {baseline} are the same within {} % in {}{work} ({interval}){also}; decided {effort}.",
                percent(self.detect * 100.0),
                name(known.measure)
            ),
            (Verdict::Unknown, None) => format!(
                "{candidate} beside {baseline}{work}: not decided {effort}; {} {interval}{also}; {more}.",
                name(known.measure)
            ),
            (Verdict::Unknown, Some(all)) => format!(
                "Which of {all} is best{work} is not decided {effort}: {candidate} beside {baseline}, the next: {} \
                 {interval}{also}; {more}.",
                name(known.measure)
            ),
        }
    }

    /// What else is known to differ.
    fn also(&self) -> String {
        let others = self.others.iter().filter(|known| known.differs);
        let words = others.filter_map(|known| {
            let short = match known.measure {
                // It goes with p95.
                Measure::P50 => return None,
                Measure::Throughput => "throughput",
                Measure::P95 => "p95",
                Measure::P99 => "p99",
            };
            Some(format!(", {short} {} % {}", size(*known), direction(known.ratio)))
        });
        words.collect()
    }
}

/// What the runs of two say of a measure.
fn of_runs(measure: Measure, judged: &Judgement) -> Known {
    Known {
        measure,
        ratio: judged.ratio,
        interval: judged.interval.map(|interval| (interval.low, interval.high)),
        differs: !matches!(judged.outcome, Outcome::Unknown { .. }),
    }
}

/// How many runs of each there were.
fn by_runs(one: usize, another: usize) -> String {
    match (one, another) {
        (1, 1) => "by one run of each".to_owned(),
        (one, another) if one == another => format!("by {one} runs of each"),
        (one, another) => format!("by {} against {another}", counted(one as u64, "run")),
    }
}

/// What would decide what runs have not.
fn more_runs(more: Option<usize>) -> String {
    match more {
        None => format!("a verdict takes at least {FEWEST_RUNS} runs of each (--repeat {FEWEST_RUNS})"),
        Some(MANY_RUNS..) => format!("even {MANY_RUNS} more runs of each would hardly decide it"),
        Some(more) => format!("about {} of each would decide it", counted(more as u64, "more run")),
    }
}

/// What is measured, in words.
pub(crate) fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Throughput => "throughput",
        Measure::P50 => "p50 latency",
        Measure::P95 => "p95 latency",
        Measure::P99 => "p99 latency",
    }
}

/// That a ratio differs from one, and in which direction.
fn is_than(known: Known) -> String {
    match known.measure {
        Measure::Throughput => format!("is {}", than(known)),
        _ => format!("has {}", than(known)),
    }
}

fn than(known: Known) -> String {
    let size = size(known);
    match (known.measure, known.ratio >= 1.0) {
        (Measure::Throughput, true) => format!("{size} % faster than"),
        (Measure::Throughput, false) => format!("{size} % slower than"),
        (other, true) => format!("{size} % more {} than", name(other)),
        (other, false) => format!("{size} % less {} than", name(other)),
    }
}

/// That something is the best of several.
fn is_best(measure: Measure) -> String {
    match measure {
        Measure::Throughput => "is the fastest".to_owned(),
        other => format!("has the least {}", name(other)),
    }
}

fn direction(ratio: f64) -> &'static str {
    if ratio >= 1.0 { "higher" } else { "lower" }
}

fn size(known: Known) -> String {
    percent_with((known.ratio - 1.0).abs() * 100.0, known.decimals())
}

/// With one digit behind the point, unless that is a zero.
fn percent(percent: f64) -> String {
    percent_with(percent, 1)
}

fn percent_with(percent: f64, decimals: usize) -> String {
    let text = decimal(percent, decimals);
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A ratio as a change in percent, with its sign.
pub(crate) fn change(ratio: f64) -> String {
    change_with(ratio, 1)
}

fn change_with(ratio: f64, decimals: usize) -> String {
    signed((ratio - 1.0) * 100.0, decimals)
}

/// Between what the change is, or what it seems to be.
fn interval(known: Known) -> String {
    let change = |ratio| change_with(ratio, known.decimals());
    match known.interval {
        Some((low, high)) => format!("{} to {} %, 95 %", change(low), change(high)),
        None => format!("{} %", change(known.ratio)),
    }
}
