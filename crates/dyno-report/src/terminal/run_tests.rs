//! Runs as people see them.

use super::campaign as campaign_text;
use super::campaign_tests::{Fate, campaign};
use super::text;
use crate::document::model::Detail;
use crate::document::{of_campaign, of_finished};
use crate::fixture::{scripts, two_workloads, update, write_archive};
use crate::table::Page;
use dyno_archive::analysis::{Analysis, Cause, Dip, Steady};
use dyno_archive::plan::When;
use dyno_archive::summary::{Summary, Warning};
use dyno_archive::{Archive, CheckResult, OutputResult, write_output};
use insta::assert_snapshot;

/// What is shown of a run that has just ended.
fn shown(found: Summary, analysis: Option<Analysis>) -> String {
    let archive = tempfile::tempdir().unwrap();
    let campaign = campaign(archive.path(), "", |_| Fate::Found(Box::new(found.clone())));
    let document = of_finished(None, &campaign.runs[0], found.clone(), analysis);
    text(&document, Page::default())
}

#[test]
fn a_brief_document_is_a_full_one_without_its_details() {
    let archives = [(); 2].map(|()| tempfile::tempdir().unwrap());
    write_archive(archives[0].path());
    let end = "[factors]\nclients = [1, 4, 8]\n[plan]\nrepetitions = 2\norder = \"listed\"\n";
    campaign(archives[1].path(), end, |run| {
        Fate::Complete(1_000.0 * run.number as f64)
    });
    for archive in &archives {
        for campaign in Archive::new(archive.path()).campaigns().unwrap() {
            let [brief, full] = [Detail::Brief, Detail::Full].map(|detail| {
                let document = of_campaign(&campaign, detail);
                text(&document, Page::default())
            });
            assert_eq!(brief, full);
        }
    }
}

#[test]
fn a_run_that_is_alone_shows_what_it_was_asked_and_what_was_published() {
    let archive = tempfile::tempdir().unwrap();
    let published = "[[published]]\nmeasure = \"tps\"\nvalue = 8_765\n";
    let mut campaign = campaign(archive.path(), published, |_| Fate::Complete(1_000.0));
    let check = CheckResult {
        name: "all-rows".to_owned(),
        when: When::After,
        sql: "select 7".to_owned(),
        expected: "7".to_owned(),
        found: Some("7".to_owned()),
        passed: true,
        error: None,
    };
    let output = OutputResult {
        name: "largest".to_owned(),
        when: When::After,
        sql: "select 9".to_owned(),
        file: Some("output-largest.csv".to_owned()),
        rows: 1,
        error: None,
    };
    let run = &mut campaign.runs[0];
    let record = run.record.as_mut().unwrap();
    (record.checks, record.outputs) = (vec![check], vec![output]);
    write_output(
        &run.path,
        "output-largest.csv",
        &["nine".to_owned()],
        &[vec![Some("9".to_owned())]],
    )
    .unwrap();
    let [alone, among_others] = [Some(&campaign), None]
        .map(|campaign_alone| of_finished(campaign_alone, &campaign.runs[0], update(), None))
        .map(|document| text(&document, Page::default()));
    for words in ["all-rows", "largest, after the load", "nine", "8,765"] {
        assert!(
            alone.contains(words) && !among_others.contains(words),
            "no {words} in {alone}"
        );
    }
}

fn summary(found: &Summary) -> String {
    shown(found.clone(), None)
}

#[test]
fn a_complete_run() {
    assert_snapshot!(summary(&update()));
}

#[test]
fn two_workloads_errors_and_warnings() {
    assert_snapshot!(summary(&two_workloads()));
}

#[test]
fn several_scripts_with_retries_and_a_latency_limit() {
    assert_snapshot!(summary(&scripts()));
}

#[test]
fn a_run_without_a_single_transaction() {
    let mut nothing = update();
    let workload = &mut nothing.workloads[0];
    (
        workload.transactions,
        workload.statements,
        workload.tps,
        workload.statements_per_s,
    ) = (0, 0, 0.0, 0.0);
    (workload.steadiness, workload.latency) = (None, None);
    workload.statement_latencies[0].count = 0;
    workload.statement_latencies[0].latency = None;
    nothing.warnings = Warning::of(workload, 1.0);
    assert_snapshot!(summary(&nothing));
    assert!(!summary(&nothing).contains("own CPU"));
    nothing.workloads[0].errors = 3;
    assert!(summary(&nothing).contains("µs system per failed transaction"));
}

#[test]
fn nothing_is_wider_than_a_page() {
    let mut wide = two_workloads();
    for workload in &mut wide.workloads {
        workload.name = "a-workload-with-quite-a-long-name".to_owned();
        workload.statement_latencies[0].sql = "select something ".repeat(30);
        if let Some(latency) = &mut workload.latency {
            (latency.max_us, latency.p99_9_us) = (3.6e9, 3.6e9);
        }
    }
    let text = summary(&wide);
    let too_wide: Vec<_> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(too_wide.is_empty(), "{too_wide:#?}");
    assert!(text.lines().all(|line| line == line.trim_end()));
}

#[test]
fn foreign_text_stays_on_its_line() {
    let mut odd = two_workloads();
    odd.workloads[1].errors_by_state[0].example = "first\n\u{1b}[2Jsecond".to_owned();
    let text = summary(&odd);
    assert!(!text.contains('\u{1b}'));
    assert!(text.contains("first [2Jsecond"));
}

fn dip(start_s: f64, depth_percent: f64, cause: Cause, evidence: &[&str]) -> Dip {
    Dip {
        workload: None,
        start_s,
        end_s: start_s + 3.0,
        depth_percent,
        cause,
        evidence: evidence.iter().map(|words| (*words).to_owned()).collect(),
    }
}

#[test]
fn a_run_with_dips() {
    let lock = "8 sessions waited up to 3.0 s for a lock on tbl held by 4711 psql, idle in transaction";
    let found = Analysis {
        steady: Steady {
            found: true,
            from_s: Some(25.0),
            reason: "no trend and no change of level after the first 20 s, in which TPS was 51 % lower than later"
                .to_owned(),
        },
        dips: vec![
            dip(
                60.0,
                99.6,
                Cause::Lock,
                &[lock, "the host took 9 % of the CPU time away (steal), usually 1 %"],
            ),
            dip(660.0, 42.0, Cause::Unknown, &[]),
        ],
        dip_period_s: Some(600.0),
        findings: vec![
            "After each checkpoint WAL per transaction was 5.2 times what it was before the next.".to_owned(),
        ],
        ..Analysis::default()
    };
    assert_snapshot!(shown(update(), Some(found)));
}

#[test]
fn of_many_dips_the_deepest_are_shown() {
    let dips = (0..22)
        .map(|number| dip(f64::from(number) * 50.0, 20.0 + f64::from(number), Cause::Unknown, &[]))
        .collect();
    let found = Analysis {
        dips,
        ..Analysis::default()
    };
    let text = shown(update(), Some(found));
    assert!(
        text.contains("; run.json has the other 2 dips, which are no deeper"),
        "{text}"
    );
    let depths: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim_end().strip_suffix("  unknown")?.split_whitespace().last())
        .collect();
    assert_eq!((depths.len(), depths[0]), (20, "22.0"), "{text}");
}

#[test]
fn complete_failed_and_killed_runs() {
    let folder = tempfile::tempdir().unwrap();
    write_archive(folder.path());
    let campaigns = Archive::new(folder.path()).campaigns().unwrap();
    let text: Vec<_> = campaigns
        .iter()
        .map(|campaign| campaign_text(campaign, true, Page::default()))
        .collect();
    let text = text
        .join("\n----\n\n")
        .replace(&folder.path().display().to_string(), "archive");
    assert_snapshot!(text);
}

#[test]
fn a_run_of_which_nothing_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    write_archive(folder.path());
    let mut campaigns = Archive::new(folder.path()).campaigns().unwrap();
    let campaign = campaigns.remove(0);
    std::fs::write(campaign.path.join("campaign.json"), "{").unwrap();
    std::fs::write(campaign.runs[0].path.join("run.json"), "").unwrap();
    let campaign = Archive::new(folder.path()).campaigns().unwrap().remove(0);
    let text = campaign_text(&campaign, true, Page::default()).replace(&folder.path().display().to_string(), "archive");
    assert_snapshot!(text);
}
