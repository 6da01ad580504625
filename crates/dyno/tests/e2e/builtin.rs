//! The experiments that come with dyno: each can be planned at every size, and its SQL works on a server.

use crate::support::{Desk, Home, RunFolder, run_folders};
use dyno_archive::plan::Size;
use dyno_lab::experiment::builtin;

#[test]
fn every_experiment_can_be_planned_at_every_size() {
    let desk = Desk::new();
    for builtin in builtin() {
        for size in Size::NAMES {
            let words = format!("run {} --size {size} --dry-run", builtin.name);
            let ended = desk.dyno(&words).expect(0);
            assert!(ended.stdout.len() > 500, "{words}: {}", ended.stdout);
        }
    }
    assert!(!desk.archive().exists());
}

/// What makes each experiment a matter of seconds: one run, few rows.
const SHORT: [(&str, &str); 13] = [
    ("pk-select", "--set rows=500"),
    ("pk-update", "--set rows=500"),
    ("pk-insert", ""),
    (
        "pk-update-checkpoints",
        "--set rows=500 --set target=embedded --set full_page_writes=off",
    ),
    ("pk-unprepared", "--set rows=500 --set protocol=simple --repeat 1"),
    ("direct-pg", "--set rows=500 --set from=network --repeat 1"),
    (
        "os-comparison",
        "--set scale=1 --set workload=rw --set clients=4 --set profile=outside",
    ),
    ("polar-hot-data", "--set scale=1 --set workload=ro+rw --set range=1000"),
    (
        "polar-mysql",
        "--set tables=2 --set rows=500 --set clients=4 --set hosts=3 --set workload=ro+wo --set target=embedded",
    ),
    (
        "burn-after-reading",
        "--set tables=8 --set batch=10 --set variant=any,fifo,notify",
    ),
    ("fdw-proxy", "--set rows=500 --set way=cold,two"),
    (
        "replicas",
        "--set rows=500 --set read.clients=2 --set replicas=2 --set stale_ms=60000 --set fresh.start_delay=0s \
         --set target=embedded",
    ),
    ("ycsb", "--set records=500 --set workload=B,D,E,F"),
];

/// Of the series, one of each kind.
const OF_SERIES: [&str; 8] = [
    "htap-join --set orders=500",
    "htap-fulltext --set rows=500",
    "htap-similar --set rows=500",
    "htap-bloom --set rows=500",
    "htap-queue --set jobs=500",
    "htap-many-tables --set tables=5",
    "htap-notify",
    "htap-mixed --set rows=500 --set workload=pay+report",
];

#[test]
fn every_experiment_works_on_the_embedded_server() {
    let (desk, home) = (Desk::new(), Home::new());
    let known = builtin().iter().filter(|builtin| builtin.series.is_none());
    let mut known: Vec<_> = known.map(|builtin| builtin.name).collect();
    let mut tried: Vec<_> = SHORT.iter().map(|(name, _)| *name).collect();
    // It has a test of its own.
    tried.push("tpcc");
    known.sort_unstable();
    tried.sort_unstable();
    assert_eq!(tried, known);
    for (name, words) in SHORT {
        let words =
            format!("{name} --set measure=1s --set warmup=0s --set interval=500ms --set shared_buffers=64MB {words}");
        desk.embedded(&home, &words).expect(0);
    }
    home.assert_no_server();
    let runs = run_folders(&desk.archive());
    assert_eq!(
        runs.len(),
        SHORT.len() + 6,
        "three variants of burn-after-reading, two ways of fdw-proxy, four workloads of ycsb, one run of each other"
    );
    assert_good(&runs);
}

#[test]
fn scenarios_of_the_series_work_on_the_embedded_server() {
    let (desk, home) = (Desk::new(), Home::new());
    for words in OF_SERIES {
        desk.embedded(
            &home,
            &format!("{words} --set measure=1s --set warmup=0s --set interval=500ms"),
        )
        .expect(0);
    }
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), OF_SERIES.len());
    assert_good(&runs);
}

/// What differs by database, or could.
const ON_MARIADB: [&str; 8] = [
    "htap-fulltext --set rows=500",
    "htap-json --set rows=500",
    "htap-box --set rows=500",
    "htap-many-tables --set tables=5",
    "htap-queue --set jobs=500",
    "htap-tree --set rows=5000",
    "ycsb --set records=500 --set workload=D --set innodb_buffer_pool_size=64MB --set innodb_log_file_size=16MB",
    "tpcc --set warehouses=1 --set clients=4 --set innodb_buffer_pool_size=256MB --set innodb_log_file_size=64MB \
     --set measure=10s",
];

#[test]
fn scenarios_of_both_kinds_work_on_mariadb() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    for words in ON_MARIADB {
        let measure = if words.contains("measure") {
            ""
        } else {
            "--set measure=1s"
        };
        let words = format!("{words} {measure} --set warmup=0s --set interval=500ms --target embedded:mariadb");
        desk.embedded(&home, &words).expect(0);
    }
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), ON_MARIADB.len());
    assert_good(&runs);
}

/// What makes tpcc a matter of seconds.
const TPCC: &str = "--set warehouses=1 --set clients=4 --set warmup=0s --set measure=10s --set interval=1s \
                    --set shared_buffers=256MB";

#[test]
fn tpcc_finds_its_data_right_and_its_limits_kept() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.embedded(&home, &format!("tpcc {TPCC}")).expect(0);
    let runs = run_folders(&desk.archive());
    assert_good(&runs);
    let record = runs[0].record();
    let checks = record["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 15, "ten conditions and five limits: {checks:?}");
    for script in record["summary"]["workloads"][0]["scripts"].as_array().unwrap() {
        assert!(script["transactions"].as_u64() > Some(0), "{script}");
    }
}

#[test]
fn tpcc_tells_what_is_not_right() {
    let (desk, home) = (Desk::new(), Home::new());
    let tpcc = builtin().iter().find(|builtin| builtin.name == "tpcc").unwrap();
    let mut file = tpcc.text.to_owned();
    // A payment that a district does not hear of, an order that does not know its lines, and an impossible limit.
    for (right, wrong) in [
        (
            "update district set d_ytd = d_ytd + :amount",
            "update district set d_ytd = d_ytd",
        ),
        (
            ":c, current_timestamp, null, :lines, :all_local",
            ":c, current_timestamp, null, 16, :all_local",
        ),
        (
            "{tpcc.payment.response_p90_ms}\", at_most = 5_000",
            "{tpcc.payment.response_p90_ms}\", at_most = 0.001",
        ),
    ] {
        assert!(file.contains(right), "{right}");
        file = file.replace(right, wrong);
    }
    desk.file("broken.toml", &file);
    desk.embedded(&home, &format!("broken.toml {TPCC}")).expect(2);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs[0].state(), "faulty");
    let record = runs[0].record();
    let failed = record["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["passed"] == false);
    let failed: Vec<_> = failed.map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(
        failed,
        [
            "warehouse-ytd",
            "lines",
            "lines-of-orders",
            "district-payments",
            "payment p90 (ms)"
        ]
    );
}

/// Runs that are complete, without errors, and have all their figures.
fn assert_good(runs: &[RunFolder]) {
    for run in runs {
        assert_eq!(run.state(), "complete", "{}", run.0.display());
        let summary = &run.record()["summary"];
        for workload in summary["workloads"].as_array().unwrap() {
            assert!(
                workload["transactions"].as_u64() > Some(0),
                "{}: {workload}",
                run.0.display()
            );
            assert_eq!(workload["errors"], 0, "{}: {workload}", run.0.display());
        }
        for metric in run.campaign()["experiment"]["metrics"]
            .as_object()
            .into_iter()
            .flatten()
        {
            let value = &summary["metrics"][metric.0];
            assert!(value.as_f64() > Some(0.0), "{}: {metric:?} is {value}", run.0.display());
        }
    }
}
