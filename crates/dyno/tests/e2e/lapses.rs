//! Servers of several that are not to the end of a run what they were brought as: one that is killed or stopped, and a
//! replica that does not follow any more. The run does not count, and can be made again.

use crate::support::{Desk, Home, Running, run_folders};
use dyno_target::postgres::embedded::POSTGRESQL_VERSION;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::time::{Duration, Instant};

/// A server with a replica, each of which has its load; the replica's does `replica`.
fn file(replica: &str) -> String {
    format!(
        "title = \"Lapses\"\n[data]\nsetup = \"create table t as select 1 as id\"\n[servers.copy]\nreplica_of = \
         \"main\"\n[[workload]]\nname = \"w\"\nscript = \"select id from t;\"\n[[workload]]\nname = \"r\"\nserver = \
         \"copy\"\nrate = 20\nscript = \"{replica}\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"3s\"\n"
    )
}

/// The main process of the server in this role.
fn server(home: &Home, role: &str) -> Pid {
    let file = format!("clusters/{POSTGRESQL_VERSION}/{role}/data/postmaster.pid");
    let pid_file = fs::read_to_string(home.path().join(file)).unwrap();
    Pid::from_raw(pid_file.lines().next().unwrap().parse().unwrap()).unwrap()
}

/// The state of the newest run.
fn state(desk: &Desk) -> String {
    run_folders(&desk.archive()).pop().unwrap().state()
}

#[test]
fn a_server_that_is_killed_or_stands_still_leaves_a_run_to_resume() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("lapses.toml", &file("select id from t;"));
    let mut running = Running::start(desk.command_embedded(&home, "lapses.toml"));
    running.until(" tps ");
    // The load of the other one goes on.
    kill_process(server(&home, "main"), Signal::KILL).unwrap();
    running
        .end()
        .expect(2)
        .says("server main: the server ended during the measurement");
    assert_eq!(state(&desk), "incomplete");

    let mut running = Running::start(desk.command_embedded(&home, "--resume"));
    running.until(" tps ");
    kill_process(server(&home, "copy"), Signal::STOP).unwrap();
    let begun = Instant::now();
    running
        .end()
        .expect(2)
        .says("server copy: the server was stopped by a signal and stands still");
    // Nothing is asked of it, as it would be waited for.
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    assert_eq!(state(&desk), "incomplete");

    desk.embedded(&home, "--resume").expect(0);
    assert_eq!(state(&desk), "complete");
}

#[test]
fn a_replica_that_ceases_to_follow_spoils_its_run_and_is_made_anew_for_the_next() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("promotes.toml", &file("select pg_promote(false);"));
    let promoted = "it was promoted and is a server of its own now";
    desk.embedded(&home, "promotes.toml --max-errors 100%")
        .expect(2)
        .says(&format!(
            "server copy: the PostgreSQL copy does not follow its primary: {promoted}"
        ))
        .shows("(incomplete)");
    desk.file("lapses.toml", &file("select id from t;"));
    desk.embedded(&home, "lapses.toml")
        .expect(0)
        .says(&format!("The PostgreSQL copy is made anew: {promoted}"));
}
