//! The experiments that come with dyno: each can be planned at every size, and its SQL works on a server.

use crate::support::{Desk, Home, run_folders};
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
const SHORT: [(&str, &str); 12] = [
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
];

#[test]
fn every_experiment_works_on_the_embedded_server() {
    let (desk, home) = (Desk::new(), Home::new());
    let mut known: Vec<_> = builtin().iter().map(|builtin| builtin.name).collect();
    let mut tried: Vec<_> = SHORT.iter().map(|(name, _)| *name).collect();
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
        SHORT.len() + 3,
        "three variants of burn-after-reading, two ways of fdw-proxy, one run of each other"
    );
    for run in &runs {
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
