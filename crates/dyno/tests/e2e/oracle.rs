//! Oracle through the same doors as PostgreSQL, on a stand-in that executes on one: experiments are planned, loaded,
//! run, reported, compared and cleaned up.

use crate::support::{Database, Desk, RunFolder, Running, TINY, database, run_folders};
use dyno_analysis::analyse;
use dyno_archive::Archive;
use dyno_archive::analysis::Cause;
use dyno_oracle_standin::{Options, Postgres, Profile, Standin};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

const SECRET: &str = "s3cr3t-0f-0racle";

/// A stand-in on a database of its own, and its address.
struct StandIn {
    target: String,
    standin: Standin,
    /// What it executes statements with, to be changed from behind.
    behind: Postgres,
    _database: Database,
}

fn start(name: &str, profile: Profile) -> StandIn {
    let database = database(name);
    let behind = Postgres::prepare(database.config(), "bench").unwrap();
    let mut options = Options::new(Arc::new(behind.clone()));
    options.profile = profile;
    SECRET.clone_into(&mut options.password);
    let standin = Standin::start(options).unwrap();
    StandIn {
        target: format!("oracle://bench:{SECRET}@{}/shop", standin.address()),
        standin,
        behind,
        _database: database,
    }
}

#[test]
fn the_studies_run_on_it_and_are_reported() {
    let (desk, oracle) = (Desk::new(), start("e2e_oracle", Profile::V19));
    for (name, statement) in [
        ("direct-pg", "select * from part_test"),
        ("pk-select", "select * from tbl"),
        ("pk-insert", "insert into tbl"),
        ("pk-update", "update tbl set crt_time = systimestamp"),
    ] {
        let before = oracle.standin.counts();
        // The first two words are how long it is measured, the last two the number of rows.
        let (words, more): (&[&str], &[&str]) = match name {
            "direct-pg" => (&TINY, &["--set", "from=network", "--set", "plan.repetitions=1"]),
            "pk-insert" => (&TINY[..4], &["--set", "clients=2"]),
            // Long enough for figures over time.
            "pk-update" => (&TINY[2..], &["--set", "clients=2", "--set", "measure=4s"]),
            _ => (&TINY, &["--set", "clients=2"]),
        };
        let experiment = [name];
        let all = experiment.iter().chain(words).chain(more).copied();
        let ended = desk.alone_on(&oracle.target, all).expect(0);
        assert!(ended.stdout.contains("errors  none"), "{ended:?}");
        let ended = ended.shows(statement);
        assert!(!ended.stderr.contains(SECRET), "{ended:?}");
        let counted = oracle.standin.counts().since(&before);
        let runs = run_folders(&desk.archive());
        let number = |row: &std::collections::HashMap<String, String>| row["transactions"].parse::<u64>().unwrap();
        let transactions: u64 = runs.last().unwrap().rows("intervals.csv").iter().map(number).sum();
        assert!(transactions > 20, "{name}: {transactions}");
        // The load's statements are parsed once for each connection, however often they are executed; of those beside
        // it no more are parsed than executed.
        let executed = counted.executions - counted.parses;
        assert!(executed + 10 > transactions, "{name}: {transactions}, {counted:?}");
    }
    let report = desk.dyno("report --format json --output -").expect(0).stdout;
    for words in [
        "Redo and checkpoints",
        "Blocks written",
        "not found in the buffer cache",
        "waiting for a lock",
        "What measured sessions waited for",
    ] {
        assert!(report.contains(words), "no {words} in {report}");
    }
    // All that the clients executed the server counted, under the text that they sent.
    let counted = run_folders(&desk.archive()).last().unwrap().rows("statements.csv");
    let update = counted
        .iter()
        .find(|row| row["query"].starts_with("update tbl set crt_time"));
    let update = update.unwrap_or_else(|| panic!("{counted:?}"));
    let measured = run_folders(&desk.archive()).last().unwrap().measured();
    assert!(
        update["executions"].parse::<f64>().unwrap() >= measured as f64,
        "{update:?}"
    );
    assert!(report.contains("warm-up included (v$sqlstats)"), "{report}");
    let beside = |row: &std::collections::HashMap<String, String>| row["query"].contains("v$");
    assert!(!counted.iter().any(beside), "{counted:?}");
    for words in ["WAL", "shared buffers", "pg_stat", "ull page image"] {
        assert!(!report.contains(words), "{words} in {report}");
    }
    let plans = desk.dyno("show --plans").expect(0).stdout;
    assert!(plans.contains("table access full on tbl"), "{plans}");
    desk.assert_nowhere(SECRET);
    let clean = |words: &[&str]| {
        let all = ["clean", "--target", &oracle.target]
            .into_iter()
            .chain(words.iter().copied());
        crate::support::Ended::of(&mut desk.command(all)).expect(0)
    };
    clean(&[]).shows("BENCH.DYNO_RUN");
    clean(&["BENCH.DYNO_RUN", "--yes"]).says("Removed");
    clean(&[]).shows("nothing");
}

#[test]
fn two_drivers_are_compared_and_named() {
    let (desk, oracle) = (Desk::new(), start("e2e_oracle_drivers", Profile::V23));
    let words = ["pk-select", "--set", "driver=dyno,oracledb", "--set", "clients=2"];
    let once = ["--set", "plan.repetitions=1"];
    let all = words.iter().chain(&TINY).chain(&once).copied();
    let ended = desk.alone_on(&oracle.target, all).expect(0);
    assert!(ended.stdout.contains("oracledb"), "{ended:?}");
    assert!(!ended.stderr.contains(SECRET), "{ended:?}");
    assert_eq!(run_folders(&desk.archive()).len(), 2);
    for run in run_folders(&desk.archive()) {
        let number = |row: &std::collections::HashMap<String, String>| row["transactions"].parse::<u64>().unwrap();
        let transactions: u64 = run.rows("intervals.csv").iter().map(number).sum();
        assert!(transactions > 20, "{transactions}");
    }
    let report = desk.dyno("report --format json --output -").expect(0).stdout;
    for words in ["\"driver\"", "oracledb", "errors"] {
        assert!(report.contains(words), "no {words} in {report}");
    }
    desk.assert_nowhere(SECRET);
    // A single run with the other driver says so, too.
    let words = ["pk-select", "--set", "driver=oracledb", "--set", "clients=2"];
    desk.alone_on(&oracle.target, words.iter().chain(&TINY).copied())
        .expect(0);
    let report = desk.dyno("report --format json --output -").expect(0).stdout;
    assert!(report.contains("oracledb"), "{report}");
}

#[test]
fn a_driver_that_cannot_be_is_refused() {
    let desk = Desk::new();
    let file = desk.path().join("mine.toml");
    let text = |driver: &str| {
        format!("title = \"mine\"\n[[workload]]\ndriver = \"{driver}\"\nscript = \"select 1 from dual;\"\n")
    };
    std::fs::write(&file, text("oracle")).unwrap();
    let ended = desk.dyno("run mine.toml --dry-run").expect(1);
    for words in [
        "mine.toml:3:10: `driver` cannot be `oracle`",
        "expected one of dyno, oracledb",
    ] {
        assert!(ended.stderr.contains(words), "{ended:?}");
    }
    std::fs::write(&file, text("oracledb")).unwrap();
    let ended = desk.dyno("run mine.toml --dry-run").expect(1);
    for words in [
        "cannot be `oracledb`",
        "mine.toml:3",
        "the target is PostgreSQL",
        "--target oracle://",
    ] {
        assert!(ended.stderr.contains(words), "{ended:?}");
    }
}

/// A load that changes rows by key, which others may lock.
const DISTURBED: &str = r#"
title    = "Disturbed"
question = "Why does it dip?"

[data]
setup    = "create table tbl (id number(10), v number(10))"
fill.tbl = { rows = 1_000, generate = { id = "row", v = "row" } }
finish   = """
alter table tbl add constraint tbl_pk primary key (id);
alter table tbl storage (buffer_pool keep);
"""
cache    = "cold"

[[workload]]
name    = "update"
clients = 4
script  = '''
\set id random(1, 1000)
update tbl set v = v + 1 where id = :id;
'''

[phases]
warmup   = "1s"
measure  = "50s"
interval = "1s"
"#;

/// How long something keeps the load from its work.
const DISTURBANCE: Duration = Duration::from_secs(3);

/// What is done meanwhile, and by which cause and which words it is to be told.
struct Disturbance {
    name: &'static str,
    wait: Option<(&'static str, &'static str)>,
    before: &'static str,
    after: &'static str,
    cause: Cause,
    words: &'static str,
}

const DISTURBANCES: [Disturbance; 5] = [
    Disturbance {
        name: "a log without room",
        wait: Some(("Configuration", "log file switch (checkpoint incomplete)")),
        before: "update sysviews.\"v$log\" set \"sequence#\" = \"sequence#\" + 1 where status = 'CURRENT';
                 update sysviews.checkpoints set started = started + 1",
        after: "update sysviews.checkpoints set completed = completed + 1",
        cause: Cause::FullLog,
        words: "clients waited for room in the redo log",
    },
    Disturbance {
        name: "a slow log",
        wait: Some(("Commit", "log file sync")),
        before: "",
        after: "",
        cause: Cause::SlowStorage,
        words: "clients waited for the redo log",
    },
    Disturbance {
        name: "a row that somebody else has locked",
        wait: None,
        before: "begin; update bench.tbl set v = v",
        after: "rollback",
        cause: Cause::Lock,
        words: "held by session 77 of ann",
    },
    Disturbance {
        name: "a block that many want",
        wait: Some(("Concurrency", "buffer busy waits")),
        before: "",
        after: "",
        cause: Cause::Contention,
        words: "clients waited for what others used in the server's memory",
    },
    Disturbance {
        name: "a checkpoint",
        wait: Some(("Configuration", "free buffer waits")),
        before: "update sysviews.checkpoints set started = started + 1",
        after: "update sysviews.checkpoints set completed = completed + 1",
        cause: Cause::Checkpoint,
        words: "a checkpoint (log switch)",
    },
];

/// How far the load is, in seconds of its own clock.
fn so_far_s(run: &RunFolder) -> f64 {
    let rows = run.rows("intervals.csv");
    rows.last().map_or(0.0, |row| row["interval_start_s"].parse().unwrap())
}

#[test]
fn dips_get_the_causes_that_the_server_shows() {
    let (desk, oracle) = (Desk::new(), start("e2e_oracle_dips", Profile::V23));
    desk.file("disturbed.toml", DISTURBED);
    let mut running = Running::start(desk.command_alone_on(&oracle.target, ["disturbed.toml"]));
    running.until("measure ");
    let run = run_folders(&desk.archive()).pop().unwrap();
    // Somebody else's session.
    let mut other = oracle.behind.connect().unwrap();
    other
        .batch_execute("set application_name = 'standin:77:ANN:sqlplus'")
        .unwrap();
    let mut times = Vec::new();
    for Disturbance {
        wait, before, after, ..
    } in DISTURBANCES
    {
        sleep(DISTURBANCE * 2);
        let from_s = so_far_s(&run);
        other.batch_execute(before).unwrap();
        if let Some((class, event)) = wait {
            // Longer than the disturbance, so that hardly anything is done meanwhile.
            oracle.behind.have_wait(class, event, DISTURBANCE);
        }
        sleep(DISTURBANCE);
        oracle.behind.have_go_on();
        other.batch_execute(after).unwrap();
        times.push((from_s, so_far_s(&run) + 3.0));
    }
    let ended = running.end().expect(0);
    ended
        .shows("The buffer cache was emptied before the load")
        .shows("In the buffer pool KEEP");
    // What else goes on on this machine is not what this is about.
    for file in ["host.csv", "processes.csv"] {
        std::fs::remove_file(run.0.join(file)).unwrap();
    }
    let events = run.read("events.jsonl");
    let events: Vec<&str> = events.lines().filter(|event| !event.contains("stalled")).collect();
    std::fs::write(run.0.join("events.jsonl"), events.join("\n") + "\n").unwrap();
    let mut campaigns = Archive::new(desk.archive()).campaigns().unwrap();
    let dips = analyse(&campaigns.remove(0).runs[0]).dips;
    for (disturbance, (from_s, to_s)) in DISTURBANCES.iter().zip(times) {
        let within = dips.iter().filter(|dip| dip.start_s < to_s && dip.end_s > from_s);
        let deepest = within.max_by(|one, other| one.depth_percent.total_cmp(&other.depth_percent));
        let name = disturbance.name;
        let dip = deepest.unwrap_or_else(|| panic!("{name}: no dip from {from_s} to {to_s} s in {dips:#?}"));
        assert_eq!(dip.cause, disturbance.cause, "{name}: {dip:#?}");
        assert!(
            dip.evidence.iter().any(|words| words.contains(disturbance.words)),
            "{name}: {dip:#?}"
        );
    }
    let known = oracle.behind.connect().unwrap().query_one(
        "select time_waited_micro > 500000 from sysviews.\"v$system_event\" where event = 'buffer busy waits'",
        &[],
    );
    assert!(known.unwrap().get::<_, bool>(0));
}
