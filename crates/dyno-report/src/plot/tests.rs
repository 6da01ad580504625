//! Charts as people see them.

use super::*;
use crate::fixture::update;
use crate::terminal::campaign_tests::{self as campaigns, Fate};
use dyno_archive::plan::{PlannedRun, Size};
use dyno_archive::summary::WorkloadFacts;
use dyno_archive::{CampaignRecord, CampaignWriter, EventKind, EventRecord, RunRecord, RunState};
use dyno_lab::experiment::find;
use dyno_record::{Checkpoint, Interval, Recording};
use insta::assert_snapshot;
use std::path::Path;
use std::time::Duration;

const SCREEN: Screen = Screen {
    width: 80,
    unicode: true,
};

fn fits(text: &str, screen: Screen) {
    // The words beneath are as wide as all text.
    let charts = text.lines().take_while(|line| !line.starts_with("update: "));
    for line in charts {
        assert!(
            line.chars().count() <= screen.width && line.trim_end() == line,
            "{line:?}"
        );
        assert!(screen.unicode || line.is_ascii(), "{line:?}");
    }
}

/// A run of pk-update with so many transactions in each second, the first ten of them warm-up.
fn recorded(archive: &Path, seconds: u64, transactions: impl Fn(u64) -> u64) -> Run {
    let plan = find("pk-update").unwrap().plan(Size::Small, &[], None, 1, 2).unwrap();
    let experiment = plan.cells[0].experiment.clone();
    let facts = WorkloadFacts::new(&experiment.workloads[0], vec!["select 1;".to_owned()]);
    let record = RunRecord::new(
        String::new(),
        String::new(),
        vec![facts],
        &experiment.phases(),
        Duration::from_secs(1),
    );
    let plan = PlannedRun::repetition(1);
    let started = "2026-11-21T19:40:12+00:00[UTC]".parse().unwrap();
    let campaign = CampaignRecord::new(experiment, String::new(), started, 1, vec![plan.clone()]);
    let campaign = CampaignWriter::create(archive, &campaign).unwrap();
    let mut run = campaign.run(&plan, record).unwrap();
    run.begin().unwrap();
    for second in 0..seconds {
        let mut recording = Recording::new(1);
        recording.transactions = transactions(second);
        let interval = Interval {
            phase: usize::from(second >= 10),
            start: Duration::from_secs(second),
            duration: Duration::from_secs(1),
            first_thread_whole: true,
            recordings: vec![recording],
        };
        run.interval(&interval).unwrap();
    }
    let checkpoint = Checkpoint {
        start_s: 60.0,
        end_s: Some(87.0),
        ..Checkpoint::default()
    };
    run.event(&EventRecord {
        at_s: 87.0,
        kind: EventKind::Checkpoint(checkpoint),
    })
    .unwrap();
    run.finish(RunState::Complete, update()).unwrap()
}

#[test]
fn a_run_with_a_dip_and_a_checkpoint() {
    let archive = tempfile::tempdir().unwrap();
    let made = recorded(archive.path(), 150, |second| match second {
        0..10 => 4_000 + 600 * second,
        61..64 => 1_500,
        second => 10_000 + 150 * (second % 7),
    });
    let text = run(&made, SCREEN).unwrap();
    fits(&text, SCREEN);
    assert_snapshot!("a_run_with_a_dip_and_a_checkpoint", text);
    let ascii = Screen {
        width: 60,
        unicode: false,
    };
    let text = run(&made, ascii).unwrap();
    fits(&text, ascii);
    assert_snapshot!("a_run_in_ascii", text);
}

#[test]
fn a_dip_of_one_second_in_eight_hours_is_seen() {
    let archive = tempfile::tempdir().unwrap();
    let made = recorded(
        archive.path(),
        28_800,
        |second| if second == 7_200 { 0 } else { 10_000 },
    );
    let text = run(&made, SCREEN).unwrap();
    fits(&text, SCREEN);
    // What stands above the axis, where zero is the lowest row: a blank but for the dip, a quarter of the way along.
    let lowest = text.lines().find(|line| line.starts_with("          0 ")).unwrap();
    let (_, lowest) = lowest.split_once('┤').unwrap();
    let at: Vec<usize> = lowest
        .chars()
        .enumerate()
        .filter(|(_, drawn)| *drawn != ' ')
        .map(|(at, _)| at)
        .collect();
    assert!(matches!(at[..], [16 | 17]), "{text}");
}

#[test]
fn a_sweep_with_a_line_per_level_of_the_other_factor() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 4, 16, 64]\nfull_page_writes = [\"on\", \"off\"]\n[plan]\norder = \"listed\"\n";
    let campaign = campaigns::campaign(archive.path(), end, |planned| {
        let clients: f64 = planned.cell["clients"].parse().unwrap();
        let most = if planned.cell["full_page_writes"] == "on" {
            9_000.0
        } else {
            12_000.0
        };
        let mut summary = update();
        summary.workloads[0].tps = f64::min(1_000.0 * clients, most);
        if let Some(latency) = &mut summary.workloads[0].latency {
            latency.p99_us *= clients;
        }
        Fate::Found(Box::new(summary))
    });
    let text = super::campaign(&campaign, SCREEN).unwrap();
    fits(&text, SCREEN);
    assert_snapshot!(text);
}

#[test]
fn what_cannot_be_drawn_says_why() {
    let archive = tempfile::tempdir().unwrap();
    let made = recorded(archive.path(), 0, |_| 0);
    assert!(
        run(&made, SCREEN)
            .unwrap_err()
            .ends_with("001-rep1 has no complete interval")
    );
    let end = "[factors]\nfull_page_writes = [\"on\", \"off\"]\n";
    let campaign = campaigns::campaign(archive.path(), end, |_| Fate::Found(Box::new(update())));
    let why = super::campaign(&campaign, SCREEN).unwrap_err();
    assert!(why.contains("has numbers as levels"), "{why}");
    let end = "[factors]\nclients = [1, 4]\n";
    let campaign = campaigns::campaign(archive.path(), end, |_| Fate::Failed("the server did not start"));
    assert!(
        super::campaign(&campaign, SCREEN)
            .unwrap_err()
            .ends_with("has no complete run")
    );
}
