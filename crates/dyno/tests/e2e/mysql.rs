//! MySQL proper, by its address: the experiments that come with dyno, and its settings. Where no MySQL can be had, the
//! test says so and passes.

use crate::support::real_mysql::{RealMysql, skipped};
use crate::support::{Desk, Ended, RunFolder, Running, run_folders};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// What makes an experiment a matter of seconds, in settings as well.
const SHORT: &str = "--size small --set measure=1s --set warmup=0s --set interval=500ms --set \
                     innodb_buffer_pool_size=64MB --set innodb_log_file_size=16MB";

/// All of them that run on it, each with few rows and a run or a few.
const EXPERIMENTS: [(&str, &str, usize); 9] = [
    ("pk-select", "--set rows=500", 1),
    ("pk-update", "--set rows=500", 1),
    ("pk-insert", "", 1),
    ("pk-unprepared", "--set rows=500 --repeat 1", 3),
    ("direct-pg", "--set rows=500 --repeat 1 --set from=local", 1),
    (
        "os-comparison",
        "--set scale=1 --set clients=4 --set profile=outside --set path=unix",
        2,
    ),
    (
        "polar-hot-data",
        "--set scale=1 --set workload=ro,rw --set range=1000 --set protocol=prepared",
        2,
    ),
    (
        "polar-mysql",
        "--set tables=2 --set rows=500 --set clients=4 --set hosts=1",
        2,
    ),
    (
        "burn-after-reading",
        // Deadlocks there are more on a machine that does other things.
        "--set tables=8 --set batch=10 --set variant=any,fifo,notify --max-errors 100%",
        3,
    ),
];

fn setting<'a>(record: &'a Value, name: &str) -> &'a str {
    let settings = record["server"]["settings"].as_array().unwrap();
    let setting = settings.iter().find(|setting| setting["name"] == name);
    setting.unwrap_or_else(|| panic!("no {name}"))["value"]
        .as_str()
        .unwrap()
}

fn counted(run: &RunFolder, counter: &str) -> u64 {
    run.rows("server.csv").last().unwrap()[counter].parse().unwrap()
}

#[test]
fn the_experiments_that_come_with_dyno_run_on_a_real_mysql() {
    const TEST: &str = "the_experiments_that_come_with_dyno_run_on_a_real_mysql";
    let mysql = match RealMysql::start(&[]) {
        Ok(mysql) => mysql,
        Err(why) => return skipped(TEST, why),
    };
    let mut client = mysql.root().connect().unwrap();
    let log_size = "select @@global.innodb_redo_log_capacity";
    let usual: Option<u64> = client.query_first(log_size).unwrap();
    for (name, words, runs) in EXPERIMENTS {
        let desk = Desk::new();
        let words = format!("{name} {SHORT} {words}");
        desk.alone_on(&mysql.address(), words.split_whitespace()).expect(0);
        let all = desk.dyno("show --all").expect(0);
        all.shows("innodb_log_file_size = 16MB is given to this server as innodb_redo_log_capacity = 16M");
        let made = run_folders(&desk.archive());
        assert_eq!(made.len(), runs, "{name}");
        for run in &made {
            assert_eq!(run.state(), "complete", "{}", run.0.display());
            let record = run.record();
            for workload in record["summary"]["workloads"].as_array().unwrap() {
                assert!(workload["transactions"].as_u64() > Some(0), "{name}: {workload}");
                // Those who produce and consume the same rows may deadlock there, now and then.
                let mut errors = workload["errors_by_state"].as_array().into_iter().flatten();
                let is_exempt = name == "burn-after-reading" && errors.all(|error| error["sqlstate"] == "1213");
                assert!(is_exempt || workload["errors"] == 0, "{name}: {workload}");
            }
            assert_eq!(setting(&record, "innodb_redo_log_capacity"), (16 << 20).to_string());
        }
        // What burn-after-reading has deleted was there.
        if name == "burn-after-reading" {
            assert!(counted(made.last().unwrap(), "Handler_delete") > 0);
        }
    }
    assert_eq!(client.query_first::<u64>(log_size).unwrap(), usual);
    let desk = Desk::new();
    desk.alone_on(&mysql.address(), ["pk-update-checkpoints"])
        .expect(1)
        .says("`pk-update-checkpoints` runs on PostgreSQL only: no other database writes whole pages");
}

#[test]
fn what_a_mysql_executes_is_captured() {
    let mysql = match RealMysql::start(&[]) {
        Ok(mysql) => mysql,
        Err(why) => return skipped("what_a_mysql_executes_is_captured", why),
    };
    let mut client = mysql.root().connect().unwrap();
    client.execute("create database shop").unwrap();
    client
        .execute("create table shop.item (id int primary key, name text)")
        .unwrap();
    let address = mysql.address().replace("/mysql?", "/shop?");
    let desk = Desk::new();
    desk.file(
        "load.toml",
        r#"
title = "Two workloads"
[[workload]]
name = "prepared"
script = '''
\set id random(1, 9)
select name from item where id = :id and name <> 'why?';
'''
[[workload]]
name = "unprepared"
protocol = "simple"
script = "select count(*) from item where id < 7;"
"#,
    );
    let load = Running::start(desk.command([
        "run",
        "load.toml",
        "--no-sampling",
        "--target",
        &address,
        "--set",
        "measure=60s",
    ]));
    let capture = ["capture", "--target", &address, "--for", "8s", "--output", "seen.toml"];
    Ended::of(&mut desk.command(capture)).expect(0).shows("Wrote seen.toml");
    load.signal(Signal::TERM);
    load.end();
    let seen = fs::read_to_string(desk.path().join("seen.toml")).unwrap();
    let prepared = "\\set v1 random(1, 100000)\nselect name from item where id = :v1 and name <> 'why?';\n";
    assert!(seen.contains(prepared), "{seen}");
    assert!(seen.contains("select count(*) from item where id < 7;\n"), "{seen}");
    Ended::of(&mut desk.command(["check", "seen.toml", "--target", &address]))
        .expect(0)
        .shows("1 statement prepared");
}

#[test]
fn a_restart_command_brings_in_what_takes_effect_at_a_start() {
    let mysql = match RealMysql::start(&[]) {
        Ok(mysql) => mysql,
        Err(why) => return skipped("a_restart_command_brings_in_what_takes_effect_at_a_start", why),
    };
    let back_log = || {
        let mut client = mysql.root().connect().unwrap();
        client.query_first::<u64>("select @@global.back_log").unwrap().unwrap()
    };
    let usual = back_log();
    // Whole seconds of uptime tell whether a server was restarted: one that has just started would look so.
    std::thread::sleep(Duration::from_secs(2));
    let desk = Desk::new();
    desk.experiment("one.toml", "", "select 1;", "500ms");
    let words = ["one.toml", "--set", "settings.back_log=77", "--restart-command"];
    let restart = mysql.restart_command();
    desk.alone_on(&mysql.address(), words.into_iter().chain([restart.as_str()]))
        .expect(0)
        .says("Restoring the server's settings");
    let [run] = &run_folders(&desk.archive())[..] else {
        panic!("one run")
    };
    assert_eq!(setting(&run.record(), "back_log"), "77");
    assert_eq!(back_log(), usual);
}
