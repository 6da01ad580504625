//! What can be set, and how the values of file, size and command line add up.

use super::*;
use crate::experiment::find;
use dyno_archive::plan::Size;
use insta::assert_snapshot;
use proptest::prelude::*;
use std::path::Path;

fn experiment() -> Experiment {
    let text = r#"
        title = "Two workloads"
        [parameters]
        rows = 1_000
        skew = 1.5
        kind = "heap"
        [server]
        settings = { work_mem = "4MB", shared_buffers = "8GB" }
        [data]
        setup = "create table t (id int) using {kind}"
        fill.t = { rows = "{rows}", columns = { id = "row % {rows}" } }
        [[workload]]
        name = "reader"
        clients = 8
        threads = 4
        script = "select 1"
        [[workload]]
        name = "writer"
        script = "select 2"
        [size.small]
        rows = 10
        settings.work_mem = "1MB"
        writer.rate = 50
        clients = 2
    "#;
    Experiment::parse(Path::new("two.toml"), text).unwrap()
}

fn resolved(overrides: &[(&str, &str)]) -> Result<dyno_archive::plan::Resolved, SetError> {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    experiment().resolve(Size::Medium, &overrides, 4)
}

#[test]
fn each_name_reaches_its_value() {
    let run = resolved(&[
        ("rows", "2_000"),
        ("skew", "2"),
        ("kind", "columnar"),
        ("work_mem", "64MB"),
        ("settings.jit", "off"),
        ("settings.pg_stat_statements.max", "{rows}"),
        ("protocol", "simple"),
        ("reader.clients", "16"),
        ("writer.rate", "12.5"),
        ("warmup", "0s"),
        ("measure", "1m 30s"),
        ("interval", "500ms"),
    ])
    .unwrap();
    assert_eq!(run.parameters["rows"], Value::Integer(2_000));
    assert_eq!(run.parameters["skew"], Value::Float(2.0));
    assert_eq!(run.data.setup, "create table t (id int) using columnar");
    assert_eq!(
        (run.data.fill[0].rows, run.data.fill[0].columns["id"].as_str()),
        (2_000, "row % 2000")
    );
    assert_eq!(run.settings["work_mem"], "64MB");
    assert_eq!(run.settings["jit"], "off");
    assert_eq!(run.settings["pg_stat_statements.max"], "2000");
    let [reader, writer] = run.workloads.as_slice() else {
        panic!("two workloads")
    };
    assert_eq!((reader.clients, reader.threads, reader.rate_per_s), (16, 4, None));
    assert_eq!((writer.clients, writer.threads, writer.rate_per_s), (1, 1, Some(12.5)));
    assert_eq!(
        (reader.protocol.as_str(), writer.protocol.as_str()),
        ("simple", "simple")
    );
    assert_eq!(run.phases().len(), 1);
    assert_eq!(run.duration(), Some(Duration::from_secs(90)));
    assert_eq!(run.interval, Duration::from_millis(500));
}

#[test]
fn the_command_line_has_the_last_word() {
    let overrides = [("rows".to_owned(), "7".to_owned())];
    let small = experiment().resolve(Size::Small, &overrides, 4).unwrap();
    assert_eq!(small.parameters["rows"], Value::Integer(7));
    assert_eq!(
        (
            small.settings["work_mem"].as_str(),
            small.settings["shared_buffers"].as_str()
        ),
        ("1MB", "8GB")
    );
    assert_eq!(small.workloads[1].rate_per_s, Some(50.0));
    let full = experiment().resolve(Size::Full, &[], 4).unwrap();
    assert_eq!(
        (full.parameters["rows"].clone(), full.settings["work_mem"].as_str()),
        (Value::Integer(1_000), "4MB")
    );
}

#[test]
fn threads_follow_clients_and_cores() {
    let threads = |overrides: &[(&str, &str)]| {
        let run = resolved(overrides).unwrap();
        [run.workloads[0].threads, run.workloads[1].threads]
    };
    assert_eq!(threads(&[]), [4, 1]);
    assert_eq!(threads(&[("clients", "2")]), [2, 2]);
    assert_eq!(threads(&[("clients", "64")]), [4, 4]);
    assert_eq!(threads(&[("clients", "64"), ("threads", "64")]), [64, 64]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mistakes = [
        ("row", "5"),
        ("settings.", "5"),
        ("writer.client", "5"),
        ("nobody.clients", "5"),
        ("rows", "many"),
        ("rows", "1.5"),
        ("skew", "nan"),
        ("clients", "0"),
        ("clients", "-1"),
        ("clients", "2000000"),
        ("reader.threads", "9"),
        ("writer.threads", "2"),
        ("protocol", "Prepared"),
        ("rate", "0"),
        ("rate", "fast"),
        ("measure", "0s"),
        ("measure", "20"),
        ("interval", "1ms"),
        ("settings.a b", "5"),
        ("work_mem", "{rwos}"),
        ("rows", "-5"),
    ];
    let complaints: Vec<_> = mistakes
        .iter()
        .map(|(name, value)| format!("# {name}={value}\n{}\n", resolved(&[(name, value)]).unwrap_err()))
        .collect();
    assert_snapshot!(complaints.join("\n"));
}

#[test]
fn a_refused_value_changes_nothing() {
    let mut changed = experiment();
    assert!(
        changed.set("threads", &Value::from("3")).is_err(),
        "the writer has one client only"
    );
    assert_eq!(changed, experiment());
}

#[test]
fn the_newcomers_sizes_are_durable() {
    for name in ["pk-select", "pk-update", "pk-insert"] {
        for (size, expected) in [(Size::Small, "on"), (Size::Medium, "on"), (Size::Full, "off")] {
            let run = find(name).unwrap().resolve(size, &[], 2).unwrap();
            assert_eq!(run.settings["synchronous_commit"], expected, "{name} {size}");
            assert!(!run.settings.contains_key("fsync") && !run.settings.contains_key("full_page_writes"));
        }
    }
}

proptest! {
    #[test]
    fn anything_can_be_tried(
        name in "(rows|skew|kind|clients|reader\\.clients|threads|rate|protocol|measure|interval|work_mem|settings\\.x|\
                 \\PC{0,12})",
        value in "(-?[0-9_.eE]{0,22}|[0-9]{1,20} ?(ms|s|m|h|d|y)|\\PC{0,20})",
    ) {
        let mut changed = experiment();
        if changed.set(&name, &Value::from(value.as_str())).is_err() {
            prop_assert_eq!(changed, experiment());
        } else if let Ok(run) = changed.resolve(Size::Medium, &[], 4) {
            for workload in run.workloads {
                prop_assert!((1..=workload.clients).contains(&workload.threads));
            }
        }
    }
}
