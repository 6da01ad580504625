//! Percentiles of one workload under one load. Those of several workloads, or of stages whose loads differ, are never
//! put together.

use crate::figures::{ms, time};
use dyno_archive::Run;
use dyno_archive::summary::{Latency, StageSummary, StageWorkload, Summary, WorkloadSummary};

/// What is said of a whole among its stages, none of which can have that name.
pub(crate) const ALL_STAGES: &str = "all stages";

/// Percentiles of the latency under one load, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percentiles {
    pub p50_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
    /// Of the ends of a distribution stages keep nothing.
    pub p99_9_us: Option<f64>,
    pub max_us: Option<f64>,
}

impl From<Latency> for Percentiles {
    fn from(latency: Latency) -> Self {
        Self {
            p50_us: latency.p50_us,
            p95_us: latency.p95_us,
            p99_us: latency.p99_us,
            p99_9_us: Some(latency.p99_9_us),
            max_us: Some(latency.max_us),
        }
    }
}

impl Percentiles {
    /// Those of a stage; `None` if no transaction completed in it.
    pub fn of_stage(stage: &StageWorkload) -> Option<Self> {
        Some(Self {
            p50_us: stage.p50_us?,
            p95_us: stage.p95_us?,
            p99_us: stage.p99_us?,
            p99_9_us: None,
            max_us: None,
        })
    }
}

/// Of several workloads each with its name, in one line: `update 1.812 ms, ingest 40 ms`; `None` if no transaction
/// completed.
pub(crate) fn p99_words(summary: &Summary) -> Option<String> {
    let latencies = summary.workloads.iter().filter_map(|workload| {
        let p99 = one_percentile(summary, workload, |percentiles| percentiles.p99_us)?;
        Some(match summary.workloads.len() {
            1 => p99,
            _ => format!("{} {p99}", workload.name),
        })
    });
    Some(latencies.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

/// The p50 and the p99 of a workload: `p50 0.6 ms, p99 1.812 ms`; `None` if no transaction completed.
pub(crate) fn percentile_words(summary: &Summary, workload: &WorkloadSummary) -> Option<String> {
    let p50 = one_percentile(summary, workload, |percentiles| percentiles.p50_us)?;
    let p99 = one_percentile(summary, workload, |percentiles| percentiles.p99_us)?;
    Some(format!("p50 {p50}, p99 {p99}"))
}

/// A percentile of `workload`, which is one of the `summary`.
fn one_percentile(summary: &Summary, workload: &WorkloadSummary, of: fn(&Percentiles) -> f64) -> Option<String> {
    let whole = summary.latency_of(workload).map(Percentiles::from);
    let stages = stages_of(summary, &workload.name).filter_map(|(_, stage)| Percentiles::of_stage(stage));
    in_one(whole.map(|whole| of(&whole)), stages.map(|stage| of(&stage)))
}

/// What the workload `name` did in each stage, if there are several.
pub(crate) fn stages_of<'a>(
    summary: &'a Summary,
    name: &str,
) -> impl Iterator<Item = (&'a StageSummary, &'a StageWorkload)> {
    let stages = summary.stages.iter();
    stages.filter_map(move |stage| Some((stage, stage.workloads.iter().find(|workload| workload.name == name)?)))
}

/// A percentile of all of the time, or from the least to the greatest of the stages: `1.812 to 40 ms by stage`.
pub(super) fn in_one(whole_us: Option<f64>, stages_us: impl Iterator<Item = f64>) -> Option<String> {
    let stages_us: Vec<f64> = stages_us.collect();
    let least_us = stages_us.iter().copied().min_by(f64::total_cmp);
    let greatest_us = stages_us.iter().copied().max_by(f64::total_cmp);
    let by_stage = least_us
        .zip(greatest_us)
        .map(|(least_us, greatest_us)| match ms(least_us) {
            least if least == ms(greatest_us) => format!("{least} ms in each stage"),
            least => format!("{least} to {} by stage", time(greatest_us)),
        });
    whole_us.map(time).or(by_stage)
}

/// Whether `workload` was active in `stage` of a run; in an archive that does not say so, it was.
pub(crate) fn takes_part(run: &Run, workload: &WorkloadSummary, stage: &StageSummary) -> bool {
    let facts = run.record.as_ref().ok().and_then(|record| {
        let mut facts = record.workloads.iter();
        facts.find(|facts| facts.name == workload.name)
    });
    facts.is_none_or(|facts| facts.takes_part(&stage.name))
}
