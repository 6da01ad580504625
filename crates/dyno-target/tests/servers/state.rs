//! Room, tablespaces and caches on real servers of the newest and the oldest packaged version, and an installed one.

use crate::support::{home, quiet};
use dyno_target::host::{Dropped, drop_pages};
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::cache::prewarm;
use dyno_target::postgres::embedded::{
    Embedded, EmbeddedError, EmbeddedOptions, Server, create_from_template, drop_database,
};
use dyno_target::postgres::load::{Fill, LoadError, check_columns, fill_table, run_sql, settle};
use dyno_target::postgres::room::needed_bytes;
use dyno_target::postgres::scope::Scope;
use dyno_target::postgres::tablespaces::{self, TablespaceError};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn prepare(version: &str) -> Result<Embedded, EmbeddedError> {
    let mut options = EmbeddedOptions::new(home());
    version.clone_into(&mut options.version);
    options.cluster = "tests-state".to_owned();
    Embedded::prepare(&options, &mut quiet)
}

fn database(server: &Server, name: &str) -> ConnectionInfo {
    let mut client = server.connection("postgres").connect().unwrap();
    drop_database(&mut client, name).unwrap();
    create_from_template(&mut client, "template0", name).unwrap();
    server.connection(name)
}

fn fill(table: &str, rows: u64, columns: &[(&str, &str)]) -> Fill {
    let columns = columns
        .iter()
        .map(|(name, sql)| ((*name).to_owned(), (*sql).to_owned()));
    Fill::new(table, rows, columns.collect())
}

fn number(info: &ConnectionInfo, query: &str) -> i64 {
    info.connect().unwrap().query_one(query, &[]).unwrap().get(0)
}

/// The estimate is near what the data then takes.
fn estimates_room(server: &Server) {
    let info = database(server, "room");
    let mut client = info.connect().unwrap();
    let setup = "create table a (id int primary key, info text, at timestamptz default now());
                 create table b (x bigint, y numeric(10, 2), z varchar(20)) with (fillfactor = 80);
                 create table wide (id int, body text)";
    run_sql(&mut client, setup, "setup").unwrap();
    let fills = [
        fill("a", 50_000, &[("id", "row"), ("info", "repeat('x', row % 60)")]),
        fill(
            "b",
            30_000,
            &[("x", "row"), ("y", "row / 7.0"), ("z", "left(md5(row::text), 20)")],
        ),
        fill(
            "wide",
            500,
            &[
                ("id", "row"),
                (
                    "body",
                    "(select string_agg(md5((row * i)::text), '') from generate_series(1, 500) i)",
                ),
            ],
        ),
    ];
    for one in &fills {
        let without_log =
            |copies| needed_bytes(&mut info.connect().unwrap(), std::slice::from_ref(one), copies).unwrap();
        let estimate = without_log(2) - without_log(1);
        fill_table(&info, one, &Arc::new(AtomicBool::new(false)), &mut |_| {}).unwrap();
        if one.table != "a" {
            let column = if one.table == "b" { "x" } else { "id" };
            run_sql(
                &mut client,
                &format!("create index on {} ({column})", one.table),
                "finish",
            )
            .unwrap();
        }
        let taken = number(&info, &format!("select pg_total_relation_size('{}')", one.table));
        let ratio = estimate as f64 / taken as f64;
        assert!(
            (0.85..1.15).contains(&ratio),
            "{}: {estimate} estimated, {taken} taken",
            one.table
        );
    }
    let bad = [fill("a", 5, &[("id", "row / 0")])];
    // A value that has one size is not asked for; one of any size is.
    assert!(needed_bytes(&mut client, &bad, 1).is_ok());
    let bad = [fill("a", 5, &[("info", "nosuch(row)")])];
    let error = needed_bytes(&mut client, &bad, 1).unwrap_err();
    assert!(error.table == "a" && error.message.contains("nosuch"), "{error}");
}

fn makes_tablespaces(server: &Server) {
    let names = ["second".to_owned(), "third".to_owned()];
    server.create_tablespaces(&names).unwrap();
    server.create_tablespaces(&names).unwrap();
    let info = database(server, "spaced");
    let mut client = info.connect().unwrap();
    tablespaces::check(&mut client, &names).unwrap();
    run_sql(
        &mut client,
        "create table t (x int) tablespace second; insert into t values (1)",
        "setup",
    )
    .unwrap();
    let folder = server.data_folder().with_file_name("tablespaces").join("second");
    assert!(fs::read_dir(&folder).unwrap().count() > 0);
    drop(client);
    // A copy of the database takes its tablespaces along.
    let mut admin = server.connection("postgres").connect().unwrap();
    drop_database(&mut admin, "spaced copy").unwrap();
    create_from_template(&mut admin, "spaced", "spaced copy").unwrap();
    assert_eq!(number(&server.connection("spaced copy"), "select count(*) from t"), 1);
    let wanted = ["second".to_owned(), "fourth".to_owned()];
    let error = tablespaces::check(&mut admin, &wanted).unwrap_err();
    assert!(
        matches!(&error, TablespaceError::Missing { names } if names == &["fourth"]),
        "{error}"
    );
    assert!(error.to_string().contains("create tablespace fourth"), "{error}");
    let error = server.create_tablespaces(&["../x".to_owned()]).unwrap_err();
    assert!(matches!(error, TablespaceError::Name { .. }), "{error}");
}

fn warms(server: &Server) {
    let info = database(server, "warm");
    let mut client = info.connect().unwrap();
    let setup = "create table t (id int primary key, info text);
                 insert into t select i, md5(i::text) from generate_series(1, 20000) i;
                 create schema other; create table other.u as select * from t";
    run_sql(&mut client, setup, "setup").unwrap();
    settle(&mut client, &Scope::Database).unwrap();
    let warmed = prewarm(&mut client, &Scope::Database).unwrap();
    assert!(warmed.by_extension, "{warmed}");
    // Two tables, one index; both have a TOAST table, each with its index.
    assert_eq!(warmed.relations, 7);
    let size = "select pg_relation_size('t') + pg_relation_size('t_pkey') + pg_relation_size('other.u')";
    let toast = number(&info, &format!("{size} + 2 * 8192"));
    assert_eq!(warmed.bytes.cast_signed(), toast);
    assert_eq!(
        number(&info, "select count(*) from pg_extension where extname = 'pg_prewarm'"),
        0
    );

    // A search path of its own limits it; a role that may not create the extension reads.
    run_sql(
        &mut client,
        "drop role if exists reader; create role reader login; grant usage on schema other to \
                          reader; grant select on other.u to reader",
        "role",
    )
    .unwrap();
    let mut reader = info
        .with_settings(&[("search_path".to_owned(), "other".to_owned())])
        .connect()
        .unwrap();
    let mine = prewarm(&mut reader, &Scope::Schema("other".to_owned())).unwrap();
    assert_eq!(mine.relations, 3);
    reader.batch_execute("set role reader").unwrap();
    let read = prewarm(&mut reader, &Scope::Schema("other".to_owned())).unwrap();
    assert_eq!((read.by_extension, read.relations), (false, 1));
    assert_eq!(
        read.bytes.cast_signed(),
        number(&info, "select pg_relation_size('other.u')")
    );
    reader.batch_execute("reset role").unwrap();
    run_sql(&mut client, "drop owned by reader; drop role reader", "role").unwrap();
}

fn refuses_other_columns(server: &Server) {
    let info = database(server, "columns");
    let mut client = info.connect().unwrap();
    run_sql(
        &mut client,
        "create table t (id int, \"Info\" text, must int not null)",
        "setup",
    )
    .unwrap();
    let must = ("must", "1");
    check_columns(
        &mut client,
        &[
            fill("t", 1, &[("id", "1"), ("\"Info\"", "1"), must]),
            fill("nosuch", 1, &[must]),
        ],
    )
    .unwrap();
    let error = check_columns(&mut client, &[fill("t", 1, &[("id", "1"), ("info", "1")])]).unwrap_err();
    assert!(matches!(error, LoadError::OtherColumns { .. }));
    let error = error.to_string();
    assert!(error.contains("no info") && error.contains("its must"), "{error}");

    // What gives itself a value needs none.
    run_sql(
        &mut client,
        "create domain numbered as int default 7; create table given (v int, n numbered not null)",
        "setup",
    )
    .unwrap();
    if number(&info, "select current_setting('server_version_num')::int8") >= 100_000 {
        let identity = "alter table given add id bigint generated always as identity primary key";
        run_sql(&mut client, identity, "setup").unwrap();
    }
    check_columns(&mut client, &[fill("given", 1, &[("v", "1")])]).unwrap();
}

fn logs_for_programs(server: &Server) {
    let mut client = server.connection("postgres").connect().unwrap();
    client.batch_execute("checkpoint").unwrap();
    let log = fs::read_to_string(server.log_path()).unwrap();
    let line = log
        .lines()
        .find(|line| line.contains("checkpoint complete"))
        .unwrap_or_else(|| panic!("{log}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((words[0].len(), words[1].len(), words[2]), (10, 12, "UTC"), "{line}");
    assert!(words[3].starts_with('[') && words[4] == "LOG:", "{line}");
    server.reload();
}

fn does_it_all(version: &str) {
    let embedded = prepare(version).unwrap();
    let server = embedded.start(&[], &mut quiet).unwrap();
    logs_for_programs(&server);
    estimates_room(&server);
    makes_tablespaces(&server);
    warms(&server);
    refuses_other_columns(&server);
    for info in [server.connection("postgres"), server.connection_tcp("postgres")] {
        info.connect().unwrap();
    }
    server.stop();
    let dropped = drop_pages(embedded.data_folder()).unwrap();
    match dropped {
        Dropped::Machine => {}
        Dropped::Files { files, bytes } => assert!(files > 100 && bytes > 1 << 24, "{dropped}"),
    }
}

#[test]
fn on_18() {
    does_it_all("18.6.0");
}

#[test]
fn on_9_6() {
    does_it_all("9.6");
}

#[test]
fn on_an_installed_server() {
    let error = prepare("system:7.4").unwrap_err().to_string();
    assert!(error.contains("no PostgreSQL 7.4 is installed"), "{error}");
    // Not every machine has one.
    match prepare("system") {
        Ok(embedded) => {
            let server = embedded
                .start(&[("work_mem".to_owned(), "7MB".to_owned())], &mut quiet)
                .unwrap();
            let row = server
                .connection("postgres")
                .connect()
                .unwrap()
                .query_one("show server_version", &[])
                .unwrap();
            assert!(row.get::<_, String>(0).starts_with(embedded.version()));
            assert!(embedded.data_folder().to_string_lossy().contains("/system-"));
        }
        Err(error) => assert!(matches!(error, EmbeddedError::NotInstalled { .. }), "{error}"),
    }
}
