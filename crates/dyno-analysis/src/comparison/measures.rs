//! The figures of a cell on both sides, and the verdict on each.

use crate::comparison::cells::Cell;
use crate::comparison::{CellComparison, Pool, WorkloadComparison};
use crate::summary::{is_complete, over_runs};
use dyno_archive::figures::{count, counted, decimal, percent};
use dyno_archive::plan::WARMUP;
use dyno_archive::summary::{Pacing, Summary, WorkloadSummary};
use dyno_archive::{Run, RunRecord};
use dyno_stats::{CONFIDENCE, Outcome, batch_means, judge, ratio_of_means};
use serde::Serialize;

/// Batches of a run whose means are nearly independent of each other.
const BATCHES: usize = 20;

/// Fewer batches say nothing.
const FEWEST_BATCHES: usize = 10;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Transactions per second.
    Tps,
    /// Median latency in microseconds.
    #[serde(rename = "p50_us")]
    P50,
    /// 95th percentile of the latency in microseconds.
    #[serde(rename = "p95_us")]
    P95,
    /// 99th percentile of the latency in microseconds.
    #[serde(rename = "p99_us")]
    P99,
    /// How long a number of transactions took, in microseconds.
    #[serde(rename = "time_us")]
    Time,
}

/// A measure of one workload in one cell on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasureComparison {
    /// What it is.
    pub measure: Measure,
    /// What the baseline's cell has, see [`over_runs`]: the mean over its runs, each of which has its own percentiles.
    pub baseline: f64,
    /// The same of the other.
    pub candidate: f64,
    /// The figure of each run of the baseline.
    pub baseline_values: Vec<f64>,
    /// The same of the other.
    pub candidate_values: Vec<f64>,
    /// The second as a ratio to the first.
    pub ratio: f64,
    /// Its interval at 95 % confidence, if there is one.
    pub interval: Option<Interval>,
    /// How probable it is that the ranks of the runs differ at least as much if nothing does: the test of Mann and
    /// Whitney.
    pub p_value: f64,
    /// What may be concluded.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Where a ratio lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether it only says how the time within one run of each side varies, as there is but one: other runs may
    /// well lie elsewhere.
    pub within_a_run: bool,
}

/// What may be concluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// More transactions per second, or less latency.
    Better,
    /// The other way round.
    Worse,
    /// The runs do not tell.
    CannotTellYet {
        /// About how many more runs of each side would; [`dyno_stats::MANY_RUNS`] stands for that many and more.
        /// `None`: there are too few to say even that.
        more_runs: Option<usize>,
    },
}

impl Measure {
    /// Those that every workload has, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Tps, Self::P50, Self::P95, Self::P99];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tps => "TPS",
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Time => "time",
        }
    }

    /// Whether it is a latency or another time, of which less is better.
    #[must_use]
    pub fn is_latency(self) -> bool {
        self != Self::Tps
    }

    fn of(self, workload: &WorkloadSummary) -> Option<f64> {
        let latency = workload.latency.as_ref();
        match self {
            // Of what takes longer than it was waited for only the time is known.
            Self::Tps => Some(workload.tps).filter(|_| workload.longer_than_s().is_none()),
            Self::P50 => latency.map(|latency| latency.p50_us),
            Self::P95 => latency.map(|latency| latency.p95_us),
            Self::P99 => latency.map(|latency| latency.p99_us),
            Self::Time => workload.completion.took_s.map(|took_s| took_s * 1e6),
        }
    }

    fn verdict(self, outcome: Outcome) -> Verdict {
        match (outcome, self.is_latency()) {
            (Outcome::Higher, false) | (Outcome::Lower, true) => Verdict::Better,
            (Outcome::Higher, true) | (Outcome::Lower, false) => Verdict::Worse,
            (Outcome::Unknown { more_runs }, _) => Verdict::CannotTellYet { more_runs },
        }
    }
}

impl MeasureComparison {
    /// By what share it is worse than the baseline (0.05 is 5 %): how much lower TPS is, or how much higher a
    /// latency. Negative if it is better.
    #[must_use]
    pub fn loss(&self) -> f64 {
        if self.measure.is_latency() {
            self.ratio - 1.0
        } else {
            1.0 - self.ratio
        }
    }
}

/// One side of a cell: the campaigns that it is of, and what they have of it.
type Side<'a> = (&'a Pool<'a>, &'a Cell<'a>);

/// A workload in the runs of one side.
struct Runs<'a> {
    of: &'a Pool<'a>,
    summaries: Vec<&'a WorkloadSummary>,
    runs: Vec<&'a Run>,
}

impl<'a> Runs<'a> {
    fn of((of, cell): Side<'a>, name: &str) -> Self {
        let (mut summaries, mut runs) = (Vec::new(), Vec::new());
        for (run, summary) in &cell.runs {
            if let Some(workload) = summary.workloads.iter().find(|workload| workload.name == name) {
                summaries.push(workload);
                runs.push(*run);
            }
        }
        Self { of, summaries, runs }
    }

    fn values(&self, measure: Measure) -> Vec<f64> {
        self.summaries
            .iter()
            .filter_map(|workload| measure.of(workload))
            .collect()
    }

    /// What was not waited for to the end takes longer than this.
    fn longer_than_s(&self) -> Option<f64> {
        let known = self.summaries.iter().filter_map(|workload| workload.longer_than_s());
        known.reduce(f64::min)
    }

    /// Of each run in which anything was finished, whether its TPS is made of the times of single transactions.
    fn tps_of_times(&self) -> impl Iterator<Item = bool> {
        let finished = self.summaries.iter().filter(|workload| workload.transactions > 0);
        finished.map(|workload| workload.tps_is_of_times())
    }

    fn names(&self) -> Vec<String> {
        self.runs.iter().map(|run| self.of.name_of(run)).collect()
    }

    fn pacing(&self) -> Option<Pacing> {
        self.summaries.first().map(|workload| workload.pacing)
    }

    /// The sum of a count over the runs.
    fn sum(&self, count: fn(&WorkloadSummary) -> u64) -> u64 {
        self.summaries.iter().map(|workload| count(workload)).sum()
    }
}

/// Compares the workloads that both sides ran in a cell.
pub(super) fn cell<'a>(baseline: Side<'a>, candidate: Side<'a>) -> CellComparison {
    let mut names: Vec<&str> = Vec::new();
    for (_, Summary { workloads, .. }) in &baseline.1.runs {
        for workload in workloads {
            if !names.contains(&workload.name.as_str()) {
                names.push(&workload.name);
            }
        }
    }
    let mut levels = baseline.1.levels.clone();
    levels.extend(
        candidate
            .1
            .levels
            .iter()
            .map(|(factor, level)| (factor.clone(), level.clone())),
    );
    CellComparison {
        levels,
        workloads: names
            .iter()
            .filter_map(|name| workload(name, baseline, candidate))
            .collect(),
    }
}

fn workload<'a>(name: &str, baseline: Side<'a>, candidate: Side<'a>) -> Option<WorkloadComparison> {
    let (base, other) = (Runs::of(baseline, name), Runs::of(candidate, name));
    let (baseline_pacing, candidate_pacing) = (base.pacing()?, other.pacing()?);
    let mut notes = Vec::new();
    let loops = |pacing: Pacing| (pacing.is_open(), pacing.is_closed());
    let alike = loops(baseline_pacing) == loops(candidate_pacing);
    // What was asked for is no merit of the system's.
    let asked_alike = !baseline_pacing.is_open() || baseline_pacing == candidate_pacing;
    let measures = if alike {
        if !asked_alike {
            notes.push(
                "TPS is not compared: it follows the requested rate, and that differs. Latency is compared as it \
                 is, at different rates."
                    .to_owned(),
            );
        }
        let mut of_times = base.tps_of_times().chain(other.tps_of_times());
        let first = of_times.next();
        let rates_alike = of_times.all(|of_times| Some(of_times) == first);
        if !rates_alike {
            notes.push(
                "TPS is not compared: where nothing was finished in the time measured, it is the sum of the inverses \
                 of the transactions' times, and elsewhere what was finished over the time. Compare the latencies."
                    .to_owned(),
            );
        }
        let measures = Measure::ALL.into_iter().chain([Measure::Time]);
        let measures = measures.filter(|measure| asked_alike || !matches!(measure, Measure::Tps | Measure::Time));
        let measures = measures.filter(|measure| rates_alike || *measure != Measure::Tps);
        measures
            .filter_map(|measure| compare(measure, name, &base, &other))
            .collect()
    } else {
        notes.push(
            "Not compared: one side is a closed loop, whose TPS is what the system can do and whose latency leaves \
             out the \
             wait of users who arrive in the meantime; the other is an open loop, whose TPS is the requested rate \
             and whose \
             latency includes that wait."
                .to_owned(),
        );
        Vec::new()
    };
    let staged = |cell: &Cell<'_>| cell.runs.iter().any(|(_, summary)| !summary.stages.is_empty());
    if !measures.is_empty() && (staged(baseline.1) || staged(candidate.1)) {
        notes.push(
            "The load has stages: TPS and percentiles are over all of them, and describe none in particular. Compare \
             stages by their rows in dyno export."
                .to_owned(),
        );
    }
    for (side, runs, beside) in [("baseline", &base, &other), ("other", &other, &base)] {
        notes.extend(longer_than(side, runs, beside));
        notes.extend(failures(side, runs));
    }
    Some(WorkloadComparison {
        name: name.to_owned(),
        baseline_runs: base.names(),
        candidate_runs: other.names(),
        baseline_pacing,
        candidate_pacing,
        baseline_longer_than_s: base.longer_than_s(),
        candidate_longer_than_s: other.longer_than_s(),
        measures,
        notes,
    })
}

fn compare(measure: Measure, name: &str, baseline: &Runs<'_>, candidate: &Runs<'_>) -> Option<MeasureComparison> {
    let (base, other) = (baseline.values(measure), candidate.values(measure));
    let judged = judge(&other, &base)?;
    let between_runs = judged.interval.map(|interval| Interval {
        low: interval.low,
        high: interval.high,
        within_a_run: false,
    });
    let interval = between_runs.or_else(
        || match (measure, baseline.runs.as_slice(), candidate.runs.as_slice()) {
            (Measure::Tps, [one], [another]) => within(name, one, another),
            _ => None,
        },
    );
    Some(MeasureComparison {
        measure,
        baseline: over_runs(&base)?,
        candidate: over_runs(&other)?,
        baseline_values: base,
        candidate_values: other,
        ratio: judged.ratio,
        interval,
        p_value: judged.p_value,
        // Of those that were not waited for nobody knows the rank.
        verdict: match baseline.longer_than_s().or(candidate.longer_than_s()) {
            Some(_) => Verdict::CannotTellYet { more_runs: None },
            None => measure.verdict(judged.outcome),
        },
    })
}

/// The interval of the ratio of TPS between two runs by the means of batches of each.
fn within(workload: &str, baseline: &Run, candidate: &Run) -> Option<Interval> {
    let interval = ratio_of_means(
        &batches(workload, candidate)?,
        &batches(workload, baseline)?,
        CONFIDENCE,
    )?;
    Some(Interval {
        low: interval.low,
        high: interval.high,
        within_a_run: true,
    })
}

fn batches(workload: &str, run: &Run) -> Option<Vec<f64>> {
    let interval_s = run.record.as_ref().map_or(0.0, |record: &RunRecord| record.interval_s);
    let rows = run.intervals().ok()?;
    let rows =
        rows.filter(|row| row.workload == workload && row.phase != WARMUP && is_complete(row.interval_s, interval_s));
    let tps: Vec<f64> = rows.map(|row| row.tps).collect();
    Some(batch_means(&tps, tps.len() / BATCHES)).filter(|means| means.len() >= FEWEST_BATCHES)
}

/// What is known of a side that was not waited for to the end: how long it takes at least, also as a ratio to the
/// median `beside` it.
fn longer_than(side: &str, runs: &Runs<'_>, beside: &Runs<'_>) -> Option<String> {
    let longer_than_s = runs.longer_than_s()?;
    let ratio = over_runs(&beside.values(Measure::P50)).map(|median_us| longer_than_s * 1e6 / median_us);
    let ratio = ratio
        .filter(|ratio| ratio.is_finite())
        .map_or_else(String::new, |ratio| {
            format!(
                ": at least {} times the median of what it is compared with",
                decimal(ratio, 1)
            )
        });
    Some(format!(
        "What the {side} executed was unfinished after {} s{ratio}.",
        decimal(longer_than_s, 1)
    ))
}

/// What a side did not complete.
fn failures(side: &str, runs: &Runs<'_>) -> Vec<String> {
    let (errors, done) = (
        runs.sum(|workload| workload.errors),
        runs.sum(|workload| workload.transactions),
    );
    let skipped = runs.sum(|workload| workload.skipped);
    let mut notes = Vec::new();
    if done == 0 {
        notes.push(format!("The {side} completed no transaction."));
    }
    if errors > 0 {
        let share = 100.0 * errors as f64 / (errors + done) as f64;
        notes.push(format!(
            "{} of the transactions of the {side} failed ({}); they count neither in TPS nor in latency.",
            percent(share),
            count(errors)
        ));
    }
    if skipped > 0 {
        notes.push(format!(
            "{} of the {side} {} skipped because of the latency limit and have no latency.",
            counted(skipped, "transaction"),
            if skipped == 1 { "was" } else { "were" }
        ));
    }
    notes
}
