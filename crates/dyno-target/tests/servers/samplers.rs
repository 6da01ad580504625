//! What the samplers notice on a real server, each thing provoked.

use crate::support::watch::{Row, Told};
use crate::support::{Shared, options, quiet, shared_server};
use dyno_record::{Event, Meaning, Value, Who};
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::embedded::Embedded;
use dyno_target::postgres::sampler::sampler_set;
use dyno_target::postgres::scope::Scope;
use dyno_target::postgres::server_message;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One test at a time: what one does to the server the others would see.
fn server() -> (MutexGuard<'static, ()>, Arc<Shared>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    (turn, shared_server("tests-samplers"))
}

/// Has all samplers of a server work until `provoke` is done.
fn watch(target: &ConnectionInfo, log: Option<&Path>, provoke: impl FnOnce()) -> Told {
    crate::support::watch::watch(sampler_set(target, &Scope::Database, log), provoke)
}

fn seconds(seconds: f64) {
    std::thread::sleep(Duration::from_secs_f64(seconds));
}

fn execute(target: &ConnectionInfo, sql: &str) {
    let result = target.connect().unwrap().batch_execute(sql);
    result.unwrap_or_else(|error| panic!("{sql}: {}", server_message(&error)));
}

#[test]
fn every_source_has_rows() {
    let (_turn, shared) = server();
    let target = shared.server.connection("postgres");
    execute(&target, "drop table if exists busy; create table busy (id int)");
    let told = watch(&target, Some(shared.server.log_path()), || {
        let mut client = target.connect().unwrap();
        for _ in 0..4 {
            client
                .batch_execute("insert into busy select generate_series(1, 1000); select pg_sleep(0.6)")
                .unwrap();
        }
    });
    assert_eq!(told.warnings, [""; 0]);
    for file in ["host.csv", "processes.csv", "server.csv", "waits.csv", "tables.csv"] {
        assert!(told.rows.contains_key(file), "{file} has no rows");
    }
    let has = |file: &str, column: &str, value: &Value| told.rows[file].iter().any(|(_, row)| row[column] == *value);
    assert!(
        has("waits.csv", "wait_event", &Value::from("PgSleep")),
        "{:?}",
        told.rows["waits.csv"]
    );
    assert!(has("waits.csv", "backend", &Value::from("client")));
    assert!(
        has("tables.csv", "table", &Value::from("public.busy")),
        "{:?}",
        told.rows["tables.csv"]
    );
    let (_, row) = told.rows["server.csv"].last().unwrap();
    for column in [
        "wal_position_bytes",
        "pg_stat_database.xact_commit",
        "pg_stat_checkpointer.num_timed",
        "pg_stat_io.client_backend.reads",
        "sessions.active",
        "sample_ms",
    ] {
        assert!(matches!(row[column], Value::Number(_)), "{column}: {:?}", row[column]);
    }
    let meanings = &told.meanings["server.csv"];
    for meaning in [
        Meaning::LogBytes,
        Meaning::LogPageImages,
        Meaning::PagesWrittenByCheckpoints,
        Meaning::PagesWrittenByBackground,
        Meaning::PagesWrittenBySessions,
        Meaning::PagesRead,
        Meaning::SessionsActive,
        Meaning::SessionsIdleInTransaction,
        Meaning::SessionsWaitingForLocks,
    ] {
        let column = &meanings[&meaning];
        assert!(
            matches!(row[column], Value::Number(_)),
            "{meaning:?}: {:?}",
            row[column]
        );
    }
    assert!(has("waits.csv", "kind", &Value::from("other")), "a sleep is no lock");
    let (_, row) = told.rows["host.csv"].last().unwrap();
    assert!(
        matches!(row["server_cpu_s"], Value::Number(_)),
        "the server was not found on this machine"
    );
}

#[test]
fn a_lock_of_another_session_is_told_with_its_holder() {
    let (_turn, shared) = server();
    let target = shared.server.connection("postgres");
    execute(&target, "drop table if exists locked; create table locked (id int)");
    let told = watch(&target, None, || {
        let mut holder = target.connect().unwrap();
        holder
            .batch_execute("set application_name = 'holder'; begin; lock table locked")
            .unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| execute(&target, "select count(*) from locked"));
            seconds(2.0);
            holder.batch_execute("commit").unwrap();
            waiting.join().unwrap();
        });
        seconds(0.5);
    });
    let blocked = told.events.iter().find_map(|event| match event {
        Event::Blocked(blocked) => Some(blocked),
        _ => None,
    });
    let blocked = blocked.unwrap_or_else(|| panic!("{:?} {:?}", told.events, told.warnings));
    let holder = blocked.holder.as_deref().unwrap();
    assert!(holder.contains("(holder), idle in transaction"), "{holder}");
    assert_eq!((blocked.relation.as_deref(), blocked.waiting), (Some("locked"), 1));
    assert!(blocked.start_s < blocked.end_s, "{blocked:?}");
}

#[test]
fn a_checkpoint_is_told_by_the_log_and_without_it() {
    let (_turn, shared) = server();
    let target = shared.server.connection("postgres");
    for log in [Some(shared.server.log_path()), None] {
        execute(
            &target,
            "drop table if exists dirty; create table dirty as select generate_series(1, 100000)",
        );
        let told = watch(&target, log, || {
            seconds(1.5);
            execute(&target, "checkpoint");
            seconds(2.5);
        });
        let checkpoint = told.events.iter().find_map(|event| match event {
            Event::Checkpoint(checkpoint) if checkpoint.reason == "requested" => Some(checkpoint),
            _ => None,
        });
        let checkpoint = checkpoint.unwrap_or_else(|| panic!("{log:?} {:?} {:?}", told.events, told.warnings));
        assert!(checkpoint.end_s.unwrap() >= checkpoint.start_s, "{checkpoint:?}");
        assert!(checkpoint.buffers.unwrap() > 0, "{checkpoint:?}");
        assert_eq!(checkpoint.wal_files.is_some(), log.is_some());
    }
}

#[test]
fn a_vacuum_is_told_with_its_table() {
    let (_turn, shared) = server();
    let target = shared.server.connection("postgres");
    execute(
        &target,
        "drop table if exists swept; create table swept with (autovacuum_enabled = off) as select \
         generate_series(1, 50000) as id;
         delete from swept where id % 2 = 0",
    );
    let told = watch(&target, None, || {
        let mut client = target.connect().unwrap();
        client.batch_execute("set vacuum_cost_delay = 20").unwrap();
        client.batch_execute("set vacuum_cost_limit = 100").unwrap();
        client.batch_execute("vacuum swept").unwrap();
        seconds(0.5);
    });
    let vacuum = told.events.iter().find_map(|event| match event {
        Event::Vacuum(vacuum) => Some(vacuum),
        _ => None,
    });
    let vacuum = vacuum.unwrap_or_else(|| panic!("{:?} {:?}", told.events, told.warnings));
    assert_eq!(vacuum.table, "public.swept");
    assert!(vacuum.start_s < vacuum.end_s);
}

/// The server's processes, which go on when the test is done with them, whatever comes of it.
struct Stopped(Vec<Pid>);

impl Stopped {
    fn of(main: u32) -> Self {
        let children = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()?;
            (parent == main).then_some(pid)
        });
        let all = children
            .chain([main])
            .map(|pid| Pid::from_raw(pid.cast_signed()).unwrap());
        let all = Self(all.collect());
        all.signal(Signal::STOP);
        all
    }

    fn signal(&self, signal: Signal) {
        for pid in &self.0 {
            // One may have ended meanwhile.
            let _ = kill_process(*pid, signal);
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
    }
}

#[test]
fn a_stopped_server_is_told_while_the_host_is_sampled_on() {
    let (_turn, shared) = server();
    let target = shared.server.connection("postgres");
    let told = watch(&target, None, || {
        seconds(1.0);
        let stopped = Stopped::of(shared.server.pid());
        seconds(3.0);
        drop(stopped);
        seconds(1.5);
    });
    let stalled = told.events.iter().find_map(|event| match event {
        Event::Stalled(stalled) if stalled.who == Who::Server => Some(stalled),
        _ => None,
    });
    let stalled = stalled.unwrap_or_else(|| panic!("{:?} {:?}", told.events, told.warnings));
    assert!(stalled.detail.contains("stopped"), "{}", stalled.detail);
    let during = |(at_s, _): &&Row| (stalled.start_s..stalled.end_s).contains(at_s);
    let host: Vec<_> = told.rows["host.csv"].iter().filter(during).collect();
    assert!(!host.is_empty(), "{stalled:?} {:?}", told.rows["host.csv"].len());
    let seen = |(_, row): &&Row| matches!(row["server_stopped"], Value::Number(count) if count > 0.0);
    assert!(host.iter().any(seen), "no stopped processes were counted");
    // The server is sampled again afterwards.
    assert!(
        told.rows["server.csv"]
            .iter()
            .any(|(at_s, _)| *at_s >= stalled.end_s - 0.2)
    );
}

#[test]
fn statements_that_are_counted_anew_are_told_of() {
    let embedded = Embedded::prepare(&options("tests-statements"), &mut quiet).unwrap();
    let preload = ("shared_preload_libraries".to_owned(), "pg_stat_statements".to_owned());
    let server = embedded.start(&[preload], &mut quiet).unwrap();
    let target = server.connection("postgres");
    execute(&target, "create extension if not exists pg_stat_statements");
    let calls = |told: &Told| {
        let rows = told.rows["statements.csv"].iter();
        let calls: Vec<_> = rows
            .filter(|(_, row)| row["query"] == Value::from("select $1 as counted"))
            .map(|(_, row)| row["calls"].clone())
            .collect();
        calls
    };
    let count = || execute(&target, "select 1 as counted");
    count();
    let told = watch(&target, None, || {
        count();
        count();
    });
    assert_eq!((calls(&told), told.warnings), (vec![Value::from(2.0)], vec![]));
    let told = watch(&target, None, || {
        count();
        execute(&target, "select pg_stat_statements_reset()");
        (0..5).for_each(|_| count());
    });
    assert_eq!(calls(&told), [Value::from(5.0)]);
    let [warning] = &told.warnings[..] else {
        panic!("{:?}", told.warnings)
    };
    assert!(warning.contains("were reset while the load ran"), "{warning}");
}

#[test]
fn a_role_without_rights_is_told_what_to_ask_for() {
    let (_turn, shared) = server();
    let admin = shared.server.connection("postgres");
    execute(
        &admin,
        "drop role if exists \"poor-one\"; create role \"poor-one\" login password 'x'",
    );
    // Over the unix socket no password is asked for.
    let user = format!("postgres://{}@", admin.user());
    let address = admin.to_string().replace(&user, "postgres://poor-one@");
    let target = ConnectionInfo::resolve(Some(&address), &|_| None).unwrap();
    assert_eq!(target.user(), "poor-one");
    let told = watch(&target, None, || execute(&target, "select pg_sleep(1.5)"));
    let advice = |text: &&String| text.contains("grant pg_monitor to \"poor-one\"");
    assert_eq!(told.warnings.iter().filter(advice).count(), 1, "{:?}", told.warnings);
    assert_eq!(told.warnings.len(), 1, "{:?}", told.warnings);
    // What is measured is seen all the same.
    let own = |(_, row): &Row| row["wait_event"] == Value::from("PgSleep");
    assert!(told.rows["waits.csv"].iter().any(own));
    assert!(told.rows.contains_key("server.csv"));
    execute(&admin, "drop role \"poor-one\"");
}
