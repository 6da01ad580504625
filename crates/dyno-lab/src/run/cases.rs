//! Every warning that is given while a run is made has a case in which it is given, and one in which it must not be
//! although it looks alike. Those that follow from the archive have theirs in dyno-analysis.

use super::{Progress, conclusion, settings};
use dyno_analysis::summary::SummaryBuilder;
use dyno_archive::plan::{PlannedRun, Resolved};
use dyno_archive::summary::{HostCpu, Pacing, Summary, Warning, WarningKind, WorkloadFacts};
use dyno_archive::{CampaignRecord, CampaignWriter, RunRecord, RunState};
use dyno_engine::{Ending, Outcome};
use dyno_target::target::{Description, Difference};
use std::path::Path;
use std::time::Duration;

/// What was warned of.
struct Case {
    /// Where there is reason to.
    given: Vec<Warning>,
    /// Where there is none.
    silent: Vec<Warning>,
}

#[test]
fn every_warning_is_given_with_reason_and_never_without() {
    for kind in WarningKind::WHILE_RUNNING {
        let Case { given, silent } = case(kind);
        let is = |warning: &&Warning| WarningKind::from(*warning) == kind;
        assert!(
            given.iter().any(|warning| is(&warning)),
            "{kind:?} was not given: {given:?}"
        );
        assert_eq!(silent.iter().find(is), None, "{kind:?} was given without reason");
    }
}

#[test]
fn what_is_said() {
    let said = WarningKind::WHILE_RUNNING.into_iter().filter_map(|kind| {
        let given = case(kind).given;
        let warning = given.iter().find(|warning| WarningKind::from(*warning) == kind)?;
        // The folder has another name each time.
        let said = warning.to_string();
        let words = said.split_inclusive(' ');
        let words = words.map(|word| if word.ends_with("run.json: ") { "FILE: " } else { word });
        Some(words.collect::<String>())
    });
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"));
}

fn case(kind: WarningKind) -> Case {
    match kind {
        WarningKind::EndedEarly => Case {
            given: concluded(Some(Ending::Stopped), 0),
            silent: concluded(None, 0),
        },
        WarningKind::Unfinished => Case {
            given: concluded(None, 2),
            // What a failure cut off had no time to finish.
            silent: concluded(Some(Ending::ConnectionsLost("terminating".to_owned())), 2),
        },
        WarningKind::LoadHostBusy => Case {
            given: host(5.0, 0.0, 0.0),
            // Waiting for storage leaves the CPU free.
            silent: host(5.0, 30.0, 0.0),
        },
        WarningKind::Steal => Case {
            given: host(50.0, 0.0, 12.0),
            silent: host(50.0, 0.0, 1.0),
        },
        WarningKind::NotDurable => Case {
            given: durability(&["synchronous_commit = off"]),
            silent: durability(&[]),
        },
        WarningKind::SettingDiffers => Case {
            given: settings::differing(vec![Difference {
                name: "max_wal_size".to_owned(),
                wanted: "8GB".to_owned(),
                found: Some("1GB".to_owned()),
            }]),
            silent: settings::differing(Vec::new()),
        },
        WarningKind::ArchiveStopped => Case {
            given: kept(|folder| std::fs::remove_dir_all(folder).unwrap()),
            silent: kept(|_| {}),
        },
        other => unreachable!("{other:?} follows from the archive"),
    }
}

/// Eight clients on two threads.
fn facts(pacing: Pacing) -> WorkloadFacts {
    WorkloadFacts {
        pacing,
        ..WorkloadFacts::closed("main", 8, 2)
    }
}

fn outcome(ended_early: Option<Ending>, unfinished: u64) -> Outcome {
    Outcome {
        ended_early,
        unfinished: vec![unfinished],
        waited: vec![None],
        last: Vec::new(),
        aborted: vec![0],
        connections: vec![0],
        connection_time: vec![Duration::ZERO],
        measured: Duration::ZERO,
    }
}

/// A summary of a load that did nothing worth a warning.
fn summary() -> Summary {
    let mut summary = SummaryBuilder::new(&[facts(Pacing::Closed)], Duration::from_secs(1)).build();
    (summary.measured_s, summary.warnings) = (12.0, Vec::new());
    summary
}

fn concluded(ended_early: Option<Ending>, unfinished: u64) -> Vec<Warning> {
    let mut summary = summary();
    conclusion::conclude(&mut summary, &outcome(ended_early, unfinished), Some(20.0), None);
    summary.warnings
}

/// What is said of the load's machine by its shares of CPU time in percent.
fn host(idle_percent: f64, iowait_percent: f64, steal_percent: f64) -> Vec<Warning> {
    let mut summary = summary();
    summary.load_host = Some(HostCpu {
        user_percent: 100.0 - idle_percent - iowait_percent - steal_percent,
        system_percent: 0.0,
        iowait_percent,
        steal_percent,
        idle_percent,
    });
    settings::host_warnings(&mut summary, true);
    summary.warnings
}

fn durability(not_durable: &[&str]) -> Vec<Warning> {
    let server = Description {
        facts: serde_json::Value::Null,
        not_durable: not_durable.iter().copied().map(str::to_owned).collect(),
    };
    settings::durability(&server).into_iter().collect()
}

/// Nobody looks on.
struct Alone;

impl Progress for Alone {
    fn note(&mut self, _: &str) {}
}

/// What is said of a run that ends after `disturb` was done to its folder.
fn kept(disturb: impl FnOnce(&Path)) -> Vec<Warning> {
    let folder = tempfile::tempdir().unwrap();
    let load = Resolved::of_load("t".to_owned(), "t".to_owned(), Vec::new());
    let plan = PlannedRun::repetition(1);
    let record = CampaignRecord::new(
        load.clone(),
        "dyno run".to_owned(),
        jiff::Zoned::now(),
        1,
        vec![plan.clone()],
    );
    let campaign = CampaignWriter::create(folder.path(), &record).unwrap();
    let facts = vec![facts(Pacing::Closed)];
    let record = RunRecord::new(String::new(), String::new(), facts, &load.phases(), load.interval);
    let writer = campaign.run(&plan, record).unwrap();
    disturb(writer.path());
    let mut summary = summary();
    conclusion::finish(writer, RunState::Complete, &mut summary, &mut Alone);
    summary.warnings
}
