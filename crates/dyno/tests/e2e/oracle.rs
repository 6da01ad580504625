//! Oracle through the same doors as PostgreSQL, on a stand-in that executes on one: experiments are planned, loaded,
//! run, reported, compared and cleaned up.

use crate::support::{Database, Desk, TINY, database, run_folders};
use dyno_oracle_standin::{Options, Postgres, Profile, Standin};
use std::sync::Arc;

const SECRET: &str = "s3cr3t-0f-0racle";

/// A stand-in on a database of its own, and its address.
struct StandIn {
    target: String,
    standin: Standin,
    _database: Database,
}

fn start(name: &str, profile: Profile) -> StandIn {
    let database = database(name);
    let behind = Postgres::prepare(database.config(), "bench").unwrap();
    let mut options = Options::new(Arc::new(behind));
    options.profile = profile;
    SECRET.clone_into(&mut options.password);
    let standin = Standin::start(options).unwrap();
    StandIn {
        target: format!("oracle://bench:{SECRET}@{}/shop", standin.address()),
        standin,
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
        assert!(ended.stdout.contains(statement), "{ended:?}");
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
