//! What sysbench has not, or has in another version: forms of reports, refusals, its name as a link, and how a run ends
//! when it is interrupted.

use crate::case::Desk;
use crate::server::Mariadb;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder to work in.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Puts a file into it, and gives its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A program that is executed in it.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env_remove("DYNO_ARCHIVE")
            .stdin(Stdio::null());
        command
    }

    /// `dyno sysbench` with these words.
    pub fn sysbench(&self, words: &[&str]) -> Output {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_dyno")));
        command.arg("sysbench").args(words).output().unwrap()
    }

    /// The same, which must succeed, and what it prints.
    pub fn prints(&self, words: &[&str]) -> String {
        let output = self.sysbench(words);
        assert!(output.status.success(), "{words:?}\n{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

const NOTHING: &str = "function event() end";

#[test]
fn reports_have_the_form_of_a_version() {
    let folder = Folder::new();
    folder.file("s.lua", NOTHING);
    let run = |format: &str| folder.prints(&["s.lua", "run", "--events=3", &format!("--report-format={format}")]);
    let old = run("0.5");
    assert!(
        old.starts_with("sysbench 0.5:  multi-threaded system evaluation benchmark"),
        "{old}"
    );
    assert!(old.contains("    total time taken by event execution: "), "{old}");
    assert!(old.contains("         approx.  95 percentile:"), "{old}");
    let usual = run("1.0");
    assert!(
        usual.contains("General statistics:\n") && usual.contains("Latency (ms):\n"),
        "{usual}"
    );
    let newer = run("1.1");
    assert!(newer.contains("Throughput:\n    events/s (eps): "), "{newer}");
}

#[test]
fn all_threads_are_told_of() {
    let folder = Folder::new();
    folder.file("s.lua", NOTHING);
    let words = [
        "s.lua",
        "run",
        "--events=2",
        "--time=5",
        "--threads=2",
        "--rate=100",
        "--verbosity=5",
    ];
    let text = folder.prints(&[&words[..], &["--report-interval=1", "--report-checkpoints=4"]].concat());
    let told: Vec<&str> = text.lines().filter(|line| line.starts_with("DEBUG: ")).collect();
    assert_eq!(
        told,
        [
            "DEBUG: Reporting thread started",
            "DEBUG: Event generating thread started",
            "DEBUG: Checkpoints report thread started",
            "DEBUG: Worker thread (#0) started",
            "DEBUG: Worker thread (#1) started",
            "DEBUG: Worker thread (#0) initialized",
            "DEBUG: Worker thread (#1) initialized",
        ]
    );
}

#[test]
fn a_link_is_called_sysbench() {
    let folder = Folder::new();
    folder.file("s.lua", "function prepare() print('prepared') end");
    let link = folder.0.path().join("sysbench");
    symlink(env!("CARGO_BIN_EXE_dyno"), &link).unwrap();
    let output = folder.command(&link).args(["s.lua", "prepare"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("sysbench 1.0.20 (using dyno ") && text.ends_with("\n\nprepared\n"),
        "{text}"
    );
    let version = folder.command(&link).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    assert!(version.starts_with("sysbench 1.0.20 (dyno "), "{version}");
}

#[test]
fn other_tests_are_refused_in_a_line() {
    let folder = Folder::new();
    for test in ["cpu", "memory", "threads", "mutex", "fileio"] {
        let output = folder.sysbench(&[test, "run"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let said = text.lines().last().unwrap();
        assert!(said.contains(test) && said.contains("not about databases"), "{text}");
    }
}

#[test]
fn what_happens_in_the_warm_up_does_not_count() {
    let folder = Folder::new();
    // Each event takes a tenth of a second.
    folder.file(
        "s.lua",
        "local ffi = require('ffi')\nffi.cdef('int usleep(unsigned int);')\nfunction event() ffi.C.usleep(100000) end",
    );
    let shown = folder.prints(&["s.lua", "run", "--warmup-time=1", "--time=1"]);
    let line = shown
        .lines()
        .find(|line| line.contains("total number of events:"))
        .unwrap();
    let events: u32 = line.split_whitespace().last().unwrap().parse().unwrap();
    assert!((1..=11).contains(&events), "{shown}");
}

#[test]
fn scripts_from_elsewhere_are_kept_in() {
    let folder = Folder::new();
    let text = "function prepare() print(io, os.execute, pcall(require, 'ffi')) end\nfunction event() end";
    folder.file("s.lua", text);
    let open = folder.prints(&["s.lua", "prepare"]);
    assert!(open.contains("table: "), "{open}");
    let safe = folder.prints(&["s.lua", "prepare", "--safe-lua"]);
    assert!(safe.contains("nil\tnil\tfalse"), "{safe}");
}

#[test]
fn a_script_that_fails_after_a_while_is_reported_all_the_same() {
    let folder = Folder::new();
    folder.file(
        "s.lua",
        "n = 0\nfunction event() n = n + 1; if n > 5 then error('enough') end end",
    );
    let output = folder.sysbench(&["s.lua", "run", "--time=5"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("FATAL: `thread_run' function failed: s.lua:2: enough\n"),
        "{text}"
    );
    assert!(text.contains("total number of events:              5\n"), "{text}");
}

#[test]
fn no_process_shows_a_password() {
    const CANARY: &str = "C4n4ry-0f-th3-Sysb3nch";
    let folder = Folder::new();
    folder.file(
        "s.lua",
        "function prepare() print(io.open('/proc/self/cmdline'):read('*a'), sysbench.opt.mysql_password) end",
    );
    let shown = folder.prints(&["s.lua", "prepare", &format!("--mysql-password={CANARY}")]);
    // The script still gets it, once.
    assert_eq!(shown.matches(CANARY).count(), 1, "{shown}");
    assert!(shown.contains("--mysql-password=***"), "{shown}");
}

#[test]
fn ctrl_c_ends_a_run_with_its_report() {
    let folder = Folder::new();
    let path = folder.file("begun", "");
    fs::remove_file(&path).unwrap();
    folder.file(
        "s.lua",
        "local ffi = require('ffi')\nffi.cdef('int usleep(unsigned int);')\nfunction event()\nffi.C.usleep(1000)\n\
         io.open('begun', 'w'):close()\nend",
    );
    // The tests may run as a background job of a script, which ignores the terminal's signals.
    let mut command = folder.command(Path::new("env"));
    command.args([
        "--default-signal=HUP,INT,QUIT",
        env!("CARGO_BIN_EXE_dyno"),
        "sysbench",
        "s.lua",
        "run",
        "--time=60",
    ]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !Path::new(&path).exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no event begins");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("total number of events:"), "{text}");
}

#[test]
fn connections_are_dealt_to_the_hosts_in_turn() {
    let mariadb = Mariadb::start();
    mariadb.reset(&[]);
    let folder = Folder::new();
    folder.file(
        "s.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end\nfunction event() return true end",
    );
    // Nobody listens at the second port, which the second connection gets.
    let port = format!("--mysql-port={},1", mariadb.port());
    let run = |threads: &str| {
        folder.sysbench(&[
            "s.lua",
            "run",
            threads,
            "--mysql-host=127.0.0.1",
            &port,
            "--mysql-user=sbtest",
            "--mysql-password=sbtest",
            "--mysql-db=sbtest",
        ])
    };
    assert_eq!(run("--threads=1").status.code(), Some(0));
    let failed = run("--threads=2");
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    let text = String::from_utf8(failed.stdout).unwrap();
    let words = "FATAL: unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...\n\
                 FATAL: error 2003: Can't connect to MySQL server on '127.0.0.1:1' (111)\n";
    assert!(text.contains(words), "{text}");
    let failed = folder.sysbench(&["s.lua", "run", "--mysql-socket=/nonexistent.sock"]);
    let text = String::from_utf8(failed.stdout).unwrap();
    let words = "FATAL: unable to connect to MySQL server on socket '/nonexistent.sock', aborting...\n\
                 FATAL: error 2002: Can't connect to local MySQL server through socket '/nonexistent.sock' (2)\n";
    assert!(text.contains(words), "{text}");
    let failed = folder.sysbench(&[
        "s.lua",
        "run",
        "--db-driver=pgsql",
        "--pgsql-host=127.0.0.1",
        "--pgsql-port=1",
    ]);
    let text = String::from_utf8(failed.stdout).unwrap();
    let words = "FATAL: Connection to database failed: connection to server at \"127.0.0.1\", port 1 failed: \
                 Connection refused\n";
    assert!(text.contains(words), "{text}");
}

/// What fills a table tells of an error what statements tell of it.
#[test]
fn errors_of_filling_have_their_states() {
    let mariadb = Mariadb::start();
    mariadb.reset(&[]);
    let folder = Folder::new();
    folder.file(
        "f.lua",
        "function prepare()\n\
           local drv = sysbench.sql.driver()\n\
           local con = drv:connect()\n\
           con:query('create table t (id int primary key)')\n\
           con:query('insert into t values (2)')\n\
           for _, name in ipairs({'t', 'missing'}) do\n\
             print(pcall(drv.fill, drv, name, 3, {{'id', 'row'}}, 1))\n\
           end\n\
         end\n",
    );
    let address = mariadb.options();
    let words: Vec<&str> = ["f.lua", "prepare"]
        .into_iter()
        .chain(address.iter().map(String::as_str))
        .collect();
    let ended = folder.sysbench(&words);
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.contains("errno = 1062, state = '23000'"), "{text}");
    assert!(text.contains("errno = 1146, state = '42S02'"), "{text}");
}

#[test]
fn a_run_is_archived_with_each_kind_of_statement() {
    let mariadb = Mariadb::start();
    mariadb.reset(&[]);
    let folder = Folder::new();
    let address = mariadb.options();
    let with = |words: &str| {
        let address = address.iter().map(String::as_str);
        let words: Vec<&str> = words.split(' ').chain(address).collect();
        folder.sysbench(&words)
    };
    let prepared = with("oltp --oltp-table-size=100 --oltp-tables-count=2 prepare");
    assert!(prepared.status.success(), "{prepared:?}");
    let run = with("oltp --oltp-table-size=100 --oltp-tables-count=2 --time=2 --threads=2 --archive=kept run");
    assert!(run.status.success(), "{run:?}");
    let said = String::from_utf8(run.stderr).unwrap();
    let kept = said.lines().find_map(|line| line.strip_prefix("archived in "));
    let kept = folder.0.path().join(kept.unwrap_or_else(|| panic!("{said}")));
    let record = fs::read_to_string(kept.join("run.json")).unwrap();
    for words in [
        "\"state\": \"complete\"",
        "\"SELECT c FROM sbtest# WHERE id=?\"",
        "\"UPDATE sbtest# SET c=? WHERE id=?\"",
        "\"COMMIT\"",
        "sbtest2",
    ] {
        assert!(record.contains(words), "no {words} in {record}");
    }
    let campaign = fs::read_to_string(kept.parent().unwrap().join("campaign.json")).unwrap();
    assert!(campaign.contains("\"oltp_tables_count\": \"2\""), "{campaign}");
    assert!(!campaign.contains("password=sbtest"), "{campaign}");
    // What a script loads is kept with it, and a secret that it is given is not.
    folder.file("part.lua", "part = 'of it'\n");
    folder.file(
        "whole.lua",
        "dofile('part.lua')\nfunction thread_init() con = sysbench.sql.driver():connect() end\n\
         function event() con:query('select 1') end\n",
    );
    let run = with("whole.lua --events=5 --api-token=h1dden --archive=whole run");
    assert!(run.status.success(), "{run:?}");
    let kept = fs::read_dir(folder.path().join("whole"))
        .unwrap()
        .flatten()
        .next()
        .unwrap();
    let campaign = fs::read_to_string(kept.path().join("campaign.json")).unwrap();
    assert!(
        campaign.contains("part = 'of it'") && !campaign.contains("h1dden"),
        "{campaign}"
    );
    assert!(campaign.contains("\"api_token\": \"***\""), "{campaign}");
    // What its report calls ignored errors is in the archive, too.
    folder.file(
        "again.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event() n = (n or 0) + 1\n\
         if n < 3 then con:query(\"signal sqlstate '40001' set mysql_errno = 1213\") end end\n",
    );
    let run = with("again.lua --events=5 --archive=again run");
    assert!(run.status.success(), "{run:?}");
    let text = String::from_utf8(run.stderr).unwrap();
    let kept = text.lines().find_map(|line| line.strip_prefix("archived in "));
    let record = fs::read_to_string(folder.path().join(kept.unwrap()).join("run.json")).unwrap();
    let note = "2 events, the warm-up included, began again after an error";
    assert!(record.contains(note), "{record}");
}

/// The number behind a name in a report.
fn told(report: &str, name: &str) -> f64 {
    let found = report.lines().find_map(|line| line.trim().strip_prefix(name));
    let figure = found.map(|rest| rest.trim().trim_end_matches('s'));
    figure
        .unwrap_or_else(|| panic!("no {name} in {report}"))
        .parse()
        .unwrap()
}

#[test]
fn latency_holds_what_a_script_does_by_itself() {
    let folder = Folder::new();
    folder.file(
        "s.lua",
        "local ffi = require('ffi')\nffi.cdef('int usleep(unsigned int);')\nfunction event() ffi.C.usleep(20000) end",
    );
    let report = folder.prints(&["s.lua", "run", "--events=4", "--threads=2"]);
    assert!(told(&report, "min:") >= 20.0, "{report}");
    assert!(told(&report, "sum:") >= 80.0, "{report}");
}

#[test]
fn a_run_lasts_its_time_though_nothing_more_is_due() {
    let folder = Folder::new();
    folder.file("s.lua", NOTHING);
    let report = folder.prints(&["s.lua", "run", "--rate=2", "--time=2", "--threads=2"]);
    assert!(told(&report, "total time:") >= 2.0, "{report}");
}
