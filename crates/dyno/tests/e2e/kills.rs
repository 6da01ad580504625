//! kill -9: of dyno, and of the server under it.

use crate::support::{Desk, Home, Running, processes_in, run_folders, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

const LONG: &str = "pk-update --set rows=1000 --set warmup=0s --set measure=1h --set interval=100ms --set clients=2";

#[test]
fn of_dyno() {
    let (desk, home) = (Desk::new(), Home::new());
    let running = Running::start(desk.command_embedded(&home, LONG));
    let first = || run_folders(&desk.archive()).into_iter().next();
    wait_for("a few intervals", || {
        first().is_some_and(|run| run.intervals_so_far() > 5)
    });
    running.signal(Signal::KILL);
    wait_for("its death", || !crate::support::is_alive(running.pid()));
    home.assert_no_server();
    let runs = run_folders(&desk.archive());
    assert_eq!(runs[0].state(), "running");
    assert!(runs[0].measured() > 0);
    desk.dyno("list").expect(0).shows("incomplete");
    let shown = desk.dyno("show").expect(0).shows("001-rep1 (incomplete)");
    shown.shows("latency (");
    // What it left hinders nobody.
    desk.embedded(&home, &LONG.replace("1h", "300ms"))
        .expect(0)
        .says("Copying the loaded data");
    assert_eq!(run_folders(&desk.archive()).len(), 2);
}

#[test]
fn of_the_server() {
    let (desk, home) = (Desk::new(), Home::new());
    let mut running = Running::start(desk.command_embedded(&home, LONG));
    running.until(" tps ");
    let pid_file = fs::read_to_string(home.data().join("postmaster.pid")).unwrap();
    let pid: i32 = pid_file.lines().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let ended = running.end().expect(2).says("the server ended during the measurement");
    ended.shows("(incomplete)");
    assert_eq!(processes_in(&home.data()), [0; 0]);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs[0].state(), "incomplete");
    assert!(runs[0].summed_up() > 0);
    assert_eq!(runs[0].measured(), runs[0].summed_up());
    let next = desk.embedded(&home, &LONG.replace("1h", "300ms")).expect(0);
    assert!(!next.stderr.contains("an earlier dyno left"), "{}", next.stderr);
}

#[test]
fn of_the_server_while_loading() {
    let (desk, home) = (Desk::new(), Home::new());
    let words = "pk-select --set warmup=0s --set measure=300ms --set rows=4000000";
    let mut running = Running::start(desk.command_embedded(&home, words));
    running.until("Loading tbl");
    let pid_file = fs::read_to_string(home.data().join("postmaster.pid")).unwrap();
    let pid: i32 = pid_file.lines().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    running.end().expect(1).says("error: ");
    home.assert_no_server();
    assert_eq!(run_folders(&desk.archive()).len(), 0);
    desk.embedded(&home, &words.replace("4000000", "1000"))
        .expect(0)
        .says("Loading tbl");
}
