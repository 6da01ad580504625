//! Runs that end otherwise than by their limits: what is said, with which exit code, and that what was measured is
//! reported.

use crate::case::{Desk, compare_all, script};
use crate::own::Folder;
use crate::server::{Mariadb, home};
use dyno_target::mysql::embedded::{Embedded, EmbeddedOptions};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long something may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The number behind the title of a line of the report.
fn reported(text: &str, title: &str) -> u64 {
    let line = text.lines().find(|line| line.trim_start().starts_with(title));
    let line = line.unwrap_or_else(|| panic!("no {title}\n{text}"));
    let number = line.trim_start()[title.len()..].split_whitespace().next().unwrap();
    number.parse().unwrap()
}

#[test]
fn time_is_over_before_events_are() {
    let sleeping = "\
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query('select sleep(' .. (sysbench.tid == 0 and 4 or 0.1) .. ')') end
";
    let cases = [
        // The long event is given up.
        script("run --time=1 --forced-shutdown=1", sleeping),
        script("run --time=1 --forced-shutdown=1 --threads=3", sleeping).timed(),
        script("run --time=1 --forced-shutdown=1 --verbosity=4", sleeping),
        // It is waited for.
        script("run --time=1", sleeping),
        script("run --time=1 --forced-shutdown=9", sleeping),
        script("run --time=1 --forced-shutdown=off", sleeping),
        script("run --time=1 --threads=2", sleeping).timed(),
    ];
    compare_all("forced shutdown", &Mariadb::start(), &cases);
}

#[test]
fn validation_says_that_it_is_on() {
    let asking = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                  function event() if sysbench.opt.validate then con:query('select 1') else con:query('do 1') end end";
    let cases = [
        script("run --events=2 --validate", asking).logged(),
        script("run --events=2 --validate=off", asking).logged(),
        script("run --events=2 --validate=maybe", asking),
        script(
            "prepare --validate",
            "function prepare() print(sysbench.opt.validate) end",
        ),
    ];
    compare_all("validate", &Mariadb::start(), &cases);
}

#[test]
fn connections_are_taken_away() {
    // The second connection has the server close the first one.
    let killing = "\
function thread_init()
  con, other = sysbench.sql.driver():connect(), sysbench.sql.driver():connect()
  events = 0
end
function event()
  events = events + 1
  con:query('select 1')
  if events == 3 then other:query('kill connection ' .. con:query_row('select connection_id()')) end
end
";
    // Neither is compared: sysbench reports nothing of what it has measured, and with these errors ignored it goes on
    // without end.
    let (mariadb, folder) = (Mariadb::start(), Folder::new());
    mariadb.reset(&[]);
    folder.file("s.lua", killing);
    let options = mariadb.options();
    let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
    words.extend(["s.lua", "run", "--events=9"]);
    let output = folder.sysbench(&words);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lost = "FATAL: mysql_drv_query() returned error 2013 (Lost connection to MySQL server during query) for query \
                'select 1'\nFATAL: `thread_run' function failed: s.lua:7: SQL error, errno = 2013, state = 'HY000': \
                Lost connection to MySQL server during query\n";
    assert!(text.contains(lost), "{text}");
    assert_eq!(reported(&text, "total number of events:"), 3);
    words.push("--mysql-ignore-errors=2013");
    let text = folder.prints(&words);
    assert_eq!(reported(&text, "total number of events:"), 9);
    assert_eq!(
        (reported(&text, "ignored errors:"), reported(&text, "reconnects:")),
        (1, 1)
    );
}

#[test]
fn the_server_dies_in_the_middle() {
    let mut options = EmbeddedOptions::new(home());
    "tests-sysbench-dying".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    let server = embedded.start(&[], &mut |_| ()).unwrap();
    let mut admin = server.connection("mysql").connect().unwrap();
    for statement in [
        "create or replace user sbtest identified by 'sbtest'",
        "create or replace database sbtest",
        "grant all on sbtest.* to sbtest",
    ] {
        admin.execute(statement).unwrap();
    }
    drop(admin);
    let folder = Folder::new();
    folder.file(
        "s.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event() con:query('select 1') if sysbench.tid == 0 then io.open('begun', 'w'):close() end end",
    );
    let mut command = folder.command(Path::new(env!("CARGO_BIN_EXE_dyno")));
    let port = format!("--mysql-port={}", server.port());
    command.args([
        "sysbench",
        "s.lua",
        "run",
        "--threads=8",
        "--time=60",
        "--mysql-host=127.0.0.1",
        &port,
    ]);
    command.args(["--mysql-user=sbtest", "--mysql-password=sbtest"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    wait_for("no event begins", || folder.path().join("begun").exists());
    let pid = Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lost = "FATAL: mysql_drv_query() returned error 2013 (Lost connection to MySQL server during query) for query \
                'select 1'\n";
    assert!(text.contains(lost), "{text}");
    let failed = "FATAL: `thread_run' function failed: s.lua:2: SQL error, errno = 2013, state = 'HY000': Lost \
                  connection to MySQL server during query\n";
    assert!(text.contains(failed), "{text}");
    assert!(reported(&text, "total number of events:") > 0);
    assert!(reported(&text, "read:") > 0);
}

#[test]
fn one_client_of_many_fails() {
    let (mariadb, folder) = (Mariadb::start(), Folder::new());
    mariadb.reset(&[]);
    folder.file(
        "s.lua",
        "function thread_init() con, events = sysbench.sql.driver():connect(), 0 end\n\
         function event()\n  con:query('select 1')\n  events = events + 1\n  \
         if sysbench.tid == 17 and events == 5 then error('this one gives up') end\nend",
    );
    let options = mariadb.options();
    let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
    words.extend(["s.lua", "run", "--threads=40", "--time=60"]);
    let output = folder.sysbench(&words);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let said = "FATAL: `thread_run' function failed: s.lua:5: this one gives up\n";
    assert_eq!(text.matches(said).count(), 1, "{text}");
    assert!(reported(&text, "total number of events:") >= 4, "{text}");
}
