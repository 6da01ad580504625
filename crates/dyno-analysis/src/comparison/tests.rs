//! Campaigns that were never measured, compared.

use super::*;
use crate::plans;
use dyno_archive::plan::{PlannedRun, Size};
use dyno_archive::summary::{Summary, WorkloadFacts};
use dyno_archive::{Archive, Campaign, CampaignRecord, CampaignWriter, RunRecord, RunState};
use dyno_lab::experiment::Experiment;
use dyno_record::{Interval, Recording};
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const LATENCY_US: f64 = 400.0;

/// What a run finds, and its record.
struct Made {
    record: RunRecord,
    summary: Summary,
}

impl Made {
    fn workload(&mut self) -> &mut dyno_archive::summary::WorkloadSummary {
        &mut self.summary.workloads[0]
    }

    /// This TPS, and latencies that are so many times the usual ones.
    fn measured(&mut self, tps: f64, times: f64) {
        let workload = self.workload();
        workload.tps = tps;
        let latency = workload.latency.as_mut().unwrap();
        (latency.p50_us, latency.p95_us, latency.p99_us) =
            (times * LATENCY_US, 2.0 * times * LATENCY_US, 3.0 * times * LATENCY_US);
    }
}

fn summary() -> Summary {
    serde_json::from_value(json!({
        "measured_s": 30.0,
        "workloads": [{
            "name": "update", "clients": 4, "threads": 1, "loop": "closed", "transactions": 300_000,
                "statements": 300_000, "errors": 0,
            "tps": 10_000.0, "statements_per_s": 10_000.0, "steadiness": null, "lag": null,
            "latency": {
                "mean_us": LATENCY_US, "stddev_us": 1.0, "min_us": 1.0, "p50_us": LATENCY_US,
                    "p95_us": 2.0 * LATENCY_US,
                "p99_us": 3.0 * LATENCY_US, "p99_9_us": 9e3, "max_us": 9e3,
            },
            "statement_latencies": [], "errors_by_state": [],
        }],
        "tables": [{
            "table": "t", "table_before_bytes": 50_000_000, "table_after_bytes": 0,
                "indexes_before_bytes": 10_000_000, "indexes_after_bytes": 0,
        }],
    }))
    .unwrap()
}

/// Keeps a campaign of an experiment with this end of its file, whose runs are made by `make`.
fn campaign(archive: &TempDir, end: &str, make: impl Fn(&PlannedRun, &mut Made)) -> Campaign {
    let file = format!(
        "title = \"Test\"\n[parameters]\nrows = 10\n[[workload]]\nname = \"update\"\nclients = 4\nscript \
         = \"select :rows;\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"30s\"\n{end}"
    );
    let experiment = Experiment::parse(Path::new("test.toml"), &file).unwrap();
    let plan = experiment.plan(Size::Full, &[], None, 7, 2).unwrap();
    let started = "2026-11-21T19:40:12+00:00[UTC]".parse().unwrap();
    let record = CampaignRecord::of(&plan, String::new(), started).unwrap();
    let writer = CampaignWriter::create(archive.path(), &record).unwrap();
    for planned in &plan.runs {
        let resolved = &plan.cell_of(planned).unwrap().experiment;
        let facts = WorkloadFacts::new(&resolved.workloads[0], vec!["select :rows;".to_owned()]);
        let mut record = RunRecord::new(
            "embedded".to_owned(),
            String::new(),
            vec![facts],
            &resolved.phases(),
            resolved.interval,
        );
        (record.number, record.cell, record.repetition) = (planned.number, planned.cell.clone(), planned.repetition);
        let mut made = Made {
            record,
            summary: summary(),
        };
        make(planned, &mut made);
        let tps = made.workload().tps;
        let mut run = writer.run(planned, made.record).unwrap();
        run.begin().unwrap();
        for second in 0..30 {
            let mut recording = Recording::new(1);
            recording.transactions = (tps * (1.0 + 0.01 * f64::from(second as u32 % 3))) as u64;
            let interval = Interval {
                phase: 0,
                start: Duration::from_secs(second),
                duration: Duration::from_secs(1),
                first_thread_whole: true,
                recordings: vec![recording],
            };
            run.interval(&interval).unwrap();
        }
        run.finish(RunState::Complete, made.summary).unwrap();
    }
    let path = writer.path().display().to_string();
    drop(writer);
    Archive::new(archive.path()).campaign(&path).unwrap()
}

/// So many runs of the only cell, or of each cell of these `factors`, around a TPS and a multiple of the usual latency.
fn repeated(archive: &TempDir, factors: &str, times: usize, tps: f64, latency: f64) -> Campaign {
    let end = format!("{factors}\n[plan]\nrepetitions = {times}\norder = \"listed\"\n");
    campaign(archive, &end, |planned, made| {
        let off = 1.0 + 0.002 * planned.repetition as f64;
        made.measured(tps * off, latency * off);
    })
}

fn verdicts(comparison: &Comparison) -> Vec<(Measure, Verdict)> {
    let workloads = comparison.workloads();
    let measures = workloads.flat_map(|(_, workload)| &workload.measures);
    measures.map(|compared| (compared.measure, compared.verdict)).collect()
}

fn matched(comparison: &Comparison) -> Vec<String> {
    let levels = comparison
        .cells
        .iter()
        .map(|cell| cell.levels.values().cloned().collect::<Vec<_>>().join(" "));
    levels.collect()
}

#[test]
fn more_throughput_is_better_and_more_latency_is_worse() {
    let archive = TempDir::new().unwrap();
    let baseline = repeated(&archive, "", 5, 10_000.0, 1.0);
    let candidate = repeated(&archive, "", 5, 11_000.0, 1.2);
    let compared = compare(&baseline, &candidate);
    assert_eq!(
        verdicts(&compared),
        [
            (Measure::Tps, Verdict::Better),
            (Measure::P50, Verdict::Worse),
            (Measure::P95, Verdict::Worse),
            (Measure::P99, Verdict::Worse)
        ]
    );
    assert_eq!(
        compared.verdict_counts(),
        VerdictCounts {
            better: 1,
            worse: 3,
            unknown: 0
        }
    );
    let measures = &compared.cells[0].workloads[0].measures;
    assert!((measures[0].ratio - 1.1).abs() < 1e-9 && (measures[0].loss() + 0.1).abs() < 1e-9);
    assert!((measures[3].loss() - 0.2).abs() < 1e-9);
    // Of latencies p99 alone is a loss to stop for.
    let [lost] = compared.losses(0.19)[..] else {
        panic!("{compared:?}")
    };
    assert_eq!(lost.measure.measure, Measure::P99);
    assert!(compared.losses(0.21).is_empty());

    let turned = compare(&candidate, &baseline);
    assert_eq!(
        turned.verdict_counts(),
        VerdictCounts {
            better: 3,
            worse: 1,
            unknown: 0
        }
    );
    for ((_, _, one), (_, _, other)) in compared.measures().zip(turned.measures()) {
        let (one, other) = (one.interval.unwrap(), other.interval.unwrap());
        assert!((one.low * other.high - 1.0).abs() < 1e-9 && (one.high * other.low - 1.0).abs() < 1e-9);
    }
}

#[test]
fn whether_runs_are_too_few_is_a_matter_of_both_sides() {
    let said = |baseline, candidate| {
        let archive = TempDir::new().unwrap();
        let compared = compare(
            &repeated(&archive, "", baseline, 10_000.0, 1.0),
            &repeated(&archive, "", candidate, 5_000.0, 2.0),
        );
        let no_verdict = |caution: &&String| caution.contains("no verdict is possible");
        let caution = compared.cautions.iter().find(no_verdict).cloned();
        (compared.verdict_counts().unknown == 0, caution)
    };
    assert_eq!(said(5, 3), (true, None));
    let (judged, caution) = said(3, 3);
    let caution = caution.unwrap();
    assert!(
        !judged && caution.contains("the least p of the rank test is then 0.10"),
        "{caution}"
    );
}

#[test]
fn one_run_of_each_tells_nothing_but_how_it_varied() {
    let archive = TempDir::new().unwrap();
    let compared = compare(
        &repeated(&archive, "", 1, 10_000.0, 1.0),
        &repeated(&archive, "", 1, 5_000.0, 2.0),
    );
    assert_eq!(compared.verdict_counts().unknown, 4);
    let measures = &compared.cells[0].workloads[0].measures;
    let interval = measures[0].interval.unwrap();
    assert!(
        interval.within_a_run && interval.high < 0.51 && interval.low > 0.49,
        "{interval:?}"
    );
    assert_eq!(measures[3].interval, None);
    assert!(
        compared.cautions.iter().any(|caution| caution
            .starts_with("There are cells with 1 complete run against 1, with which no verdict is possible")),
        "{compared:?}"
    );
}

#[test]
fn cells_are_matched_by_what_both_vary() {
    let archive = TempDir::new().unwrap();
    let baseline = repeated(&archive, "[factors]\nclients = [1, 4]", 1, 10_000.0, 1.0);
    let candidate = repeated(&archive, "[factors]\nclients = [4, 16]", 1, 10_000.0, 1.0);
    let compared = compare(&baseline, &candidate);
    assert_eq!(matched(&compared), ["4"]);
    assert_eq!(compared.baseline.unmatched[0]["clients"], "1");
    assert_eq!(compared.candidate.unmatched[0]["clients"], "16");
}

#[test]
fn settings_of_different_databases_are_not_compared() {
    let archive = TempDir::new().unwrap();
    let of = |product: &str, setting: &str| {
        campaign(&archive, "", |_, made| {
            made.record.server = json!({
                "version": product, "traits": { "product": product },
                "settings": [{ "name": setting, "value": "1GB" }],
            });
        })
    };
    let (one, same) = (of("PostgreSQL", "work_mem"), of("PostgreSQL", "temp_buffers"));
    let other = of("MariaDB", "sort_buffer_size");
    let differing = |compared: &Comparison| -> Vec<String> {
        let differences = compared.differences.iter();
        differences.map(|difference| difference.what.clone()).collect()
    };
    let said = |compared: &Comparison| {
        compared
            .cautions
            .iter()
            .any(|caution| caution.contains("different databases"))
    };
    let compared = compare(&one, &other);
    assert_eq!(differing(&compared), ["server.product", "server.version"]);
    assert!(said(&compared), "{:?}", compared.cautions);
    // They are listed instead.
    let listed = |side: &Side| {
        side.settings
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(&compared.baseline), ["work_mem = 1GB"]);
    assert_eq!(listed(&compared.candidate), ["sort_buffer_size = 1GB"]);
    let compared = compare(&one, &same);
    assert!(compared.baseline.settings.is_empty() && compared.candidate.settings.is_empty());
    assert_eq!(differing(&compared), ["settings.work_mem", "settings.temp_buffers"]);
    assert!(!said(&compared), "{:?}", compared.cautions);
}

#[test]
fn a_factor_that_one_lacks_has_the_level_of_its_experiment() {
    let archive = TempDir::new().unwrap();
    let plain = repeated(&archive, "", 1, 10_000.0, 1.0);
    let sweep = repeated(
        &archive,
        "[factors]\nclients = [1, 4]\nrows = [10, 20]",
        1,
        10_000.0,
        1.0,
    );
    let compared = compare(&plain, &sweep);
    assert_eq!(matched(&compared), ["4 10"]);
    assert_eq!(compared.candidate.unmatched.len(), 3);
    // It is told with that level where it has no counterpart.
    let others = repeated(&archive, "[factors]\nclients = [1, 2]", 1, 10_000.0, 1.0);
    let compared = compare(&plain, &others);
    assert_eq!(
        (compared.cells.len(), compared.baseline.unmatched[0]["clients"].as_str()),
        (0, "4")
    );
    // Of a setting that the experiment leaves alone nobody knows the level.
    let settings = repeated(&archive, "[factors]\nwork_mem = [\"4MB\", \"64MB\"]", 1, 10_000.0, 1.0);
    let compared = compare(&plain, &settings);
    assert_eq!(matched(&compared), ["4MB", "64MB"]);
    assert!(
        compared
            .cautions
            .iter()
            .any(|caution| caution.starts_with("Only one of the two varies work_mem")),
        "{compared:?}"
    );
}

#[test]
fn one_level_on_either_side_tells_campaigns_apart_and_not_cells() {
    let archive = TempDir::new().unwrap();
    let one = repeated(&archive, "[factors]\nclients = [4]\nrows = [10, 20]", 1, 10_000.0, 1.0);
    let other = repeated(&archive, "[factors]\nclients = [8]\nrows = [10, 20]", 1, 10_000.0, 1.0);
    let compared = compare(&one, &other);
    assert_eq!(compared.cells.len(), 2);
    let clients = compared
        .differences
        .iter()
        .filter(|difference| difference.what.contains("clients"));
    let clients: Vec<_> = clients
        .map(|difference| (difference.baseline.as_str(), difference.candidate.as_str()))
        .collect();
    assert_eq!(clients, [("4", "8")]);
}

#[test]
fn campaigns_are_called_by_their_labels_if_these_tell_them_apart() {
    let archive = TempDir::new().unwrap();
    let [mut one, mut other] = [10_000.0, 9_000.0].map(|tps| repeated(&archive, "", 2, tps, 1.0));
    let names = |one: &Campaign, other: &Campaign| {
        let compared = compare(one, other);
        (compared.baseline.name, compared.candidate.name)
    };
    one.record.as_mut().unwrap().label = Some("six".to_owned());
    assert_eq!(names(&one, &other), ("six".to_owned(), other.name()));
    other.record.as_mut().unwrap().label = Some("six".to_owned());
    assert_eq!(names(&one, &other), (one.name(), other.name()));
}

#[test]
fn several_campaigns_of_a_side_are_one() {
    let archive = TempDir::new().unwrap();
    let with = |tps: f64, rows: usize| repeated(&archive, &format!("[factors]\nrows = [{rows}]"), 2, tps, 1.0);
    let [one, another, new, newer] = [
        with(10_000.0, 10),
        with(10_050.0, 10),
        with(9_000.0, 10),
        with(9_050.0, 10),
    ];
    assert_eq!(compare(&one, &new).verdict_counts().unknown, 4);
    let (old, new) = (Pool::from_iter([&one, &another]), Pool::from_iter([&new, &newer]));
    let compared = compare(&old, &new);
    assert_eq!(verdicts(&compared)[0], (Measure::Tps, Verdict::Worse));
    let workload = &compared.cells[0].workloads[0];
    assert_eq!(workload.measures[0].baseline_values.len(), 4);
    assert_eq!(
        workload.baseline_runs[3],
        format!("{}/002-rows=10-rep2", another.name())
    );
    let side = &compared.baseline;
    assert_eq!(side.name, format!("{} + {}", one.name(), another.name()));
    assert_eq!((side.campaigns.len(), side.complete_runs, side.other_runs), (2, 4, 0));
    // What varies within a side is told.
    let other = repeated(
        &archive,
        "[factors]\nrows = [10]\nwork_mem = [\"64MB\"]",
        2,
        10_000.0,
        1.0,
    );
    let mixed = Pool::from_iter([&one, &other]);
    let compared = compare(&mixed, &new);
    assert!(
        compared
            .cautions
            .iter()
            .any(|caution| caution.contains("varies work_mem")),
        "{compared:?}"
    );
}

#[test]
fn what_differs_is_listed() {
    let archive = TempDir::new().unwrap();
    let with = |version: &str, work_mem: &str, bytes: u64| {
        campaign(&archive, "[plan]\nrepetitions = 2\n", |_, made| {
            let settings =
                json!([{ "name": "work_mem", "value": work_mem }, { "name": "port", "value": format!("{bytes}") }]);
            made.record.server = json!({ "version": version, "settings": settings });
            made.record.host = json!({ "hostname": "alpha", "memory_bytes": 8, "data_filesystem": { "kind": "ext4" } });
            made.summary.tables[0].table_before_bytes = bytes;
        })
    };
    let differences = |one: &Campaign, other: &Campaign| {
        let compared = compare(one, other);
        let each = compared.differences.iter();
        each.map(|difference| {
            format!(
                "{}: {} / {}",
                difference.what, difference.baseline, difference.candidate
            )
        })
        .collect::<Vec<_>>()
    };
    let (old, new) = (with("18.6", "4MB", 50_000_000), with("18.7", "64MB", 99_000_000));
    assert_eq!(
        differences(&old, &new),
        [
            "server.version: 18.6 / 18.7",
            "settings.work_mem: 4MB / 64MB",
            "tables before the load: 57.2 MB / 104.0 MB"
        ]
    );
    assert_eq!(
        differences(&old, &with("18.6", "4MB", 50_100_000)),
        Vec::<String>::new()
    );
}

#[test]
fn other_load_hosts_are_told_in_words() {
    let archive = TempDir::new().unwrap();
    let on = |hosts: &str, own: &str| {
        let end = format!(
            "[load]\n{hosts}\n[[workload]]\nname = \"read\"\nclients = 2\nscript = \"select 1;\"\nhosts = {own}\n"
        );
        campaign(&archive, &end, |_, _| ())
    };
    let one = on("hosts = [\"local\", \"me@b\"]", "[1]");
    let other = on("hosts = [\"local\", \"me@c\"]\nshares = [1, 3]", "[1, 2]");
    let differences = compare(&one, &other).differences.into_iter();
    let differences: Vec<_> = differences
        .map(|difference| {
            let Difference {
                what,
                baseline,
                candidate,
            } = difference;
            format!("{what}: {baseline} / {candidate}")
        })
        .collect();
    assert_eq!(
        differences,
        [
            "load hosts: local + me@b / local + me@c",
            "load hosts of read: local / local + c",
            "shares of the load hosts:  / 1 + 3",
        ]
    );
}

#[test]
fn the_tps_of_different_rates_is_not_compared() {
    let archive = TempDir::new().unwrap();
    let at = |pacing: Pacing| {
        campaign(&archive, "[plan]\nrepetitions = 4\n", |_, made| {
            made.workload().pacing = pacing
        })
    };
    let open = |rate_per_s| at(Pacing::Open { rate_per_s });
    let measured = |one: &Campaign, other: &Campaign| {
        let compared = compare(one, other);
        let workload = &compared.cells[0].workloads[0];
        let measures: Vec<Measure> = workload.measures.iter().map(|measure| measure.measure).collect();
        (measures, workload.notes.first().cloned().unwrap_or_default())
    };
    let (fast, slow) = (open(1_000.0), open(500.0));
    let (measures, note) = measured(&fast, &slow);
    assert_eq!(measures, [Measure::P50, Measure::P95, Measure::P99]);
    assert!(note.starts_with("TPS is not compared"), "{note}");
    assert_eq!(measured(&fast, &fast), (Measure::ALL.to_vec(), String::new()));
    // Closed in some stages is no open loop.
    let staged = at(Pacing::Staged {
        least_per_s: 1_000.0,
        most_per_s: 1_000.0,
        closed: true,
    });
    assert_eq!(measured(&fast, &staged).0, []);
}

#[test]
fn where_sql_stands_in_its_file_is_no_difference() {
    let archive = TempDir::new().unwrap();
    let data = "[data]\nsetup = '''\ncreate table t (id int)'''\nfinish = \"analyze t\"";
    let [one, other] = ["", "\n\n"].map(|above| repeated(&archive, &format!("{above}{data}"), 1, 10_000.0, 1.0));
    assert_eq!(compare(&one, &other).differences, []);
}

#[test]
fn an_open_and_a_closed_loop_are_not_compared() {
    let archive = TempDir::new().unwrap();
    let closed = repeated(&archive, "", 4, 10_000.0, 1.0);
    let open = campaign(&archive, "[plan]\nrepetitions = 4\n", |_, made| {
        made.workload().pacing = Pacing::Open { rate_per_s: 100.0 };
        (made.workload().errors, made.workload().transactions) = (10, 990);
    });
    let compared = compare(&closed, &open);
    let workload = &compared.cells[0].workloads[0];
    assert_eq!(workload.measures, []);
    assert!(workload.notes[0].starts_with("Not compared: "), "{workload:?}");
    assert_eq!(
        workload.notes[1],
        "1.0 % of the transactions of the other failed (40); they count neither in TPS nor in latency."
    );
}

#[test]
fn a_system_that_does_nothing_is_worse() {
    let archive = TempDir::new().unwrap();
    let baseline = repeated(&archive, "", 4, 10_000.0, 1.0);
    let nothing = campaign(&archive, "[plan]\nrepetitions = 4\n", |_, made| {
        made.workload().latency = None;
        (made.workload().tps, made.workload().transactions) = (0.0, 0);
    });
    let compared = compare(&baseline, &nothing);
    assert_eq!(verdicts(&compared), [(Measure::Tps, Verdict::Worse)]);
    assert_eq!(compared.losses(1.0).len(), 1);
    assert_eq!(
        compared.cells[0].workloads[0].notes,
        ["The other completed no transaction."]
    );
}

#[test]
fn plans_that_differ_are_said_to_and_those_that_were_not_kept_are_not() {
    let planned = |archive: &TempDir, on: Option<&str>| {
        let campaign = repeated(archive, "", 2, 10_000.0, 1.0);
        for run in &campaign.runs {
            let plan = |on| plans::tests::plan(&[(0, "Scan", on)], 1.0);
            on.iter()
                .for_each(|on| plans::tests::keep(&run.path, plan("t"), plan(on)));
        }
        campaign
    };
    let archive = TempDir::new().unwrap();
    let [one, same, other, none] = [Some("t"), Some("t"), Some("u"), None].map(|on| planned(&archive, on));
    let named = |candidate: &Campaign| {
        let comparison = compare(&one, candidate);
        let plans = comparison
            .differences
            .iter()
            .filter(|difference| difference.what.starts_with("plan of"));
        let plans: Vec<_> = plans
            .map(|found| [&*found.what, &*found.baseline, &*found.candidate].join(" | "))
            .collect();
        let cautions = comparison.cautions.iter();
        let said = cautions
            .filter(|caution| caution.contains("executed statements in different ways"))
            .count();
        (plans, said)
    };
    let found = "plan of one: select 1 | Scan on t | Scan on u".to_owned();
    assert_eq!(named(&other), (vec![found], 1));
    assert_eq!(named(&same), (Vec::new(), 0));
    assert_eq!(named(&none), (Vec::new(), 0));
}

/// The measures and the notes of the only workload.
fn compared(make: impl Fn(&PlannedRun, &mut Made), make_other: impl Fn(&PlannedRun, &mut Made)) -> WorkloadComparison {
    let archive = TempDir::new().unwrap();
    let baseline = campaign(&archive, "", make);
    let candidate = campaign(&archive, "", make_other);
    let comparison = compare(&baseline, &candidate);
    comparison.cells.into_iter().next().unwrap().workloads.remove(0)
}

#[test]
fn times_of_counted_transactions_are_compared_as_a_ratio() {
    let took = |took_s: f64| {
        move |_: &PlannedRun, made: &mut Made| {
            made.workload().completion.took_s = Some(took_s);
            made.measured(8.0 / took_s, 1.0);
        }
    };
    let workload = compared(took(2.0), took(5.0));
    let time = workload
        .measures
        .iter()
        .find(|compared| compared.measure == Measure::Time)
        .unwrap();
    assert_eq!((time.baseline, time.candidate, time.ratio), (2e6, 5e6, 2.5));
    assert!((time.loss() - 1.5).abs() < 1e-9);
    let without = compared(took(2.0), |_, _| ());
    assert!(
        without
            .measures
            .iter()
            .all(|compared| compared.measure != Measure::Time)
    );
}

#[test]
fn a_side_that_was_given_up_is_longer_by_a_known_ratio_at_least() {
    let given_up = |_: &PlannedRun, made: &mut Made| {
        let workload = made.workload();
        (workload.transactions, workload.tps, workload.latency) = (0, 0.0, None);
        workload.completion.longer_than_s = Some(60.0);
    };
    let slow = |_: &PlannedRun, made: &mut Made| made.measured(0.1, 1e7 / LATENCY_US);
    let workload = compared(slow, given_up);
    assert!(workload.measures.is_empty(), "nothing is 0: {:?}", workload.measures);
    let note = "What the other executed was unfinished after 60.0 s: at least 6.0 times the median of what it is \
                compared with.";
    assert!(workload.notes.iter().any(|said| said == note), "{:?}", workload.notes);
    assert!(workload.is_unfinished() && workload.candidate_longer_than_s == Some(60.0));
    assert!(!compared(given_up, slow).is_unfinished() && !compared(given_up, given_up).is_compared());
}

#[test]
fn runs_that_were_finished_prove_nothing_beside_one_that_was_not() {
    let repeated = |make: &dyn Fn(&PlannedRun, &mut Made)| {
        let archive = TempDir::new().unwrap();
        let campaign = campaign(&archive, "[plan]\nrepetitions = 6\n", make);
        (archive, campaign)
    };
    let jitter = |run: &PlannedRun| 1.0 + 0.001 * run.repetition as f64;
    let base = repeated(&|run, made| made.measured(1_000.0 * jitter(run), 1.0));
    let fast = |run: &PlannedRun, made: &mut Made| made.measured(2_000.0 * jitter(run), 0.5);
    let other = repeated(&|run, made| match run.repetition {
        1 => {
            let workload = made.workload();
            (workload.transactions, workload.tps, workload.latency) = (0, 0.0, None);
            workload.completion.longer_than_s = Some(60.0);
        }
        _ => fast(run, made),
    });
    let counts = |candidate: &Campaign| compare(&base.1, candidate).verdict_counts();
    assert_eq!((counts(&other.1).better, counts(&other.1).worse), (0, 0));
    assert!(counts(&repeated(&fast).1).better > 0);
    assert_eq!(compare(&base.1, &other.1).unfinished().count(), 1);
}

#[test]
fn a_tps_of_single_times_is_not_compared_with_one_over_the_time_measured() {
    let of_times = |_: &PlannedRun, made: &mut Made| {
        let workload = made.workload();
        (workload.transactions, workload.completion.after_end) = (4, 4);
    };
    let usual = |_: &PlannedRun, _: &mut Made| ();
    let has_tps = |workload: &WorkloadComparison| {
        let mut measures = workload.measures.iter();
        measures.any(|compared| compared.measure == Measure::Tps)
    };
    let apart = compared(usual, of_times);
    assert!(!has_tps(&apart) && apart.measures.len() == 3, "{:?}", apart.measures);
    assert!(apart.notes.iter().any(|note| note.starts_with("TPS is not compared: ")));
    assert!(has_tps(&compared(of_times, of_times)) && has_tps(&compared(usual, usual)));
}
