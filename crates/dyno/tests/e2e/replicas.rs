//! Replicas in mid-run: one that receives nothing, and one that ends, though no client is connected to it.

use crate::support::{Desk, Home, RunFolder, Running, processes_in, run_folders};
use dyno_target::postgres::embedded::POSTGRESQL_VERSION;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::PathBuf;

const WRITTEN: &str = r#"
title = "Written"
[server]
name = "primary"
[data]
setup = "create table written (id bigserial primary key, info text)"
[servers.copy]
replica_of = "primary"
settings.recovery_min_apply_delay = "500ms"
[[workload]]
name = "write"
rate = 50
script = "insert into written (info) values (repeat('x', 100));"
[[output]]
name = "there"
sql = "select count(*) from written"
[[output]]
name = "here"
server = "copy"
sql = "select count(*) from written"
[phases]
warmup = "0s"
measure = "6s"
"#;

/// The data folder of the replica.
fn data(home: &Home) -> PathBuf {
    let folder = home.path().canonicalize().unwrap();
    folder.join(format!("clusters/{POSTGRESQL_VERSION}/copy/data"))
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// The run under way, of which something has been measured.
fn under_way(desk: &Desk, home: &Home) -> Running {
    desk.file("written.toml", WRITTEN);
    let mut running = Running::start(desk.command_embedded(home, "written.toml"));
    running.until(" tps ");
    running
}

fn only_run(desk: &Desk) -> RunFolder {
    run_folders(&desk.archive()).remove(0)
}

#[test]
fn a_replica_that_receives_nothing_is_known_to_be_behind() {
    let (desk, home) = (Desk::new(), Home::new());
    let mut running = under_way(&desk, &home);
    let is_receiver = |pid: &u32| {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline"));
        command.is_ok_and(|command| command.contains("walreceiver"))
    };
    let receiver = processes_in(&data(&home)).into_iter().find(is_receiver).unwrap();
    signal(receiver, Signal::STOP);
    running.until(" 1 s left");
    signal(receiver, Signal::CONT);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let is_its = |line: &&str| line.trim_start().starts_with("copy ") && line.contains("replica");
    let its = ended.stdout.lines().find(is_its);
    let its: Vec<&str> = its.unwrap().split_whitespace().collect();
    // Mean and maximum, in seconds and in bytes.
    let [.., mean_s, most_s, _, most_bytes] = its[..] else {
        unreachable!("{its:?}")
    };
    let number = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
    assert!(number(most_s) > 1.0 && number(mean_s) < number(most_s), "{its:?}");
    assert!(number(most_bytes) > 5_000.0, "{its:?}");
    // It was waited for before it was asked.
    let run = only_run(&desk);
    let counts = ["there", "here"].map(|output| run.read(&format!("output-{output}.csv")));
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn a_run_does_not_count_if_a_server_ends_that_no_client_uses() {
    let (desk, home) = (Desk::new(), Home::new());
    let running = under_way(&desk, &home);
    let pid = fs::read_to_string(data(&home).join("postmaster.pid")).unwrap();
    signal(pid.lines().next().unwrap().parse().unwrap(), Signal::INT);
    let ended = running.end();
    assert_ne!(ended.code, Some(0), "{}", ended.stdout);
    let record = only_run(&desk).record();
    assert_eq!(record["state"], "incomplete", "{}", ended.stdout);
    let reason = record["failure"].as_str().unwrap();
    assert!(reason.starts_with("server copy: the server ended"), "{reason}");
    assert!(
        ended.stdout.contains("server copy: the server ended"),
        "{}",
        ended.stdout
    );
    // What was sampled of it is not taken for the whole time.
    assert!(ended.stdout.contains("until"), "{}", ended.stdout);
}
