//! Runs to be shown in tests.

use dyno_archive::plan::{PlannedRun, Size};
use dyno_archive::summary::{
    ClientCpu, Completion, Connection, ErrorSummary, HostCpu, Lag, Latency, Pacing, ScriptSummary, StageSummary,
    StageWorkload, StatementSummary, Steadiness, Summary, TableGrowth, Warning, WorkloadFacts, WorkloadSummary,
};
use dyno_archive::{CampaignRecord, CampaignWriter, RunRecord, RunState, RunWriter};
use dyno_lab::experiment::find;
use dyno_record::{Interval, Recording};
use std::path::Path;
use std::time::Duration;

const UPDATE: &str = "update tbl set crt_time = now() where id = :id;";

pub(crate) fn latency(scale: f64) -> Latency {
    Latency {
        mean_us: 645.2 * scale,
        stddev_us: 120.4 * scale,
        min_us: 201.0 * scale,
        p50_us: 612.3 * scale,
        p95_us: 1_034.5 * scale,
        p99_us: 1_812.4 * scale,
        p99_9_us: 3_201.9 * scale,
        max_us: 9_120.7 * scale,
    }
}

/// What a small run of an update experiment finds.
pub(crate) fn update() -> Summary {
    Summary {
        measured_s: 20.0,
        workloads: vec![WorkloadSummary {
            name: "update".to_owned(),
            clients: 8,
            threads: 2,
            pacing: Pacing::Closed,
            transactions: 246_912,
            statements: 246_912,
            errors: 0,
            unfinished: 0,
            completion: Completion::default(),
            transactions_per_client: None,
            skipped: 0,
            late: 0,
            retried: 0,
            retries: 0,
            tps: 12_345.6,
            statements_per_s: 12_345.6,
            steadiness: Some(Steadiness {
                intervals: 20,
                tps_min: 10_980.0,
                tps_max: 12_990.0,
                variation_percent: Some(3.21),
            }),
            latency: Some(latency(1.0)),
            lag: None,
            statement_latencies: vec![StatementSummary {
                sql: UPDATE.to_owned(),
                count: 246_912,
                latency: Some(latency(0.99)),
            }],
            errors_by_state: Vec::new(),
            scripts: Vec::new(),
        }],
        connection: Some(Connection {
            count: 8,
            mean_us: 2_345.6,
            max_us: 4_012.0,
            total_us: 12_876.0,
        }),
        tables: vec![TableGrowth {
            table: "tbl".to_owned(),
            table_before_bytes: 76_000_000,
            table_after_bytes: 81_000_000,
            indexes_before_bytes: 22_400_000,
            indexes_after_bytes: 22_400_000,
        }],
        load_host: Some(HostCpu {
            user_percent: 48.2,
            system_percent: 31.4,
            iowait_percent: 6.1,
            steal_percent: 0.3,
            idle_percent: 14.0,
        }),
        client_cpu: Some(ClientCpu {
            user_us: 0.58,
            system_us: 7.41,
        }),
        warnings: Vec::new(),
        ..Summary::default()
    }
}

/// A run of two workloads, one of them by a schedule and with errors.
pub(crate) fn two_workloads() -> Summary {
    let mut summary = update();
    let mut writer = summary.workloads[0].clone();
    writer.name = "ingest".to_owned();
    writer.pacing = Pacing::Open { rate_per_s: 1_000.0 };
    (writer.transactions, writer.statements, writer.errors, writer.unfinished) = (19_876, 59_628, 124, 3);
    (writer.tps, writer.statements_per_s) = (993.8, 2_981.4);
    writer.latency = Some(latency(40.0));
    writer.lag = Some(Lag {
        mean_us: 1_812.0,
        max_us: 44_100.0,
    });
    let statement = |sql: &str| StatementSummary {
        sql: sql.to_owned(),
        count: 19_876,
        latency: Some(latency(13.0)),
    };
    writer.statement_latencies = vec![
        statement("begin;"),
        statement(
            "insert into history (tid, bid, aid, delta, mtime)\n  values (:tid, :bid, :aid, :delta, \
             current_timestamp);",
        ),
        statement("end;"),
    ];
    writer.errors_by_state = vec![
        ErrorSummary {
            sqlstate: "40P01".to_owned(),
            count: 120,
            example: "ERROR: deadlock detected".to_owned(),
        },
        ErrorSummary {
            sqlstate: "57014".to_owned(),
            count: 4,
            example: "ERROR: canceling statement due to statement timeout".to_owned(),
        },
    ];
    summary.warnings = Warning::of(&writer, 1.0);
    summary.warnings.push(Warning::LoadHostBusy {
        idle_percent: 2.0,
        server_too: true,
        others: None,
    });
    summary.workloads.push(writer);
    summary
}

/// A load in two stages, at 500 and at 20,000 transactions per second.
pub(crate) fn staged() -> Summary {
    let mut summary = update();
    let stage = |name: &str, start_s: f64, asked_per_s: f64, p99_us: f64| StageSummary {
        name: name.to_owned(),
        start_s,
        end_s: start_s + 10.0,
        workloads: vec![StageWorkload {
            name: "update".to_owned(),
            tps: asked_per_s,
            asked_per_s: Some(asked_per_s),
            variation_percent: None,
            p50_us: Some(p99_us / 3.0),
            p95_us: Some(p99_us / 2.0),
            p99_us: Some(p99_us),
        }],
    };
    summary.stages = vec![
        stage("calm", 0.0, 500.0, 900.0),
        stage("storm", 10.0, 20_000.0, 40_000.0),
    ];
    summary.workloads[0].tps = 10_250.0;
    summary.workloads[0].pacing = Pacing::Staged {
        least_per_s: 500.0,
        most_per_s: 20_000.0,
        closed: false,
    };
    summary
}

/// A mix of two scripts by a schedule with a latency limit, where failures are tried again.
pub(crate) fn scripts() -> Summary {
    let mut summary = update();
    let workload = &mut summary.workloads[0];
    workload.name = "pgbench".to_owned();
    workload.pacing = Pacing::Open { rate_per_s: 1_000.0 };
    workload.transactions_per_client = Some(2_500);
    (workload.transactions, workload.statements) = (19_876, 98_000);
    (workload.skipped, workload.late, workload.retried, workload.retries) = (120, 34, 1, 2);
    workload.errors = 4;
    workload.errors_by_state = vec![ErrorSummary {
        sqlstate: "40001".to_owned(),
        count: 4,
        example: "ERROR: could not serialize access due to concurrent update".to_owned(),
    }];
    workload.scripts = vec![
        ScriptSummary {
            name: "<builtin: TPC-B (sort of)>".to_owned(),
            weight: 3,
            transactions: 14_900,
            tps: 745.0,
            latency_mean_us: Some(812.4),
            latency_stddev_us: Some(140.1),
            skipped: 90,
            retried: 1,
            retries: 2,
            serialization_failures: 4,
            ..ScriptSummary::default()
        },
        ScriptSummary {
            name: "checks/balances.sql".to_owned(),
            weight: 1,
            transactions: 4_976,
            tps: 248.8,
            latency_mean_us: Some(144.2),
            latency_stddev_us: Some(20.7),
            skipped: 30,
            ..ScriptSummary::default()
        },
        ScriptSummary {
            name: "never.sql".to_owned(),
            ..ScriptSummary::default()
        },
    ];
    summary
}

/// Writes an archive: a complete run, a run that failed early, and one whose dyno was killed.
pub(crate) fn write_archive(folder: &Path) {
    let (_, run) = begin_run(folder, "2026-11-21T19:40:12+00:00[UTC]");
    finish(run, RunState::Complete, update());

    let (_, run) = begin_run(folder, "2026-11-21T20:01:00+00:00[UTC]");
    let mut stopped = update();
    stopped.measured_s = 4.0;
    stopped.warnings = vec![Warning::EndedEarly {
        reason: "the server closed all connections".to_owned(),
        measured_s: 4.0,
        planned_s: Some(20.0),
    }];
    finish(run, RunState::Incomplete, stopped);

    let (_, mut run) = begin_run(folder, "2026-11-21T20:05:30+00:00[UTC]");
    for second in 0..8 {
        let mut recording = Recording::new(1);
        recording.transactions = 1_000;
        recording.statements = 1_000;
        for number in 0..1_000 {
            recording.latency.record(500_000 + 500 * number);
            recording.statement_latency[0].record(499_000 + 500 * number);
        }
        let interval = Interval {
            phase: usize::from(second >= 5),
            start: Duration::from_secs(second),
            duration: Duration::from_secs(1),
            first_thread_whole: true,
            recordings: vec![recording],
        };
        run.interval(&interval).unwrap();
    }
}

fn begin_run(folder: &Path, started: &str) -> (CampaignWriter, RunWriter) {
    let plan = find("pk-update").unwrap().plan(Size::Small, &[], None, 1, 2).unwrap();
    let experiment = plan.cells[0].experiment.clone();
    let phases = experiment.phases();
    let plan = PlannedRun {
        number: 1,
        cell: Default::default(),
        repetition: 1,
    };
    let command = "dyno run pk-update".to_owned();
    let started = started.parse().unwrap();
    let record = CampaignRecord::new(experiment, command.clone(), started, 1, vec![plan.clone()]);
    let campaign = CampaignWriter::create(folder, &record).unwrap();
    let facts = WorkloadFacts {
        statements: vec![UPDATE.to_owned()],
        ..WorkloadFacts::closed("update", 8, 2)
    };
    let target = "PostgreSQL 18.6 of dyno, unix socket".to_owned();
    let record = RunRecord::new(target, command, vec![facts], &phases, Duration::from_secs(1));
    let mut run = campaign.run(&plan, record).unwrap();
    run.begin().unwrap();
    (campaign, run)
}

fn finish(mut run: RunWriter, state: RunState, summary: Summary) {
    run.record_mut().server = serde_json::from_str(r#"{ "version": "PostgreSQL 18.6" }"#).unwrap();
    let phases = &mut run.record_mut().phases;
    (phases[0].start_s, phases[0].end_s) = (Some(0.0), Some(5.0));
    (phases[1].start_s, phases[1].end_s) = (Some(5.0), Some(5.0 + summary.measured_s));
    run.finish(state, summary).unwrap();
}
