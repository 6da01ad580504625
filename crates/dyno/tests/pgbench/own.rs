//! What pgbench has not: dyno's own options, its name as a link, and how it ends when it is interrupted.

use crate::server::Database;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder to work in and a database with tables.
struct Desk {
    folder: TempDir,
    database: Database,
}

impl Desk {
    fn new(name: &str) -> Self {
        let desk = Self {
            folder: TempDir::new().unwrap(),
            database: Database::new(name),
        };
        desk.pgbench("-i -q");
        desk
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env_remove("DYNO_ARCHIVE")
            .envs(self.database.environment())
            .stdin(Stdio::null());
        command
    }

    fn dyno(&self) -> Command {
        let mut command = self.command(Path::new("env"));
        // The tests may run as a background job of a script, which ignores the terminal's signals.
        command.args(["--default-signal=HUP,INT,QUIT", env!("CARGO_BIN_EXE_dyno")]);
        command
    }

    /// `dyno pgbench` with these words, which must succeed.
    fn pgbench(&self, words: &str) -> String {
        let output = self.dyno().arg("pgbench").args(words.split(' ')).output().unwrap();
        assert!(output.status.success(), "{words}\n{output:?}");
        text(&output)
    }

    /// Waits until a query has a row.
    fn wait_for(&self, query: &str) {
        let begun = Instant::now();
        while self.database.rows(query).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{query}: nothing comes");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Ctrl-C.
fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn percentiles_come_after_the_latency() {
    let desk = Desk::new("own_percentiles");
    let shown = desk.pgbench("-n -S -t 20 --percentiles=50,99.9");
    let lines: Vec<&str> = shown.lines().collect();
    let average = lines
        .iter()
        .position(|line| line.starts_with("latency average = "))
        .unwrap();
    assert!(lines[average + 1].starts_with("latency p50 = "), "{shown}");
    assert!(lines[average + 2].starts_with("latency p99.9 = "), "{shown}");
    assert!(lines[average + 3].starts_with("initial connection time = "), "{shown}");
}

#[test]
fn json_says_what_the_text_says() {
    let desk = Desk::new("own_json");
    desk.pgbench("-n -S -N -t 20 -c 2 -r --max-tries=2 --percentiles=50 --json=report.json");
    let text = fs::read_to_string(desk.folder.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["total"]["transactions"], 40);
    assert_eq!(report["conditions"]["clients"], 2);
    assert_eq!(report["incomplete"], false);
    assert!(report["tps"].as_f64().unwrap() > 0.0);
    assert!(report["latency_percentiles_ms"]["p50"].as_f64().unwrap() > 0.0);
    let scripts = report["scripts"].as_array().unwrap();
    let each = scripts
        .iter()
        .map(|script| script["total"]["transactions"].as_u64().unwrap());
    assert_eq!(each.sum::<u64>(), 40);
    assert_eq!(scripts[0]["commands"].as_array().unwrap().len(), 2);
}

#[test]
fn what_happens_in_the_warm_up_does_not_count() {
    let desk = Desk::new("own_warmup");
    // Longer than the warm-up alone would allow, and a transaction that is over at once does not end it.
    fs::write(desk.folder.path().join("s.sql"), "\\sleep 100 ms\nselect 1;").unwrap();
    let shown = desk.pgbench("-n -f s.sql -T 1 --warmup=1 -l --log-prefix=log");
    let number = shown
        .lines()
        .find_map(|line| line.strip_prefix("number of transactions actually processed: "))
        .unwrap();
    let number: usize = number.parse().unwrap();
    assert!((1..=11).contains(&number), "{shown}");
    // They were counted for a second and no less.
    let tps = shown.lines().find_map(|line| line.strip_prefix("tps = ")).unwrap();
    let tps: f64 = tps.split(' ').next().unwrap().parse().unwrap();
    assert!(tps <= number as f64 + 0.001, "{shown}");
    let log = fs::read_dir(desk.folder.path())
        .unwrap()
        .map(|item| item.unwrap().path())
        .find(|path| path.file_name().unwrap().to_string_lossy().starts_with("log."));
    assert_eq!(fs::read_to_string(log.unwrap()).unwrap().lines().count(), number);
}

#[test]
fn a_run_is_kept_in_the_archive() {
    let desk = Desk::new("own_archive");
    desk.pgbench("-n -S -t 20 -c 2 --archive");
    let list = text(&desk.dyno().arg("list").output().unwrap());
    assert!(list.contains("pgbench") && list.contains("complete"), "{list}");
    let shown = text(&desk.dyno().arg("show").output().unwrap());
    assert!(shown.contains("40 transactions"), "{shown}");
    assert!(shown.contains("pgbench -n -S -t 20 -c 2 --archive"), "{shown}");
}

#[test]
fn it_is_said_if_what_is_kept_is_not_a_complete_run() {
    let desk = Desk::new("own_incomplete");
    fs::write(desk.folder.path().join("fail.sql"), "select 1 / 0;").unwrap();
    let said = |words: &str, code: i32| {
        let words = format!("pgbench -n -f fail.sql -t 5 --archive {words}");
        let output = desk.dyno().args(words.trim().split(' ')).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let aborted = said("", 2);
    assert!(aborted.contains("archived as incomplete in archive/"), "{aborted}");
    let faulty = said("--continue-on-error", 0);
    assert!(faulty.contains("archived as faulty in archive/"), "{faulty}");
}

#[test]
fn the_name_pgbench_is_enough() {
    let desk = Desk::new("own_name");
    let link = desk.folder.path().join("pgbench");
    symlink(env!("CARGO_BIN_EXE_dyno"), &link).unwrap();
    let output = desk.command(&link).args(["-n", "-S", "-t", "1"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output).starts_with("pgbench (19"), "{output:?}");
    let wrong = desk.command(&link).arg("-x").output().unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        said.starts_with(&format!("{}: invalid option -- 'x'", link.display())),
        "{said}"
    );
}

#[test]
fn a_client_without_a_connection_is_named() {
    let desk = Desk::new("own_refused");
    desk.database.execute(
        "drop role if exists limited; create role limited login connection limit 2; grant select on \
         pgbench_branches to limited",
    );
    let run = desk
        .dyno()
        .args(["pgbench", "-n", "-S", "-c", "4", "-U", "limited"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(
        said.contains("failed: FATAL:  too many connections for role \"limited\"\n"),
        "{said}"
    );
    // The server may still be busy with the end of the first connection.
    let named = [1, 2].map(|client| format!("pgbench: error: could not create connection for client {client}\n"));
    assert!(named.iter().any(|line| said.ends_with(line)), "{said}");
}

#[test]
fn json_of_an_earlier_run_stays_until_there_is_another() {
    let desk = Desk::new("own_json_kept");
    let file = desk.folder.path().join("report.json");
    fs::write(&file, "last night's").unwrap();
    let words = ["pgbench", "-n", "-t", "1", "-S", "--json=report.json", "-h", "/nowhere"];
    let refused = desk.dyno().args(words).output().unwrap();
    assert!(!refused.status.success());
    assert_eq!(fs::read_to_string(&file).unwrap(), "last night's");
    desk.pgbench("-n -t 1 -S --json=report.json");
    assert!(fs::read_to_string(&file).unwrap().starts_with('{'));
}

#[test]
fn json_that_cannot_be_written_is_told_before_the_run() {
    let desk = Desk::new("own_json_refused");
    let run = desk
        .dyno()
        .args(["pgbench", "-n", "-S", "-T", "600", "--json=/nowhere/x"])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&run.stderr),
        "pgbench: error: could not create file \"/nowhere/x\": No such file or directory\n"
    );
    let shown = desk.pgbench("-n -S -t 1 --json=-");
    let (_, json) = shown.split_once("\n{").unwrap();
    assert!(
        serde_json::from_str::<serde_json::Value>(&format!("{{{json}")).is_ok(),
        "{shown}"
    );
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let desk = Desk::new("own_ignored");
    // As background jobs of a script are started.
    fs::write(desk.folder.path().join("s.sql"), "select pg_sleep(1);").unwrap();
    let child = desk
        .command(Path::new("sh"))
        .args(["-c", "trap '' INT; exec \"$0\" pgbench -n -f s.sql -t 1"])
        .arg(env!("CARGO_BIN_EXE_dyno"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    desk.wait_for(&format!(
        "select 1 from pg_stat_activity where datname = '{}' and query like '%pg_sleep%' and pid <> pg_backend_pid()",
        desk.database.name()
    ));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output).contains("actually processed: 1/1"), "{output:?}");
}

#[test]
fn an_interrupted_initialization_fails_and_says_what_is_there() {
    let desk = Desk::new("own_init_interrupt");
    let database = &desk.database;
    let child = desk
        .dyno()
        .args(["pgbench", "-i", "-I", "dtG", "-s", "1000"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    desk.wait_for(&format!(
        "select 1 from pg_stat_activity where datname = '{}' and query like 'insert into pgbench_accounts%' and \
         state = 'active'",
        database.name()
    ));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Cancel request sent\npgbench: error: "), "{said}");
    assert!(said.contains("Interrupted: server-side generate"), "{said}");
    assert_eq!(database.rows("select count(*) from pgbench_accounts"), "(0)");
}

#[test]
fn an_interrupted_run_reports_what_was_measured_and_dies_of_the_signal() {
    let desk = Desk::new("own_interrupt");
    let child = desk
        .dyno()
        .args(["pgbench", "-n", "-S", "-T", "600"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    desk.wait_for(&format!(
        "select 1 from pg_stat_activity where datname = '{}' and application_name = 'pgbench' and query like \
         '%abalance%'",
        desk.database.name()
    ));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    assert!(
        text(&output).contains("number of transactions actually processed: "),
        "{output:?}"
    );
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("Run was aborted; the above results are incomplete."),
        "{output:?}"
    );
}

#[test]
fn a_lost_connection_is_made_anew() {
    let desk = Desk::new("own_reconnect");
    // Every fifth transaction ends its own connection.
    desk.database.execute("create sequence turn");
    let script = "select case when nextval('turn') % 5 = 0 then pg_terminate_backend(pg_backend_pid()) end;";
    fs::write(desk.folder.path().join("s.sql"), script).unwrap();
    let shown = desk.pgbench("-n -f s.sql -t 20 --reconnect --continue-on-error");
    assert!(shown.contains("actually processed: 16/20"), "{shown}");
    assert!(shown.contains("number of failed transactions: 4 (20.000%)"), "{shown}");
}

#[test]
fn no_password_is_seen_in_the_archive() {
    let desk = Desk::new("own_password");
    let target = format!("dbname={} password=topsecret", desk.database.name());
    let output = desk
        .dyno()
        .args(["pgbench", "-n", "-S", "-t", "1", "--archive", &target])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = text(&desk.dyno().arg("show").output().unwrap());
    assert!(
        shown.contains("password=***") && !shown.contains("topsecret"),
        "{shown}"
    );
}

#[test]
fn a_variable_that_is_no_utf8_is_not_passed_over() {
    let desk = Desk::new("own_latin1");
    // Without it the database would be called like the user.
    let output = desk
        .dyno()
        .args(["pgbench", "-n", "-S", "-t", "1"])
        .env("PGDATABASE", OsStr::from_bytes(b"caf\xe9"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("\"caf"), "{said}");
}
