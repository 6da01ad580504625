//! Scripts on a real MariaDB: those of sysbench, and what the server saw of them beside sysbench itself.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod support;

use dyno_lua::{Dialect, PreparedStatements, Source};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use support::{FOREVER, Maria, command, has_sysbench, maria, number, run, script, settings, sysbench};

static SERVER: LazyLock<Mutex<Maria>> = LazyLock::new(|| Mutex::new(maria("tests-lua")));

/// The server, for one test at a time: they look at its log.
fn server() -> MutexGuard<'static, Maria> {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Drops what tests leave.
fn clean(server: &Maria) {
    server.execute("drop database if exists sbtest; create database sbtest");
}

#[test]
fn point_selects_go_through_the_engine() {
    if !has_sysbench("point_selects_go_through_the_engine") {
        return;
    }
    let server = server();
    clean(&server);
    let (mut settings, heard) = settings(Dialect::Mysql, 3, &[("table_size", number(100)), ("tables", number(2))]);
    command(&server.connector(), &script("oltp_point_select"), &settings, "prepare").unwrap();
    assert_eq!(server.number("select count(*) from sbtest1"), 100);
    assert_eq!(server.number("select count(*) from sbtest2"), 100);
    assert!(
        heard.printed().contains("Creating table 'sbtest2'..."),
        "{}",
        heard.printed()
    );
    settings.events = 60;
    server.forget();
    let came = run(
        &server.connector(),
        &script("oltp_point_select"),
        &settings,
        1,
        *FOREVER,
    )
    .unwrap();
    assert!(
        came.outcome.ended_early.is_none(),
        "{:?} {:?}",
        came.outcome,
        heard.said()
    );
    assert_eq!(came.recording.transactions, 60);
    assert_eq!((came.counts.reads, came.counts.queries()), (60, 60));
    let log = server.log();
    let executed = log
        .iter()
        .filter(|line| line.starts_with("Execute: SELECT c FROM sbtest"));
    assert_eq!(executed.count(), 60, "{log:#?}");
    assert_eq!(log.iter().filter(|line| line.starts_with("Prepare: ")).count(), 6);
}

/// The same line with a mark in place of each number.
fn without_numbers(line: &str) -> String {
    let mut out = String::new();
    for character in line.chars() {
        match character {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            other => out.push(other),
        }
    }
    out
}

/// All of sysbench's scripts, with what the server logs of them for one thread and a seed: it is what sysbench does.
#[test]
fn the_server_sees_what_sysbench_does() {
    if !has_sysbench("the_server_sees_what_sysbench_does") {
        return;
    }
    let server = server();
    let size = ("table_size", number(50));
    for (name, events, options) in [
        ("oltp_point_select", 3, vec![size.clone(), ("tables", number(3))]),
        ("oltp_read_only", 3, vec![size.clone(), ("range_size", number(7))]),
        ("oltp_read_write", 5, vec![size.clone(), ("tables", number(2))]),
        ("oltp_write_only", 4, vec![size.clone()]),
        ("oltp_update_index", 3, vec![size.clone()]),
        ("oltp_update_non_index", 3, vec![size.clone()]),
        ("oltp_insert", 3, vec![size.clone()]),
        ("oltp_delete", 3, vec![size.clone()]),
        ("bulk_insert", 1000, vec![]),
        (
            "select_random_points",
            3,
            vec![size.clone(), ("random_points", number(4))],
        ),
        (
            "select_random_ranges",
            3,
            vec![size.clone(), ("number_of_ranges", number(3))],
        ),
    ] {
        for ps in [PreparedStatements::Auto, PreparedStatements::Disable] {
            let mut words = vec![format!("{}/{name}.lua", support::SYSBENCH)];
            words.extend(server.words());
            words.extend(["--threads=1", "--rand-seed=7", "--time=0"].map(str::to_owned));
            words.push(format!("--events={events}"));
            if ps == PreparedStatements::Disable {
                words.push("--db-ps-mode=disable".to_owned());
            }
            for (option, value) in &options {
                let dyno_lua::OptionValue::Number(value) = value else {
                    continue;
                };
                words.push(format!("--{option}={value}"));
            }
            let mut logs: Vec<Vec<String>> = Vec::new();
            for real in [true, false] {
                clean(&server);
                server.forget();
                for step in ["prepare", "run", "cleanup"] {
                    // sysbench fills tables with other random numbers each time, whatever the seed.
                    if step == "run" {
                        logs.push(server.log().iter().map(|line| without_numbers(line)).collect());
                        server.forget();
                    }
                    if real {
                        let output = sysbench(&[&words[..], &[step.to_owned()]].concat());
                        assert!(output.status.success(), "{name} {step}: {output:?}");
                        continue;
                    }
                    let (mut settings, heard) = settings(Dialect::Mysql, 1, &options);
                    settings.prepared = ps;
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
                logs.push(server.log());
            }
            let theirs = logs[0].iter().chain(&logs[1]);
            let ours = logs[2].iter().chain(&logs[3]);
            for (at, (our, their)) in ours.clone().zip(theirs.clone()).enumerate() {
                assert_eq!(
                    our, their,
                    "{name} {ps:?}: statement {at} of {:#?} and {:#?}",
                    logs[1], logs[3]
                );
            }
            assert_eq!(ours.count(), theirs.count(), "{name} {ps:?}: {logs:#?}");
        }
    }
}

#[test]
fn a_thousand_clients_share_two_threads() {
    if !has_sysbench("a_thousand_clients_share_two_threads") {
        return;
    }
    let server = server();
    clean(&server);
    server.execute(
        "set global max_connections = 1200; set global max_prepared_stmt_count = 65536; set global general_log = off",
    );
    let (mut settings, heard) = settings(Dialect::Mysql, 1, &[("table_size", number(1000))]);
    let source = script("oltp_read_write");
    command(&server.connector(), &source, &settings, "prepare").unwrap();
    (settings.threads, settings.events) = (1_000, 3_000);
    let came = run(&server.connector(), &source, &settings, 2, *FOREVER).unwrap();
    server.execute("set global general_log = on");
    assert!(
        came.outcome.ended_early.is_none(),
        "{:?} {:?}",
        came.outcome,
        heard.said()
    );
    assert_eq!(came.recording.transactions, 3_000);
    // Deadlocks begin again, so statements are at least those of the events.
    assert!(
        came.counts.reads >= 14 * 3_000 && came.counts.queries() >= 20 * 3_000,
        "{:?}",
        came.counts
    );
}

#[test]
fn a_script_that_does_not_compile_says_where() {
    let (settings, _) = settings(Dialect::Mysql, 1, &[]);
    let source = Source::text("mine.lua", "function event()\n  this is wrong\nend");
    let error = dyno_lua::Environment::load(&source, &settings, 0, None).err().unwrap();
    assert_eq!(error.to_string(), "mine.lua:2: '=' expected near 'is'");
}

#[test]
fn values_are_set_by_the_kind_of_their_parameter() {
    let server = server();
    clean(&server);
    let (mut settings, heard) = settings(Dialect::Mysql, 1, &[]);
    settings.events = 1;
    let source = Source::text(
        "values.lua",
        "function thread_init()
           con = sysbench.sql.driver():connect()
           local kinds = sysbench.sql.type
           stmt = con:prepare('select ?, ?, ?, ?')
           whole, fraction = stmt:bind_create(kinds.INT), stmt:bind_create(kinds.DOUBLE)
           text, none = stmt:bind_create(kinds.CHAR, 3), stmt:bind_create(kinds.INT)
           stmt:bind_param(whole, fraction, text, none)
         end
         function event()
           whole:set(-2.7) fraction:set('1.5') text:set('abcdef') none:set(1) none:set(nil)
           local one = stmt:execute()
           whole:set('4') fraction:set(2) text:set(7)
           local other = stmt:execute()
           one:free()
           assert(one.nrows == 1 and other.nrows == 1)
           local ok, why = pcall(whole.set, whole, 'x')
           assert(not ok and why:find('must be a number'), why)
           assert(not pcall(fraction.set, fraction, {}))
           assert(not pcall(whole.set_rand_str, whole, '##'))
           local no_rows = con:query('select 1 from dual where 1 = 0')
           assert(no_rows.nrows == 0)
         end",
    );
    server.forget();
    let came = run(&server.connector(), &source, &settings, 1, *FOREVER).unwrap();
    assert!(
        came.outcome.ended_early.is_none(),
        "{:?} {:?}",
        came.outcome,
        heard.said()
    );
    let log = server.log();
    let executed: Vec<_> = log.iter().filter(|line| line.starts_with("Execute: ")).collect();
    assert_eq!(
        executed,
        [
            "Execute: select -2, 1.5, 'abc', NULL",
            "Execute: select 4, 2, '7', NULL"
        ]
    );
}
