//! sysbench's scripts on a real PostgreSQL: how often it has executed which statement, beside sysbench itself; and what
//! a thousand clients take.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod support;

use dyno_lua::{Dialect, LuaProgram, OptionValue};
use std::fs;
use std::sync::{LazyLock, Mutex};
use support::{FOREVER, Pg, command, has_sysbench, number, pg, run, script, settings, sysbench};

static SERVER: LazyLock<Mutex<Pg>> = LazyLock::new(|| Mutex::new(pg("tests-lua")));

#[test]
fn the_server_counts_what_it_counts_of_sysbench() {
    if !has_sysbench("the_server_counts_what_it_counts_of_sysbench") {
        return;
    }
    let server = SERVER.lock().unwrap();
    let size = ("table_size", number(50));
    for (name, events, options) in [
        ("oltp_read_only", 3, vec![size.clone(), ("tables", number(2))]),
        ("oltp_read_write", 5, vec![size.clone(), ("tables", number(2))]),
        ("oltp_write_only", 4, vec![size.clone()]),
        ("oltp_insert", 3, vec![size.clone()]),
        ("oltp_delete", 3, vec![size.clone()]),
        ("bulk_insert", 500, vec![]),
        ("select_random_points", 3, vec![size.clone()]),
        ("select_random_ranges", 3, vec![size.clone()]),
    ] {
        let mut words = vec![format!("{}/{name}.lua", support::SYSBENCH)];
        words.extend(server.words());
        words.extend(["--threads=1", "--rand-seed=7", "--time=0"].map(str::to_owned));
        words.push(format!("--events={events}"));
        for (option, value) in &options {
            let OptionValue::Number(value) = value else { continue };
            words.push(format!("--{option}={value}"));
        }
        let mut counted = Vec::new();
        for real in [true, false] {
            server.execute("drop schema public cascade; create schema public; create extension pg_stat_statements");
            for step in ["prepare", "run", "cleanup"] {
                if step == "run" {
                    server.forget();
                }
                if real {
                    let output = sysbench(&[&words[..], &[step.to_owned()]].concat());
                    assert!(output.status.success(), "{name} {step}: {output:?}");
                } else {
                    let (mut settings, heard) = settings(Dialect::Postgres, 1, &options);
                    settings.command = Some(step.to_owned());
                    settings.events = events;
                    let connector = server.connector();
                    let done = match step {
                        "run" => run(&connector, &script(name), &settings, 1, *FOREVER).map(|came| {
                            let ended = &came.outcome.ended_early;
                            assert!(ended.is_none(), "{name}: {ended:?} {:?}", heard.said());
                            assert_eq!(came.recording.transactions, events, "{name}");
                        }),
                        step => command(&connector, &script(name), &settings, step),
                    };
                    done.unwrap_or_else(|error| panic!("{name} {step}: {error} {:?}", heard.said()));
                }
                if step == "run" {
                    counted.push(server.calls());
                }
            }
        }
        assert_eq!(counted[1], counted[0], "{name}");
    }
}

/// Memory of this process that is in use, in kB.
fn resident_kb() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_client_takes_little_memory() {
    if !has_sysbench("a_client_takes_little_memory") {
        return;
    }
    let (settings, _) = settings(Dialect::Mysql, 1_000, &[("tables", number(1))]);
    let source = script("oltp_read_write");
    let before = resident_kb();
    let program = LuaProgram::new(&source, &settings, 0..1_000).unwrap();
    let each = (resident_kb() - before) / 1_000;
    println!("{each} kB for each of 1,000 states");
    assert!(each <= 250, "{each} kB");
    drop(program);
}
