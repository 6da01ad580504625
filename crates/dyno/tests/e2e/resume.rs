//! Campaigns that were interrupted go on where they were: no finished run is made again or touched, and none is
//! counted twice.

use crate::support::{Desk, Ended, Home, RunFolder, Running, database, is_alive, run_folders, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::PathBuf;

const EXPERIMENT: &str = r#"
title = "Cells"

[data]
setup = "create table t (id int)"
fill.t = { rows = 1000, columns = { id = "row" } }

[[workload]]
script = "update t set id = id where id = 7;"

[phases]
warmup = "0s"
measure = "1500ms"
interval = "100ms"

[factors]
clients = [1, 2, 3, 4]
"#;

/// A desk with an experiment of four cells.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("cells.toml", EXPERIMENT);
    desk
}

fn start(desk: &Desk, home: &Home) -> Running {
    Running::start(desk.command_embedded(home, "cells.toml"))
}

fn resume(desk: &Desk, home: &Home) -> Ended {
    desk.embedded(home, "--resume")
}

/// The runs' states by folder.
fn states(desk: &Desk) -> Vec<String> {
    run_folders(&desk.archive()).iter().map(RunFolder::state).collect()
}

/// What earlier attempts left.
fn earlier(desk: &Desk) -> Vec<String> {
    let campaign = fs::read_dir(desk.archive()).unwrap().next().unwrap().unwrap().path();
    let Ok(folders) = fs::read_dir(campaign.join("earlier")) else {
        return Vec::new();
    };
    let names = folders.map(|folder| folder.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Every file of the runs that are complete, with its content.
fn finished(desk: &Desk) -> Vec<(PathBuf, Vec<u8>)> {
    let complete = run_folders(&desk.archive()).into_iter().filter(|run| {
        let record = fs::read_to_string(run.0.join("run.json")).unwrap_or_default();
        record.contains("\"state\": \"complete\"")
    });
    let files = complete.flat_map(|run| fs::read_dir(run.0).unwrap());
    let mut files: Vec<_> = files
        .map(|file| file.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Fails unless the campaign is whole, with what was finished before as it was.
fn assert_whole(desk: &Desk, home: &Home, before: &[(PathBuf, Vec<u8>)]) {
    home.assert_no_server();
    assert_eq!(states(desk), ["complete"; 4]);
    let mut cells: Vec<String> = Vec::new();
    for run in run_folders(&desk.archive()) {
        assert!(run.summed_up() > 0);
        assert_eq!(run.measured(), run.summed_up());
        cells.push(run.record()["cell"].to_string());
    }
    cells.sort();
    cells.dedup();
    assert_eq!(cells.len(), 4);
    let after = finished(desk);
    assert!(
        before.iter().all(|file| after.contains(file)),
        "a finished run was touched"
    );
}

#[test]
fn after_ctrl_c() {
    let (desk, home) = (desk(), Home::new());
    let mut running = start(&desk, &home);
    running.until("2/4 ");
    running.signal_group(Signal::INT);
    running
        .end()
        .expect(2)
        .says("3 of 4 runs are not complete. To measure them: dyno run --resume 2");
    let before = finished(&desk);
    let ended = resume(&desk, &home).expect(0);
    assert!(!ended.stderr.contains("Run 1 of 4"), "{}", ended.stderr);
    assert_whole(&desk, &home, &before);
    assert_eq!(earlier(&desk).len(), 1);
    // There is nothing left to do.
    resume(&desk, &home).expect(1).says("there is no unfinished campaign");
    let name = fs::read_dir(desk.archive())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .file_name();
    desk.embedded(&home, &format!("--resume {}", name.to_str().unwrap()))
        .expect(0);
    assert_whole(&desk, &home, &before);
}

#[test]
fn after_dyno_was_killed_at_any_step() {
    let (desk, home) = (desk(), Home::new());
    // While the data is loaded, copied and measured, and between two runs.
    let mut running = start(&desk, &home);
    running.until("Loading t");
    kill(running);
    for step in ["Copying the loaded data", "2/4 ", "Run 3 of 4"] {
        let mut running = Running::start(desk.command_embedded(&home, "--resume"));
        running.until(step);
        kill(running);
    }
    let before = finished(&desk);
    assert!(!before.is_empty());
    resume(&desk, &home).expect(0);
    assert_whole(&desk, &home, &before);
}

fn kill(running: Running) {
    running.signal(Signal::KILL);
    wait_for("its death", || !is_alive(running.pid()));
}

#[test]
fn after_the_server_was_killed() {
    let (desk, home) = (desk(), Home::new());
    let mut running = start(&desk, &home);
    running.until("2/4 ");
    let pid_file = fs::read_to_string(home.data().join("postmaster.pid")).unwrap();
    let pid: i32 = pid_file.lines().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    // That run is lost; those after it have a server of their own.
    running.end().expect(2).says("1 of 4 runs are not complete");
    assert_eq!(states(&desk), ["complete", "incomplete", "complete", "complete"]);
    let failure = run_folders(&desk.archive())[1].record()["failure"].to_string();
    assert!(failure.contains("the server ended during the measurement"), "{failure}");
    let before = finished(&desk);
    resume(&desk, &home).expect(0);
    assert_whole(&desk, &home, &before);
    assert_eq!(
        earlier(&desk),
        ["002-clients=2-rep1-attempt1".to_owned()].map(|name| {
            // Which cell came second is the seed's choice.
            let folder = run_folders(&desk.archive()).remove(1).0;
            let made = folder.file_name().unwrap().to_str().unwrap().to_owned();
            name.replace("002-clients=2-rep1", &made)
        })
    );
}

#[test]
fn over_torn_folders() {
    let (desk, home) = (desk(), Home::new());
    desk.embedded(&home, "cells.toml").expect(0);
    let folders: Vec<_> = run_folders(&desk.archive()).into_iter().map(|run| run.0).collect();
    // A kill may come before a folder has anything, before it has a record, and copying may tear a record.
    for file in fs::read_dir(&folders[0]).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    fs::remove_file(folders[1].join("run.json")).unwrap();
    fs::write(folders[2].join("run.json"), "{\"format\": 1,").unwrap();
    fs::write(folders[2].with_file_name("campaign.json.tmp"), "{").unwrap();
    let before = finished(&desk);
    resume(&desk, &home).expect(0);
    assert_whole(&desk, &home, &before);
    assert_eq!(earlier(&desk).len(), 2);
}

#[test]
fn never_by_two_at_once() {
    let (desk, home) = (desk(), Home::new());
    let mut running = start(&desk, &home);
    running.until("Run 2 of 4");
    resume(&desk, &home).expect(1).says("another dyno is working on");
    assert_eq!(running.code(), Some(0));
}

#[test]
fn on_the_same_database_with_its_password() {
    let (desk, database) = (desk(), database("e2e_resume"));
    database.role("e2e_resume_role", "s3cret");
    let target = |password: &str| {
        let (port, name) = (database.port(), database.name());
        format!("postgres://e2e_resume_role{password}@127.0.0.1:{port}/{name}")
    };
    let mut running = Running::start(desk.command_on(&target(":s3cret"), ["cells.toml"]));
    running.until("2/4 ");
    running.signal(Signal::INT);
    running.end().expect(2);
    desk.assert_nowhere("s3cret");
    // The password is not in the archive, so somebody has to give it.
    desk.dyno("run --resume").expect(1).says("password");
    let other = database.neighbour();
    let elsewhere = format!("postgres://postgres@127.0.0.1:{}/{}", other.port(), other.name());
    desk.on(&elsewhere, ["--resume"])
        .expect(1)
        .says("the campaign measures postgres://e2e_resume_role");
    desk.on(&target(":s3cret"), ["--resume"]).expect(0);
    assert_eq!(states(&desk), ["complete"; 4]);
    desk.assert_nowhere("s3cret");
}

#[test]
fn nothing_to_go_on_with() {
    let (desk, home) = (Desk::new(), Home::new());
    resume(&desk, &home)
        .expect(1)
        .says("there is no unfinished campaign in archive");
    desk.embedded(&home, "--resume nowhere")
        .expect(1)
        .says("there is no campaign \"nowhere\" in archive");
    desk.embedded(&home, "pk-update --resume")
        .expect(1)
        .says("cannot be used with");
}
