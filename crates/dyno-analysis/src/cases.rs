//! Every warning has a case in which it is given, and others in which it must not be although they look alike.

use crate::campaign::tests::{CHECKPOINT, found, run as run_of_cell};
use crate::causes::fixture::{calm, signal};
use crate::plans::tests::{keep, plan};
use crate::recording::Recording;
use crate::series::Series;
use crate::summary::{Counts, SummaryBuilder, metrics};
use crate::warnings;
use dyno_archive::analysis::Analysis;
use dyno_archive::plan::{MEASURE, Resolved, Size, Span};
use dyno_archive::summary::{Lag, Pacing, SamplingCost, StageFacts, Summary, Warning, WarningKind, WorkloadFacts};
use dyno_archive::{Run, RunRecord, RunState};
use dyno_lab::experiment::Experiment;
use dyno_record::{Blocked, Point, Route, Shape, Stalled, Who};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use strum::IntoEnumIterator;

/// What was warned of.
struct Case {
    /// Where there is reason to.
    given: Vec<Warning>,
    /// Where there is none.
    silent: Vec<Warning>,
}

/// All but those that only who makes a run can give; they have their cases in dyno-lab.
fn of_archives() -> impl Iterator<Item = WarningKind> {
    WarningKind::iter().filter(|kind| !WarningKind::WHILE_RUNNING.contains(kind))
}

#[test]
fn every_warning_is_given_with_reason_and_never_without() {
    for kind in of_archives() {
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
    let said = of_archives().filter_map(|kind| {
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
        WarningKind::Aborted => Case {
            given: aborted(3),
            silent: aborted(0),
        },
        WarningKind::NoTransactions => Case {
            given: loaded(facts(Pacing::Closed), &[0; 20], 0),
            silent: loaded(facts(Pacing::Closed), &[1; 20], 0),
        },
        WarningKind::Errors => Case {
            given: loaded(facts(Pacing::Closed), &[100; 20], 7),
            silent: loaded(facts(Pacing::Closed), &[100; 20], 0),
        },
        WarningKind::FewIntervals => Case {
            given: loaded(facts(Pacing::Closed), &[100; 9], 0),
            silent: loaded(facts(Pacing::Closed), &[100; 10], 0),
        },
        WarningKind::Unsteady => unsteady(),
        WarningKind::RateMissed => rate_missed(),
        WarningKind::Late => Case {
            given: loaded_with_lag(3_000.0, &[3_000; 10], 4_000.0),
            silent: loaded_with_lag(3_000.0, &[3_000; 10], 300.0),
        },
        WarningKind::NoSteadyState => {
            let found = |may_be_steady| {
                let mut analysis = Analysis::default();
                "TPS fell by 34 % over the time measured".clone_into(&mut analysis.steady.reason);
                let made = Made::new();
                warnings::warnings(&made.run, &calm(), &analysis, may_be_steady)
            };
            Case {
                given: found(true),
                // Stages, or too short to tell.
                silent: found(false),
            }
        }
        WarningKind::FewCheckpoints => Case {
            given: analysed(|_, _| {}),
            silent: analysed(|_, recording| recording.log_bytes = signal(900.0, 900.0)),
        },
        WarningKind::LoadGeneratorBusy => Case {
            given: analysed(|_, recording| recording.dyno_cores = signal(1.95, 1.95)),
            silent: analysed(|_, recording| recording.dyno_cores = signal(1.2, 1.2)),
        },
        WarningKind::Descheduled => {
            let stalled = |who| {
                analysed(|_, recording| {
                    recording.stalled.push(Stalled {
                        who,
                        start_s: 60.0,
                        end_s: 63.0,
                        starved: false,
                        detail: String::new(),
                    });
                })
            };
            Case {
                given: stalled(Who::Dyno),
                silent: stalled(Who::Server),
            }
        }
        WarningKind::SlowClock => of_host(
            json!({ "clock_source": "hpet", "clock_read_ns": 1_400 }),
            json!({ "clock_source": "tsc", "clock_read_ns": 24 }),
        ),
        WarningKind::NearCeiling => Case {
            given: near_ceiling(170_000.0),
            // Clearly below it; and several statements at once, which have another ceiling.
            silent: [near_ceiling(150_000.0), near_ceiling(300_000.0)].concat(),
        },
        WarningKind::PowerSaving => of_host(json!({ "governor": "powersave" }), json!({ "governor": "performance" })),
        WarningKind::Swapping => {
            let swapped = |samples: &str| {
                let made = Made::new();
                std::fs::write(made.run.path.join("host.csv"), samples).unwrap();
                warnings::warnings(&made.run, &calm(), &Analysis::default(), false)
            };
            Case {
                given: swapped("at_s,swap_out_bytes\n1.0,0\n60.0,900000\n119.0,50000000\n"),
                // Before the measurement.
                silent: swapped("at_s,swap_out_bytes\n-9.0,0\n1.0,50000000\n119.0,50000000\n"),
            }
        }
        WarningKind::CostlySamples => {
            let cost = |server_ms_per_s| {
                analysed(|record, _| {
                    let summary = record.summary.get_or_insert_default();
                    summary.sampling = Some(SamplingCost {
                        server_ms_per_s,
                        dyno_cpu_us_per_s: 0.0,
                    });
                })
            };
            Case {
                given: cost(250.0),
                silent: cost(20.0),
            }
        }
        WarningKind::NearCache => Case {
            given: with_tables(130_000_000, 277_000_000, 9_000_000, |_| {}),
            silent: [
                // Of others, or hardly looked at.
                with_tables(130_000_000, 130_000_000, 0, |_| {}),
                with_tables(130_000_000, 277_000_000, 500, |_| {}),
                with_tables(40_000_000, 130_000_000, 9_000_000, |_| {}),
            ]
            .concat(),
        },
        WarningKind::FewRows => Case {
            given: with_tables(8_192, 8_192, 9_000_000, |recording| recording.row_waits = waiting(5.2)),
            silent: [
                with_tables(8_192, 8_192, 9_000_000, |recording| recording.row_waits = waiting(0.1)),
                // Without samples nobody knows.
                with_tables(8_192, 8_192, 9_000_000, |_| {}),
                with_tables(8_192, 8_192, 0, |recording| recording.row_waits = waiting(5.2)),
            ]
            .concat(),
        },
        WarningKind::HeldUp => {
            let held = |seconds: f64, holder: Option<&str>| {
                analysed(|_, recording| {
                    recording.blocked = vec![Blocked {
                        start_s: recording.measured.start_s,
                        end_s: recording.measured.start_s + seconds,
                        waiting: 1_000,
                        holder: holder.map(str::to_owned),
                        lock: None,
                        relation: None,
                    }];
                })
            };
            let length_s = calm().measured.length_s();
            Case {
                given: held(0.6 * length_s, Some("process 706 (psql)")),
                // A dip says it; what clients do to each other is the load.
                silent: [
                    held(0.3 * length_s, Some("process 706 (psql)")),
                    held(0.6 * length_s, None),
                ]
                .concat(),
            }
        }
        WarningKind::FewRepetitions => Case {
            given: campaign(&["1", "1", "8", "8"], |_| {}),
            // A cell alone is not compared with any.
            silent: [campaign(&["1", "1"], |_| {}), campaign(&EIGHT, |_| {})].concat(),
        },
        WarningKind::OneSided => {
            let with_checkpoints = |clients: &'static [&'static str]| {
                campaign(&EIGHT, |run| {
                    if clients.contains(&run.record.as_ref().unwrap().cell["clients"].as_str()) {
                        std::fs::write(run.path.join("events.jsonl"), CHECKPOINT).unwrap();
                    }
                })
            };
            Case {
                given: with_checkpoints(&["8"]),
                silent: with_checkpoints(&["1", "8"]),
            }
        }
        WarningKind::EnvironmentDiffers => {
            let setting = |name: &'static str| {
                campaign(&EIGHT, |run| {
                    if run.path.ends_with("3") {
                        let settings = json!({ "settings": [{ "name": name, "value": "64" }] });
                        run.record.as_mut().unwrap().server = settings;
                    }
                })
            };
            Case {
                given: setting("work_mem"),
                silent: setting("port"),
            }
        }
        WarningKind::PlansDiffer => {
            let planned = |clients: &[&str], other: &'static str, cost: f64| {
                campaign(clients, |run| {
                    let of = |on, cost| plan(&[(0, "Scan", on)], cost);
                    let (on, cost) = if run.path.ends_with("1") {
                        (other, cost)
                    } else {
                        ("t", 1.0)
                    };
                    keep(&run.path, of("t", 1.0), of(on, cost));
                })
            };
            Case {
                given: planned(&["1", "1"], "u", 1.0),
                // It costs more, or is another cell's, or nobody kept it.
                silent: [
                    planned(&["1", "1"], "t", 9.0),
                    planned(&["1", "8"], "u", 1.0),
                    campaign(&["1", "1"], |_| {}),
                ]
                .concat(),
            }
        }
        WarningKind::Note => Case {
            given: noted("{batch} / {a.statements_per_s}"),
            silent: noted("{batch} * 2"),
        },
        WarningKind::EndedEarly
        | WarningKind::Unfinished
        | WarningKind::LoadHostBusy
        | WarningKind::Steal
        | WarningKind::NotDurable
        | WarningKind::SettingDiffers
        | WarningKind::ArchiveStopped => unreachable!("{kind:?} is given while a run is made"),
    }
}

/// Eight clients on two threads.
fn facts(pacing: Pacing) -> WorkloadFacts {
    WorkloadFacts {
        pacing,
        ..WorkloadFacts::closed("main", 8, 2)
    }
}

fn counts(transactions: u64, errors: u64) -> Counts {
    Counts {
        transactions,
        errors,
        ..Counts::default()
    }
}

/// What is said of a load with so many transactions in each second, and of errors in the first.
fn loaded(facts: WorkloadFacts, transactions: &[u64], errors: u64) -> Vec<Warning> {
    let mut builder = SummaryBuilder::new(&[facts], Duration::from_secs(1));
    for (second, transactions) in transactions.iter().enumerate() {
        builder.time(MEASURE, second as f64, 1.0);
        builder.counts(
            0,
            1.0,
            counts(*transactions, if second == 0 { errors } else { 0 }),
            None,
        );
    }
    builder.build().warnings
}

fn loaded_with_lag(rate_per_s: f64, transactions: &[u64], mean_us: f64) -> Vec<Warning> {
    let mut builder = SummaryBuilder::new(&[facts(Pacing::Open { rate_per_s })], Duration::from_secs(1));
    for (second, transactions) in transactions.iter().enumerate() {
        builder.time(MEASURE, second as f64, 1.0);
        let lag = Lag {
            mean_us,
            max_us: 10.0 * mean_us,
        };
        builder.counts(0, 1.0, counts(*transactions, 0), Some(lag));
    }
    builder.build().warnings
}

/// A stage with one rate, or with one that changes.
fn stage(name: &str, from: f64, to: f64) -> StageFacts {
    StageFacts {
        name: name.to_owned(),
        rate_per_s: Some(Span { from, to }),
        ramp: from != to,
    }
}

/// What is said of an open loop in stages of ten seconds, which did so many transactions a second in each.
fn staged(stages: Vec<StageFacts>, transactions: &[u64]) -> Vec<Warning> {
    let pacing = Pacing::Staged {
        least_per_s: 500.0,
        most_per_s: 20_000.0,
        closed: false,
    };
    let names: Vec<String> = stages.iter().map(|stage| stage.name.clone()).collect();
    let facts = WorkloadFacts {
        stages,
        ..facts(pacing)
    };
    let mut builder = SummaryBuilder::new(&[facts], Duration::from_secs(1));
    for (number, (name, transactions)) in names.iter().zip(transactions).enumerate() {
        for second in 0..10 {
            builder.time(name, (10 * number + second) as f64, 1.0);
            builder.counts(0, 1.0, counts(*transactions, 0), None);
        }
    }
    builder.build().warnings
}

fn unsteady() -> Case {
    let swinging: Vec<u64> = (0..20).map(|second| 100 + 50 * (second % 3)).collect();
    let chance: Vec<u64> = [3, 7, 5, 2, 6, 9, 4, 5, 3, 6, 5, 4].to_vec();
    let delayed = WorkloadFacts {
        start_delay_s: 8.0,
        ..facts(Pacing::Closed)
    };
    let delayed = loaded(delayed, &[[0; 8].as_slice(), &[1_000; 20]].concat(), 0);
    Case {
        given: loaded(facts(Pacing::Closed), &swinging, 0),
        silent: [
            // From stage to stage, and within a ramp, the load itself changes.
            staged(
                vec![stage("low", 500.0, 500.0), stage("high", 20_000.0, 20_000.0)],
                &[500, 20_000],
            ),
            loaded(
                WorkloadFacts {
                    stages: vec![StageFacts {
                        name: MEASURE.to_owned(),
                        ..stage("up", 100.0, 200.0)
                    }],
                    ..facts(Pacing::Closed)
                },
                &swinging,
                0,
            ),
            // A schedule of five transactions a second is no steadier.
            loaded(facts(Pacing::Open { rate_per_s: 5.0 }), &chance, 0),
            delayed,
        ]
        .concat(),
    }
}

fn rate_missed() -> Case {
    let open = |rate_per_s| facts(Pacing::Open { rate_per_s });
    let stages = || vec![stage("low", 500.0, 500.0), stage("up", 500.0, 1_500.0)];
    Case {
        given: [loaded(open(3_000.0), &[2_413; 10], 0), staged(stages(), &[500, 700])].concat(),
        silent: [
            // 3,017 of 3,000, however late they were.
            loaded_with_lag(200.0, &[201; 15], 25_000.0),
            loaded(open(3_000.0), &[2_985; 10], 0),
            // What failed was begun.
            loaded(open(100.0), &[90; 10], 100),
            // Few are due, and chance is large.
            loaded(open(4.0), &[3; 10], 0),
            staged(stages(), &[500, 1_000]),
            loaded(facts(Pacing::Closed), &[10; 10], 0),
        ]
        .concat(),
    }
}

/// A summary of a load that did nothing worth a warning.
fn summary() -> Summary {
    let mut summary = SummaryBuilder::new(&[facts(Pacing::Closed)], Duration::from_secs(1)).build();
    (summary.measured_s, summary.warnings) = (12.0, Vec::new());
    summary
}

fn aborted(number: u64) -> Vec<Warning> {
    let mut builder = SummaryBuilder::new(&[facts(Pacing::Closed)], Duration::from_secs(1));
    for _ in 0..number {
        builder.ended(0, 12.3, "ERROR: division by zero\n  at line 1");
    }
    builder.build().warnings
}

/// A run in a folder of its own.
struct Made {
    run: Run,
    _folder: tempfile::TempDir,
}

impl Made {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let facts = vec![facts(Pacing::Closed)];
        let record = RunRecord::new(String::new(), String::new(), facts, &[], Duration::from_secs(1));
        Self {
            run: Run {
                path: folder.path().to_owned(),
                record: Ok(record),
                state: RunState::Complete,
            },
            _folder: folder,
        }
    }
}

/// What is said of a calm recording that was changed in one respect.
fn analysed(change: impl FnOnce(&mut RunRecord, &mut Recording)) -> Vec<Warning> {
    let (mut made, mut recording) = (Made::new(), calm());
    change(made.run.record.as_mut().unwrap(), &mut recording);
    warnings::warnings(&made.run, &recording, &Analysis::default(), false)
}

fn of_host(given: Value, silent: Value) -> Case {
    let of = |host| analysed(|record, _| record.host = host);
    Case {
        given: of(given),
        silent: of(silent),
    }
}

fn near_ceiling(statements_per_s: f64) -> Vec<Warning> {
    analysed(|record, _| {
        let mut summary = summary();
        summary.workloads[0].statements_per_s = statements_per_s;
        record.summary = Some(summary);
        record.ceiling = Some(Point {
            tps: 200_000.0,
            transport: "epoll".to_owned(),
            tps_per_core: 250_000.0,
            measured: jiff::Timestamp::UNIX_EPOCH,
            measured_s: 2.0,
            client_user_us: 0.5,
            client_system_us: 3.5,
            responder_us: 4.0,
            p50_us: 60.0,
            p99_us: 120.0,
            shape: Shape {
                route: Route::Unix,
                clients: 16,
                threads: 2,
            },
        });
    })
}

/// What is said where the load updated a table of one row and so many bytes so often, in a larger database, with
/// 128 MB of buffers.
fn with_tables(
    table_bytes: u64,
    database_bytes: u64,
    updates: u64,
    change: impl FnOnce(&mut Recording),
) -> Vec<Warning> {
    let tables = |updates: u64| {
        let table = |name: &str, bytes: u64, updates: u64| {
            let statistics = json!({ "seq_tup_read": 10, "idx_tup_fetch": null, "n_tup_upd": updates });
            json!({
                "schema": "public", "name": name, "table_bytes": bytes, "index_bytes": 0, "rows_estimate": 1,
                "statistics": statistics,
            })
        };
        let others = database_bytes - table_bytes;
        json!({
            "database_bytes": database_bytes,
            "tables": [table("counter", table_bytes, updates), table("of_others", others, 5)],
        })
    };
    analysed(|record, recording| {
        record.tables = json!({ "before": tables(0), "after": tables(updates) });
        change(recording);
    })
}

/// So many clients wait for a row all the time.
fn waiting(clients: f64) -> Series {
    signal(clients, clients).unwrap().series
}

const EIGHT: [&str; 8] = ["1", "1", "1", "1", "8", "8", "8", "8"];

/// What is said of a campaign with runs of a minute for these numbers of clients.
fn campaign(clients: &[&str], change: impl Fn(&mut Run)) -> Vec<Warning> {
    let folder = tempfile::tempdir().unwrap();
    let runs = clients.iter().enumerate().map(|(number, clients)| {
        let mut run = run_of_cell(folder.path(), number, clients, 60.0, "");
        change(&mut run);
        run
    });
    found(runs.collect())
}

fn experiment(metric: &str) -> Resolved {
    let file = format!(
        "title = \"t\"\n[parameters]\nbatch = 10\n[[workload]]\nname = \"a\"\nscript = \"select 1\"\n[metrics]\n\
         ratio = \"{metric}\"\n"
    );
    let experiment = Experiment::parse(Path::new("t.toml"), &file).unwrap();
    let mut plan = experiment.plan(Size::Small, &[], None, 1, 1).unwrap();
    plan.cells.remove(0).experiment
}

/// What is said of a metric.
fn noted(metric: &str) -> Vec<Warning> {
    let (_, missing) = metrics::evaluate(&experiment(metric), &summary());
    missing.into_iter().map(|text| Warning::Note { text }).collect()
}
