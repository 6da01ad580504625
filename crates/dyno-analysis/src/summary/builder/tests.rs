//! Summaries against figures worked out by hand.

use super::*;
use dyno_archive::plan::MEASURE;
use dyno_archive::summary::{ScriptFacts, StageFacts};
use dyno_record::{ErrorClass, ErrorCode, Recording};

const SECOND: Duration = Duration::from_secs(1);

fn facts(pacing: Pacing) -> Vec<WorkloadFacts> {
    vec![WorkloadFacts {
        pacing,
        statements: vec!["select 1".to_owned(), "select 2".to_owned()],
        ..WorkloadFacts::closed("main", 1, 1)
    }]
}

/// An interval with `count` transactions of `latency_ns` each.
fn interval(count: u64, latency_ns: u64, duration: Duration) -> Interval {
    let mut recording = Recording::new(2);
    recording.transactions = count;
    recording.statements = 2 * count;
    for _ in 0..count {
        recording.latency.record(latency_ns);
        recording.statement_latency[0].record(latency_ns / 2);
    }
    Interval {
        phase: 1,
        start: SECOND,
        duration,
        first_thread_whole: true,
        recordings: vec![recording],
    }
}

/// Whether a latency is what it should be, to the histogram's three digits.
fn close(us: f64, expected_us: f64) -> bool {
    (us - expected_us).abs() <= expected_us * 0.001 + 0.1
}

#[test]
fn figures_are_those_of_all_intervals_together() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Closed), SECOND);
    builder.interval(MEASURE, &interval(90, 1_000_000, SECOND));
    builder.interval(MEASURE, &interval(110, 3_000_000, SECOND));
    // Cut short: counts for the average, and says nothing of steadiness.
    builder.interval(MEASURE, &interval(10, 2_000_000, SECOND / 2));
    let summary = builder.build();
    let workload = &summary.workloads[0];
    assert_eq!(
        (summary.measured_s, workload.transactions, workload.statements),
        (2.5, 210, 420)
    );
    assert_eq!((workload.tps, workload.statements_per_s), (84.0, 168.0));
    let steadiness = workload.steadiness.unwrap();
    assert_eq!(
        (steadiness.intervals, steadiness.tps_min, steadiness.tps_max),
        (2, 90.0, 110.0)
    );
    // Standard deviation √200 over a mean of 100.
    assert!((steadiness.variation_percent.unwrap() - 14.142).abs() < 0.001);
    let latency = workload.latency.unwrap();
    assert!(
        close(latency.mean_us, (90.0 + 330.0 + 20.0) / 210.0 * 1000.0),
        "{latency:?}"
    );
    assert!(
        close(latency.p50_us, 3_000.0) && close(latency.min_us, 1_000.0) && close(latency.max_us, 3_000.0),
        "{latency:?}"
    );
    let statements: Vec<_> = workload
        .statement_latencies
        .iter()
        .map(|statement| statement.count)
        .collect();
    assert_eq!(statements, [210, 0]);
    assert!(workload.statement_latencies[1].latency.is_none());
    assert!(workload.lag.is_none());
}

#[test]
fn an_interval_shortened_by_connecting_counts_with_its_own_rate() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Closed), SECOND);
    builder.interval(MEASURE, &interval(190, 1_000_000, Duration::from_millis(950)));
    builder.interval(MEASURE, &interval(100, 1_000_000, SECOND));
    builder.interval(MEASURE, &interval(100, 1_000_000, SECOND));
    let steadiness = builder.build().workloads[0].steadiness.unwrap();
    assert_eq!((steadiness.intervals, steadiness.tps_min), (3, 100.0));
    assert!((steadiness.tps_max - 200.0).abs() < 1e-9);
}

#[test]
fn percentiles_are_of_the_sum_not_averaged() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Closed), SECOND);
    builder.interval(MEASURE, &interval(990, 1_000_000, SECOND));
    builder.interval(MEASURE, &interval(10, 100_000_000, SECOND));
    let latency = builder.build().workloads[0].latency.unwrap();
    assert!(
        close(latency.p99_us, 1_000.0) && close(latency.p99_9_us, 100_000.0),
        "{latency:?}"
    );
}

#[test]
fn lag_is_weighted_by_transactions() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Open { rate_per_s: 4.0 }), SECOND);
    for (count, lag_ns) in [(1_u64, 4_000_000), (3, 8_000_000)] {
        let mut interval = interval(count, 1_000_000, SECOND);
        (0..count).for_each(|_| interval.recordings[0].lag.record(lag_ns));
        builder.interval(MEASURE, &interval);
    }
    let summary = builder.build();
    let lag = summary.workloads[0].lag.unwrap();
    assert!(close(lag.mean_us, 7_000.0) && close(lag.max_us, 8_000.0), "{lag:?}");
    assert!(
        summary
            .warnings
            .iter()
            .any(|warning| matches!(warning, Warning::Late { .. })),
        "{:?}",
        summary.warnings
    );
}

#[test]
fn busy_clients_are_named_as_the_cause_of_late_begins_only_if_they_were_busy() {
    let said = |count: u64, latency_ns: u64| {
        let mut builder = SummaryBuilder::new(
            &facts(Pacing::Open {
                rate_per_s: count as f64,
            }),
            SECOND,
        );
        let mut interval = interval(count, latency_ns, SECOND);
        (0..count).for_each(|_| interval.recordings[0].lag.record(5_000_000));
        builder.interval(MEASURE, &interval);
        let warnings = builder.build().warnings;
        let late = warnings.iter().find(|warning| matches!(warning, Warning::Late { .. }));
        late.unwrap().to_string()
    };
    let clients = facts(Pacing::Closed)[0].clients as u64;
    // Of 6 ms each 5 are waiting: the clients are busy for 1 ms of each.
    let busy = said(900 * clients, 6_000_000);
    assert!(busy.contains("because all clients were busy"), "{busy}");
    let idle = said(20 * clients, 6_000_000);
    assert!(
        idle.contains("busy for only 2 % of their time") && idle.contains("woke up late"),
        "{idle}"
    );
    // Archives of earlier dynos do not say it.
    let earlier: Warning = serde_json::from_str(r#"{"kind":"late","workload":"main","mean_us":4000.0}"#).unwrap();
    assert!(!earlier.to_string().contains("because"), "{earlier}");
}

#[test]
fn nothing_is_due_before_a_workload_begins() {
    let mut facts = facts(Pacing::Open { rate_per_s: 600.0 });
    facts[0].start_delay_s = 5.0;
    let mut builder = SummaryBuilder::new(&facts, SECOND);
    for second in 0..10 {
        builder.interval(
            MEASURE,
            &Interval {
                start: SECOND * second,
                ..interval(if second < 5 { 0 } else { 600 }, 1_000_000, SECOND)
            },
        );
    }
    let missed = |warning: &Warning| matches!(warning, Warning::RateMissed { .. });
    assert!(!builder.build().warnings.iter().any(missed));
}

#[test]
fn a_stage_without_a_workload_says_nothing_of_it() {
    let mut facts = facts(Pacing::Closed);
    facts[0].stages = vec![StageFacts {
        name: "on".to_owned(),
        rate_per_s: None,
        ramp: false,
    }];
    let mut builder = SummaryBuilder::new(&facts, SECOND);
    for second in 0..6 {
        let (phase, count) = if second < 3 {
            ("on", 100 + u64::from(second))
        } else {
            ("off", 0)
        };
        builder.interval(
            phase,
            &Interval {
                start: SECOND * second,
                ..interval(count, 1_000_000, SECOND)
            },
        );
    }
    let summary = builder.build();
    let steadiness = summary.workloads[0].steadiness.unwrap();
    assert_eq!(
        (steadiness.intervals, steadiness.tps_min, steadiness.tps_max),
        (3, 100.0, 102.0)
    );
    let of_stages: Vec<usize> = summary.stages.iter().map(|stage| stage.workloads.len()).collect();
    assert_eq!(of_stages, [1, 0]);
    assert_eq!(summary.stages[0].workloads[0].tps, 101.0);
}

#[test]
fn clients_that_began_within_the_measured_time_are_told_of() {
    let mut facts = facts(Pacing::Closed);
    facts[0].start_delay_s = 5.0;
    let told = |first: u32| {
        let mut builder = SummaryBuilder::new(&facts, SECOND);
        for second in first..10 {
            let start = SECOND * second;
            let count = if second < 5 { 0 } else { 600 };
            builder.interval(
                MEASURE,
                &Interval {
                    start,
                    ..interval(count, 1_000_000, SECOND)
                },
            );
        }
        let warnings = builder.build().warnings;
        let notes = warnings
            .iter()
            .filter(|warning| matches!(warning, Warning::Note { .. }));
        notes.map(ToString::to_string).collect::<Vec<_>>()
    };
    let words = "The clients of \"main\" began 3.0 s after the measurement; its TPS is over all of the measured time.";
    assert_eq!((told(2), told(5)), (vec![words.to_owned()], Vec::new()));
}

#[test]
fn turns_that_a_latency_limit_skips_are_no_backlog() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Open { rate_per_s: 600.0 }), SECOND);
    for _ in 0..10 {
        let mut interval = interval(400, 1_000_000, SECOND);
        interval.recordings[0].skipped = 200;
        builder.interval(MEASURE, &interval);
    }
    let warnings = builder.build().warnings;
    let missed = warnings
        .iter()
        .find(|warning| matches!(warning, Warning::RateMissed { .. }));
    let missed = missed.unwrap().to_string();
    assert!(
        missed.contains("2,000 were skipped") && !missed.contains("backlog"),
        "{missed}"
    );
}

#[test]
fn errors_are_counted_by_state_the_most_frequent_first() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Closed), SECOND);
    for (state, count) in [("40001", 1), ("40P01", 2), ("40001", 0), ("40P01", 1)] {
        let mut interval = interval(2, 1_000_000, SECOND);
        for _ in 0..count {
            let recording = &mut interval.recordings[0];
            recording.count_error(ErrorClass::Other, ErrorCode::new(state), || format!("{state} happened"));
        }
        builder.interval(MEASURE, &interval);
    }
    let summary = builder.build();
    let workload = &summary.workloads[0];
    let errors: Vec<_> = workload
        .errors_by_state
        .iter()
        .map(|error| (error.sqlstate.as_str(), error.count))
        .collect();
    assert_eq!((workload.errors, errors), (4, vec![("40P01", 3), ("40001", 1)]));
    assert!((workload.error_percent() - 100.0 / 3.0).abs() < 1e-9);
    assert_eq!(workload.errors_by_state[0].example, "40P01 happened");
}

#[test]
fn scripts_retries_and_limits_are_summed_up() {
    let mut facts = facts(Pacing::Closed);
    facts[0].scripts = [("a.sql", 2), ("b.sql", 1)]
        .map(|(name, weight)| script_facts(name, weight))
        .to_vec();
    let mut builder = SummaryBuilder::new(&facts, SECOND);
    for number in 1..=2 {
        let mut interval = interval(10, 1_000_000, SECOND);
        let recording = &mut interval.recordings[0];
        (recording.skipped, recording.late, recording.retried, recording.retries) = (number, 3, 1, 10 * number);
        recording.scripts = vec![ScriptRecording::default(); 2];
        let script = &mut recording.scripts[0];
        (script.transactions, script.skipped, script.failures.deadlock) = (2, number, 1);
        script.latency_sums.record(1_000_000);
        script.latency_sums.record(3_000_000);
        // One of them slept.
        script.response.record(1_000_000);
        script.response.record(2_000_000);
        builder.interval(MEASURE, &interval);
    }
    let workload = builder.build().workloads.remove(0);
    assert_eq!(
        (workload.skipped, workload.late, workload.retried, workload.retries),
        (3, 6, 2, 30)
    );
    let expected = ScriptSummary {
        name: "a.sql".to_owned(),
        weight: 2,
        transactions: 4,
        tps: 2.0,
        latency_mean_us: Some(2_000.0),
        latency_stddev_us: Some(1_000.0),
        response_p90_us: workload.scripts[0].response_p90_us,
        skipped: 3,
        deadlock_failures: 2,
        ..ScriptSummary::default()
    };
    assert_eq!(workload.scripts[0], expected);
    let response_p90_us = expected.response_p90_us.unwrap();
    assert!((1_999.0..2_003.0).contains(&response_p90_us), "{response_p90_us}");
    let idle = &workload.scripts[1];
    assert_eq!(
        (idle.name.as_str(), idle.transactions, idle.latency_mean_us),
        ("b.sql", 0, None)
    );
}

fn script_facts(name: &str, weight: u64) -> ScriptFacts {
    ScriptFacts {
        name: name.to_owned(),
        weight,
    }
}

#[test]
fn a_summary_of_the_first_dynos_can_be_read() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Closed), SECOND);
    builder.interval(MEASURE, &interval(7, 1_234_567, SECOND));
    let summary = builder.build();
    let mut json = serde_json::to_value(&summary).unwrap();
    let workload = json["workloads"][0].as_object_mut().unwrap();
    for later in ["skipped", "late", "retried", "retries"] {
        assert!(workload.remove(later).is_some());
    }
    assert_eq!(serde_json::from_value::<Summary>(json).unwrap(), summary);
}

#[test]
fn nothing_measured_gives_a_summary_that_says_so() {
    let summary = SummaryBuilder::new(&facts(Pacing::Closed), SECOND).build();
    let workload = &summary.workloads[0];
    assert_eq!((workload.tps, workload.error_percent()), (0.0, 0.0));
    assert!(workload.latency.is_none() && workload.steadiness.is_none());
    assert!(summary.warnings.contains(&Warning::NoTransactions {
        workload: "main".to_owned()
    }));
}

#[test]
fn a_steady_long_run_gives_no_warning() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Closed), SECOND);
    (0..20).for_each(|number| builder.interval(MEASURE, &interval(100 + number % 3, 1_000_000, SECOND)));
    assert_eq!(builder.build().warnings, []);
    (0..20).for_each(|number| builder.interval(MEASURE, &interval(100 + 50 * (number % 3), 1_000_000, SECOND)));
    assert!(matches!(
        builder.build().warnings.as_slice(),
        [Warning::Unsteady { .. }]
    ));
}

#[test]
fn a_summary_survives_json() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Open { rate_per_s: 4.0 }), SECOND);
    builder.interval(MEASURE, &interval(7, 1_234_567, SECOND));
    let summary = builder.build();
    let json = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
}

#[test]
fn many_short_intervals_make_a_round_time() {
    let tenth = Duration::from_millis(100);
    let mut builder = SummaryBuilder::new(&facts(Pacing::Closed), tenth);
    for _ in 0..30 {
        builder.interval(MEASURE, &interval(7, 1_000_000, tenth));
    }
    let summary = builder.build();
    assert_eq!((summary.measured_s, summary.workloads[0].tps), (3.0, 70.0));
}

/// A summary of two clients that have `transactions` each, of which `count` were done within two seconds, and which
/// ended as is said.
fn ended(
    transactions: Option<u64>,
    count: u64,
    done_s: Option<f64>,
    finished_s: &[f64],
    open_for_s: Option<f64>,
) -> Summary {
    let mut facts = facts(Pacing::Closed);
    (facts[0].clients, facts[0].transactions_per_client) = (2, transactions);
    let mut builder = SummaryBuilder::new(&facts, SECOND);
    builder.interval(MEASURE, &interval(count, 100_000_000, 2 * SECOND));
    let finished: Vec<_> = finished_s.iter().copied().map(Duration::from_secs_f64).collect();
    let time = |time_s: Option<f64>| time_s.map(Duration::from_secs_f64);
    builder.end(0, time(done_s), &finished, &[], time(open_for_s));
    builder.build()
}

#[test]
fn of_a_load_that_was_stopped_before_it_was_measured_nothing_counts() {
    let mut builder = SummaryBuilder::new(&facts(Pacing::Closed), SECOND);
    builder.end(0, None, &[SECOND, SECOND], &[], Some(SECOND));
    let workload = builder.build().workloads.remove(0);
    assert_eq!((workload.transactions, workload.tps), (0, 0.0));
    assert_eq!((workload.latency, workload.completion), (None, Completion::default()));
}

fn is_missed(summary: &Summary) -> bool {
    let missed = |warning: &Warning| matches!(warning, Warning::NoTransactions { .. });
    summary.warnings.iter().any(missed)
}

#[test]
fn counted_transactions_have_the_time_until_the_last_was_done() {
    // The measurement began after a second.
    let summary = ended(Some(4), 8, Some(2.6), &[], None);
    let workload = &summary.workloads[0];
    assert_eq!(workload.completion.took_s, Some(1.6));
    assert!((workload.tps - 5.0).abs() < 1e-9 && (workload.statements_per_s - 10.0).abs() < 1e-9);
    let few = |warning: &Warning| matches!(warning, Warning::FewIntervals { .. });
    assert!(!summary.warnings.iter().any(few), "{:?}", summary.warnings);
    // That holds for clients that began later, too.
    let mut late = facts(Pacing::Closed);
    (late[0].transactions_per_client, late[0].start_delay_s) = (Some(8), 1.5);
    let mut builder = SummaryBuilder::new(&late, SECOND);
    builder.interval(MEASURE, &interval(8, 100_000_000, 2 * SECOND));
    builder.end(0, Some(Duration::from_millis(2_500)), &[], &[], None);
    let late = builder.build();
    assert_eq!(late.workloads[0].completion.took_s, Some(1.0));
    assert!(
        !late
            .warnings
            .iter()
            .any(|warning| warning.to_string().contains("over all of the measured time"))
    );
    // What has no number of transactions has no such time.
    let summary = ended(None, 8, Some(2.6), &[], None);
    assert_eq!(
        (summary.workloads[0].tps, summary.workloads[0].completion),
        (4.0, Completion::default())
    );
}

#[test]
fn what_is_finished_after_the_end_counts_where_there_is_nothing_else_or_it_was_asked_for() {
    let only = ended(None, 0, None, &[4.0, 5.0], None);
    let workload = &only.workloads[0];
    assert_eq!((workload.transactions, workload.completion.after_end), (2, 2));
    assert!((workload.tps - 0.45).abs() < 1e-9, "{}", workload.tps);
    assert!(workload.latency.is_some_and(|latency| close(latency.max_us, 5e6)));
    assert!(!is_missed(&only));

    let beside_others = ended(None, 8, None, &[4.0], None);
    assert_eq!(beside_others.workloads[0].transactions, 8);
    assert_eq!(beside_others.workloads[0].completion, Completion::default());

    let asked_for = ended(Some(5), 8, None, &[4.0, 4.5], None);
    let workload = &asked_for.workloads[0];
    assert_eq!((workload.transactions, workload.completion.after_end), (10, 2));
    assert_eq!(workload.completion.took_s, None);
}

#[test]
fn what_fails_after_the_end_counts_where_what_is_finished_then_does() {
    let failed = ErrorCount {
        code: ErrorCode::CONNECTION_LOST,
        count: 1,
        example: "lost".to_owned(),
    };
    let ended = |transactions: Option<u64>, count: u64| {
        let mut facts = facts(Pacing::Closed);
        facts[0].transactions_per_client = transactions;
        let mut builder = SummaryBuilder::new(&facts, SECOND);
        builder.interval(MEASURE, &interval(count, 100_000_000, 2 * SECOND));
        builder.end(0, None, &[], &[failed.clone(), failed.clone()], None);
        let workload = builder.build().workloads.remove(0);
        (workload.errors, workload.errors_by_state)
    };
    let both = vec![ErrorSummary {
        sqlstate: failed.code.as_str().to_owned(),
        count: 2,
        example: "lost".to_owned(),
    }];
    assert_eq!(ended(Some(5), 8), (2, both.clone()));
    assert_eq!(ended(None, 0), (2, both));
    assert_eq!(ended(None, 8), (0, Vec::new()));
}

#[test]
fn what_was_given_up_takes_longer_than_that() {
    let given_up = ended(None, 0, None, &[], Some(12.5));
    assert_eq!(given_up.workloads[0].longer_than_s(), Some(12.5));
    assert!(!is_missed(&given_up), "it is told elsewhere");
    // One of two is a result of its own.
    let one = ended(Some(1), 0, None, &[4.0], Some(12.5));
    assert_eq!(one.workloads[0].longer_than_s(), None);
    assert_eq!(one.workloads[0].completion.longer_than_s, Some(12.5));
    assert!(is_missed(&ended(None, 0, None, &[], None)));
}
