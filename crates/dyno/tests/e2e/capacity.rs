//! `dyno capacity`: the highest load that holds limits, sought in one run.

use crate::support::{Desk, Ended, Running, database_alone, run_folders, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// Two clients with a statement that takes 20 ms on the server: they cannot do more than a hundred a second.
const WAITING: &str = r#"
title = "Waiting"

[parameters]
ms = 20

[[workload]]
name = "wait"
clients = 2
script = "select pg_sleep(:ms / 1000.0);"

[phases]
warmup = "1s"
measure = "1s"
"#;

fn desk() -> Desk {
    Desk::with("waiting.toml", WAITING)
}

fn capacity(desk: &Desk, target: &str, words: &[&str]) -> Ended {
    let words = ["capacity", "waiting.toml", "--target", target]
        .into_iter()
        .chain(words.iter().copied());
    Ended::of(&mut desk.command(words))
}

#[test]
fn the_capacity_of_a_server_of_known_speed_is_found() {
    let (desk, database) = (desk(), database_alone("e2e_capacity"));
    let words = [
        "--limit",
        "p50 < 40ms",
        "--limit",
        "errors < 5%",
        "--within",
        "20%",
        "--at-most",
        "2m",
    ];
    let ended = capacity(&desk, &database.target(), &words).expect(0);
    ended
        .shows("p50 < 40 ms and errors < 5 % ")
        .shows("All clients were busy");
    let known = desk.known("capacity.json");
    // Unless tests beside this one take all of the CPU, there is enough of it for more clients.
    assert!(
        ["clients", "found"].contains(&known["answer"].as_str().unwrap()),
        "{known}"
    );
    let load = |name: &str| known[name].as_f64().unwrap();
    // What two clients do at most, however slow this machine is just now.
    assert!((20.0..100.0).contains(&load("holds")), "{known}");
    assert!(load("fails") > load("holds") && load("fails") <= 150.0, "{known}");
    let steps = known["steps"].as_array().unwrap();
    assert!(steps.len() >= 3, "{known}");

    let runs = run_folders(&desk.archive());
    let [run] = runs.as_slice() else {
        panic!("one run, not {}", runs.len())
    };
    assert_eq!(run.state(), "complete");
    // Each step is a stage, with the rate that was asked for.
    let record = run.record();
    let stages = record["summary"]["stages"].as_array().unwrap();
    assert_eq!(stages.len(), steps.len());
    for (stage, step) in stages.iter().zip(steps) {
        let asked = stage["workloads"][0]["asked_per_s"].as_f64().unwrap();
        assert!((asked - step["load"].as_f64().unwrap()).abs() < 1e-6, "{stage} {step}");
    }
    // Clients stayed connected.
    assert_eq!(record["summary"]["connection"]["count"], 2);
    let rows = fs::read_to_string(run.0.parent().unwrap().join("capacity.csv")).unwrap();
    assert_eq!(rows.lines().count(), steps.len() + 1);

    desk.dyno("show").expect(0).shows("p50 < 40 ms and errors < 5 % ");
    desk.dyno("report --format json --output -")
        .expect(0)
        .shows("p50 < 40 ms and errors < 5 % ");
    desk.dyno("list").expect(0);
}

#[test]
fn a_limit_that_no_rate_holds_is_an_answer() {
    let (desk, database) = (desk(), database_alone("e2e_capacity_never"));
    let words = [
        "--limit",
        "p50 < 10ms",
        "--set",
        "ms=50",
        "--fail-if-below",
        "1000",
        "--at-most",
        "5m",
    ];
    let ended = capacity(&desk, &database.target(), &words).expect(3);
    ended.says("p50 < 10 ms cannot be met at any rate: not even at ");
    let known = desk.known("capacity.json");
    assert_eq!((&known["answer"], &known["holds"]), (&"never".into(), &Value::Null));
}

#[test]
fn clients_of_a_closed_loop_are_varied_too() {
    let (desk, database) = (desk(), database_alone("e2e_capacity_clients"));
    let words = [
        "--over",
        "clients",
        "--limit",
        "p50 < 500ms",
        "--set",
        "clients=3",
        "--at-most",
        "2m",
    ];
    let ended = capacity(&desk, &database.target(), &words).expect(0);
    ended.shows("p50 < 500 ms is met with all 3 clients that there are: the clients are the limit.");
    let known = desk.known("capacity.json");
    let loads: Vec<f64> = known["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["load"].as_f64().unwrap())
        .collect();
    assert_eq!(loads, [1.0, 2.0, 3.0]);
}

#[test]
fn what_cannot_be_sought_is_told_before_anything_is_done() {
    let desk = desk();
    let said = |words: &[&str]| {
        let words = ["capacity", "waiting.toml"].into_iter().chain(words.iter().copied());
        Ended::of(&mut desk.command(words)).expect(1).stderr
    };
    let limit = ["--limit", "p99 < 5ms"];
    let error = said(&[&limit[..], &["--set", "ms=1,2"]].concat());
    assert!(error.contains("the plan has 2 cells"), "{error}");
    let error = said(&["--limit", "p42 < 5ms"]);
    assert!(error.contains("p50, p95, p99, p99.9 or mean below a time"), "{error}");
    let error = said(&[&limit[..], &["--at-most", "1s"]].concat());
    assert!(error.contains("write a time from 10s to 7d"), "{error}");
    assert!(said(&[]).contains("--limit"));
    let staged =
        format!("{WAITING}\n[[stage]]\nname = \"a\"\nlasts = \"1s\"\n[[stage]]\nname = \"b\"\nlasts = \"1s\"\n");
    desk.file("waiting.toml", &staged.replace("measure = \"1s\"\n", ""));
    let error = said(&limit);
    assert!(error.contains("it has stages of its own"), "{error}");
    assert!(!desk.archive().exists());
}

#[test]
fn a_signal_keeps_what_is_known_by_then() {
    let (desk, database) = (desk(), database_alone("e2e_capacity_signal"));
    let target = database.target();
    let words = [
        "capacity",
        "waiting.toml",
        "--target",
        &target,
        "--limit",
        "p50 < 40ms",
        "--at-most",
        "1h",
    ];
    let running = Running::start(desk.command(words));
    wait_for("a step", || {
        run_folders(&desk.archive())
            .iter()
            .any(|run| run.intervals_so_far() > 5)
    });
    running.signal(Signal::INT);
    running.end().expect(2).says("Ending: what was measured is kept");
    assert_eq!(desk.known("capacity.json")["answer"], "unknown");
    let states: Vec<String> = run_folders(&desk.archive()).iter().map(|run| run.state()).collect();
    assert_eq!(states, ["incomplete"]);
}
