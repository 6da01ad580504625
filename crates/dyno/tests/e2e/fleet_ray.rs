//! Load hosts that are nodes of a real Ray cluster: the one whose dashboard `DYNO_RAY` names, with three nodes of this
//! machine, as `support/ray_cluster.py` starts it. Without it the cases say so and pass.
//!
//! They are made one after the other: each wants all nodes.

use crate::support::{Desk, Home, Running, database, run_folders, wait_for};
use rustix::process::Signal;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

static ONE: Mutex<()> = Mutex::new(());

fn cluster() -> Option<(String, MutexGuard<'static, ()>)> {
    let address = std::env::var("DYNO_RAY").ok();
    if address.is_none() {
        eprintln!("not tested: DYNO_RAY names no Ray cluster");
    }
    Some((address?, ONE.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// How many agents there are that have dialled in, whoever has started them.
fn agents() -> usize {
    let is_agent = |item: &fs::DirEntry| {
        let command = fs::read(item.path().join("cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).nth(2) == Some(b"--dial-in")
    };
    let all = fs::read_dir("/proc").unwrap();
    all.filter_map(Result::ok).filter(is_agent).count()
}

/// What the cluster says of its jobs that have not ended.
fn jobs(cluster: &str) -> Vec<String> {
    let answer = Command::new("curl")
        .args(["-s", &format!("{cluster}/api/jobs/")])
        .output()
        .unwrap();
    let jobs: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
    let running = |job: &&serde_json::Value| matches!(job["status"].as_str(), Some("RUNNING" | "PENDING"));
    let id = |job: &serde_json::Value| job["submission_id"].as_str().map(str::to_owned);
    jobs.as_array().unwrap().iter().filter(running).filter_map(id).collect()
}

#[test]
fn nodes_begin_together() {
    let Some((cluster, _one)) = cluster() else {
        return;
    };
    let (desk, home) = (Desk::new(), Home::new());
    let words = "pk-select --set rows=1000 --set warmup=0s --set interval=100ms --set clients=6 --set measure=2s";
    let ended = desk
        .embedded(&home, &format!("{words} --ray {cluster} --seed 5"))
        .expect(0);
    ended.shows("Load by host").shows("ray-3");
    let run = &run_folders(&desk.archive())[0];
    assert_eq!(run.state(), "complete");
    for host in run.record()["load_hosts"].as_array().unwrap() {
        eprintln!("{}: {} µs late, {}", host["name"], host["late_us"], host["clock"]);
    }
    wait_for("the end of the job", || jobs(&cluster).is_empty() && agents() == 0);
    home.assert_no_server();
}

#[test]
fn nothing_is_left_of_a_dyno_that_is_killed() {
    let Some((cluster, _one)) = cluster() else {
        return;
    };
    let (desk, database) = (Desk::new(), database("fleet_ray_kill"));
    desk.experiment("k.toml", "clients = 3", "select 1;", "1h");
    let begin = || Running::start(desk.command_on(&database.target(), ["k.toml", "--ray", &cluster, "--no-sampling"]));
    for after_s in [1, 3, 8] {
        let running = begin();
        std::thread::sleep(std::time::Duration::from_secs(after_s));
        running.signal(Signal::KILL);
        wait_for("the end of the job", || jobs(&cluster).is_empty() && agents() == 0);
    }
}

#[test]
fn a_job_that_somebody_stops_ends_the_load() {
    let Some((cluster, _one)) = cluster() else {
        return;
    };
    let (desk, database) = (Desk::new(), database("fleet_ray_stop"));
    desk.experiment("s.toml", "clients = 3", "select 1;", "1h");
    let command = desk.command_on(&database.target(), ["s.toml", "--ray", &cluster, "--no-sampling"]);
    let mut running = Running::start(command);
    running.until(" tps ");
    let job = jobs(&cluster).pop().unwrap();
    let stop = format!("{cluster}/api/jobs/{job}/stop");
    Command::new("curl").args(["-s", "-X", "POST", &stop]).output().unwrap();
    running.end().expect(2).says("all load hosts were lost");
    wait_for("the end of the job", || jobs(&cluster).is_empty() && agents() == 0);
}
