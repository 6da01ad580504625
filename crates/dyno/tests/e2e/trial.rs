//! `dyno doctor` of an Oracle server, and a trial of it, on a stand-in.

use crate::support::{Database, Desk, Ended, Running, database, wait_for};
use dyno_oracle_standin::{Options, Postgres, Profile, Standin};
use rustix::process::Signal;
use std::sync::Arc;

const SECRET: &str = "s3cr3t-0f-0racle";

/// A stand-in on a database of its own, and its address.
struct StandIn {
    target: String,
    standin: Option<Standin>,
    database: Database,
}

fn start(name: &str, set: impl FnOnce(&mut Options)) -> StandIn {
    let database = database(name);
    let behind = Postgres::prepare(database.config(), "bench").unwrap();
    let mut options = Options::new(Arc::new(behind));
    SECRET.clone_into(&mut options.password);
    set(&mut options);
    let standin = Standin::start(options).unwrap();
    StandIn {
        target: format!("oracle://bench:{SECRET}@{}/shop", standin.address()),
        standin: Some(standin),
        database,
    }
}

impl StandIn {
    /// The tables that there are in the user's schema.
    fn tables(&self) -> String {
        self.database
            .value("select coalesce(string_agg(tablename, ' '), '') from pg_tables where schemaname = 'bench'")
    }
}

/// The words of a trial whose experiments are over soon.
fn words(target: &str) -> Vec<String> {
    let set = ["rows=2000", "warmup=0s", "measure=400ms", "clients=2", "threads=1"];
    let set = set.iter().flat_map(|one| ["--set".to_owned(), (*one).to_owned()]);
    ["doctor", target, "--trial", "--output", "account.txt"]
        .map(str::to_owned)
        .into_iter()
        .chain(set)
        .collect()
}

fn account(desk: &Desk) -> String {
    let account = std::fs::read_to_string(desk.path().join("account.txt")).unwrap();
    assert!(!account.contains(SECRET), "{account}");
    account
}

#[test]
fn the_page_of_an_oracle_server() {
    let (desk, oracle) = (Desk::new(), start("e2e_doctor_oracle", |_| ()));
    let page = desk.dyno(&format!("doctor {}", oracle.target)).expect(0);
    let ended = page.stdout.find("This machine").unwrap();
    let address = oracle.standin.as_ref().unwrap().address();
    let lines = page.stdout[..ended]
        .replace(&address.port().to_string(), "PORT")
        .lines()
        // How long it takes decides where the line is broken.
        .filter(|line| !line.ends_with("each of its own"))
        .map(|line| match line.find("about ") {
            Some(at) => format!("{}about … ms", &line[..at]),
            None => line.to_owned(),
        })
        .collect::<Vec<_>>();
    insta::assert_snapshot!("the_page_of_an_oracle_server", lines.join("\n"));
    assert!(
        !page.stdout.contains(SECRET) && !page.stderr.contains(SECRET),
        "{page:?}"
    );
}

#[test]
fn a_trial_tells_all_and_leaves_nothing() {
    for (name, profile) in [("e2e_trial_23", Profile::V23), ("e2e_trial_19", Profile::V19)] {
        let (desk, oracle) = (Desk::new(), start(name, |options| options.profile = profile));
        oracle.database.execute("create table bench.mine (id int)");
        let ended = Ended::of(&mut desk.command(words(&oracle.target)));
        let account = account(&desk);
        assert!(
            !ended.stdout.contains(SECRET) && !ended.stderr.contains(SECRET),
            "{ended:?}"
        );
        for part in [
            "Rights and counters",
            "ok       loading 10000 rows",
            "ok       log-in of dyno's session",
            "ok       log-in of the crate oracledb",
            "ok       select by key, 100 times: alike: 8 | info of row 8 | 12.5",
            "ok       1,000 rows in several fetches: alike: 1000 rows",
            "ok       a transaction that is rolled back: alike: 12.5",
            "ok       ORA-00001: a key that is there: alike: both are refused by ORA-00001",
            "ok       ORA-00054: a row that another session has locked: alike",
            "ok       pk-update: ",
            "ok       pk-select: ",
            "ok       pk-insert: ",
            "ok       direct-pg: ",
            "removed: nothing of it is left on the server",
        ] {
            assert!(account.contains(part), "{part} is not in {account}");
        }
        // The crate has a query parsed at each execution, dyno's session once.
        let hundred = account.split("select by key, 100 times").nth(1).unwrap();
        let counts = hundred.lines().nth(1).unwrap();
        assert!(
            counts.contains("executions 100/100") && counts.contains("parses 0/"),
            "{counts}"
        );
        assert_eq!(oracle.tables(), "mine");
        assert_eq!(oracle.standin.as_ref().unwrap().complaints(), [""; 0]);
        assert!(!desk.archive().exists());
    }
}

#[test]
fn a_trial_that_is_ended_leaves_nothing_either() {
    let (desk, oracle) = (Desk::new(), start("e2e_trial_ended", |_| ()));
    let mut words = words(&oracle.target);
    words.extend(["--set".to_owned(), "measure=1h".to_owned()]);
    let running = Running::start(desk.command(words));
    wait_for("an experiment", || oracle.tables().contains("tbl"));
    running.signal(Signal::INT);
    let ended = running.end().expect(1).says("removed first");
    assert!(!ended.stderr.contains(SECRET), "{ended:?}");
    let account = account(&desk);
    assert!(account.contains("ended before its time"), "{account}");
    assert!(account.contains("nothing of it is left"), "{account}");
    assert_eq!(oracle.tables(), "");
}

#[test]
fn what_a_killed_trial_left_the_next_one_removes() {
    let (desk, oracle) = (Desk::new(), start("e2e_trial_killed", |_| ()));
    let temporary = tempfile::tempdir().unwrap();
    let left = || temporary.path().read_dir().unwrap().count();
    let trial = |words: Vec<String>| {
        let mut command = desk.command(words);
        command.env("TMPDIR", temporary.path());
        command
    };
    let mut long = words(&oracle.target);
    long.extend(["--set".to_owned(), "measure=1h".to_owned()]);
    let running = Running::start(trial(long));
    wait_for("an experiment", || oracle.tables().contains("tbl"));
    running.signal(Signal::KILL);
    drop(running.end());
    assert!(oracle.tables().contains("dyno_run"), "{}", oracle.tables());
    assert_eq!(left(), 1);
    Ended::of(&mut trial(words(&oracle.target)));
    assert_eq!(left(), 0);
    assert!(account(&desk).contains("nothing of it is left"), "{}", account(&desk));
    assert_eq!(oracle.tables(), "");
}

#[test]
fn a_server_that_goes_is_told_of() {
    let (desk, mut oracle) = (Desk::new(), start("e2e_trial_gone", |_| ()));
    let mut words = words(&oracle.target);
    words.extend(["--set".to_owned(), "measure=30s".to_owned()]);
    let running = Running::start(desk.command(words));
    wait_for("an experiment", || oracle.tables().contains("tbl"));
    oracle.standin.take();
    running.end().expect(1);
    let account = account(&desk);
    assert!(account.contains("FAILED   pk-insert"), "{account}");
    assert!(
        account.contains("NOT removed") && account.contains("dyno clean --target"),
        "{account}"
    );
}

#[test]
fn a_trial_is_made_where_there_is_something_to_try() {
    let (desk, database) = (Desk::new(), database("e2e_no_trial"));
    desk.dyno(&format!("doctor {} --trial", database.target()))
        .expect(1)
        .says("a trial is for Oracle servers");
    let oracle = start("e2e_trial_refused", |options| options.password = "other".to_owned());
    let ended = Ended::of(&mut desk.command(words(&oracle.target))).expect(1);
    ended.shows("No trial was made").shows("ORA-01017");
    // Servers lock the accounts of those who try again and again.
    assert_eq!(oracle.standin.as_ref().unwrap().counts().connections, 1);
    assert!(account(&desk).contains("ORA-01017"));
}

#[test]
fn a_server_that_is_in_use_is_left_alone() {
    let (desk, oracle) = (Desk::new(), start("e2e_trial_in_use", |_| ()));
    // As a dyno has it that may not use dbms_lock.
    let lock = "select note from bench.dyno_run where kind = 'lock' for update";
    oracle.database.execute(
        "create table bench.dyno_run (kind varchar(10) not null, id numeric, name varchar(400), note varchar(4000)); \
         insert into bench.dyno_run (kind, note) values ('lock', 'the row that is locked')",
    );
    let mut holder = oracle.database.connect();
    holder.batch_execute(&format!("begin; {lock}")).unwrap();
    let ended = Ended::of(&mut desk.command(words(&oracle.target))).expect(1);
    ended.shows("another dyno measures on this server");
    assert!(!account(&desk).contains("Experiments"), "{}", account(&desk));
    assert_eq!(oracle.tables(), "dyno_run");
}
