//! Campaigns as people see them.

use super::{campaign as text, overview};
use crate::fixture::{scripts, two_workloads, update};
use crate::table::Page;
use dyno_archive::analysis::{Analysis, Cause, Dip, Steady};
use dyno_archive::plan::{PlannedRun, Size};
use dyno_archive::summary::{StageSummary, StageWorkload, Summary, Total, WorkloadFacts};
use dyno_archive::{Archive, Campaign, CampaignRecord, CampaignWriter, RunRecord, RunState};
use dyno_lab::experiment::Experiment;
use insta::assert_snapshot;
use std::path::Path;

/// What becomes of a run.
pub(crate) enum Fate {
    /// It is complete, with this TPS.
    Complete(f64),
    /// It is complete, with these figures.
    Found(Box<Summary>),
    Incomplete,
    Failed(&'static str),
    NotMade,
}

/// Plans an experiment with this end of its file, gives each run its fate, and reads the campaign back.
pub(crate) fn campaign(archive: &Path, end: &str, fate: impl Fn(&PlannedRun) -> Fate) -> Campaign {
    let file = format!(
        "title = \"Updates\"\n[parameters]\nrows = 10\n[[workload]]\nname = \"update\"\nclients = 8\n\
         script = \"select :rows;\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"20s\"\n{end}"
    );
    let experiment = Experiment::parse(Path::new("updates.toml"), &file).unwrap();
    let plan = experiment.plan(Size::Full, &[], None, 7, 2).unwrap();
    let started = "2026-11-21T19:40:12+00:00[UTC]".parse().unwrap();
    let record = CampaignRecord::of(&plan, "dyno run updates.toml".to_owned(), started).unwrap();
    let writer = CampaignWriter::create(archive, &record).unwrap();
    for planned in &plan.runs {
        let resolved = &plan.cells[0].experiment;
        let facts = WorkloadFacts::new(&resolved.workloads[0], vec!["select :rows;".to_owned()]);
        let mut record = RunRecord::new(
            "embedded".to_owned(),
            "dyno run updates.toml".to_owned(),
            vec![facts],
            &resolved.phases(),
            resolved.interval,
        );
        (record.number, record.cell, record.repetition) = (planned.number, planned.cell.clone(), planned.repetition);
        record.server = serde_json::json!({ "version": "PostgreSQL 18.6", "settings": [] });
        match fate(planned) {
            Fate::Complete(tps) => {
                let run = writer.run(planned, record).unwrap();
                run.finish(RunState::Complete, with_tps(tps)).unwrap();
            }
            Fate::Found(summary) => {
                writer
                    .run(planned, record)
                    .unwrap()
                    .finish(RunState::Complete, *summary)
                    .unwrap();
            }
            Fate::Incomplete => {
                record.failure = Some("the server closed all connections".to_owned());
                let run = writer.run(planned, record).unwrap();
                run.finish(RunState::Incomplete, with_tps(1.0)).unwrap();
            }
            Fate::Failed(why) => {
                (record.state, record.failure) = (RunState::Failed, Some(why.to_owned()));
                writer.failed(planned, &record).unwrap();
            }
            Fate::NotMade => {}
        }
    }
    let path = writer.path().display().to_string();
    drop(writer);
    Archive::new(archive).campaign(&path).unwrap()
}

/// What is said when a campaign has ended, and everything.
fn shown(campaign: &Campaign) -> String {
    let [ended, all] = [
        overview(campaign, Page::default()),
        text(campaign, true, Page::default()),
    ];
    assert_narrow(&ended);
    assert_narrow(&all);
    format!("{ended}\n==== all\n\n{all}")
}

/// Nothing is wider than a terminal of the usual size.
pub(super) fn assert_narrow(text: &str) {
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

fn with_tps(tps: f64) -> Summary {
    let mut summary = update();
    summary.workloads[0].tps = tps;
    summary.metrics.insert("rows/s".to_owned(), 10.0 * tps);
    summary
}

#[test]
fn one_factor_with_its_knee_and_the_ratio_to_the_baseline() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 4, 16, 64]\n[plan]\norder = \"listed\"\nbaseline = { clients = 4 }\n";
    let campaign = campaign(archive.path(), end, |run| {
        Fate::Complete([1_000.0, 3_600.0, 9_900.0, 10_000.0][run.number - 1])
    });
    assert_snapshot!(shown(&campaign));
}

#[test]
fn two_factors_with_runs_that_do_not_count() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 8]\nfull_page_writes = [\"on\", \"off\"]\n[plan]\norder = \"listed\"\n";
    let campaign = campaign(archive.path(), end, |run| match run.number {
        1 => Fate::Complete(1_000.0),
        2 => Fate::Failed("the server did not start"),
        3 => Fate::Incomplete,
        _ => Fate::NotMade,
    });
    assert_snapshot!(shown(&campaign));
}

#[test]
fn a_run_with_all_that_there_can_be_to_say() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 8]\n[plan]\norder = \"listed\"\n";
    let campaign = campaign(archive.path(), end, |_| Fate::NotMade);
    let record = campaign.record.as_ref().unwrap();
    let writer = CampaignWriter::resume(campaign.path.clone()).unwrap();
    let planned = &record.runs[1];
    let facts = |name: &str| WorkloadFacts {
        name: name.to_owned(),
        ..WorkloadFacts::new(&record.experiment.workloads[0], Vec::new())
    };
    let mut run = RunRecord::new(
        "embedded".to_owned(),
        String::new(),
        vec![facts("update"), facts("ingest")],
        &record.experiment.phases(),
        record.experiment.interval,
    );
    (run.number, run.cell) = (planned.number, planned.cell.clone());
    let mut summary = two_workloads();
    summary.total = Some(Total {
        transactions: 266_788,
        tps: 13_339.4,
        statements_per_s: 15_327.0,
        errors: 124,
    });
    let stage = |name: &str, start_s: f64| StageSummary {
        name: name.to_owned(),
        start_s,
        end_s: start_s + 10.0,
        workloads: vec![
            StageWorkload {
                name: "update".to_owned(),
                tps: 12_345.6,
                p50_us: Some(612.3),
                p95_us: Some(1_034.5),
                p99_us: Some(1_812.4),
                ..StageWorkload::default()
            },
            StageWorkload {
                name: "ingest".to_owned(),
                ..StageWorkload::default()
            },
        ],
    };
    summary.stages = vec![stage("calm", 0.0), stage("storm", 10.0)];
    let mut kept = writer
        .run(planned, run)
        .unwrap()
        .finish(RunState::Complete, summary)
        .unwrap();
    kept.analysed(Analysis {
        steady: Steady {
            found: true,
            from_s: Some(2.0),
            reason: "no trend and no change of level".to_owned(),
        },
        dips: vec![Dip {
            workload: None,
            start_s: 12.0,
            end_s: 14.0,
            depth_percent: 80.0,
            cause: Cause::Checkpoint,
            evidence: vec!["a checkpoint wrote 800 MB meanwhile".to_owned()],
        }],
        ..Analysis::default()
    })
    .unwrap();
    let text = super::run(&campaign, &kept, Page::default()).replace(&archive.path().display().to_string(), "archive");
    assert_snapshot!(text);
}

#[test]
fn four_runs_of_a_mix_are_a_screenful() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 4]\n[plan]\nrepetitions = 2\norder = \"listed\"\nbaseline = { clients = 1 }\n";
    let campaign = campaign(archive.path(), end, |run| {
        let mut summary = scripts();
        summary.workloads[0].tps *= run.number as f64;
        Fate::Found(Box::new(summary))
    });
    let screen = text(&campaign, false, Page::default());
    assert_narrow(&screen);
    assert!(screen.lines().count() <= 40, "{screen}");
    assert_snapshot!(screen);
}
