//! The report in the words of each version of pgbench.

use super::*;
use crate::version::Version;
use dyno_record::FailureCounts;
use insta::assert_snapshot;

fn sums(count: u64, mean_us: f64, max_us: f64) -> Sums {
    Sums {
        count,
        sum_us: mean_us * count as f64,
        sum_squares_us2: (mean_us * mean_us + 250_000.0) * count as f64,
        min_us: 100.0,
        max_us,
    }
}

fn counts(transactions: u64) -> ScriptRecording {
    ScriptRecording {
        transactions,
        latency_sums: sums(transactions, 1234.5, 9000.0),
        ..ScriptRecording::default()
    }
}

/// A run of one script with nothing special.
fn plain() -> Report {
    Report {
        server_version: "15.18".to_owned(),
        conditions: Conditions {
            scale: 10,
            partitions: None,
            protocol: Protocol::Prepared,
            clients: 4,
            threads: 2,
            max_tries: 1,
            transactions: None,
            duration_s: Some(60),
            failures_detailed: false,
            rate_per_s: None,
            latency_limit_us: None,
            progress: false,
            connect_each: false,
            per_command: false,
            seed: 1,
        },
        total: counts(1000),
        late: 0,
        lag: Sums::default(),
        scripts: vec![ScriptReport {
            description: "<builtin: TPC-B (sort of)>".to_owned(),
            weight: 1,
            counts: counts(1000),
            commands: vec![
                ("\\set aid 1".to_owned(), CommandRecording::default()),
                (
                    "END;".to_owned(),
                    CommandRecording {
                        latency_sums: sums(1000, 456.0, 900.0),
                        ..CommandRecording::default()
                    },
                ),
            ],
        }],
        measured: Duration::from_secs(60),
        connecting: Duration::from_micros(12_345),
        reconnecting: Duration::ZERO,
        connections: 4,
        percentiles: Vec::new(),
        errors: Vec::new(),
        incomplete: false,
    }
}

/// A run with everything there is to say.
fn rich() -> Report {
    let mut report = plain();
    let asked = &mut report.conditions;
    asked.partitions = Some(("range", 3));
    asked.max_tries = 5;
    asked.transactions = Some(300);
    asked.duration_s = None;
    asked.failures_detailed = true;
    asked.rate_per_s = Some(500.0);
    asked.latency_limit_us = Some(5500);
    asked.per_command = true;
    report.late = 7;
    report.lag = sums(1000, 300.0, 4000.0);
    report.total.skipped = 20;
    report.total.retried = 30;
    report.total.retries = 40;
    report.total.failures = FailureCounts {
        serialization: 5,
        deadlock: 4,
        other: 1,
    };
    let mut second = report.scripts[0].clone();
    second.description = "b.sql".to_owned();
    second.weight = 3;
    second.counts = ScriptRecording::default();
    report.scripts.push(second);
    report.scripts[0].counts = report.total.clone();
    report.percentiles = vec![(50.0, 1000.0), (99.9, 8765.4)];
    report
}

#[test]
fn every_layout_of_a_plain_run() {
    let mut last = String::new();
    let mut all = String::new();
    for version in Version::newest_first() {
        let text = plain().text(version);
        if text != last {
            all += &format!("== {version}\n{text}");
        }
        last = text;
    }
    assert_snapshot!(all);
}

#[test]
fn every_layout_of_a_rich_run() {
    let mut last = String::new();
    let mut all = String::new();
    for version in Version::newest_first() {
        let text = rich().text(version);
        if text != last {
            all += &format!("== {version}\n{text}");
        }
        last = text;
    }
    assert_snapshot!(all);
}

#[test]
fn statements_of_a_single_script() {
    let mut report = plain();
    report.conditions.per_command = true;
    report.conditions.progress = true;
    for version in [Version::V15, Version::V10, Version::V9_3] {
        assert_snapshot!(format!("single_script_{version}"), report.text(version));
    }
}

#[test]
fn a_connection_per_transaction() {
    let mut report = plain();
    report.conditions.connect_each = true;
    report.reconnecting = Duration::from_secs(5);
    assert_snapshot!(report.text(Version::NEWEST));
    let old = report.text(Version::V13);
    assert!(
        old.contains("tps = 16.666667 (including connections establishing)"),
        "{old}"
    );
    assert!(
        old.contains("tps = 17.021277 (excluding connections establishing)"),
        "{old}"
    );
}

#[test]
fn nothing_done_is_reported_as_such() {
    let mut report = plain();
    report.total = ScriptRecording::default();
    let newest = report.text(Version::NEWEST);
    assert!(newest.ends_with("actually processed: 0\n"), "{newest}");
    let older = report.text(Version::V15);
    assert!(
        older.ends_with("number of failed transactions: 0 (0.000%)\n"),
        "{older}"
    );
}

#[test]
fn nothing_but_skipped_transactions_is_something_from_9_6_on() {
    let mut report = plain();
    report.conditions.rate_per_s = Some(500.0);
    report.conditions.latency_limit_us = Some(5500);
    report.total = ScriptRecording {
        skipped: 20,
        ..ScriptRecording::default()
    };
    report.scripts[0].counts = report.total.clone();
    let middle = |version| {
        let text = report.text(version);
        let lines: Vec<&str> = text.lines().collect();
        lines[6..].join("\n")
    };
    let expected = "number of transactions actually processed: 0
number of failed transactions: 0 (0.000%)
number of transactions skipped: 20 (100.000%)
number of transactions above the 5.5 ms latency limit: 0/0 (0.000%)
rate limit schedule lag: avg 0.000 (max 0.000) ms
";
    assert!(middle(Version::V17).contains(expected), "{}", middle(Version::V17));
    let expected = "number of transactions actually processed: 0
number of transactions skipped: 20 (100.000 %)
number of transactions above the 5.5 ms latency limit: 0/0 (0.000 %)
rate limit schedule lag: avg 0.000 (max 0.000) ms
initial";
    assert!(middle(Version::V14).contains(expected), "{}", middle(Version::V14));
    let expected = "latency average = 0.000 ms
latency stddev = 0.000 ms
rate limit schedule lag: avg 0.000 (max 0.000) ms
tps = 0.000000 (including connections establishing)
tps = 0.000000 (excluding connections establishing)
script statistics:
 - number of transactions skipped: 20 (100.000%)";
    assert!(middle(Version::V10).ends_with(expected), "{}", middle(Version::V10));
    assert_eq!(middle(Version::V9_5), "number of transactions actually processed: 0");
}

#[test]
fn skipped_transactions_count_for_scripts_up_to_14() {
    let mut report = rich();
    report.total.skipped = 500;
    report.scripts[1].counts.skipped = 480;
    let line = |version, script: usize| {
        let text = report.text(version);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("% of total, tps")).collect();
        lines[script].to_owned()
    };
    assert_eq!(
        line(Version::V14, 1),
        " - 480 transactions (32.0% of total, tps = 0.000000)"
    );
    assert_eq!(
        line(Version::V17, 1),
        " - 0 transactions (0.0% of total, tps = 0.000000)"
    );
    assert_eq!(
        line(Version::V14, 0),
        " - 1020 transactions (68.0% of total, tps = 16.666667)"
    );
    assert_eq!(
        line(Version::V13, 0),
        " - 1020 transactions (68.0% of total, tps = 16.663238)"
    );
}

#[test]
fn the_time_of_connecting_counts_up_to_13() {
    let mut report = plain();
    report.connecting = Duration::from_secs(15);
    assert!(report.text(Version::V14).contains("latency average = 240.000 ms\n"));
    assert!(report.text(Version::V13).contains("latency average = 300.000 ms\n"));
    assert!(report.text(Version::V9_4).contains("latency average: 300.000 ms\n"));
}

#[test]
fn the_first_line_tells_versions_that_differ() {
    assert_eq!(Report::banner(Version::V13, "13.2"), None);
    assert_eq!(
        Report::banner(Version::V15, "15.18 (Debian)"),
        Some("pgbench (15, server 15.18 (Debian))\n".to_owned())
    );
}

#[test]
fn json_has_everything() {
    let text = serde_json::to_string_pretty(&rich().json()).unwrap();
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    assert_snapshot!(text);
}
