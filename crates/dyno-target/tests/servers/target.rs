//! Connecting, loading and measuring sizes on a real server.

use crate::support::Shared;
use dyno_target::host::host_facts;
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::embedded::{create_from_template, database_exists, drop_database};
use dyno_target::postgres::facts::server_facts;
use dyno_target::postgres::load::{Fill, LoadError, fill_table, run_sql, settle};
use dyno_target::postgres::schema::{Mark, create_schema, drop_schema, own_schemas};
use dyno_target::postgres::scope::Scope;
use dyno_target::postgres::settings::verify;
use dyno_target::postgres::sizes::{await_sessions_end, database_sizes};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn server() -> Arc<Shared> {
    crate::support::shared_server("tests-target")
}

/// A fresh database of this name, and where it is.
fn database(shared: &Shared, name: &str) -> ConnectionInfo {
    let mut client = shared.server.connection("postgres").connect().unwrap();
    drop_database(&mut client, name).unwrap();
    create_from_template(&mut client, "template0", name).unwrap();
    shared.server.connection(name)
}

fn show(client: &mut dyno_target::postgres::Client, setting: &str) -> String {
    client.query_one(&format!("show {setting}"), &[]).unwrap().get(0)
}

#[test]
fn serves_durably_on_socket_and_tcp() {
    let shared = server();
    for info in [
        shared.server.connection("postgres"),
        shared.server.connection_tcp("postgres"),
    ] {
        let mut client = info.connect().unwrap();
        for setting in ["fsync", "synchronous_commit", "full_page_writes", "data_checksums"] {
            assert_eq!(show(&mut client, setting), "on", "{setting}");
        }
        assert_eq!(show(&mut client, "application_name"), "dyno");
        assert_eq!(show(&mut client, "server_encoding"), "UTF8");
        assert_eq!(info.endpoint().unwrap().config.user, "postgres");
    }
}

#[test]
fn says_what_stands_in_the_way() {
    let shared = server();
    let port = shared.server.port();
    let error = |target: &str| {
        ConnectionInfo::resolve(Some(target), &|_| None)
            .unwrap()
            .connect()
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    let at_port = format!("127.0.0.1:{port}");
    for (target, expected) in [
        (
            format!("postgres://postgres:wrong@{at_port}/postgres"),
            "check the password of postgres",
        ),
        (
            format!("postgres://postgres@{at_port}/postgres"),
            "asks for a password and none is given",
        ),
        (
            format!("postgres://postgres:wrong@{at_port}/postgres?sslmode=require"),
            "sslmode=require needs TLS",
        ),
        (
            format!("postgres://postgres:wrong@{at_port}/postgres?sslmode=verify-full"),
            "sslrootcert",
        ),
        (
            "postgres://u@127.0.0.1:1/d".to_owned(),
            "nothing accepts connections there",
        ),
        (
            "postgres://u@nowhere.invalid/d".to_owned(),
            "nowhere.invalid cannot be looked up",
        ),
        ("host=/tmp/dyno-none user=u".to_owned(), "there is no such socket"),
    ] {
        let error = error(&target);
        assert!(error.contains(expected), "{target}: {error}");
        assert!(!error.contains("wrong"), "{error}");
    }
    let missing = shared.server.connection("nosuch").connect().map(|_| ()).unwrap_err();
    assert_eq!(missing.sqlstate(), Some("3D000"));
    assert!(missing.to_string().contains("create the database nosuch"), "{missing}");
}

#[test]
fn goes_to_the_first_host_that_answers() {
    let shared = server();
    let tcp = shared.server.connection_tcp("postgres").endpoint().unwrap();
    let password = tcp.config.password.as_ref().unwrap().reveal();
    let target = format!(
        "host=127.0.0.1,127.0.0.1 port=1,{} user=postgres password={} target_session_attrs=read-write",
        shared.server.port(),
        String::from_utf8_lossy(password),
    );
    let info = ConnectionInfo::resolve(Some(&target), &|_| None).unwrap();
    let narrowed = info.first_reachable().unwrap();
    assert_eq!(narrowed.hosts().count(), 1);
    assert_eq!(
        narrowed.hosts().next().unwrap().to_string(),
        format!("127.0.0.1:{}", shared.server.port())
    );
}

#[test]
fn copies_databases() {
    let shared = server();
    let template = database(&shared, "template_a");
    run_sql(
        &mut template.connect().unwrap(),
        "create table t (id int); insert into t values (7)",
        "setup",
    )
    .unwrap();
    let mut client = shared.server.connection("postgres").connect().unwrap();
    drop_database(&mut client, "copy \"b\"").unwrap();
    assert!(!database_exists(&mut client, "copy \"b\"").unwrap());
    create_from_template(&mut client, "template_a", "copy \"b\"").unwrap();
    assert!(database_exists(&mut client, "copy \"b\"").unwrap());
    let mut copy = shared.server.connection("copy \"b\"").connect().unwrap();
    assert_eq!(copy.query_one("select id from t", &[]).unwrap().get::<_, i32>(0), 7);
    let error = create_from_template(&mut client, "template_a", "copy \"b\"")
        .unwrap_err()
        .to_string();
    assert!(error.contains("already exists"), "{error}");
    // The open connection does not keep it.
    drop_database(&mut client, "copy \"b\"").unwrap();
    let error = create_from_template(&mut client, "nosuch", "c")
        .unwrap_err()
        .to_string();
    assert!(error.contains("nosuch"), "{error}");
}

#[test]
fn loads_settles_and_measures() {
    let shared = server();
    let info = database(&shared, "loading");
    let mut client = info.connect().unwrap();
    let setup = "create table tbl (id int primary key, info text, crt_time timestamptz default now());\ncreate \
                 table empty (x int)";
    run_sql(&mut client, setup, "data.setup").unwrap();
    let column = |name: &str, sql: &str| (name.to_owned(), sql.to_owned());
    let mut fill = Fill::new(
        "tbl",
        10_001,
        vec![column("id", "row"), column("info", "repeat('x', row % 10)")],
    );
    fill.batch_rows = 1_000;
    fill.connections = 3;
    let running = Arc::new(AtomicBool::new(false));
    let mut last = 0;
    let filled = fill_table(&info, &fill, &running, &mut |filling| {
        assert!(filling.rows > last);
        last = filling.rows;
    })
    .unwrap();
    assert_eq!((filled.rows, last), (10_001, 10_001));
    assert!(filled.rows_per_s > 0.0);
    let row = client
        .query_one("select count(*), min(id), max(id) from tbl", &[])
        .unwrap();
    assert_eq!(
        (row.get::<_, i64>(0), row.get::<_, i32>(1), row.get::<_, i32>(2)),
        (10_001, 1, 10_001)
    );

    assert_eq!(settle(&mut client, &Scope::Database).unwrap(), Vec::<String>::new());
    let sizes = database_sizes(&mut client, &Scope::Database).unwrap();
    let [empty, table] = sizes.tables.as_slice() else {
        panic!("{sizes:?}");
    };
    assert_eq!((empty.name.as_str(), empty.table_bytes), ("empty", 0));
    assert_eq!((table.schema.as_str(), table.name.as_str()), ("public", "tbl"));
    assert_eq!(table.rows_estimate, Some(10_001.0));
    assert!(table.index_bytes > 8192 && table.table_bytes > table.index_bytes);
    assert!(sizes.database_bytes > table.table_bytes);
    assert_eq!(table.statistics["relname"], "tbl");
    assert_eq!(table.statistics["vacuum_count"], 1);
    assert_eq!(table.statistics.keys().next().unwrap(), "relid");

    // One that is gone meanwhile is left out.
    let mut other = info.connect().unwrap();
    client
        .batch_execute("begin isolation level repeatable read; select 1")
        .unwrap();
    other.batch_execute("drop table empty").unwrap();
    let left = database_sizes(&mut client, &Scope::Database).unwrap().tables;
    assert_eq!(
        left.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(),
        ["tbl"]
    );
    client.batch_execute("commit; create table empty (x int)").unwrap();

    let nobody = Arc::new(AtomicBool::new(true));
    let error = fill_table(&info, &fill, &nobody, &mut |_| {}).unwrap_err();
    assert!(matches!(error, LoadError::Stopped { rows: 0, .. }), "{error}");
    let error = fill_table(&info, &fill, &running, &mut |_| {}).unwrap_err().to_string();
    assert!(
        error.contains("filling tbl failed at rows") && error.contains("23505"),
        "{error}"
    );
    fill.rows = 0;
    assert_eq!(fill_table(&info, &fill, &running, &mut |_| {}).unwrap().rows, 0);
}

#[test]
fn says_where_sql_fails() {
    let shared = server();
    let mut client = database(&shared, "failing").connect().unwrap();
    let error = run_sql(
        &mut client,
        "-- first\nselect 1;\nselect\n  nosuch\nfrom pg_class;",
        "data.setup",
    )
    .unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("data.setup, line 4: ERROR: column \"nosuch\""),
        "{text}"
    );
    run_sql(
        &mut client,
        "vacuum; begin; create table a (x int); commit; select count(*) from a",
        "text",
    )
    .unwrap();
}

#[test]
fn what_sessions_did_is_counted_when_they_have_ended() {
    let shared = server();
    let info = database(&shared, "ended");
    let mut control = info.connect().unwrap();
    control
        .batch_execute("create table t (id int); insert into t values (1)")
        .unwrap();
    let mut user = info.connect().unwrap();
    // A session tells of its first one at once, and of more only after a second or at its end.
    for _ in 0..20 {
        user.execute("update t set id = id + 1", &[]).unwrap();
    }
    let leaving = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(user);
    });
    await_sessions_end(&mut control).unwrap();
    let sizes = database_sizes(&mut control, &Scope::Database).unwrap();
    assert_eq!(sizes.tables[0].statistics["n_tup_upd"], 20);
    leaving.join().unwrap();
    // One that stays is not waited for.
    let _stays = info.connect().unwrap();
    await_sessions_end(&mut control).unwrap();
}

#[test]
fn tolerates_missing_privileges() {
    let shared = server();
    let info = database(&shared, "poor");
    let mut client = info.connect().unwrap();
    let setup = "drop role if exists poor; create role poor; create table t (x int)";
    run_sql(&mut client, setup, "setup").unwrap();
    client.batch_execute("set role poor").unwrap();
    let warnings = settle(&mut client, &Scope::Database).unwrap();
    assert!(
        warnings.iter().any(|warning| warning.contains("checkpoint")),
        "{warnings:?}"
    );
    client.batch_execute("reset role; drop role poor").unwrap();
}

#[test]
fn compares_settings_and_describes_the_server() {
    let shared = server();
    let mut client = shared.server.connection("postgres").connect().unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let wanted = [
        pair("shared_buffers", "131072kB"),
        pair("checkpoint_timeout", "300s"),
        pair("FSYNC", "true"),
        pair("work_mem", "1GB"),
        pair("nosuch", "1"),
    ];
    let differences: Vec<String> = verify(&mut client, &wanted)
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        differences,
        [
            "work_mem is 4MB, not 1GB",
            "nosuch is not known to this server (1 was wanted)"
        ]
    );
    let facts = server_facts(&mut client).unwrap();
    assert!(facts.version.starts_with("PostgreSQL 18."), "{facts:?}");
    assert_eq!(facts.version_number / 10_000, 18);
    assert_eq!(facts.data_folder.as_deref(), shared.server.data_folder().to_str());
    let port = facts.settings.iter().find(|setting| setting.name == "port").unwrap();
    assert_eq!(
        (port.value.as_str(), port.source.as_str()),
        (shared.server.port().to_string().as_str(), "command line")
    );
    assert!(host_facts(Some(shared.server.data_folder())).data_filesystem.is_some());
}

#[test]
fn what_comes_to_depend_on_a_schema_while_it_is_dropped_is_kept() {
    let shared = server();
    let info = database(&shared, "schemas");
    let mut client = info.connect().unwrap();
    create_schema(&mut client, "dyno_own", &Mark::now("loading", Vec::new())).unwrap();
    client
        .batch_execute(
            "create table dyno_own.items (id int); create type dyno_own.mood as enum ('calm');
             create schema other",
        )
        .unwrap();
    client
        .batch_execute("begin; lock table dyno_own.items in access share mode")
        .unwrap();
    let own = own_schemas(&mut client).unwrap();
    assert_eq!(
        (own.len(), own[0].name.as_str(), own[0].mark.state.as_str()),
        (1, "dyno_own", "loading")
    );
    let dropping = std::thread::spawn({
        let info = info.clone();
        move || drop_schema(&info, "dyno_own", &Arc::default()).map(|_| ())
    });
    let mut user = info.connect().unwrap();
    let waiting = "select exists (select 1 from pg_locks where not granted and database = (select oid from \
                   pg_database where datname = 'schemas'))";
    while !user.query_one(waiting, &[]).unwrap().get::<_, bool>(0) {
        assert!(!dropping.is_finished());
        std::thread::yield_now();
    }
    // The drop has looked already, and found nothing.
    user.batch_execute("create table other.late (mood dyno_own.mood); insert into other.late values ('calm')")
        .unwrap();
    client.batch_execute("commit").unwrap();
    let error = dropping.join().unwrap().unwrap_err().to_string();
    assert!(error.contains("column mood of table other.late"), "{error}");
    assert_eq!(
        user.query_one("select mood::text from other.late", &[])
            .unwrap()
            .get::<_, &str>(0),
        "calm"
    );
    user.batch_execute("drop table other.late").unwrap();
    drop_schema(&info, "dyno_own", &Arc::default()).unwrap();
    assert!(own_schemas(&mut client).unwrap().is_empty());
    let error = drop_schema(&info, "other", &Arc::default()).unwrap_err().to_string();
    assert!(error.contains("was not made by dyno"), "{error}");
}
