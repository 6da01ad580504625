//! What a campaign found, as one JSON document for programs: the answer first, then the figures of each cell.
//! `docs/formats.md` describes it.

use crate::campaign::cells::{Cell, Levels, OfScript, OfStage, OfWorkload, cells};
use crate::campaign::ratio::{has_ratios, ratio_of};
use crate::document::model::{Caution, Detail, Gravity};
use crate::document::of_campaign;
use crate::terminal::in_words;
use dyno_analysis::summary::over_runs;
use dyno_archive::plan::Size;
use dyno_archive::summary::Latency;
use dyno_archive::{Campaign, RunState};
use indexmap::IndexMap;
use jiff::Zoned;
use serde::Serialize;
use std::path::Path;

/// What was found, in all.
#[derive(Serialize)]
struct Found<'a> {
    /// What it answers, or where it compares nothing its results, in sentences.
    answer: String,
    campaign: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    archive: &'a Path,
    /// `null` if it could not be written.
    report: Option<&'a Path>,
    experiment: Option<&'a str>,
    size: Option<Size>,
    target: Option<&'a str>,
    started: Option<&'a Zoned>,
    complete_runs: usize,
    /// Those that do not count.
    other_runs: usize,
    cells: Vec<FoundCell<'a>>,
    cautions: Vec<FoundCaution>,
}

#[derive(Serialize)]
struct FoundCell<'a> {
    levels: &'a Levels,
    runs: usize,
    /// Of all workloads together, where that is a figure.
    tps: Option<f64>,
    tps_of_runs: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    longer_than_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to_baseline: Option<FoundRatio>,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    metrics: IndexMap<&'a str, Option<f64>>,
    workloads: Vec<FoundWorkload<'a>>,
}

#[derive(Serialize)]
struct FoundRatio {
    tps_ratio: f64,
    /// The ends of the interval at 95 %; `null` of too few runs.
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Serialize)]
struct FoundWorkload<'a> {
    name: &'a str,
    tps: Option<f64>,
    tps_of_runs: &'a [f64],
    /// `null` if nothing completed, or of several stages.
    latency: Option<Latency>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<FoundStage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scripts: Vec<FoundScript<'a>>,
}

#[derive(Serialize)]
struct FoundStage<'a> {
    name: &'a str,
    tps: Option<f64>,
    p50_us: Option<f64>,
    p95_us: Option<f64>,
    p99_us: Option<f64>,
}

#[derive(Serialize)]
struct FoundScript<'a> {
    name: &'a str,
    weight: u64,
    tps: Option<f64>,
    latency_mean_us: Option<f64>,
    response_p90_us: Option<f64>,
}

#[derive(Serialize)]
struct FoundCaution {
    subject: String,
    text: String,
    gravity: Gravity,
}

/// What `campaign` found, with the path of its `report`.
///
/// # Errors
///
/// None but for mistakes of the program.
pub fn campaign_json(campaign: &Campaign, report: Option<&Path>) -> serde_json::Result<String> {
    let document = of_campaign(campaign, Detail::Brief);
    let sentences = || document.headlines.iter().map(in_words).collect::<Vec<_>>().join(" ");
    let answer = document.answer.clone().unwrap_or_else(sentences);
    let record = campaign.record.as_ref().ok();
    let cells = cells(&[campaign]);
    let complete = campaign.runs.iter().filter(|run| run.state == RunState::Complete);
    let complete_runs = complete.count();
    let baseline = record.map(|record| record.baseline.clone()).unwrap_or_default();
    let cautions = document.warnings.into_iter();
    let found = Found {
        answer,
        campaign: campaign.name(),
        label: campaign.label(),
        archive: &campaign.path,
        report,
        experiment: record.map(|record| record.experiment.name.as_str()),
        size: record.and_then(|record| record.experiment.size),
        target: record.map(|record| record.target.as_str()),
        started: record.map(|record| &record.started),
        complete_runs,
        other_runs: campaign.runs.len() - complete_runs,
        cells: cells.iter().map(|cell| found_cell(&cells, &baseline, cell)).collect(),
        cautions: cautions.map(FoundCaution::from).collect(),
    };
    serde_json::to_string_pretty(&found)
}

impl From<Caution> for FoundCaution {
    fn from(caution: Caution) -> Self {
        Self {
            subject: caution.subject,
            text: caution.text,
            gravity: caution.gravity,
        }
    }
}

fn found_cell<'a>(cells: &'a [Cell], baseline: &Levels, cell: &'a Cell) -> FoundCell<'a> {
    let ratio = Some(cell).filter(|_| has_ratios(cells, baseline));
    let ratio = ratio.and_then(|cell| ratio_of(cells, baseline, cell));
    FoundCell {
        levels: &cell.levels,
        runs: cell.runs,
        tps: cell.mean_tps(),
        tps_of_runs: &cell.tps,
        longer_than_s: cell.longer_than_s,
        ratio_to_baseline: ratio.filter(|ratio| !ratio.is_baseline).map(|ratio| FoundRatio {
            tps_ratio: ratio.value,
            low: ratio.interval.map(|(low, _)| low),
            high: ratio.interval.map(|(_, high)| high),
        }),
        metrics: cell
            .metrics
            .iter()
            .map(|(name, runs)| (name.as_str(), over_runs(runs)))
            .collect(),
        workloads: cell
            .workloads
            .iter()
            .map(|(name, workload)| found_workload(name, workload))
            .collect(),
    }
}

fn found_workload<'a>(name: &'a str, workload: &'a OfWorkload) -> FoundWorkload<'a> {
    let stage = |(name, stage): (&'a String, &'a OfStage)| {
        let latency = stage.latency();
        FoundStage {
            name,
            tps: over_runs(&stage.tps),
            p50_us: latency.map(|latency| latency.p50_us),
            p95_us: latency.map(|latency| latency.p95_us),
            p99_us: latency.map(|latency| latency.p99_us),
        }
    };
    let script = |(name, script): (&'a String, &'a OfScript)| FoundScript {
        name,
        weight: script.weight,
        tps: over_runs(&script.tps),
        latency_mean_us: over_runs(&script.latency_mean_us),
        response_p90_us: over_runs(&script.response_p90_us),
    };
    FoundWorkload {
        name,
        tps: over_runs(&workload.tps),
        tps_of_runs: &workload.tps,
        latency: workload.latency(),
        stages: workload.stages.iter().map(stage).collect(),
        scripts: workload.scripts.iter().map(script).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::campaign_tests::{Fate, campaign};
    use serde_json::{Value, json};

    #[test]
    fn the_answer_is_first_and_every_cell_has_its_figures() {
        let archive = tempfile::tempdir().unwrap();
        let end = "[factors]\nclients = [1, 4]\n[plan]\norder = \"listed\"\nbaseline = { clients = 1 }\n";
        let campaign = campaign(archive.path(), end, |run| match run.number {
            1 => Fate::Complete(1_000.0),
            _ => Fate::Complete(3_000.0),
        });
        let text = campaign_json(&campaign, Some(Path::new("archive/x/report.html"))).unwrap();
        assert!(
            text.starts_with("{\n  \"answer\": \"clients = 4 beside clients = 1"),
            "{text}"
        );
        let found: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(found["report"], "archive/x/report.html");
        assert_eq!((&found["complete_runs"], &found["other_runs"]), (&json!(2), &json!(0)));
        let cell = &found["cells"][1];
        assert_eq!(cell["levels"], json!({ "clients": "4" }));
        assert_eq!(
            (&cell["tps"], &cell["tps_of_runs"]),
            (&json!(3_000.0), &json!([3_000.0]))
        );
        assert_eq!(
            cell["ratio_to_baseline"],
            json!({ "tps_ratio": 3.0, "low": null, "high": null })
        );
        assert_eq!(found["cells"][0]["ratio_to_baseline"], Value::Null);
        assert_eq!(cell["metrics"], json!({ "rows/s": 30_000.0 }));
        assert_eq!(cell["workloads"][0]["latency"]["p99_us"], 1_812.4);
        assert_eq!(found["cautions"][0]["gravity"], "uncertain");
    }
}
