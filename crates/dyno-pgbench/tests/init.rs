//! Initialization on a real server: what the tables hold, and what is said when it ends early.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

use dyno_pgbench::init::{InitError, InitOptions, PartitionMethod, initialize};
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server, create_from_template, drop_database};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

struct Shared {
    // Dropped in this order: first the server stops, then the cluster is free.
    server: Server,
    _embedded: Embedded,
}

/// One server for all tests here.
fn shared() -> Arc<Shared> {
    static SHARED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(running) = shared.upgrade() {
        return running;
    }
    let mut options = EmbeddedOptions::new(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dyno-home"));
    options.cluster = "tests-pgbench-init".to_owned();
    let embedded = Embedded::prepare(&options, &mut |_| {}).unwrap();
    let server = embedded.start(&[], &mut |_| {}).unwrap();
    let started = Arc::new(Shared {
        server,
        _embedded: embedded,
    });
    *shared = Arc::downgrade(&started);
    started
}

fn database(shared: &Shared, name: &str) -> ConnectionInfo {
    let mut client = shared.server.connection("postgres").connect().unwrap();
    drop_database(&mut client, name).unwrap();
    create_from_template(&mut client, "template0", name).unwrap();
    shared.server.connection(name)
}

/// What is reported, and the outcome.
fn run(info: &ConnectionInfo, options: &InitOptions) -> (String, Result<(), InitError>) {
    let mut said = String::new();
    let outcome = initialize(info, options, &AtomicBool::new(false), &mut |text| said.push_str(text));
    (said, outcome)
}

fn text(info: &ConnectionInfo, sql: &str) -> String {
    info.connect().unwrap().query_one(sql, &[]).unwrap().get(0)
}

/// Everything the tables hold, as one hash.
fn content(info: &ConnectionInfo) -> String {
    ["accounts", "branches", "tellers", "history"]
        .map(|table| {
            text(
                info,
                &format!(
                    "select count(*) || coalesce(md5(string_agg(t::text, ';' order by t::text)), '') from \
                          pgbench_{table} t"
                ),
            )
        })
        .join(" ")
}

/// Constraints of all tables with their definitions.
fn constraints(info: &ConnectionInfo) -> String {
    text(
        info,
        "select string_agg(conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) || conislocal, ';'
                           order by conrelid::regclass::text, conname)
           from pg_constraint where contype in ('p', 'f')",
    )
}

#[test]
fn every_way_of_generating_gives_the_same_rows() {
    let shared = shared();
    let info = database(&shared, "init_same");
    let server_side = InitOptions {
        steps: "dtGp".to_owned(),
        scale: 2,
        ..InitOptions::default()
    };
    run(&info, &server_side).1.unwrap();
    let expected = content(&info);
    assert!(expected.starts_with("200000"), "{expected}");
    for (partitions, partition_method, load_jobs, unlogged) in [
        (0, None, 1, false),
        (0, None, 3, true),
        (3, None, 1, true),
        (3, Some(PartitionMethod::Hash), 3, false),
    ] {
        let options = InitOptions {
            scale: 2,
            partitions,
            partition_method,
            load_jobs,
            unlogged,
            ..InitOptions::default()
        };
        run(&info, &options).1.unwrap();
        assert_eq!(content(&info), expected, "{options:?}");
    }
}

#[test]
fn keys_built_at_once_are_those_built_in_turn() {
    let shared = shared();
    let info = database(&shared, "init_keys");
    let one = InitOptions {
        partitions: 3,
        foreign_keys: true,
        ..InitOptions::default()
    };
    run(&info, &one).1.unwrap();
    let expected = constraints(&info);
    assert!(
        expected.contains("pgbench_accounts_2_pkey PRIMARY KEY (aid)"),
        "{expected}"
    );
    let several = InitOptions { load_jobs: 3, ..one };
    run(&info, &several).1.unwrap();
    assert_eq!(constraints(&info), expected);
}

#[test]
fn reports_as_pgbench_does() {
    let shared = shared();
    let info = database(&shared, "init_said");
    let (said, outcome) = run(&info, &InitOptions::default());
    outcome.unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "dropping old tables...");
    assert_eq!(lines[1], "NOTICE:  table \"pgbench_accounts\" does not exist, skipping");
    assert!(
        lines[7].starts_with("100000 of 100000 tuples (100%) done (elapsed "),
        "{said}"
    );
    assert!(
        lines[10].starts_with("done in ") && lines[10].contains(" s (drop tables "),
        "{said}"
    );
}

#[test]
fn what_the_server_refuses_is_passed_on_with_the_statement() {
    let shared = shared();
    let info = database(&shared, "init_refused");
    let options = InitOptions {
        tablespace: Some("no such".to_owned()),
        ..InitOptions::default()
    };
    let error = run(&info, &options).1.unwrap_err();
    assert_eq!(
        error.to_string(),
        "query failed: ERROR:  tablespace \"no such\" does not exist"
    );
    assert!(
        error
            .detail()
            .unwrap()
            .starts_with("Query was: create table pgbench_history(")
    );
    assert_eq!(error.hint(), None);
}

#[test]
fn a_stop_during_loading_leaves_the_old_rows_and_says_so() {
    let shared = shared();
    let info = database(&shared, "init_stopped");
    run(&info, &InitOptions::default()).1.unwrap();
    let before = content(&info);
    let stop = AtomicBool::new(false);
    let options = InitOptions {
        steps: "g".to_owned(),
        scale: 1_000,
        ..InitOptions::default()
    };
    // The first report comes when loading is under way.
    let error = initialize(&info, &options, &stop, &mut |text| {
        stop.fetch_or(text.contains("tuples"), Ordering::Relaxed);
    })
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("stopped during the step \"client-side generate\""),
        "{error}"
    );
    assert!(
        error
            .hint()
            .unwrap()
            .contains("the tables hold the rows they held before it")
    );
    assert_eq!(content(&info), before);
}

#[test]
fn a_stop_cancels_the_statement_under_way() {
    let shared = shared();
    let info = database(&shared, "init_waiting");
    run(&info, &InitOptions::default()).1.unwrap();
    let mut holder = info.connect().unwrap();
    holder.batch_execute("begin; lock table pgbench_tellers").unwrap();
    let stop = AtomicBool::new(false);
    let drop_only = InitOptions {
        steps: "d".to_owned(),
        ..InitOptions::default()
    };
    let error = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| initialize(&info, &drop_only, &stop, &mut |_| {}).unwrap_err());
        // Until the lock is waited for.
        while text(
            &shared.server.connection("postgres"),
            "select count(*)::text from pg_locks l join pg_database d on d.oid = l.database where not granted and \
             datname = 'init_waiting'",
        ) == "0"
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        stop.store(true, Ordering::Relaxed);
        waiting.join().unwrap()
    });
    assert!(error.hint().unwrap().contains("the old tables are still there"));
    drop(holder);
    assert!(content(&info).starts_with("100000"));
}

#[test]
fn a_lost_connection_says_what_is_there() {
    let shared = shared();
    let info = database(&shared, "init_lost");
    let options = InitOptions {
        scale: 1_000,
        ..InitOptions::default()
    };
    let mut killed = false;
    let error = initialize(&info, &options, &AtomicBool::new(false), &mut |said| {
        if said.contains("tuples") && !killed {
            killed = true;
            text(
                &info,
                "select count(pg_terminate_backend(pid))::text from pg_stat_activity
                 where datname = current_database() and query like 'copy pgbench_accounts%'",
            );
        }
    })
    .unwrap_err();
    assert!(killed);
    assert_eq!(error.to_string(), "PQendcopy failed");
    let event = error.event().unwrap();
    assert!(event.contains("server closed the connection unexpectedly"), "{event}");
    let hint = error.hint().unwrap();
    assert!(
        hint.starts_with("Steps finished: drop tables, create tables."),
        "{hint}"
    );
    assert!(hint.contains("Not begun: vacuum, primary keys."), "{hint}");
}
