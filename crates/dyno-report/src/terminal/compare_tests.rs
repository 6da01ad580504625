//! Comparisons as people see them.

use super::campaign_tests::{Fate, assert_narrow, campaign};
use super::comparison;
use crate::answer::answer_of_comparison;
use crate::compare::losses;
use crate::fixture::{two_workloads, update};
use crate::table::Page;
use crate::{Checks, Limits};
use dyno_analysis::comparison::compare;
use dyno_archive::Campaign;
use dyno_archive::plan::PlannedRun;
use dyno_archive::summary::{Pacing, Summary};
use insta::assert_snapshot;
use std::path::Path;

/// A run with this TPS and p99; no two runs are quite alike.
fn measured(run: &PlannedRun, tps: f64, p99_us: f64) -> Summary {
    let mut summary = update();
    let workload = &mut summary.workloads[0];
    let side = if run.repetition.is_multiple_of(2) { 1.0 } else { -1.0 };
    let off = 1.0 + 0.002 * run.repetition as f64 * side;
    workload.tps = tps * off;
    if let Some(latency) = &mut workload.latency {
        (latency.p50_us, latency.p95_us) = (latency.p50_us / off, latency.p95_us * (2.0 - off));
        latency.p99_us = p99_us / off;
    }
    summary
}

fn repeated(archive: &Path, times: usize, end: &str, tps: f64, p99_us: f64) -> Campaign {
    let end = format!("{end}[plan]\nrepetitions = {times}\norder = \"listed\"\n");
    campaign(archive, &end, |run| Fate::Found(Box::new(measured(run, tps, p99_us))))
}

fn text(baseline: &Campaign, candidate: &Campaign) -> String {
    let text = comparison(baseline, candidate, &compare(baseline, candidate), Page::default());
    assert_narrow(&text);
    text
}

#[test]
fn better_in_one_respect_and_worse_in_another() {
    let archive = tempfile::tempdir().unwrap();
    let baseline = repeated(archive.path(), 5, "", 12_000.0, 1_800.0);
    let mut candidate = repeated(archive.path(), 5, "", 13_200.0, 2_100.0);
    for record in candidate.runs.iter_mut().flat_map(|run| &mut run.record) {
        let settings = serde_json::json!([{ "name": "work_mem", "value": "64MB" }]);
        record.server = serde_json::json!({ "version": "PostgreSQL 18.7", "settings": settings });
    }
    let compared = compare(&baseline, &candidate);
    assert_snapshot!(text(&baseline, &candidate));
    assert_eq!(losses(&compared, 0.2), None);
    assert_snapshot!(losses(&compared, 0.05).unwrap(), @"p99 of update is 16.7 % higher");
}

#[test]
fn what_is_not_finished_any_more_is_a_loss_whatever_else_was_measured() {
    let archive = tempfile::tempdir().unwrap();
    let baseline = repeated(archive.path(), 5, "", 12_000.0, 1_800.0);
    let unfinished = |from: usize| {
        let end = "[plan]\nrepetitions = 5\norder = \"listed\"\n";
        campaign(archive.path(), end, |run| {
            let mut summary = measured(run, 24_000.0, 900.0);
            if run.repetition >= from {
                let workload = &mut summary.workloads[0];
                (workload.transactions, workload.tps, workload.latency) = (0, 0.0, None);
                workload.completion.longer_than_s = Some(60.0);
            }
            Fate::Found(Box::new(summary))
        })
    };
    for candidate in [unfinished(1), unfinished(5)] {
        let compared = compare(&baseline, &candidate);
        let lost = "update was unfinished after 60.0 s, and the baseline finished it";
        assert_eq!(losses(&compared, 0.5).as_deref(), Some(lost));
        let answer = answer_of_comparison(&compared);
        assert!(answer.ends_with(" had not finished it after 60.0 s."), "{answer}");
        assert!(text(&baseline, &candidate).contains("60.0 s"));
        let failed = |worse: Option<f64>| {
            let limits = Limits { worse, unsure: false };
            Checks::of_comparison(&compared, limits)
                .markdown()
                .matches("| failed |")
                .count()
        };
        assert_eq!((failed(Some(0.5)), failed(None)), (1, 0));
        // The other way round it is no loss.
        assert_eq!(losses(&compare(&candidate, &baseline), 0.0), None);
    }
}

#[test]
fn runs_that_are_too_few_to_tell() {
    let archive = tempfile::tempdir().unwrap();
    let baseline = repeated(archive.path(), 1, "", 12_000.0, 1_800.0);
    let candidate = repeated(archive.path(), 1, "", 13_200.0, 1_800.0);
    assert_snapshot!(text(&baseline, &candidate));
}

#[test]
fn cells_are_matched_by_their_levels() {
    let archive = tempfile::tempdir().unwrap();
    let baseline = repeated(archive.path(), 4, "[factors]\nclients = [1, 8]\n", 12_000.0, 1_800.0);
    let candidate = repeated(archive.path(), 4, "[factors]\nclients = [8, 64]\n", 11_000.0, 1_800.0);
    assert_snapshot!(text(&baseline, &candidate));
}

#[test]
fn what_failed_and_what_cannot_be_compared_is_said() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[plan]\nrepetitions = 2\norder = \"listed\"\n";
    let baseline = campaign(archive.path(), end, |_| Fate::Found(Box::new(two_workloads())));
    let candidate = campaign(archive.path(), end, |run| match run.repetition {
        1 => {
            let mut summary = two_workloads();
            summary.workloads[0].pacing = Pacing::Open { rate_per_s: 500.0 };
            Fate::Found(Box::new(summary))
        }
        _ => Fate::Failed("the server did not start"),
    });
    assert_snapshot!(text(&baseline, &candidate));
}

#[test]
fn percentiles_of_several_stages_are_called_so() {
    let archive = tempfile::tempdir().unwrap();
    let staged = || campaign(archive.path(), "", |_| Fate::Found(Box::new(crate::fixture::staged())));
    let said = text(&staged(), &staged());
    assert!(
        said.contains("The load has stages: TPS and percentiles are over all of them"),
        "{said}"
    );
}
