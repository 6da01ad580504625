//! A run written and read back: whole, killed, torn, and under foreign files.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use dyno_analysis::summary::{SummaryBuilder, summary_of};
use dyno_archive::plan::{
    Cell, Driver, MEASURE, Phase, PlannedRun, Protocol, Resolved, Scripts, Size, WARMUP, Workload,
};
use dyno_archive::summary::{Pacing, Summary, WorkloadFacts};
use dyno_archive::{
    Archive, ArchiveError, CampaignRecord, CampaignWriter, EventKind, EventRecord, Run, RunRecord, RunState, RunWriter,
    SampleWriter, is_measured,
};
use dyno_lab::experiment::find;
use dyno_record::{ErrorClass, ErrorCode, Interval, Recording, Series};
use indexmap::IndexMap;
use jiff::{Timestamp, Zoned};
use proptest::prelude::*;
use std::time::Duration;
use tempfile::TempDir;

const INTERVALS_CSV: &str = "intervals.csv";
const LATENCY_HLOG: &str = "latency.hlog";
const EVENTS_JSONL: &str = "events.jsonl";
const RUN_JSON: &str = "run.json";

const SECOND: Duration = Duration::from_secs(1);

fn facts() -> Vec<WorkloadFacts> {
    let facts = |name: &str, pacing, statements: &[&str]| WorkloadFacts {
        pacing,
        statements: statements.iter().map(|sql| (*sql).to_owned()).collect(),
        ..WorkloadFacts::closed(name, 4, 2)
    };
    vec![
        facts("reader", Pacing::Closed, &["select 1"]),
        facts("writer", Pacing::Open { rate_per_s: 100.0 }, &["begin", "commit"]),
    ]
}

/// The intervals of a run: two of warm-up, then `measured` of which the last is cut short.
fn intervals(measured: u32) -> Vec<Interval> {
    let interval = |number: u32| {
        let mut reader = Recording::new(1);
        let mut writer = Recording::new(2);
        for event in 0..50 + u64::from(number) {
            let latency_ns = 100_000 + 7_000 * event + 50_000 * u64::from(number);
            reader.transactions += 1;
            reader.statements += 1;
            reader.latency.record(latency_ns);
            reader.statement_latency[0].record(latency_ns - 1_000);
            writer.transactions += 1;
            writer.statements += 2;
            writer.latency.record(3 * latency_ns);
            writer.lag.record(10_000 * event);
            writer.statement_latency[0].record(latency_ns);
        }
        (writer.skipped, writer.late, writer.retried, writer.retries) = (number.into(), 2, 1, 3 * u64::from(number));
        if number % 2 == 1 {
            writer.count_error(ErrorClass::Deadlock, ErrorCode::new("40P01"), || {
                "deadlock \"detected\",\nsaid the server".to_owned()
            });
        }
        Interval {
            phase: usize::from(number >= 2),
            start: SECOND * number,
            duration: if number == measured + 1 { SECOND / 2 } else { SECOND },
            first_thread_whole: true,
            recordings: vec![reader, writer],
        }
    };
    (0..measured + 2).map(interval).collect()
}

fn record() -> RunRecord {
    let phases = [(WARMUP, 2), (MEASURE, 5)].map(|(name, seconds)| Phase {
        name: name.to_owned(),
        duration: Some(SECOND * seconds),
        measured: name != WARMUP,
    });
    RunRecord::new(
        "postgres://ann@db/x".to_owned(),
        "dyno run".to_owned(),
        facts(),
        &phases,
        SECOND,
    )
}

fn pk_update() -> Resolved {
    let plan = find("pk-update").unwrap().plan(Size::Small, &[], None, 1, 2).unwrap();
    plan.cells.into_iter().next().unwrap().experiment
}

fn campaign_record() -> CampaignRecord {
    let experiment = pk_update();
    let started: Zoned = "2026-11-21T19:40:12+01:00[+01:00]".parse().unwrap();
    CampaignRecord::new(
        experiment,
        "dyno run pk-update".to_owned(),
        started,
        7,
        vec![planned_run(1)],
    )
}

fn planned_run(number: usize) -> PlannedRun {
    PlannedRun {
        number,
        cell: IndexMap::new(),
        repetition: 1,
    }
}

/// A run in a new archive, with `measured` intervals written and summed up.
fn write_run(archive: &TempDir, measured: u32) -> (RunWriter, Summary) {
    let campaign = CampaignWriter::create(archive.path(), &campaign_record()).unwrap();
    let mut run = campaign.run(&planned_run(1), record()).unwrap();
    run.begin().unwrap();
    let mut builder = SummaryBuilder::new(&facts(), SECOND);
    for interval in intervals(measured) {
        run.interval(&interval).unwrap();
        if interval.phase == 1 {
            builder.interval(dyno_archive::plan::MEASURE, &interval);
        }
    }
    (run, builder.build())
}

/// The only run of the only campaign.
fn only_run(archive: &TempDir) -> Run {
    let mut campaigns = Archive::new(archive.path()).campaigns().unwrap();
    assert_eq!(campaigns.len(), 1);
    let mut runs = campaigns.remove(0).runs;
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// Checks that two summaries agree but for what rounding in the archive costs.
fn assert_alike(read: &Summary, written: &Summary) {
    let mut read = read.clone();
    for (read, written) in read.workloads.iter_mut().zip(&written.workloads) {
        if let (Some(a), Some(b)) = (&mut read.lag, &written.lag) {
            assert!(
                (a.mean_us - b.mean_us).abs() < 0.01 && (a.max_us - b.max_us).abs() < 0.01,
                "{a:?} {b:?}"
            );
            *a = *b;
        }
    }
    assert_eq!(&read, written);
}

#[test]
fn a_complete_run_comes_back_as_it_was_written() {
    let archive = TempDir::new().unwrap();
    let (mut run, summary) = write_run(&archive, 5);
    run.record_mut().server = serde_json::json!({ "version": "18.6" });
    let folder = run.path().to_owned();
    run.finish(RunState::Complete, summary.clone()).unwrap();

    assert_eq!(folder, archive.path().join("2026-11-21T19-40-12-pk-update/001-rep1"));
    let read = only_run(&archive);
    assert_eq!((read.state, read.path.clone()), (RunState::Complete, folder.clone()));
    assert_eq!(summary_of(&read).unwrap(), summary);
    let record = read.record.as_ref().unwrap();
    assert_eq!(record.server["version"], "18.6");
    assert_eq!(record.workloads, facts());
    let times: Vec<_> = record.phases.iter().map(|phase| (phase.start_s, phase.end_s)).collect();
    assert_eq!(times, [(Some(0.0), Some(2.0)), (Some(2.0), Some(6.5))]);
    assert!(!folder.join("run.json.tmp").exists());

    let rows: Vec<_> = read.intervals().unwrap().collect();
    assert_eq!(rows.len(), 14);
    assert_eq!(
        (
            rows[5].phase.as_str(),
            rows[5].workload.as_str(),
            rows[5].interval_start_s
        ),
        (MEASURE, "writer", 2.0)
    );
    assert_eq!((rows[12].tps, rows[12].interval_s), (112.0, 0.5));
    let writer = &rows[13];
    assert_eq!(
        (writer.skipped, writer.late, writer.retried, writer.retries),
        (6, 2, 1, 18)
    );
    assert!(rows[4].lag_mean_us.is_none() && rows[5].lag_mean_us.is_some());
    let events: Vec<_> = read.events().unwrap().collect();
    assert_eq!(events.len(), 5, "{events:?}");
    assert!(
        matches!(&events[3].kind, EventKind::Errors { sqlstate, count: 1, .. } if sqlstate == "40P01"),
        "{events:?}"
    );
}

#[test]
fn a_campaign_comes_back_as_it_was_written() {
    let archive = TempDir::new().unwrap();
    CampaignWriter::create(archive.path(), &campaign_record()).unwrap();
    let campaign = Archive::new(archive.path()).campaigns().unwrap().remove(0);
    assert_eq!(campaign.record.unwrap(), campaign_record());
}

#[test]
fn a_load_that_plans_for_itself_comes_back_as_it_was_written() {
    let archive = TempDir::new().unwrap();
    let scripts =
        |names: &[&str]| Scripts::new(names.iter().map(|name| ((*name).to_owned(), "select 1;".to_owned(), 2)));
    let workload = |scripts| Workload {
        name: "pgbench".to_owned(),
        clients: 4,
        threads: 2,
        protocol: Protocol::Extended,
        driver: Driver::default(),
        rate_per_s: None,
        transactions_per_client: Some(10),
        start_delay: Duration::ZERO,
        server: None,
        instances: None,
        load_hosts: Vec::new(),
        scripts,
    };
    let workloads = vec![workload(scripts(&["a.sql"])), workload(scripts(&["a.sql", "b.sql"]))];
    let experiment = Resolved::of_load("a/b".to_owned(), "multiple scripts".to_owned(), workloads);
    assert_eq!((experiment.duration(), experiment.phases().len()), (None, 1));
    let record = CampaignRecord {
        experiment,
        ..campaign_record()
    };
    let writer = CampaignWriter::create(archive.path(), &record).unwrap();
    assert!(writer.path().ends_with("2026-11-21T19-40-12-a_b"));
    let campaign = Archive::new(archive.path()).campaigns().unwrap().remove(0);
    assert_eq!(campaign.record.unwrap(), record);
    let facts = WorkloadFacts::new(&record.experiment.workloads[1], Vec::new());
    let named: Vec<_> = facts
        .scripts
        .iter()
        .map(|script| (script.name.as_str(), script.weight))
        .collect();
    assert_eq!(
        (facts.transactions_per_client, named),
        (Some(10), vec![("a.sql", 2), ("b.sql", 2)])
    );
}

#[test]
fn a_campaign_of_the_first_dynos_can_be_read() {
    let mut json = serde_json::to_value(campaign_record()).unwrap();
    // What they wrote is what is written of experiments today: every key is still there, under its name.
    let workload = json["experiment"]["workloads"][0].as_object_mut().unwrap();
    let mut keys: Vec<_> = workload.keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "clients",
            "name",
            "protocol",
            "rate_per_s",
            "script",
            "script_name",
            "script_offset",
            "threads"
        ]
    );
    assert_eq!(
        (
            json["experiment"]["measure"].as_str(),
            json["experiment"]["size"].as_str()
        ),
        (Some("20s"), Some("small"))
    );
    assert!(serde_json::from_value::<CampaignRecord>(json).is_ok());
}

#[test]
fn a_killed_run_is_summed_up_from_what_it_left() {
    let archive = TempDir::new().unwrap();
    let (run, summary) = write_run(&archive, 5);
    assert_eq!(only_run(&archive).state, RunState::Running);
    drop(run);
    let read = only_run(&archive);
    assert_eq!(read.state, RunState::Incomplete);
    assert_alike(&summary_of(&read).unwrap(), &summary);
}

#[test]
fn however_short_an_interval_is_a_killed_run_counts_it_where_it_belongs() {
    let archive = TempDir::new().unwrap();
    let campaign = CampaignWriter::create(archive.path(), &campaign_record()).unwrap();
    let mut run = campaign.run(&planned_run(1), record()).unwrap();
    run.begin().unwrap();
    let mut builder = SummaryBuilder::new(&facts(), SECOND);
    // Phases of 1,001 ms.
    for (mut interval, (start_ms, lasts_ms)) in
        intervals(2)
            .into_iter()
            .zip([(0, 1000), (1000, 1), (1001, 1000), (2001, 1)])
    {
        (interval.start, interval.duration) = (Duration::from_millis(start_ms), Duration::from_millis(lasts_ms));
        run.interval(&interval).unwrap();
        if interval.phase == 1 {
            builder.interval(MEASURE, &interval);
        }
    }
    let phases = run.record_mut().phases.clone();
    assert_eq!(
        [0.0, 1.0, 1.001, 2.001].map(|at_s| is_measured(&phases, at_s)),
        [false, false, true, true]
    );
    drop(run);
    assert_alike(&summary_of(&only_run(&archive)).unwrap(), &builder.build());
}

#[test]
fn a_killed_run_has_the_metrics_of_its_cell() {
    let archive = TempDir::new().unwrap();
    let mut cell = campaign_record().experiment;
    cell.metrics = [("rows/s", "{tps} * {rows}"), ("nothing", "{gone.tps}")]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into();
    cell.parameters
        .insert("rows".to_owned(), dyno_archive::plan::Value::Integer(10));
    let planned = PlannedRun {
        cell: IndexMap::from([("rows".to_owned(), "10".to_owned())]),
        ..planned_run(1)
    };
    let campaign = CampaignRecord {
        runs: vec![planned.clone()],
        cells: vec![Cell {
            levels: planned.cell.clone(),
            experiment: cell,
        }],
        ..campaign_record()
    };
    let campaign = CampaignWriter::create(archive.path(), &campaign).unwrap();
    let mut run = campaign.run(&planned, record()).unwrap();
    run.begin().unwrap();
    for interval in intervals(5) {
        run.interval(&interval).unwrap();
    }
    drop(run);
    let summary = summary_of(&only_run(&archive)).unwrap();
    let tps: f64 = summary.workloads.iter().map(|workload| workload.tps).sum();
    assert_eq!(summary.metrics, IndexMap::from([("rows/s".to_owned(), 10.0 * tps)]));
    let note = summary.warnings.last().unwrap().to_string();
    assert!(note.starts_with("The metric \"nothing\" was left out: "), "{note}");
}

#[test]
fn a_run_killed_before_its_first_interval_has_an_empty_summary() {
    let archive = TempDir::new().unwrap();
    drop(write_run(&archive, 0));
    let summary = summary_of(&only_run(&archive)).unwrap();
    assert_eq!(
        (
            summary.measured_s,
            summary.workloads[0].transactions,
            summary.workloads[0].latency
        ),
        (0.0, 0, None)
    );
}

#[test]
fn without_run_json_the_plan_of_the_campaign_says_what_ran() {
    let archive = TempDir::new().unwrap();
    let (run, _) = write_run(&archive, 3);
    std::fs::write(run.path().join(RUN_JSON), "{").unwrap();
    drop(run);
    let read = only_run(&archive);
    assert!(matches!(read.record, Err(ArchiveError::Damaged { .. })));
    assert_eq!(read.state, RunState::Incomplete);
    assert_eq!(summary_of(&read).unwrap().workloads[0].name, "update");
}

#[test]
fn campaigns_of_one_second_get_folders_of_their_own() {
    let archive = TempDir::new().unwrap();
    let paths: Vec<_> = (0..3)
        .map(|_| {
            CampaignWriter::create(archive.path(), &campaign_record())
                .unwrap()
                .path()
                .to_owned()
        })
        .collect();
    assert!(paths[0] != paths[1] && paths[1] != paths[2]);
    assert_eq!(Archive::new(archive.path()).campaigns().unwrap().len(), 3);
}

#[test]
fn foreign_files_are_passed_over() {
    let archive = TempDir::new().unwrap();
    let (run, _) = write_run(&archive, 1);
    let campaign = run.path().parent().unwrap().to_owned();
    std::fs::create_dir(archive.path().join("holiday pictures")).unwrap();
    std::fs::write(archive.path().join("notes.txt"), "x").unwrap();
    std::fs::create_dir(campaign.join("charts")).unwrap();
    std::fs::write(campaign.join("report.html"), "x").unwrap();
    assert_eq!(only_run(&archive).name(), "001-rep1");
    let found = Archive::new(archive.path())
        .campaign("2026-11-21T19-40-12-pk-update")
        .unwrap();
    assert_eq!(found.name(), "2026-11-21T19-40-12-pk-update");
    assert!(Archive::new(archive.path()).campaign("holiday pictures").is_none());
    assert!(
        Archive::new(archive.path().join("absent"))
            .campaigns()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_newer_format_is_not_guessed_at() {
    let archive = TempDir::new().unwrap();
    let (run, _) = write_run(&archive, 1);
    std::fs::write(run.path().join(RUN_JSON), r#"{ "format": 99, "novelty": true }"#).unwrap();
    let error = only_run(&archive).record.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("has format 99, but this dyno only reads formats up to 1: use a newer dyno"),
        "{error}"
    );
}

#[test]
fn when_the_folder_is_gone_the_run_is_told_once_and_goes_on() {
    let archive = TempDir::new().unwrap();
    let (mut run, summary) = write_run(&archive, 1);
    std::fs::remove_dir_all(run.path()).unwrap();
    let interval = &intervals(3)[3];
    let error = run.interval(interval).unwrap_err();
    assert!(
        error.to_string().contains(LATENCY_HLOG) || error.to_string().contains(EVENTS_JSONL),
        "{error}"
    );
    assert!(run.interval(interval).is_ok());
    assert!(
        run.event(&EventRecord {
            at_s: 1.0,
            kind: EventKind::Note { text: "x".to_owned() }
        })
        .is_ok()
    );
    let error = run.finish(RunState::Complete, summary).unwrap_err();
    assert!(error.to_string().contains(RUN_JSON), "{error}");
}

#[test]
fn an_archive_that_cannot_be_written_is_named() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let error = CampaignWriter::create(&file.join("archive"), &campaign_record()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot write {}", file.display())),
        "{error}"
    );
}

#[test]
fn samples_are_rows_with_gaps_where_nothing_was_read() {
    let archive = TempDir::new().unwrap();
    let (run, _) = write_run(&archive, 1);
    let series = Series::new("x.csv", ["commits", "a,b"]);
    let began: Timestamp = "2026-11-21T19:40:12.25Z".parse().unwrap();
    let mut samples = SampleWriter::create(run.path(), &series, Some(began)).unwrap();
    samples
        .row(
            Duration::from_millis(1_500),
            &[dyno_record::Value::Number(5.0), dyno_record::Value::Absent],
        )
        .unwrap();
    let more = [
        dyno_record::Value::Number(f64::NAN),
        dyno_record::Value::from("a \"b\""),
        dyno_record::Value::Number(1.0),
    ];
    samples.row(SECOND * 3, &more).unwrap();
    let text = std::fs::read_to_string(run.path().join("x.csv")).unwrap();
    assert_eq!(
        text,
        "at_s,commits,\"a,b\",time\n1.5,5,,2026-11-21T19:40:13.750Z\n3,,\"a \"\"b\"\"\",2026-11-21T19:40:15.250Z\n"
    );
    std::fs::remove_file(run.path().join("x.csv")).unwrap();
    assert!(samples.row(SECOND, &[]).is_err());
    assert!(samples.row(SECOND, &[]).is_ok());
}

#[test]
fn the_latency_log_has_the_form_that_other_tools_read() {
    let archive = TempDir::new().unwrap();
    let (run, _) = write_run(&archive, 1);
    let text = std::fs::read_to_string(run.path().join(LATENCY_HLOG)).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("#[Histogram log format version 1.3]"));
    assert!(lines.next().unwrap().contains("nanoseconds"));
    assert!(lines.next().unwrap().starts_with("#[BaseTime: "));
    assert!(lines.next().unwrap().starts_with("\"StartTimestamp\""));
    let tags: Vec<_> = lines
        .take(4)
        .map(|line| line.split(',').take(3).collect::<Vec<_>>().join(","))
        .collect();
    // The writer's second statement never completed: an empty histogram is left out.
    assert_eq!(
        tags,
        ["reader,0.000", "reader/1,0.000", "writer,0.000", "writer/1,0.000"].map(|tag| format!("Tag={tag},1.000"))
    );
}

#[test]
fn a_cell_names_its_folder() {
    let cell = [("clients", "16"), ("path", "/tmp/a b")].map(|(factor, level)| (factor.to_owned(), level.to_owned()));
    let run = PlannedRun {
        number: 3,
        cell: IndexMap::from(cell),
        repetition: 2,
    };
    assert_eq!(run.folder(), "003-clients=16,path=_tmp_a_b-rep2");
    let long = IndexMap::from([("x".to_owned(), "é/".repeat(500))]);
    assert!(PlannedRun { cell: long, ..run }.folder().len() < 255);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_folder_cut_anywhere_is_still_a_run(file in 0_usize..4, share in 0.0_f64..=1.0) {
        let archive = TempDir::new().unwrap();
        let (run, whole) = write_run(&archive, 4);
        let folder = run.path().to_owned();
        drop(run);
        let path = folder.join([INTERVALS_CSV, LATENCY_HLOG, EVENTS_JSONL, RUN_JSON][file]);
        let bytes = std::fs::read(&path).unwrap();
        let kept = (bytes.len() as f64 * share) as usize;
        std::fs::write(&path, &bytes[..kept]).unwrap();

        let read = only_run(&archive);
        prop_assert_eq!(read.state, RunState::Incomplete);
        let summary = summary_of(&read).unwrap();
        prop_assert!(summary.measured_s <= whole.measured_s);
        if path.ends_with(RUN_JSON) && kept < bytes.len() - 1 {
            return Ok(()); // The campaign's plan is of other workloads than this test's.
        }
        let whole_intervals = read.intervals().unwrap().filter(|row| row.phase == MEASURE && row.workload == "reader");
        let expected: u64 = whole_intervals.map(|row| row.transactions).sum();
        prop_assert_eq!(summary.workloads[0].transactions, expected);
        if path.ends_with(INTERVALS_CSV) {
            // What was written of a lost interval elsewhere does not count.
            let counted = summary.workloads[0].statement_latencies[0].count;
            prop_assert_eq!(counted, expected);
            let lost = bytes[kept..].iter().filter(|byte| **byte == b'\n').count();
            let rows = read.intervals().unwrap().count();
            prop_assert_eq!(rows, 12_usize.saturating_sub(lost));
        } else {
            prop_assert_eq!(expected, whole.workloads[0].transactions);
        }
    }
}
