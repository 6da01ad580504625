//! A server that stands still in the middle of a load, and somebody who does not want to wait for it.

use crate::mariadb::{borrowed, password};
use crate::support::{Desk, Home, Running, database_alone, processes_in, run_folders, wait_for};
use dyno_target::mysql::embedded::MARIADB_VERSION;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};

/// A server whose processes are all stopped. Dropped, they go on.
struct Frozen(PathBuf);

impl Frozen {
    /// The one on this data folder.
    fn on(data: &Path) -> Self {
        let frozen = Self(data.canonicalize().unwrap());
        assert!(frozen.signal(Signal::STOP) > 0, "{}", data.display());
        frozen
    }

    fn signal(&self, signal: Signal) -> usize {
        let processes = processes_in(&self.0);
        for pid in &processes {
            // It may have ended.
            let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal);
        }
        processes.len()
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
    }
}

/// Lets dyno wait for a server that stands still until nothing is done any more, and asks it to end.
fn end_while_frozen(desk: &Desk, mut running: Running, data: &Path) {
    running.until(" tps ");
    let _frozen = Frozen::on(data);
    let run = || run_folders(&desk.archive()).into_iter().next().unwrap();
    let idle = || {
        let rows = run().rows("intervals.csv");
        let last = rows.iter().rev().take(3);
        rows.len() > 3 && last.clone().all(|row| row["transactions"] == "0")
    };
    wait_for("intervals without transactions", idle);
    running.signal(Signal::INT);
    running
        .end()
        .expect(2)
        .says("Ending: what was measured is kept")
        .shows("The run ended after")
        .shows("(incomplete)");
    let run = run();
    assert_eq!(run.state(), "incomplete");
    assert!(run.summed_up() > 0 && run.summed_up() == run.measured());
}

#[test]
fn a_private_server_that_stands_still_keeps_nobody_from_ending() {
    let words = "long.toml --target";
    for (target, home) in [("embedded", Home::new()), ("embedded:mariadb", Home::with_mariadb())] {
        let desk = Desk::new();
        desk.experiment("long.toml", "clients = 4", "select 1;", "1h");
        let running = Running::start(desk.command_embedded(&home, &format!("{words} {target}")));
        let data = match target {
            "embedded" => home.data(),
            _ => home
                .path()
                .join(format!("mariadb-clusters/{MARIADB_VERSION}/main/data")),
        };
        end_while_frozen(&desk, running, &data);
        let data = data.canonicalize().unwrap();
        wait_for("the end of the server", || processes_in(&data).is_empty());
        // It has ended in good order, so the next run need not recover.
        desk.experiment("short.toml", "", "select 1;", "300ms");
        desk.embedded(&home, &format!("short.toml --target {target}")).expect(0);
    }
}

#[test]
fn a_server_by_address_that_stands_still_keeps_nobody_from_ending() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let (_embedded, server) = borrowed(&home);
    desk.experiment("long.toml", "clients = 4", "select 1;", "1h");
    let target = format!("mysql://root:{}@127.0.0.1:{}/mysql", password(&server), server.port());
    let running = Running::start(desk.command_alone_on(&target, ["long.toml"]));
    end_while_frozen(&desk, running, server.data_folder());

    let (desk, database) = (Desk::new(), database_alone("e2e_frozen"));
    desk.experiment("long.toml", "clients = 4", "select 1;", "1h");
    let data = database.value("select current_setting('data_directory')");
    let running = Running::start(desk.command_alone_on(&database.target(), ["long.toml"]));
    end_while_frozen(&desk, running, Path::new(&data));
}
